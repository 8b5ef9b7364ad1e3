"""Modular regression networks [Reeve2015, appendix A]."""

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._progress import shows_progress
from polyfold._typing import FloatArray, RandomState, Table
from polyfold._validation import check_container, check_not_tiny, check_range, import_extra, keeps_state_on_failure
from polyfold.estimators._network import NetworkEstimator
from polyfold.training import MLP, Scaling, Training

if TYPE_CHECKING:
    from torch import nn


class ModularRegressor(MultiOutputMixin, RegressorMixin, NetworkEstimator):
    r"""Train an ensemble of networks by negative correlation learning.

    With modules :math:`F_i` and their mean :math:`\bar F`, the average over the data of

    .. math:: \frac1M\sum_i \|F_i(x) - y\|^2 - \lambda\,\frac1M\sum_i \|F_i(x) - \bar F(x)\|^2

    is minimised. λ = 0 trains the modules independently, λ = 1 trains one network whose output is their mean.

    Parameters
    ----------
    n_modules : int, default=10
        Number M of modules.
    architecture : callable, default=None
        ``architecture(n_inputs, n_outputs)`` returns a fresh ``torch.nn.Module``, called M times. None means
        :class:`MLP` with its defaults.
    diversity : float, default=0.5
        λ in [0, 1].
    training : Training, default=None
        Epochs, batches, optimiser, early stopping; None means the defaults.
    device : str, default="cpu"
        Any torch device.
    checkpoint : path-like, default=None
        File with the state after every epoch. If it exists when the fit starts, the run continues from there, with the
        same result as without the interruption. A larger `max_iter` extends a finished run.
    random_state : int, RandomState or None, default=None
        Seed of weights, split, shuffling and dropout.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    network_ : torch.nn.Module
        Trained modules; maps scaled rows (n, p) to (M, n, q).
    loss_ : float
        Modular loss on the data given to `fit`, per row, in the units of `y`.
    loss_curve_, validation_curve_ : list of float
        The same after every epoch, on the training and the held-out rows.
    n_iter_ : int
        Epochs run.

    Notes
    -----
    Inputs are centred and divided by one number, and so are targets. Modules are batched with
    ``torch.func.vmap``; an architecture it cannot batch runs module by module. Training is in float32.

    References
    ----------
    [Reeve2015], [Liu1999]

    Examples
    --------
    >>> from polyfold.networks import ModularRegressor
    >>> ModularRegressor(n_modules=5, diversity=0.8)
    ModularRegressor(diversity=0.8, n_modules=5)
    """

    def __init__(
        self,
        n_modules: int = 10,
        *,
        architecture: "Callable[[int, int], nn.Module] | None" = None,
        diversity: float = 0.5,
        training: Training | None = None,
        device: str = "cpu",
        checkpoint: str | PathLike[str] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.architecture = architecture
        self.diversity = diversity
        self.training = training
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Table, y: ArrayLike) -> "ModularRegressor":
        """Train the modules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        self : ModularRegressor
        """
        check_container(X)
        rows, outputs = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=[np.float64, np.float32])
        import_extra("torch", "torch")
        self._flat = outputs.ndim == 1
        targets = outputs.reshape(len(outputs), -1).astype(np.float64)
        check_range(rows)
        check_not_tiny(rows)
        check_range(targets, "y")
        self._inputs, self._targets = Scaling(rows), Scaling(targets)
        self._train(self._inputs.apply(rows), self._targets.apply(targets), self._targets.scale**2)
        return self

    def predict(self, X: Table) -> FloatArray:
        """Return the mean of the modules' outputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self.predict_modules(X).mean(axis=0)

    def predict_modules(self, X: Table) -> FloatArray:
        """Return the output of every module.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_modules, n_samples) or (n_modules, n_samples, n_targets)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        outputs = self._targets.undo(self._evaluate(self.network_, self._inputs.apply(X)))
        return outputs[:, :, 0] if self._flat else outputs

    def _network(self) -> "nn.Module":
        from polyfold.training import build_ensemble

        architecture = MLP() if self.architecture is None else self.architecture
        return build_ensemble(architecture, self.n_modules, len(self._inputs.mean), len(self._targets.mean))
