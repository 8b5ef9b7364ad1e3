"""Deep modular autoencoders: modular regression networks whose target is the input [Reeve2015]."""

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from polyfold._progress import shows_progress
from polyfold._typing import FloatArray, RandomState, Table
from polyfold._validation import check_count, import_extra, keeps_state_on_failure
from polyfold.estimators._modules import ModuleMixin
from polyfold.estimators._network import NetworkEstimator
from polyfold.training import MLP, Scaling, Training

if TYPE_CHECKING:
    import torch
    from torch import nn


class ModularAutoencoderNetwork(ModuleMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, NetworkEstimator):
    r"""M autoencoders of any architecture, trained jointly to reconstruct well and differently.

    With reconstructions :math:`F_i = A_i \circ B_i` and their mean :math:`\bar F`, the average over the data
    of

    .. math:: \frac1M\sum_i \|F_i(x) - x\|^2 - \lambda\,\frac1M\sum_i \|F_i(x) - \bar F(x)\|^2

    is minimised. For linear maps :class:`polyfold.ModularAutoencoder` finds the minimum in closed form.

    Parameters
    ----------
    n_modules : int, default=10
        Number M of modules.
    n_components : int, default=10
        Size H of the code of one module.
    architecture : callable, default=None
        ``architecture(n_inputs, n_outputs)`` returns a fresh ``torch.nn.Module``; it is called with
        (n_features, n_components) for the encoders. None means :class:`MLP` with its defaults.
    decoder : callable, default=None
        The same for the decoders, called with (n_components, n_features). None mirrors `architecture`.
    diversity, training, device, checkpoint, random_state : optional
        As in :class:`ModularRegressor`.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    network_ : torch.nn.Module
        Trained modules: ``network_.encoder`` and ``network_.decoder``, on scaled rows.
    loss_, loss_curve_, validation_curve_, n_iter_ : float, lists of float and int
        As in :class:`ModularRegressor`, in the units of `X`.

    Notes
    -----
    Rows are centred and divided by one number before they enter the network. Training is in float32.

    References
    ----------
    [Reeve2015]

    Examples
    --------
    >>> from polyfold.networks import MLP, ModularAutoencoderNetwork
    >>> ModularAutoencoderNetwork(n_modules=3, architecture=MLP(hidden=(128, 32)))
    ModularAutoencoderNetwork(architecture=MLP(hidden=(128, 32)), n_modules=3)
    """

    def __init__(
        self,
        n_modules: int = 10,
        n_components: int = 10,
        *,
        architecture: "Callable[[int, int], nn.Module] | None" = None,
        decoder: "Callable[[int, int], nn.Module] | None" = None,
        diversity: float = 0.5,
        training: Training | None = None,
        device: str = "cpu",
        checkpoint: str | PathLike[str] | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_modules = n_modules
        self.n_components = n_components
        self.architecture = architecture
        self.decoder = decoder
        self.diversity = diversity
        self.training = training
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Table, y: object = None) -> "ModularAutoencoderNetwork":
        """Train the modules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : ModularAutoencoderNetwork
        """
        X = self._validate(X, reset=True)
        import_extra("torch", "torch")
        check_count("n_components", self.n_components)
        self._scaling = Scaling(X)
        rows = self._scaling.apply(X)
        self._train(rows, rows, self._scaling.scale**2)
        self._module_shape = self.n_modules, self.n_components
        return self

    def transform(self, X: Table) -> FloatArray:
        """Return the codes of all modules side by side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_modules * n_components)
        """
        codes = self._evaluate(self._encoder, self._scaled(X))
        return codes.transpose(1, 0, 2).reshape(codes.shape[1], -1)

    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return the ensemble's reconstruction from codes: the mean over the modules.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_modules * n_components)

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        side_by_side: NDArray = check_array(Z, dtype=np.float32)
        if side_by_side.shape[1] != self._n_features_out:
            raise ValueError(
                f"Z must have n_modules * n_components={self._n_features_out} columns, got {side_by_side.shape[1]}; "
                "pass what transform returned."
            )
        codes = side_by_side.reshape(-1, self.n_modules, self.n_components).transpose(1, 0, 2)
        decoded = self._evaluate(self._decoder, np.ascontiguousarray(codes), dim=1)
        return self._scaling.undo(decoded.mean(axis=0))

    def reconstruct_modules(self, X: Table) -> FloatArray:
        """Return the reconstruction by every module.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n_samples, n_features)
        """
        rows = self._scaled(X)
        return self._scaling.undo(self._evaluate(self.network_, rows))

    def _scaled(self, X: Table) -> FloatArray:
        check_is_fitted(self)
        return self._scaling.apply(self._validate(X, reset=False))

    def _encoder(self, rows: "torch.Tensor") -> "torch.Tensor":
        return self.network_.encoder(rows)

    def _decoder(self, codes: "torch.Tensor") -> "torch.Tensor":
        return self.network_.decoder(codes, shared=False)

    def _network(self) -> "nn.Module":
        from polyfold.training import Chain, build_ensemble

        D, H = len(self._scaling.mean), self.n_components
        encoder = MLP() if self.architecture is None else self.architecture
        decoder = self.decoder
        if decoder is None:
            decoder = encoder.reversed() if isinstance(encoder, MLP) else encoder
        return Chain(build_ensemble(encoder, self.n_modules, D, H), build_ensemble(decoder, self.n_modules, H, D))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
