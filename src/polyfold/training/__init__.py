"""Networks of torch and how they are trained: architectures, ensembles of modules, the loop, checkpoints.

What needs torch is loaded on first use, so that the options can be named without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polyfold.training._architecture import MLP
from polyfold.training._options import Plan, Training
from polyfold.training._scaling import Scaling

if TYPE_CHECKING:
    from polyfold.training._checkpoint import Checkpoint
    from polyfold.training._ensemble import Chain, build_ensemble
    from polyfold.training._loop import Task, mean_loss, seeded, split_rows, train
    from polyfold.training._loss import modular_objective

# Name -> the module that defines it and needs torch.
_TORCH = {
    "Chain": "_ensemble",
    "Checkpoint": "_checkpoint",
    "Task": "_loop",
    "build_ensemble": "_ensemble",
    "mean_loss": "_loop",
    "modular_objective": "_loss",
    "seeded": "_loop",
    "split_rows": "_loop",
    "train": "_loop",
}

__all__ = [
    "MLP",
    "Chain",
    "Checkpoint",
    "Plan",
    "Scaling",
    "Task",
    "Training",
    "build_ensemble",
    "mean_loss",
    "modular_objective",
    "seeded",
    "split_rows",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _TORCH:
        return getattr(importlib.import_module(f"polyfold.training.{_TORCH[name]}"), name)
    raise AttributeError(f"module 'polyfold.training' has no attribute {name!r}")
