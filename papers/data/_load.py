"""Load a data set from the data folder; fetch it from openml.org if it is missing there."""

import importlib.util
import logging
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from papers.data._catalogue import CATALOGUE, Entry
from papers.data._store import DATA_VARIABLE, data_folder, read_arrays, write_arrays

logger = logging.getLogger("polyfold")
_ISOLET1_ROWS = 1560  # part 1 comes first in the whole of ISOLET: 30 speakers × 52 letters


def load_dataset(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    return_X_y: bool = False,
    download: bool = True,
    verify: bool = True,
) -> Bunch | tuple[NDArray | sparse.csr_matrix, NDArray]:
    """Load one of the sets in `CATALOGUE`.

    Parameters
    ----------
    name : str
        Name in the catalogue: "mnist", "usps", "reuters", …
    data_home : path-like, default=None
        Data folder; None means the environment variable ``POLYFOLD_DATA``, or ``~/polyfold_data`` if it is not set.
    return_X_y : bool, default=False
        Return the pair (data, target) instead of a Bunch.
    download : bool, default=True
        Fetch the set from openml.org if the file is missing and openml.org has it.
    verify : bool, default=True
        Compare the content with the known checksum.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch` or tuple
        ``data``, ``target``, and the other arrays of the file.
    """
    if name not in CATALOGUE:
        raise ValueError(f"name must be one of {', '.join(CATALOGUE)}, got {name!r}.")
    entry = CATALOGUE[name]
    path = _find(name, entry, data_folder(data_home), download)
    bunch = _bunch(entry, read_arrays(path, entry.sha256, verify=verify), path)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _find(name: str, entry: Entry, folder: Path, download: bool) -> Path:
    path = folder / entry.file
    if path.is_file():
        return path
    if entry.openml is None or not download:
        raise FileNotFoundError(_missing(entry, folder))
    logger.info("fetching %s from openml.org into %s", entry.title, folder)
    try:
        arrays = _fetch_arrays(name, entry, folder)
    except (OSError, ValueError) as error:
        reason = f"; openml.org did not return data set {entry.openml} ({error})"
        raise FileNotFoundError(_missing(entry, folder, reason)) from error
    write_arrays(path, arrays)
    return path


def _fetch_arrays(name: str, entry: Entry, folder: Path) -> dict[str, np.ndarray]:
    """Download the set `name` and convert it; of the original nothing stays in the folder."""
    from sklearn.datasets import fetch_openml

    folder.mkdir(parents=True, exist_ok=True)
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    with tempfile.TemporaryDirectory(prefix=".openml-", dir=folder) as scratch:
        bunch = fetch_openml(
            data_id=entry.openml, data_home=scratch, as_frame=False, parser=parser, n_retries=1, delay=0.5
        )
    X = np.asarray(bunch.data, dtype=np.float32)
    columns = int(entry.arrays.partition("×")[2].partition(",")[0].rstrip(")"))
    if X.shape[1] != columns:
        raise ValueError(f"data set {entry.openml} has {X.shape[1]} columns instead of {columns}")
    y = np.asarray(bunch.target).astype(np.float64).astype(np.int32)
    if name == "isolet1":
        order = np.argsort(y[:_ISOLET1_ROWS], kind="stable")
        X, y = X[order], y[order]
    if entry.image_shape is not None:
        X = X.astype(np.uint8)
    extra = {} if entry.n_train is None else {"n_train": np.int64(entry.n_train)}
    return {"X": np.ascontiguousarray(X), "y": y, **{k: np.asarray(v) for k, v in extra.items()}}


def _missing(entry: Entry, folder: Path, reason: str = "") -> str:
    return (
        f"{folder / entry.file} does not exist ({entry.title}){reason}. Put an .npz file with the arrays "
        f"{entry.arrays} there, or set data_home or {DATA_VARIABLE} to another folder."
    )


def _bunch(entry: Entry, arrays: dict[str, np.ndarray], path: Path) -> Bunch:
    if missing := sorted(entry.names - set(arrays)):
        raise ValueError(
            f"{path} must hold the arrays {entry.arrays}; {', '.join(missing)} is missing, it has "
            f"{', '.join(sorted(arrays))}. Replace the file."
        )
    try:
        return _checked(_assemble(entry, arrays, path), entry)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path} must hold consistent arrays, {entry.arrays}, but {error}. Replace the file."
        ) from error


def _checked(bunch: Bunch, entry: Entry) -> Bunch:
    if bunch.data.ndim != 2 or bunch.data.shape[0] != bunch.target.shape[0]:
        raise ValueError(f"data of shape {bunch.data.shape} and targets of shape {bunch.target.shape} do not match")
    if entry.image_shape is not None and bunch.data.shape[1] != np.prod(entry.image_shape):
        raise ValueError(f"{bunch.data.shape[1]} columns do not match images of {entry.image_shape} pixels")
    return bunch


def _assemble(entry: Entry, arrays: dict[str, np.ndarray], path: Path) -> Bunch:
    bunch = Bunch(DESCR=entry.title, filename=str(path))
    if "indptr" in entry.names:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        bunch.data = sparse.csr_matrix(parts, shape=tuple(arrays["shape"]))
        bunch.data.check_format(full_check=True)
        bunch.feature_names, bunch.target_names = arrays["vocab"], arrays["class_names"]
        bunch.test = arrays["test"].astype(bool)
    else:
        bunch.data = arrays["X"]
    bunch.target = arrays["light_pan_tilt" if "light_pan_tilt" in entry.names else "y"]
    if "n_train" in arrays:
        bunch.n_train = int(arrays["n_train"])
    if entry.image_shape is not None:
        bunch.image_shape = entry.image_shape
    return bunch
