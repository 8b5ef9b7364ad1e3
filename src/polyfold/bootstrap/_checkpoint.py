"""Codes of finished layers on disk, so that a long fit can be taken up again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Checkpoint", "fingerprint"]

STATE = "state.json"


def fingerprint(X: Any) -> str:
    """Digest of shape, type and content of the data."""
    digest = hashlib.blake2b(f"{X.shape} {X.dtype}".encode(), digest_size=16)
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for part in parts:
        for start in range(0, len(part), 4096):
            digest.update(part[start : start + 4096].tobytes())
    return digest.hexdigest()


class Checkpoint:
    """A folder with one file of codes per finished layer, and the settings they belong to.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    settings : dict
        What decides the result. A folder written with other settings is refused, except that a missing
        ``seed`` (None) is taken from the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.settings = self._agree(settings)

    def _agree(self, settings: dict[str, Any]) -> dict[str, Any]:
        path = self.folder / STATE
        if not path.exists():
            return settings
        stored = json.loads(path.read_text())
        if settings["seed"] is None:
            settings = {**settings, "seed": stored["seed"]}
        differing = [key for key in settings if settings[key] != stored.get(key)]
        if differing:
            raise ValueError(
                f"checkpoint must be a folder of the same fit, got {str(self.folder)!r}, which differs in "
                f"{', '.join(differing)}; pass another folder or empty this one."
            )
        return settings

    def start(self, seed: int) -> None:
        """Write the settings, with the seed that the draws come from."""
        self.settings = {**self.settings, "seed": seed}
        path = self.folder / STATE
        if not path.exists():
            _replace(path, lambda temporary: temporary.write_text(json.dumps(self.settings, indent=1)))

    def load(self, layer: int) -> dict[str, np.ndarray] | None:
        """Arrays of a finished layer, or None if it has not been finished."""
        path = self._path(layer)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)

    def save(self, layer: int, **arrays: Any) -> None:
        """Write a finished layer; an interrupted write leaves nothing behind that would be read."""
        _replace(self._path(layer), lambda temporary: _save_arrays(temporary, arrays))

    def _path(self, layer: int) -> Path:
        return self.folder / f"layer-{layer:02d}.npz"


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _replace(path: Path, write: Any) -> None:
    temporary = path.with_suffix(".partial")
    write(temporary)
    temporary.replace(path)
