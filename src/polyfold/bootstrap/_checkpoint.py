"""Codes of finished layers on disk, so that a long fit can be taken up again."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._files import digest, fingerprint, portable, write_file

STATE = "state.json"
LAYER = "layer-{:02d}.npz"


class Checkpoint:
    """A folder with one file of codes per finished layer, and a state file that says what they belong to.

    The state holds the settings, the seed and the digests of the layers, and its own digest: what is read is what
    was written, or it is refused.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    settings : dict
        What decides the result, besides the seed. A folder written with other settings is refused.
    seed : int
    fixed : bool, default=True
        Whether the fit depends on this very seed; else that of the folder, if it has one, takes its place.

    Attributes
    ----------
    seed : int
        The seed that the draws come from.
    """

    def __init__(
        self, folder: str | os.PathLike[str], settings: dict[str, Any], *, seed: int, fixed: bool = True
    ) -> None:
        self.folder = Path(folder)
        wanted = portable({**settings, "seed": seed})
        stored = self._read()
        self._state = {**wanted, "layers": {}} if stored is None else stored
        differing = [key for key in wanted if self._state.get(key) != wanted[key] and (fixed or key != "seed")]
        if differing:
            raise ValueError(
                f"checkpoint must be a folder of the same fit, got {str(self.folder)!r}, which differs in "
                f"{', '.join(differing)}; pass another folder or empty this one."
            )
        self.seed: int = self._state["seed"]
        if stored is None:
            self._write()

    def load(self, layer: int) -> dict[str, np.ndarray] | None:
        """Arrays of a finished layer, or None if it has not been finished."""
        path = self.folder / LAYER.format(layer)
        if path.name not in self._state["layers"] or not path.exists():
            return None
        content = path.read_bytes()
        if digest(content) != self._state["layers"][path.name]:
            raise _damaged(path, "delete it, and the layer is computed again")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return dict(stored)

    def save(self, layer: int, **arrays: Any) -> None:
        """Write a finished layer; an interrupted write leaves nothing behind that would be read."""
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        path = self.folder / LAYER.format(layer)
        write_file(path, buffer.getvalue())
        self._state["layers"][path.name] = digest(buffer.getvalue())
        self._write()

    def _read(self) -> dict[str, Any] | None:
        path = self.folder / STATE
        if not path.exists():
            strangers = sorted(self.folder.glob("layer-*.npz"))
            if strangers:
                raise ValueError(
                    f"checkpoint must be a folder with its {STATE}, got {str(path)!r}, which does not exist beside "
                    f"{strangers[0].name}; pass another folder or empty this one."
                )
            return None
        try:
            state = json.loads(path.read_bytes())
            seal = state.pop("digest")
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise _damaged(path, "pass another folder or empty this one") from error
        if seal != fingerprint(state):
            raise _damaged(path, "pass another folder or empty this one")
        return state

    def _write(self) -> None:
        content = {**self._state, "digest": fingerprint(self._state)}
        write_file(self.folder / STATE, json.dumps(content, indent=1).encode())


def _damaged(path: Path, way_out: str) -> ValueError:
    return ValueError(
        f"checkpoint must hold its files as they were written, got {str(path)!r}, which is damaged or of another "
        f"version; {way_out}."
    )
