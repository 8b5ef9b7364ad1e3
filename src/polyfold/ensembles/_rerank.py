"""Candidates re-ranked by the distance over all modules, without gathering their rows."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from polyfold._running import in_blocks

# Queries that one thread takes at a time.
_BLOCK = 256


def rerank(Q: NDArray, Z: NDArray, modules: NDArray, candidates: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Keep the k candidates of every query that are nearest in the named modules together.

    Parameters
    ----------
    Q : ndarray of shape (n, M, H)
    Z : ndarray of shape (N, M, H)
    modules : ndarray of int of shape (r,)
    candidates : ndarray of int of shape (n, c)
        Rows of `Z`, repeats allowed.
    k : int

    Returns
    -------
    distances : ndarray of shape (n, k)
        Squared, ascending; infinite where a query has fewer than k different candidates.
    indices : ndarray of shape (n, k)
        -1 where a query has fewer than k different candidates.
    """
    candidates = np.sort(candidates, axis=1)
    Q, Z = np.ascontiguousarray(Q), np.ascontiguousarray(Z)
    squared = np.empty(candidates.shape)
    in_blocks(lambda rows: _distances(Q[rows], Z, modules, candidates[rows], squared[rows]), len(Q), _BLOCK)
    best = np.argpartition(squared, k - 1, axis=1)[:, :k] if k < squared.shape[1] else np.arange(squared.shape[1])[None]
    best = np.broadcast_to(best, (squared.shape[0], min(k, squared.shape[1])))
    distances = np.take_along_axis(squared, best, axis=1)
    order = np.lexsort((np.take_along_axis(candidates, best, axis=1), distances), axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    indices = np.take_along_axis(candidates, np.take_along_axis(best, order, axis=1), axis=1)
    return distances, np.where(np.isfinite(distances), indices, -1)


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, nogil=True)
def _distances(Q, Z, modules, candidates, out):  # pragma: no cover - compiled
    """Squared distances to sorted candidates; repeats, and numbers that are no row, get infinity."""
    n, c = candidates.shape
    for i in range(n):
        for j in range(c):
            row = candidates[i, j]
            if not 0 <= row < len(Z) or (j > 0 and row == candidates[i, j - 1]):
                out[i, j] = np.inf
                continue
            total = 0.0
            for m in modules:
                for t in range(Q.shape[2]):
                    # In double precision squares of small numbers do not vanish.
                    difference = np.float64(Q[i, m, t]) - np.float64(Z[row, m, t])
                    total += difference * difference
            out[i, j] = total
