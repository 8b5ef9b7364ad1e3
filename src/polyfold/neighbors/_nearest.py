"""The nearest of all rows for a few queries, in one pass over the rows and without a copy of them."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from polyfold.neighbors._search import Frame

# Rows whose distances are held at a time.
_BLOCK = 4096


def nearest_rows(Q: NDArray, X: NDArray, k: int) -> NDArray:
    """Return the rows of `X` nearest to those of `Q`, nearest first: (n, k).

    Distances are matrix products in single precision, which may put the last ones in another order; where numbers
    leave its range, -1.
    """
    frame = Frame.of(Q)
    assert frame.origin is not None  # rows are dense
    distances, indices = np.full((len(Q), k), np.inf, dtype=np.float32), np.full((len(Q), k), -1, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        origin, scale = (frame.origin * frame.scale).astype(X.dtype), X.dtype.type(frame.scale)
        queries = -2 * ((Q - origin) / scale).astype(np.float32)
        for start in range(0, len(X), _BLOCK):
            rows = ((X[start : start + _BLOCK] - origin) / scale).astype(np.float32, copy=False)
            _keep_least(queries @ rows.T, np.einsum("ij,ij->i", rows, rows), start, distances, indices)
    return indices


@njit(cache=True, nogil=True)
def _keep_least(products, norms, start, distances, indices):  # pragma: no cover - compiled
    """Insert the rows of a block into the list of every query."""
    last = distances.shape[1] - 1
    for i in range(len(products)):
        for j in range(len(norms)):
            distance = norms[j] + products[i, j]
            if not distance < distances[i, last]:
                continue
            p = last
            while p > 0 and distances[i, p - 1] > distance:
                distances[i, p], indices[i, p] = distances[i, p - 1], indices[i, p - 1]
                p -= 1
            distances[i, p], indices[i, p] = distance, start + j
