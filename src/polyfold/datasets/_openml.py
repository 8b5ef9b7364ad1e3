"""Sets that openml.org has: fetched with scikit-learn, brought into the form of the data folder."""

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from polyfold.datasets._catalogue import Entry

_ISOLET1_ROWS = 1560  # part 1 comes first in the whole of ISOLET: 30 speakers × 52 letters


def fetch_arrays(name: str, entry: Entry, folder: Path) -> dict[str, np.ndarray]:
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
