"""A folder of small stand-ins for every data set, so that experiments run at tiny size through the loaders."""

import numpy as np
import pytest
from scipy import sparse

from papers.data._catalogue import CATALOGUE
from papers.data._store import content_digest, write_arrays

ROWS = 400


def stand_in(name):
    """Rows of a few classes in the shape of a set."""
    entry, rng = CATALOGUE[name], np.random.default_rng(0)
    y = np.arange(ROWS) % 4
    if "indptr" in entry.arrays:
        X = sparse.random(ROWS, 60, density=0.2, format="csr", random_state=0)
        X.data = np.ceil(5 * X.data)
        texts = {"vocab": np.array([f"word{i}" for i in range(60)]), "class_names": np.array(list("abcd"))}
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        return {**parts, **texts, "y": y, "test": (np.arange(ROWS) % 5 == 0).astype(np.int8)}
    width = int(np.prod(entry.image_shape)) if entry.image_shape else 12
    centres = rng.uniform(85, 115, (4, width))  # near enough for one connected graph of neighbours
    arrays = {"X": np.clip(centres[y] + 40 * rng.standard_normal((ROWS, width)), 0, 255).astype(np.uint8), "y": y}
    if "n_train" in entry.arrays:
        arrays["n_train"] = np.int64(ROWS // 2)
    if "light" in entry.arrays:
        arrays["light_pan_tilt"] = rng.standard_normal((ROWS, 3))
    return arrays


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, entry in CATALOGUE.items():
        arrays = {key: np.asarray(value) for key, value in stand_in(name).items()}
        write_arrays(folder / entry.file, {**arrays, "sha256": np.array(content_digest(arrays))})
    return folder
