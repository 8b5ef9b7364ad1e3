"""Candidates re-ranked by the composite distance, without gathering their rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

__all__ = ["rerank"]


def rerank(Q: NDArray, Z: NDArray, candidates: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Keep the k candidates of every query that are nearest in all columns.

    Parameters
    ----------
    Q : ndarray of shape (n, p)
    Z : ndarray of shape (N, p)
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
    squared = _distances(np.ascontiguousarray(Q), np.ascontiguousarray(Z), candidates)
    best = np.argpartition(squared, k - 1, axis=1)[:, :k] if k < squared.shape[1] else np.arange(squared.shape[1])[None]
    best = np.broadcast_to(best, (squared.shape[0], min(k, squared.shape[1])))
    distances = np.take_along_axis(squared, best, axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    indices = np.take_along_axis(candidates, np.take_along_axis(best, order, axis=1), axis=1)
    return distances, np.where(np.isfinite(distances), indices, -1)


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"}, parallel=True)
def _distances(Q: NDArray, Z: NDArray, candidates: NDArray) -> NDArray:  # pragma: no cover - compiled
    """Squared distances to sorted candidates; repeats get infinity."""
    n, c = candidates.shape
    out = np.empty((n, c), dtype=Q.dtype)
    for i in prange(n):
        for j in range(c):
            row = candidates[i, j]
            if j > 0 and row == candidates[i, j - 1]:
                out[i, j] = np.inf
                continue
            total = Q.dtype.type(0)
            for t in range(Q.shape[1]):
                difference = Q[i, t] - Z[row, t]
                total += difference * difference
            out[i, j] = total
    return out
