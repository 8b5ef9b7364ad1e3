"""The student of [Zhang2016, app. D]: a fully connected network with dropout, trained by torch."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyfold._running import track
from polyfold._validation import check_choice, check_count, check_real, import_extra

__all__ = ["DropoutNetwork"]

# Rows per block when only an output is wanted.
BLOCK = 4096


class DropoutNetwork(RegressorMixin, BaseEstimator):
    """Regress several targets on the inputs by a network with rectified units and dropout.

    Parameters
    ----------
    hidden : tuple of int, default=(2048, 2048)
        Units of the hidden layers.
    dropout : float, default=0.2
        Share of hidden units switched off in a training step.
    output : {"linear", "sigmoid"}, default="linear"
        Linear outputs are trained by squared error; sigmoid ones, for targets between 0 and 1, by cross-entropy.
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
        output: str = "linear",
        max_iter: int = 50,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        random_state: Any = None,
    ):
        self.hidden = hidden
        self.dropout = dropout
        self.output = output
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows `X` (n, d) and targets `y` (n, q)."""
        torch = import_extra("torch", "torch")
        self._check_parameters()
        targets = np.asarray(y, dtype=np.float32).reshape(len(y), -1)
        rng = check_random_state(self.random_state)
        generator = torch.Generator().manual_seed(int(rng.randint(2**31 - 1)))
        with torch.random.fork_rng():
            # Dropout draws from the global generator: seeded here, restored afterwards.
            torch.manual_seed(int(rng.randint(2**31 - 1)))
            network = self._build(torch, X.shape[1], targets.shape[1])
            self.loss_curve_ = self._train(torch, network, X, torch.from_numpy(targets), generator)
        layers = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
        self.weights_ = [(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in layers]
        return self

    def predict(self, X: Any) -> NDArray:
        """Compute the outputs for rows `X`, (n, q)."""
        check_is_fitted(self)
        blocks = [self._forward(_dense(X[start : start + BLOCK])) for start in range(0, X.shape[0], BLOCK)]
        return np.concatenate(blocks)

    def _forward(self, Z: NDArray) -> NDArray:
        for weight, offset in self.weights_[:-1]:
            Z = np.maximum(Z @ weight + offset, 0)
        weight, offset = self.weights_[-1]
        Z = Z @ weight + offset
        return 1 / (1 + np.exp(-Z)) if self.output == "sigmoid" else Z

    def _check_parameters(self) -> None:
        check_choice("output", self.output, ("linear", "sigmoid"))
        check_real("dropout", self.dropout, minimum=0, maximum=0.99)
        check_count("max_iter", self.max_iter)
        check_count("batch_size", self.batch_size)
        check_real("learning_rate", self.learning_rate, minimum=0, open_minimum=True)

    def _build(self, torch: Any, n_inputs: int, n_outputs: int) -> Any:
        nn = torch.nn
        sizes = [n_inputs, *(check_count("hidden", units) for units in self.hidden)]
        layers: list[Any] = []
        for before, after in itertools.pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(self.dropout)]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], n_outputs))

    def _train(self, torch: Any, network: Any, X: Any, targets: Any, generator: Any) -> list[float]:
        loss_function = torch.nn.BCEWithLogitsLoss() if self.output == "sigmoid" else torch.nn.MSELoss()
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        n = X.shape[0]
        losses = []
        for _ in track(range(self.max_iter), "student epochs"):
            total = 0.0
            for batch in torch.randperm(n, generator=generator).split(self.batch_size):
                optimizer.zero_grad()
                rows = torch.from_numpy(_dense(X[batch.numpy()]))
                loss = loss_function(network(rows), targets[batch])
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * len(batch)
            losses.append(total / n)
        return losses


def _dense(rows: Any) -> NDArray[np.float32]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float32)
