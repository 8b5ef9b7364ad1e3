"""What the network estimators share: parameters, training, evaluation in blocks."""

from collections.abc import Callable
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import BaseEstimator

from polyfold._files import fingerprint
from polyfold._progress import LongFit
from polyfold._typing import RandomState, Table
from polyfold._validation import check_count, check_real, check_rows, draw_seed, import_extra
from polyfold.training import Training

if TYPE_CHECKING:
    import torch
    from torch import nn

    from polyfold.training import Checkpoint

DESIGN = ("n_modules", "n_components", "architecture", "decoder")  # parameters that a network's shape depends on


class NetworkEstimator(LongFit, BaseEstimator):
    """Private base: subclasses define `_network` (the torch module) and call `_train`."""

    n_modules: int
    diversity: float
    training: Training | None
    device: str
    checkpoint: str | PathLike[str] | None
    random_state: RandomState

    def _plan(self) -> Training:
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

    def _network(self) -> "nn.Module":
        raise NotImplementedError

    def _validate(self, X: Table, *, reset: bool) -> np.ndarray:
        return check_rows(self, X, reset=reset, sparse=False)

    def _train(self, inputs: np.ndarray, targets: np.ndarray, unit: float) -> None:
        """Build and train the network on scaled arrays; losses are stored times `unit`."""
        torch = import_extra("torch", "torch")
        from polyfold.training import Task, mean_loss, modular_objective, seeded, split_rows, train

        plan, device, seed = self._plan(), torch.device(self.device), draw_seed(self.random_state)
        checkpoint = None if self.checkpoint is None else self._checkpoint(inputs, targets, plan, seed)
        loss = partial(modular_objective, diversity=float(self.diversity))
        with seeded(seed if checkpoint is None else checkpoint.seed, device):
            network = self._network().to(device)
            kept, held = split_rows(len(inputs), plan.validation_fraction)
            x, y = torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device)
            held_out = None if len(held) == 0 else (x[held], y[held])
            # The sum over the modules, not their mean: a module's step does not shrink with their number.
            task = Task(x[kept], y[kept], loss, weight=self.n_modules, validation=held_out)
            run = train(network, task, plan, checkpoint=checkpoint)
            self.loss_ = unit * mean_loss(network, x, y, loss)
        self.network_ = network
        self._design = {name: value for name, value in self.get_params(deep=False).items() if name in DESIGN}
        self.n_iter_ = run.epoch
        self.loss_curve_ = [unit * loss for loss in run.losses]
        self.validation_curve_ = [unit * loss for loss in run.validation_losses]

    def _checkpoint(self, inputs: np.ndarray, targets: np.ndarray, plan: Training, seed: int) -> "Checkpoint":
        """Open the file of a run that must continue with the same data and settings, for any number of epochs."""
        from polyfold.training import Checkpoint

        settings = self.get_params(deep=False) | plan.get_params() | {"data": [inputs, targets]}
        for changeable in ("checkpoint", "device", "max_iter", "random_state", "training"):
            del settings[changeable]
        path = cast(str | PathLike[str], self.checkpoint)  # only called with one
        return Checkpoint(path, fingerprint(settings), seed=seed, fixed=self.random_state is not None)

    def __getstate__(self) -> dict[str, Any]:
        """Weights as arrays: the network is made again from its design."""
        state = super().__getstate__()
        if "network_" not in state:
            return state
        weights = {name: value.detach().cpu().numpy() for name, value in self.network_.state_dict().items()}
        return {**state, "network_": weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" in state:
            self.network_ = self._with_weights(state["network_"])

    def _with_weights(self, weights: dict[str, np.ndarray]) -> "nn.Module":
        torch = import_extra("torch", "torch")
        from polyfold.training import seeded

        # What was set after the fit belongs to the next one.
        maker = object.__new__(type(self))
        maker.__dict__ = {**vars(self), **self._design}
        with seeded(0, torch.device("cpu")):  # initial weights, overwritten: the caller's stream is not touched
            network = maker._network()
        network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
        return network.to(torch.device(self.device)).eval()

    def _evaluate(
        self, function: "Callable[[torch.Tensor], torch.Tensor]", rows: np.ndarray, dim: int = 0
    ) -> np.ndarray:
        """Apply a torch `function` to blocks of `rows` along `dim` and return one float array."""
        import torch

        tensor = torch.from_numpy(rows)
        with torch.no_grad():
            parts = [function(block.to(self.device)).cpu() for block in tensor.split(4096, dim=dim)]
        return torch.cat(parts, dim=1).numpy()
