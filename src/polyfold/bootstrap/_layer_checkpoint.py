"""Codes of finished layers on disk, so that an interrupted fit can be continued."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._files import digest, fingerprint, portable, write_file

STATE = "state.json"
LAYER = "layer-{:02d}.npz"


class LayerCheckpoint:
    """A folder with one file of codes per finished layer, and a state file.

    The state holds the settings, the seed, the digests of the layers and its own digest. Files that were changed after
    they were written are refused.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    settings : dict
        What decides the result, in addition to the seed. A folder written with other settings is refused.
    seed : int
        Seed of the fit; a fit without a seed takes the one of the folder (`stored_seed`).
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any], *, seed: int) -> None:
        self.folder, self._settings, self._seed = Path(folder), settings, seed
        wanted = portable({**settings, "seed": seed})
        stored = _read_state(self.folder)
        self._state = {**wanted, "layers": {}} if stored is None else stored
        differing = [key for key in wanted if self._state.get(key) != wanted[key]]
        if differing:
            raise ValueError(
                f"checkpoint must be a folder of the same fit, got {str(self.folder)!r}, which differs in "
                f"{', '.join(differing)}; pass another folder or empty this one."
            )
        if stored is None:
            self._write()

    def of_replicate(self, number: int) -> "LayerCheckpoint":
        """Return the checkpoint of one replicate, a folder within this one."""
        return LayerCheckpoint(self.folder / f"replicate-{number}", self._settings, seed=self._seed)

    def load(self, layer: int) -> dict[str, np.ndarray] | None:
        """Return the arrays of a finished layer, or None if it is not finished."""
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
        name = LAYER.format(layer)
        write_file(self.folder / name, buffer.getvalue())
        self._state["layers"][name] = digest(buffer.getvalue())
        self._write()

    def _write(self) -> None:
        content = {**self._state, "digest": fingerprint(self._state)}
        write_file(self.folder / STATE, json.dumps(content, indent=1).encode())


def stored_seed(folder: str | os.PathLike[str]) -> int | None:
    """Return the seed of the fit that a folder belongs to, None if the folder has no fit yet."""
    state = _read_state(Path(folder))
    return None if state is None else int(state["seed"])


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    if not path.exists():
        strangers = sorted(folder.glob("layer-*.npz"))
        if strangers:
            raise ValueError(
                f"checkpoint must be a folder with its {STATE}, got {str(path)!r}, which does not exist next to "
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


def _damaged(path: Path, advice: str) -> ValueError:
    return ValueError(
        f"checkpoint must hold its files as they were written, got {str(path)!r}, which is damaged or of another "
        f"version; {advice}."
    )
