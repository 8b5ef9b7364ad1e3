"""What both network estimators share: scaling, seeds, training, evaluation in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from polyfold._validation import check_count, check_real, import_extra
from polyfold.networks._options import Plan, Training

__all__ = ["NetworkEstimator", "Scaling"]


class Scaling:
    """Shift by the mean and divide by one number, so that units do not matter to the learning rate."""

    def __init__(self, X: np.ndarray):
        # Sums in another memory order differ in the last digit, and training would amplify that.
        X = np.ascontiguousarray(X)
        self.mean = X.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(np.mean(np.square(X - self.mean))))
        self.scale = spread if spread > 0 else 1.0

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return scaled float32 rows."""
        return ((np.ascontiguousarray(X) - self.mean) / self.scale).astype(np.float32)

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the original units."""
        return X * self.scale + self.mean


class NetworkEstimator(BaseEstimator):
    """Private base: subclasses define `_network` (the torch module) and call `_train`."""

    n_modules: int
    diversity: float
    training: Training | None
    device: str
    checkpoint: Any
    random_state: Any

    def _plan(self) -> Plan:
        check_count("n_modules", self.n_modules)
        check_real(
            "diversity",
            self.diversity,
            minimum=0.0,
            maximum=1.0,
            hint="beyond 1 the loss is unbounded below, so weights would diverge [Reeve2015, Theorem 3]",
        )
        training = Training() if self.training is None else self.training
        if not isinstance(training, Training):
            raise TypeError(f"training must be a polyfold.networks.Training or None, got {training!r}.")
        return training.checked()

    def _network(self) -> Any:
        raise NotImplementedError

    def _train(self, inputs: np.ndarray, targets: np.ndarray, unit: float) -> None:
        """Build and train the network on scaled arrays; losses are stored times `unit`."""
        torch = import_extra("torch", "torch")
        from polyfold.networks._checkpoint import fingerprint
        from polyfold.networks._training import Problem, mean_loss, train

        plan, device = self._plan(), torch.device(self.device)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        # Weights, shuffling and dropout draw from torch's generator; the caller's stays as it was.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            network = self._network().to(device)
            kept, held = _split(len(inputs), plan.validation_fraction, torch)
            x, y = torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device)
            held_out = None if len(held) == 0 else (x[held], y[held])
            problem = Problem(x[kept], y[kept], held_out, self.n_modules, float(self.diversity))
            identity = "" if self.checkpoint is None else fingerprint([inputs, targets], self._settings(seed))
            path = None if self.checkpoint is None else Path(self.checkpoint)
            run = train(network, problem, plan, checkpoint=path, identity=identity)
            self.loss_ = unit * mean_loss(network, x, y, problem.diversity)
        self.network_ = network
        self.n_iter_ = run.epoch
        self.loss_curve_ = [unit * loss for loss in run.losses]
        self.validation_curve_ = [unit * loss for loss in run.validation_losses]

    def _settings(self, seed: int) -> dict[str, Any]:
        """Return what must not change between an interrupted run and its continuation."""
        settings = self.get_params(deep=True)
        for name in ("checkpoint", "device", "random_state", "training", "training__max_iter"):
            settings.pop(name, None)
        return {name: _portable(value) for name, value in settings.items()} | {"seed": seed}

    def _evaluate(self, function: Any, rows: np.ndarray, dim: int = 0) -> np.ndarray:
        """Apply a torch `function` to blocks of `rows` along `dim` and return one float array."""
        import torch

        tensor = torch.from_numpy(rows)
        with torch.no_grad():
            parts = [function(block.to(self.device)).cpu() for block in tensor.split(4096, dim=dim)]
        return torch.cat(parts, dim=1).numpy()


def _portable(value: Any) -> str:
    """Name a parameter the same way in every process: functions by their name, not by their address."""
    return getattr(value, "__qualname__", None) or repr(value)


def _split(n: int, fraction: float, torch: Any) -> tuple[Any, Any]:
    """Return the indices to train on and to validate on, the latter empty for few rows."""
    n_held = int(fraction * n)
    if n_held == 0:
        return torch.arange(n), torch.arange(0)
    order = torch.randperm(n)
    return order[n_held:].sort().values, order[:n_held].sort().values
