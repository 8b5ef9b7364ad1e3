"""Networks of torch and how they are trained: architectures, ensembles of modules, the loop, checkpoints.

Modules that need torch (extra ``torch``) are imported on first use, so the options work without it.
"""

import importlib
from typing import Any

from polyfold.training._architecture import MLP
from polyfold.training._options import Training
from polyfold.training._scaling import Scaling

__all__ = ["MLP", "Scaling", "Training"]

_TORCH = {
    "_checkpoint": ["Checkpoint"],
    "_ensemble": ["Chain", "build_ensemble"],
    "_loop": ["Task", "mean_loss", "seeded", "split_rows", "train"],
    "_loss": ["modular_objective"],
}


def __getattr__(name: str) -> Any:
    for module, names in _TORCH.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
