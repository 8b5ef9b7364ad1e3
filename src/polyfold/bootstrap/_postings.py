"""Nearest centres of sparse rows, by lists of the centres that carry each term.

Only terms that a point and a centre share add to their inner product, so a point reads, for each of its terms,
the list of centres with that term. All metrics are one score to be maximised, x·w − b_w: b = 0 for `linear`,
rows scaled to norm one for `cosine`, b = ‖w‖²/2 for `euclidean`.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

# Scores closer than this, relative to the larger one, count as equal: parallel rows differ only by rounding.
TIE = 1e-12


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
    squares = _row_sums(centers, np.square(centers.data, dtype=np.float64))
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


def first_equal_sparse(rows: Any, metric: str) -> np.ndarray:
    """Lowest index of a row equal (under the cosine: parallel) to each row: (k,) int32.

    Rows are told apart by a random projection; those with the same value are compared.
    """
    out = np.arange(rows.shape[0], dtype=np.int32)
    weights = np.random.default_rng(rows.shape[1]).standard_normal(rows.shape[1])
    hashes = _row_sums(rows, rows.data * weights[rows.indices])
    norms = np.sqrt(_row_sums(rows, np.square(rows.data, dtype=np.float64)))
    if metric == "cosine":
        out[norms == 0] = 0
        hashes /= np.where(norms > 0, norms, 1.0)
    order = np.argsort(hashes, kind="stable")
    sizes = np.ones_like(norms) if metric == "cosine" else norms
    close = np.abs(np.diff(hashes[order])) <= 1e-11 * sizes[order][1:]
    pairs = np.stack([order[:-1][close], order[1:][close]])
    pairs = pairs[:, _are_same(rows, norms, *pairs, metric)]
    # To and fro: where the last of a run has the lowest index, the first must hear of it.
    for i, j in np.hstack([pairs, pairs[:, ::-1]]).T:
        out[[i, j]] = min(out[i], out[j])
    return out


def _are_same(rows: Any, norms: np.ndarray, i: np.ndarray, j: np.ndarray, metric: str) -> np.ndarray:
    """Whether row ``i[t]`` is row ``j[t]`` but for rounding, for every t: (m,) bool."""
    scales = np.where(norms > 0, norms, 1.0) if metric == "cosine" else np.ones_like(norms)
    a, b = rows[i], rows[j]
    a.data, b.data = a.data / np.repeat(scales[i], np.diff(a.indptr)), b.data / np.repeat(scales[j], np.diff(b.indptr))
    return abs(a - b).max(axis=1).toarray().ravel() <= TIE * np.maximum(norms[i], norms[j])


def _row_sums(rows: Any, entries: np.ndarray) -> np.ndarray:
    """Sum of `entries`, one per stored entry of `rows`, over every row: (k,)."""
    owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    # Of no entries at all, the counts would be whole numbers.
    return np.bincount(owners, weights=entries, minlength=rows.shape[0]).astype(np.float64, copy=False)


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


# None of them is nan, so that several can be compared at a time.
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(scores):
    best = scores[0]
    for j in range(1, len(scores)):
        best = max(best, scores[j])
    return best


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
        best = _largest(scores)
        limit, winner = best - TIE * abs(best), 0
        while scores[winner] < limit:
            winner += 1
        out[i] = winner
