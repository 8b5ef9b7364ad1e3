"""Joint training of all modules on the modular loss: minibatches, early stopping, checkpoints."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from polyfold._running import track
from polyfold.networks._checkpoint import load_checkpoint, save_checkpoint
from polyfold.networks._loss import modular_objective
from polyfold.networks._options import Plan

__all__ = ["Problem", "Run", "train"]

_EVALUATION_ROWS = 8192  # rows per block when only a loss is wanted


@dataclass(frozen=True)
class Problem:
    """Rows and targets to train on and to validate on (None without validation), and λ."""

    inputs: torch.Tensor
    targets: torch.Tensor
    validation: tuple[torch.Tensor, torch.Tensor] | None
    n_modules: int
    diversity: float


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


def train(network: nn.Module, problem: Problem, plan: Plan, *, checkpoint: Path | None, identity: str) -> Run:
    """Train `network` in place and leave it with the weights of the best epoch."""
    optimizer = _optimizer(network, plan)
    run = _resume(network, optimizer, checkpoint, identity, problem.inputs.device)
    remaining = range(run.epoch, plan.max_iter)
    for _ in track(remaining, "training epochs"):
        if run.stopped:
            break
        run.losses.append(_epoch(network, optimizer, problem, plan))
        run.epoch += 1
        _validate(network, problem, plan, run)
        if checkpoint is not None:
            save_checkpoint(checkpoint, _state(network, optimizer, run, identity))
    if run.best_weights is not None:
        network.load_state_dict(run.best_weights)
    network.eval()
    return run


def _optimizer(network: nn.Module, plan: Plan) -> torch.optim.Optimizer:
    parameters = list(network.parameters())
    if callable(plan.optimizer):
        return plan.optimizer(parameters, plan.learning_rate)
    kind = torch.optim.Adam if plan.optimizer == "adam" else torch.optim.SGD
    return kind(parameters, lr=plan.learning_rate)


def _epoch(network: nn.Module, optimizer: torch.optim.Optimizer, problem: Problem, plan: Plan) -> float:
    """Pass once over the shuffled rows and return the mean loss on the way."""
    network.train()
    n = len(problem.inputs)
    order = torch.randperm(n).to(problem.inputs.device)
    total = torch.zeros((), device=problem.inputs.device)
    for batch in order.split(plan.batch_size):
        optimizer.zero_grad(set_to_none=True)
        loss = modular_objective(network(problem.inputs[batch]), problem.targets[batch], problem.diversity)
        # The sum over the modules, not their mean: a module's step does not shrink with their number.
        (problem.n_modules * loss).backward()
        optimizer.step()
        total += loss.detach() * len(batch)
    mean = float(total) / n
    if not math.isfinite(mean):
        raise ValueError(
            f"the loss must stay finite, got {mean}; lower the training's learning_rate={plan.learning_rate}."
        )
    return mean


def _validate(network: nn.Module, problem: Problem, plan: Plan, run: Run) -> None:
    """Record the validation loss, keep the best weights, and stop when patience is over."""
    if problem.validation is None:
        return
    loss = mean_loss(network, *problem.validation, problem.diversity)
    run.validation_losses.append(loss)
    if loss < run.best_loss * (1 - plan.tol):
        run.best_loss, run.best_epoch = loss, run.epoch
        run.best_weights = copy.deepcopy(network.state_dict())
    run.stopped = run.epoch - run.best_epoch >= plan.patience


def mean_loss(network: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, diversity: float) -> float:
    """Return the modular loss over all rows, in blocks, without training."""
    network.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in zip(inputs.split(_EVALUATION_ROWS), targets.split(_EVALUATION_ROWS), strict=True):
            total += float(modular_objective(network(x), y, diversity)) * len(x)
    return total / len(inputs)


def _state(network: nn.Module, optimizer: torch.optim.Optimizer, run: Run, identity: str) -> dict[str, Any]:
    return {
        "identity": identity,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": _random_states(),
        "run": vars(run),
    }


def _random_states() -> list[torch.Tensor]:
    """Return the state of the processor's generator and of those of the graphics cards, which dropout uses."""
    cards = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *cards]


def _resume(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    checkpoint: Path | None,
    identity: str,
    device: torch.device,
) -> Run:
    state = None if checkpoint is None else load_checkpoint(checkpoint, identity, device)
    if state is None:
        return Run()
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"][0].cpu())
    for index, own in enumerate(state["random"][1:]):
        torch.cuda.set_rng_state(own.cpu(), index)
    return Run(**state["run"])
