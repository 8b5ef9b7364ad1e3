"""Lists of neighbours in the forms that scikit-learn gives them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def sparse_graph(counts: NDArray, distances: NDArray, indices: NDArray, n_columns: int, mode: str) -> Any:
    """CSR matrix (n, n_columns) of lists with `counts` (n,) entries, one after the other; stored zeros stay stored."""
    pointers = np.concatenate([[0], np.cumsum(counts)])
    data = distances.ravel() if mode == "distance" else np.ones(indices.size)
    return sp.csr_matrix((data, indices.ravel(), pointers), shape=(len(counts), n_columns))


def pieces(values: NDArray, ends: NDArray) -> NDArray:
    """Array of arrays that end at `ends`, (n,)."""
    out = np.empty(len(ends), dtype=object)
    out[:] = np.split(values, ends[:-1])
    return out
