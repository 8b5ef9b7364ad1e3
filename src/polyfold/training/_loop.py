"""The loop that trains networks, of modules or single ones: minibatches, early stopping, checkpoints."""

import copy
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from polyfold._progress import track
from polyfold.training._checkpoint import Checkpoint
from polyfold.training._options import Training

_EVALUATION_ROWS = 8192  # rows per block when only a loss is wanted


class IndexedRows(Protocol):
    """Rows that are not in memory as a tensor: indexing returns a batch of them."""

    def __getitem__(self, batch: torch.Tensor) -> torch.Tensor: ...


@dataclass(frozen=True)
class Task:
    """What is learned.

    Attributes
    ----------
    inputs : tensor of shape (n, p), or an object that gives such rows for a tensor of indices
    targets : tensor of shape (n, q)
    loss : callable
        Of outputs and targets, averaged over the rows.
    weight : float
        By which the gradient of the loss is multiplied.
    validation : pair of tensors, optional
        Inputs and targets that decide when to stop.
    """

    inputs: torch.Tensor | IndexedRows
    targets: torch.Tensor
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    weight: float = 1.0
    validation: tuple[torch.Tensor, torch.Tensor] | None = None


@dataclass
class Run:
    """Where a training stands; all of it goes into a checkpoint."""

    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    best_loss: float = math.inf
    best_epoch: int = 0
    best_weights: dict[str, torch.Tensor] | None = None
    stopped: bool = False


_GENERATOR = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Let weights, shuffling and dropout draw from `seed`; the caller's generator stays as it was.

    There is one generator in a process, so that fits in several threads take turns.
    """
    with _GENERATOR, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def split_rows(n: int, fraction: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the indices to train on and to validate on, the latter empty for few rows."""
    n_held = int(fraction * n)
    if n_held == 0:
        return torch.arange(n), torch.arange(0)
    order = torch.randperm(n)
    return order[n_held:].sort().values, order[:n_held].sort().values


def train(network: nn.Module, task: Task, plan: Training, *, checkpoint: Checkpoint | None = None) -> Run:
    """Train `network` in place and leave it with the weights of the best epoch."""
    optimizer = _optimizer(network, plan)
    run = _resume(network, optimizer, checkpoint)
    remaining = range(run.epoch, plan.max_iter)
    for _ in track(remaining, "training epochs"):
        if run.stopped:
            break
        run.losses.append(_epoch(network, optimizer, task, plan))
        run.epoch += 1
        _validate(network, task, plan, run)
        if checkpoint is not None:
            checkpoint.save(_state(network, optimizer, run))
    if run.best_weights is not None:
        network.load_state_dict(run.best_weights)
    network.eval()
    return run


def _optimizer(network: nn.Module, plan: Training) -> torch.optim.Optimizer:
    parameters = list(network.parameters())
    if callable(plan.optimizer):
        return plan.optimizer(parameters, plan.learning_rate)
    kind = torch.optim.Adam if plan.optimizer == "adam" else torch.optim.SGD
    return kind(parameters, lr=plan.learning_rate)


def _epoch(network: nn.Module, optimizer: torch.optim.Optimizer, task: Task, plan: Training) -> float:
    """Pass once over the shuffled rows and return the mean loss on the way."""
    network.train()
    n, device = len(task.targets), task.targets.device
    order = torch.randperm(n).to(device)
    total = torch.zeros((), device=device)
    for batch in order.split(plan.batch_size):
        optimizer.zero_grad(set_to_none=True)
        loss = task.loss(network(task.inputs[batch]), task.targets[batch])
        (task.weight * loss).backward()
        optimizer.step()
        total += loss.detach() * len(batch)
    mean = float(total) / n
    if not math.isfinite(mean):
        raise ValueError(
            f"the loss must stay finite, got {mean}; lower the training's learning_rate={plan.learning_rate}."
        )
    return mean


def _validate(network: nn.Module, task: Task, plan: Training, run: Run) -> None:
    """Record the validation loss, keep the best weights, and stop when patience is over."""
    if task.validation is None:
        return
    loss = mean_loss(network, *task.validation, task.loss)
    run.validation_losses.append(loss)
    if loss < run.best_loss * (1 - plan.tol):
        run.best_loss, run.best_epoch = loss, run.epoch
        run.best_weights = copy.deepcopy(network.state_dict())
    run.stopped = run.epoch - run.best_epoch >= plan.patience


def mean_loss(
    network: nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> float:
    """Return the loss over all rows, in blocks, without training."""
    network.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in zip(inputs.split(_EVALUATION_ROWS), targets.split(_EVALUATION_ROWS), strict=True):
            total += float(loss(network(x), y)) * len(x)
    return total / len(inputs)


def _state(network: nn.Module, optimizer: torch.optim.Optimizer, run: Run) -> dict[str, Any]:
    return {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": _random_states(),
        "run": vars(run),
    }


def _random_states() -> list[torch.Tensor]:
    """Return the state of the processor's generator and of those of the graphics cards, which dropout uses."""
    cards = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *cards]


def _resume(network: nn.Module, optimizer: torch.optim.Optimizer, checkpoint: Checkpoint | None) -> Run:
    if checkpoint is None or checkpoint.state is None:
        return Run()
    state = checkpoint.state
    try:
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError) as error:
        # A function is known by its name only: it may build another network than before.
        raise checkpoint.other() from error
    torch.set_rng_state(state["random"][0])
    for index, own in enumerate(state["random"][1:]):
        torch.cuda.set_rng_state(own, index)
    return Run(**state["run"])


def modular_objective(outputs: torch.Tensor, target: torch.Tensor, diversity: float) -> torch.Tensor:
    """Return the loss of modular regression networks [Reeve2015, eq. 2], averaged over the rows.

    The mean error minus λ times the spread of the modules equals (1 - λ) · mean error + λ · error of the mean
    (Proposition 1). This form is a sum of non-negative terms.

    Parameters
    ----------
    outputs : tensor of shape (M, n, q)
    target : tensor of shape (n, q)
    diversity : float

    Returns
    -------
    loss : tensor of shape ()
    """
    single = (outputs - target).square().sum(dim=2).mean()
    composite = (outputs.mean(dim=0) - target).square().sum(dim=1).mean()
    return (1 - diversity) * single + diversity * composite
