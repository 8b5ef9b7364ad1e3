"""The student of [Zhang2016, app. D]: a fully connected network with dropout, trained by torch."""

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from polyfold._typing import Matrix, RandomState
from polyfold._validation import check_choice, draw_seed, import_extra, keeps_state_on_failure
from polyfold.training import MLP, Training

if TYPE_CHECKING:
    import torch

# Rows per block of a prediction.
BLOCK = 4096


class DropoutNetwork(RegressorMixin, BaseEstimator):
    """Regress several targets by a network with rectified units and dropout.

    Parameters
    ----------
    hidden : tuple of int, default=(2048, 2048)
        Units of the hidden layers.
    dropout : float, default=0.2
        Fraction of the hidden units that are switched off in a training step.
    output : {"linear", "sigmoid"}, default="linear"
        Linear outputs are trained by squared error, sigmoid outputs (targets between 0 and 1) by cross-entropy.
    max_iter : int, default=50
        Epochs.
    batch_size : int, default=128
    learning_rate : float, default=1e-3
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    weights_ : list of (ndarray, ndarray)
        Weight matrix and offset of every layer; prediction needs no torch.
    loss_curve_ : list of float
        Mean training loss of every epoch.
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (2048, 2048),
        *,
        dropout: float = 0.2,
        output: Literal["linear", "sigmoid"] = "linear",
        max_iter: int = 50,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        random_state: RandomState = None,
    ):
        self.hidden = hidden
        self.dropout = dropout
        self.output = output
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state

    @keeps_state_on_failure
    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train on rows `X` (n, d) and targets `y` (n, q)."""
        torch = import_extra("torch", "torch")
        from polyfold.training import Task, seeded, train

        check_choice("output", self.output, ("linear", "sigmoid"))
        options = {"batch_size": self.batch_size, "learning_rate": self.learning_rate}
        plan = Training(self.max_iter, validation_fraction=0.0, **options).checked()
        values = np.asarray(y, dtype=np.float32)
        targets = torch.from_numpy(values.reshape(len(values), -1))
        rows = _SparseRows(X) if sp.issparse(X) else torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
        loss = torch.nn.BCEWithLogitsLoss() if self.output == "sigmoid" else torch.nn.MSELoss()
        with seeded(draw_seed(self.random_state), torch.device("cpu")):
            network = MLP(self.hidden, dropout=self.dropout)(X.shape[1], targets.shape[1])
            self.loss_curve_ = train(network, Task(rows, targets, loss), plan).losses
        layers = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
        self.weights_ = [(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in layers]
        return self

    def predict(self, X: Matrix) -> NDArray:
        """Compute the outputs for rows `X`, (n, q)."""
        check_is_fitted(self)
        blocks = [self._forward(_dense(X[start : start + BLOCK])) for start in range(0, X.shape[0], BLOCK)]
        return np.concatenate(blocks)

    def _forward(self, Z: NDArray) -> NDArray:
        for weight, offset in self.weights_[:-1]:
            Z = np.maximum(Z @ weight + offset, 0)
        weight, offset = self.weights_[-1]
        Z = Z @ weight + offset
        return expit(Z) if self.output == "sigmoid" else Z


class _SparseRows:
    """Rows of a sparse matrix that become dense batch by batch."""

    def __init__(self, X: Matrix):
        self.X = sp.csr_array(X)

    def __getitem__(self, batch: "torch.Tensor") -> "torch.Tensor":
        import torch

        return torch.from_numpy(_dense(self.X[batch.numpy()]))


def _dense(rows: Matrix) -> NDArray[np.float32]:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float32)
