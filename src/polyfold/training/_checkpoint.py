"""Checkpoints: everything a run needs to go on as if it had not been interrupted."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from polyfold._files import digest, write_file

HEADER = b"polyfold run 1\n"


class Checkpoint:
    """A file with the state of a run, under a digest: what is read is what was written, or it is refused.

    Parameters
    ----------
    path : path-like
    identity : str
        Fingerprint of the data and settings; the file of another run is refused.
    seed : int
    fixed : bool, default=True
        Whether the run depends on this very seed; else that of the file, if there is one, takes its place.

    Attributes
    ----------
    seed : int
    state : dict or None
        What was stored, None if there is no file.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str, *, seed: int, fixed: bool = True) -> None:
        self.path = Path(path)
        self.identity = identity
        stored = self._read()
        if stored is not None and (stored["identity"] != identity or (fixed and stored["seed"] != seed)):
            raise self.other()
        self.seed: int = seed if stored is None else stored["seed"]
        self.state: dict[str, Any] | None = None if stored is None else stored["state"]

    def save(self, state: dict[str, Any]) -> None:
        """Write `state` at once: an interruption leaves the previous one."""
        buffer = io.BytesIO()
        torch.save({"identity": self.identity, "seed": self.seed, "state": state}, buffer)
        content = buffer.getvalue()
        write_file(self.path, HEADER + digest(content).encode() + b"\n" + content)

    def other(self) -> ValueError:
        """Return the error for a file of another run."""
        return ValueError(
            f"checkpoint must come from the same data and parameters, got {str(self.path)!r}, which does not; "
            "delete it or name another file."
        )

    def _read(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        header, _, rest = self.path.read_bytes().partition(b"\n")
        seal, _, content = rest.partition(b"\n")
        whole = header + b"\n" == HEADER and seal == digest(content).encode()
        # torch would read anything but an archive as a pickle.
        if not whole or not zipfile.is_zipfile(io.BytesIO(content)):
            raise self._damaged()
        try:
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError):
            # The message of torch advises an unsafe load, which could run code from the file.
            raise self._damaged() from None

    def _damaged(self) -> ValueError:
        return ValueError(
            f"checkpoint must be a file as it was written, got {str(self.path)!r}, which is damaged or of another "
            "version; delete it or name another file."
        )
