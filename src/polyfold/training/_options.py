"""How modules are trained, and the scale of their rows."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from polyfold._validation import check_choice, check_count, check_range, check_real, outside
from polyfold.exceptions import DegenerateDataWarning

if TYPE_CHECKING:
    import torch


# A name, or a function of the parameters and the learning rate that returns a torch optimiser.
Optimizer: TypeAlias = "Literal['adam', 'sgd'] | Callable[..., torch.optim.Optimizer]"


class Training(BaseEstimator):
    """Set the minibatches, optimiser and early stopping of a joint training.

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of epochs.
    batch_size : int, default=256
        Rows per step; the last batch of an epoch may be smaller.
    learning_rate : float, default=1e-3
        Step size of the optimiser. The objective is the sum over the modules, so one learning rate means the
        same for any number of them.
    optimizer : {"adam", "sgd"} or callable, default="adam"
        A callable takes the parameters and the learning rate and returns a ``torch.optim.Optimizer``.
    validation_fraction : float, default=0.1
        Fraction of the rows held out to decide when to stop; 0 trains on all rows for `max_iter` epochs.
    patience : int, default=10
        Epochs without a new lowest validation loss before training stops; the weights of the best epoch
        are kept.
    tol : float, default=1e-4
        By how much, relative to the lowest, a validation loss must fall to count as lower.

    Examples
    --------
    >>> from polyfold.networks import Training
    >>> Training(max_iter=50, learning_rate=0.01)
    Training(learning_rate=0.01, max_iter=50)
    """

    def __init__(
        self,
        max_iter: int = 200,
        *,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        optimizer: Optimizer = "adam",
        validation_fraction: float = 0.1,
        patience: int = 10,
        tol: float = 1e-4,
    ):
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimizer: Optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol

    def checked(self) -> "Training":
        """Return the same options as plain numbers, or raise with the rule that one of them breaks.

        Returns
        -------
        training : Training
        """
        if not callable(self.optimizer):
            check_choice("optimizer", self.optimizer, ("adam", "sgd"), hint="or pass a callable")
        whole = {name: check_count(name, getattr(self, name)) for name in ("max_iter", "batch_size", "patience")}
        rate = check_real("learning_rate", self.learning_rate, minimum=0.0, open_minimum=True)
        share = check_real("validation_fraction", self.validation_fraction, minimum=0.0, maximum=0.9)
        tol = check_real("tol", self.tol, minimum=0.0)
        return Training(**whole, learning_rate=rate, optimizer=self.optimizer, validation_fraction=share, tol=tol)


class Scaling:
    """Shift by the mean and divide by one number, so that units do not matter to the learning rate."""

    def __init__(self, X: np.ndarray):
        # Sums in another memory order differ in the last digit, and training would amplify that.
        X = np.ascontiguousarray(X)
        self.mean = X.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(np.mean(np.square(X - self.mean))))
        self.scale = spread if spread > 0 else 1.0
        if spread == 0:
            message = "all rows are equal, so that there is nothing to learn; check the data."
            warnings.warn(message, DegenerateDataWarning, stacklevel=outside())

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return scaled float32 rows."""
        with np.errstate(over="ignore"):
            rows = ((np.ascontiguousarray(X) - self.mean) / self.scale).astype(np.float32)
        check_range(rows, "X, in units of the spread of the training rows,")
        return rows

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the original units."""
        return X * self.scale + self.mean
