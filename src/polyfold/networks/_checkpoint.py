"""Checkpoints: everything a run needs to go on as if it had not been interrupted."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["fingerprint", "load_checkpoint", "save_checkpoint"]


def fingerprint(arrays: list[np.ndarray], settings: dict[str, Any]) -> str:
    """Return a digest of data and settings: a run may only be resumed with the same ones."""
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write `state` at once: an interruption leaves the previous checkpoint."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(state, file)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_checkpoint(path: Path, identity: str, device: torch.device) -> dict[str, Any] | None:
    """Read the state of the run `identity`, or None if there is no file."""
    if not path.is_file():
        return None
    state = torch.load(path, map_location=device, weights_only=True)
    if state["identity"] != identity:
        raise ValueError(
            f"checkpoint must come from the same data and parameters, got {path}, which does not; "
            "delete it or name another file."
        )
    return state
