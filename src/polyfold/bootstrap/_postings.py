"""Nearest centres of sparse rows, by lists of the centres that carry each term.

Only terms that a point and a centre share add to their inner product, so a point reads, for each of its terms,
the list of centres with that term. All metrics are one score to be maximised, x·w − b_w: b = 0 for `linear`,
rows scaled to norm one for `cosine`, b = ‖w‖²/2 for `euclidean`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

__all__ = ["nearest_sparse", "take_sparse"]


def take_sparse(X: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Rows and columns of a CSR matrix; the columns are renumbered in the order given."""
    place = np.full(X.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    _count_entries(X.indices, X.indptr, rows, place, indptr)
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=X.dtype)
    _copy_entries(X.data, X.indices, X.indptr, rows, place, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(len(rows), len(columns)))


def nearest_sparse(points: Any, centers: Any, metric: str) -> np.ndarray:
    """Index of the best centre of every sparse point, the lowest one of several: (n,) int32.

    Notes
    -----
    Time is the number of shared terms plus n·k additions; memory is one row of k scores and the lists.
    """
    squares = np.bincount(
        np.repeat(np.arange(centers.shape[0]), np.diff(centers.indptr)),
        weights=np.square(centers.data, dtype=np.float64),
        minlength=centers.shape[0],
    )
    lists = centers.tocsc()
    weights = lists.data.astype(np.float64)
    bias = np.zeros(len(squares))
    if metric == "cosine":
        norms = np.sqrt(squares)
        weights = weights / np.where(norms > 0, norms, 1.0)[lists.indices]
    elif metric == "euclidean":
        bias = squares / 2
    out = np.empty(points.shape[0], dtype=np.int32)
    _best_scores(points.data, points.indices, points.indptr, weights, lists.indices, lists.indptr, bias, out)
    return out


@njit(cache=True, nogil=True)
def _count_entries(indices, indptr, rows, place, out):
    for i in range(len(rows)):
        count = 0
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            count += place[indices[e]] >= 0
        out[i + 1] = out[i] + count


@njit(cache=True, nogil=True)
def _copy_entries(data, indices, indptr, rows, place, out_indptr, out_indices, out_data):
    for i in range(len(rows)):
        fill = out_indptr[i]
        for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if place[indices[e]] >= 0:
                out_indices[fill] = place[indices[e]]
                out_data[fill] = data[e]
                fill += 1


@njit(cache=True, nogil=True)
def _best_scores(data, indices, indptr, weights, owners, starts, bias, out):
    scores = np.empty(len(bias))
    for i in range(len(out)):
        scores[:] = -bias
        for e in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[e])
            t = indices[e]
            for f in range(starts[t], starts[t + 1]):
                scores[owners[f]] += x * weights[f]
        out[i] = np.argmax(scores)
