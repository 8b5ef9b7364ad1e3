"""The data folder: where it is, how a file is read, verified and written.

A set is one ``.npz`` file that loads without pickle. Its checksum covers the arrays (names, types, shapes,
bytes) and not the archive, so the same data compressed by another tool still verifies.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

DATA_VARIABLE = "POLYFOLD_DATA"
DEFAULT_FOLDER = "~/polyfold_data"
DIGEST_KEY = "sha256"


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the data folder.

    Parameters
    ----------
    data_home : path-like, default=None
        The folder itself; None means the one that the environment variable ``POLYFOLD_DATA`` names, else
        ``~/polyfold_data``. It is not created.

    Returns
    -------
    folder : Path

    Examples
    --------
    >>> from papers.data import data_folder
    >>> data_folder("/tmp/sets").name
    'sets'
    """
    named = data_home if data_home is not None else os.environ.get(DATA_VARIABLE) or DEFAULT_FOLDER
    return Path(named).expanduser()


def content_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of the arrays' names, types, shapes and bytes, whatever their order in the file."""
    digest = hashlib.sha256()
    for name in sorted(set(arrays) - {DIGEST_KEY}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes() if array.dtype.kind == "U" else array.view(np.uint8).data)
    return digest.hexdigest()


def read_arrays(path: Path, expected: str | None, *, verify: bool = True) -> dict[str, np.ndarray]:
    """Read every array of `path` and compare its checksum with the stored or the `expected` one."""
    arrays = _read_archive(path)
    wanted = str(arrays.pop(DIGEST_KEY)) if DIGEST_KEY in arrays else expected
    if verify and wanted is not None and (found := content_digest(arrays)) != wanted:
        raise ValueError(
            f"{path} must have the content checksum {wanted}, got {found}. Replace the damaged file, "
            "or pass verify=False to use other data."
        )
    return arrays


def _read_archive(path: Path) -> dict[str, np.ndarray]:
    # Opened here because numpy leaves a file open if it is not an archive.
    with path.open("rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not an archive of arrays")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                members = {name: archive[name] for name in archive.files}
        except Exception as error:  # damaged bytes raise errors of a dozen types in zipfile, zlib, tokenize and numpy
            raise ValueError(_advice(path, str(error))) from error
    strange = [name for name, array in members.items() if not isinstance(array, np.ndarray)]
    if strange or not members:
        raise ValueError(_advice(path, f"it holds other files: {', '.join(strange)}" if strange else "it is empty"))
    return members


def _advice(path: Path, reason: str) -> str:
    # numpy advises to unpickle, which can run foreign code.
    reason = "it holds Python objects, not arrays" if "pickle" in reason else reason
    return f"{path} must be an .npz file as numpy.savez writes it, but it cannot be read: {reason}. Replace it."


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays` and their checksum to `path`; an interruption leaves the folder as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            stamped: dict[str, Any] = {**arrays, DIGEST_KEY: np.array(content_digest(arrays))}
            np.savez_compressed(file, **stamped)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
