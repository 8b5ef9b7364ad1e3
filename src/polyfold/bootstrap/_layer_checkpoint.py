"""Codes of finished layers, and of parts of long ones, on disk, so that a long fit can be taken up again."""

import io
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._files import digest, fingerprint, portable, write_file

STATE = "state.json"
LAYER = "layer-{:02d}.npz"
PART = "{}-part-{:08d}.npz"
# Seconds of work after which a part of a layer is written.
EVERY = 20.0
NEIGHBORS = "neighbors"


class LayerCheckpoint:
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
        Of a fit without one of its own, that of the folder (`stored_seed`).
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any], *, seed: int) -> None:
        self.folder = Path(folder)
        wanted = portable({**settings, "seed": seed})
        stored = _read_state(self.folder)
        self._state = {**wanted, "layers": {}, "parts": {}} if stored is None else stored
        self._state.setdefault("parts", {})
        differing = [key for key in wanted if self._state.get(key) != wanted[key]]
        if differing:
            raise ValueError(
                f"checkpoint must be a folder of the same fit, got {str(self.folder)!r}, which differs in "
                f"{', '.join(differing)}; pass another folder or empty this one."
            )
        if stored is None:
            self._write()

    def load(self, layer: int) -> dict[str, np.ndarray] | None:
        """Arrays of a finished layer, or None if it has not been finished."""
        return self._load("layers", LAYER.format(layer))

    def save(self, layer: int, **arrays: Any) -> None:
        """Write a finished layer; an interrupted write leaves nothing behind that would be read."""
        self._save("layers", LAYER.format(layer), arrays)
        # What the layer was made from is of no more use; all of its own, and the lists that the first one needs.
        self._drop([_name(layer), NEIGHBORS])

    def load_part(self, name: str, start: int) -> np.ndarray | None:
        """Rows of an unfinished array from `start` on, or None where there is no such part."""
        found = self._load("parts", PART.format(name, start))
        return None if found is None else found["rows"]

    def save_part(self, name: str, start: int, rows: np.ndarray) -> None:
        """Write rows of an unfinished array, from `start` on."""
        self._save("parts", PART.format(name, start), {"rows": rows})

    def _load(self, kind: str, name: str) -> dict[str, np.ndarray] | None:
        path = self.folder / name
        if name not in self._state[kind] or not path.exists():
            return None
        content = path.read_bytes()
        if digest(content) != self._state[kind][name]:
            raise _damaged(path, "delete it, and the layer is computed again")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return dict(stored)

    def _save(self, kind: str, name: str, arrays: dict[str, Any]) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        write_file(self.folder / name, buffer.getvalue())
        self._state[kind][name] = digest(buffer.getvalue())
        self._write()

    def _drop(self, names: list[str]) -> None:
        """Forget the parts of these arrays, then delete them: an interrupt leaves no name without its file."""
        paths = [path for name in names for path in self.folder.glob(f"{name}*-part-*.npz")]
        if paths:
            for path in paths:
                self._state["parts"].pop(path.name, None)
            self._write()
            for path in paths:
                path.unlink(missing_ok=True)

    def _write(self) -> None:
        content = {**self._state, "digest": fingerprint(self._state)}
        write_file(self.folder / STATE, json.dumps(content, indent=1).encode())


class ReplicateCheckpoints:
    """Checkpoints of the replicates of one fit, in folders of one folder."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any], seed: int):
        self.path, self.settings, self.seed = Path(path), settings, seed
        self.first = LayerCheckpoint(path, settings, seed=seed)

    def __call__(self, replicate: int | None) -> LayerCheckpoint:
        """Return that of a replicate, given by its number; None for that of a network without replicates."""
        if replicate is None:
            return self.first
        return LayerCheckpoint(self.path / f"replicate-{replicate}", self.settings, seed=self.seed)


def stored_seed(folder: str | os.PathLike[str]) -> int | None:
    """Seed of the fit that a folder belongs to, None where there is none yet."""
    state = _read_state(Path(folder))
    return None if state is None else int(state["seed"])


def _read_state(folder: Path) -> dict[str, Any] | None:
    path = folder / STATE
    if not path.exists():
        strangers = sorted(folder.glob("layer-*.npz"))
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


class Parts:
    """Rows of an array that is filled from the first one on, kept now and then.

    Parameters
    ----------
    checkpoint : LayerCheckpoint
    name : str
        Of the array.
    """

    def __init__(self, checkpoint: LayerCheckpoint, name: str) -> None:
        self._checkpoint, self._name = checkpoint, name
        self._kept = 0
        self._last = time.monotonic()

    def fill(self, out: np.ndarray) -> int:
        """Copy what was kept into `out` and return how many rows that was."""
        while (rows := self._checkpoint.load_part(self._name, self._kept)) is not None:
            out[self._kept : self._kept + len(rows)] = rows
            self._kept += len(rows)
        return self._kept

    def keep(self, out: np.ndarray, done: int) -> None:
        """Write the first `done` rows of `out`, as far as they are new, if the last time is long ago."""
        if time.monotonic() - self._last >= EVERY:
            self._checkpoint.save_part(self._name, self._kept, out[self._kept : done])
            self._kept, self._last = done, time.monotonic()


def layer_parts(checkpoint: LayerCheckpoint, layer: int) -> Parts:
    """Parts of a layer's codes."""
    return Parts(checkpoint, _name(layer))


def _name(layer: int) -> str:
    return LAYER.format(layer).removesuffix(".npz")


def _damaged(path: Path, way_out: str) -> ValueError:
    return ValueError(
        f"checkpoint must hold its files as they were written, got {str(path)!r}, which is damaged or of another "
        f"version; {way_out}."
    )
