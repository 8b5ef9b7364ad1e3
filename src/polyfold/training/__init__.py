"""Networks of torch and how they are trained: architectures, ensembles of modules, the loop, checkpoints.

Modules that need torch (extra ``torch``) are imported on first use, so the options work without it.
"""

import importlib
from typing import TYPE_CHECKING

from polyfold.training._architecture import MLP
from polyfold.training._options import Scaling, Training

if TYPE_CHECKING:
    from polyfold.training._checkpoint import Checkpoint as Checkpoint
    from polyfold.training._ensemble import Chain as Chain
    from polyfold.training._ensemble import build_ensemble as build_ensemble
    from polyfold.training._loop import Task as Task
    from polyfold.training._loop import mean_loss as mean_loss
    from polyfold.training._loop import modular_objective as modular_objective
    from polyfold.training._loop import seeded as seeded
    from polyfold.training._loop import split_rows as split_rows
    from polyfold.training._loop import train as train

__all__ = ["MLP", "Scaling", "Training"]

_TORCH = {
    "_checkpoint": ["Checkpoint"],
    "_ensemble": ["Chain", "build_ensemble"],
    "_loop": ["Task", "mean_loss", "modular_objective", "seeded", "split_rows", "train"],
}


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        for module, names in _TORCH.items():
            if name in names:
                return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
