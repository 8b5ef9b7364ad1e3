"""Files that are complete or absent, and digests that identify data and settings."""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from polyfold._typing import Matrix

# Rows whose bytes are taken at a time: a memmap is never read as a whole.
ROWS = 4096
# Outputs that are being written: their path, the temporary path, and where the old folder is meanwhile.
_UNFINISHED: set[tuple[Path, Path, Path]] = set()


def write_file(path: str | os.PathLike[str], content: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file, given whole or in parts, completely or not at all.

    Links are followed and stay. Devices and pipes have no earlier content, and are written to directly.
    """
    parts = [content] if isinstance(content, bytes) else content
    if Path(path).is_dir():
        raise IsADirectoryError(f"the path to write to must be a file, got the folder {path}; add a file name.")
    if Path(path).exists() and not Path(path).is_file():
        with Path(path).open("wb") as device:
            device.writelines(parts)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary, temporary.open("xb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path for a file or a folder, which replaces `path` at the end unless an error occurs.

    A file keeps its permissions.
    """
    path = Path(path)
    # A short name: that of the path may be as long as names can be.
    temporary = path.with_name(f".{uuid.uuid4().hex[:12]}.part{path.suffix}")
    before = temporary.with_suffix(".old")
    _UNFINISHED.add((path, temporary, before))
    try:
        yield temporary
        if path.is_dir() and temporary.is_dir():
            path.replace(before)  # a folder cannot replace a full one
        elif path.is_file() and temporary.is_file():
            temporary.chmod(path.stat().st_mode)
        temporary.replace(path)
    except OSError as error:  # such as a full disk
        if error.filename in (None, str(temporary), temporary):
            error.filename = str(path)
        raise
    finally:
        _tidy(path, temporary, before)
        _UNFINISHED.discard((path, temporary, before))


def discard_unfinished() -> None:
    """Remove the temporary files of all outputs that are being written, because the process is about to end."""
    for paths in list(_UNFINISHED):
        _tidy(*paths)


def _tidy(path: Path, temporary: Path, before: Path) -> None:
    """Remove temporary files, and bring an old folder back that was not replaced."""
    if before.exists() and not path.exists():
        before.replace(path)
    for rest in (temporary, before):
        if rest.is_dir():
            shutil.rmtree(rest)
        else:
            rest.unlink(missing_ok=True)


def map_new_array(path: str | os.PathLike[str], dtype: DTypeLike, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Make an .npy file that is mapped for writing. Its disk space is reserved: a write to a full disk is a crash."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return array


def digest(content: bytes) -> str:
    """Return a short text that another content does not have."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def fingerprint(value: object) -> str:
    """Return the digest of arrays, sparse matrices, settings, or dictionaries and lists of them."""
    return digest(json.dumps(portable(value), sort_keys=True).encode())


def portable(value: Any) -> Any:
    """Describe a setting by what JSON can hold, in the same way in every process; arrays by a digest."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if sp.issparse(value) or isinstance(value, np.ndarray):
        return _content(value)
    if isinstance(value, dict):
        return {str(key): portable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [portable(entry) for entry in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"class": type(value).__qualname__} | portable(value.get_params(deep=False))
    if hasattr(value, "__code__"):  # a function is its code and what it closes over
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__qualname__, *portable([value.__code__, cells, value.__defaults__, value.__kwdefaults__])]
    if hasattr(value, "co_code"):
        return [digest(value.co_code), *portable([value.co_consts, value.co_names])]
    # Addresses differ from run to run; classes are known by their name.
    return getattr(value, "__qualname__", None) or re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _content(X: Matrix) -> str:
    """Digest of shape, type and entries; the order in memory does not count."""
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    state = hashlib.blake2b(f"{type(X).__name__} {X.shape} {X.dtype.str}".encode(), digest_size=16)
    for part in (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)) if sp.issparse(X) else (X,):
        rows = np.atleast_1d(part)
        for start in range(0, len(rows), ROWS):
            block = rows[start : start + ROWS]
            state.update(repr(block.tolist()).encode() if block.dtype.hasobject else block.tobytes())
    return state.hexdigest()
