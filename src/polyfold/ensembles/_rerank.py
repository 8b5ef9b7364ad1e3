"""Compiled distances over modules, without copying rows: re-ranked candidates, and pairs."""

import numpy as np
from numpy.typing import NDArray

from polyfold._threads import in_blocks, njit
from polyfold._validation import check_indices

_FAST = {"reassoc", "contract", "nsz"}
# Queries per block; one thread computes one block.
_BLOCK = 512


def rerank(
    Q: NDArray, Z: NDArray, modules: NDArray, candidates: NDArray, k: int, exclude: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    """Keep the k candidates of every query that are nearest by the sum over the given modules.

    A candidate is dropped as soon as its partial sum exceeds the k-th smallest sum so far.

    Parameters
    ----------
    Q : ndarray of shape (n, M, H)
    Z : ndarray of shape (N, M, H)
    modules : ndarray of int of shape (r,)
    candidates : ndarray of int of shape (n, c)
        Rows of `Z`; duplicates and numbers that are not rows are ignored.
    k : int
    exclude : ndarray of int of shape (n,), optional
        For every query, a row to exclude.

    Returns
    -------
    distances : ndarray of shape (n, k)
        Squared, ascending; infinite if a query has fewer than k different candidates.
    indices : ndarray of shape (n, k)
        -1 if a query has fewer than k different candidates.
    """
    Q, Z, exclude = _contiguous(Q, Z, exclude)
    check_indices(modules, Z.shape[1])
    distances, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1, dtype=np.int64)

    def fill(part: slice) -> None:
        _keep_nearest(Q[part], Z, modules, candidates[part], exclude[part], distances[part], indices[part])

    in_blocks(fill, len(Q), _BLOCK)
    return distances, indices


def paired(Q: NDArray, Z: NDArray, modules: NDArray, queries: NDArray, rows: NDArray) -> NDArray:
    """Return squared distances between queries and rows, summed over the given modules: (pairs,)."""
    Q, Z, _ = _contiguous(Q, Z, None)
    for numbers, count in ((modules, Z.shape[1]), (queries, len(Q)), (rows, len(Z))):
        check_indices(numbers, count, minimum=-count)
    out = np.empty(len(rows))
    in_blocks(lambda part: _pair_up(Q, Z, modules, queries[part], rows[part], out[part]), len(rows), 64 * _BLOCK)
    return out


def _contiguous(Q: NDArray, Z: NDArray, exclude: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
    if Q.shape[1:] != Z.shape[1:]:
        raise ValueError(f"queries must have modules of shape {Z.shape[1:]}, got {Q.shape[1:]}; the model is damaged.")
    exclude = np.full(len(Q), -1) if exclude is None else exclude
    return np.ascontiguousarray(Q), np.ascontiguousarray(Z), exclude


@njit(nogil=True, fastmath=_FAST, inline="always")
def _squared(q, z):  # pragma: no cover - compiled
    """Squared distance in one module, in double precision because squares of small numbers underflow."""
    total = 0.0
    for t in range(len(q)):
        difference = np.float64(q[t]) - np.float64(z[t])
        total += difference * difference
    return total


@njit(nogil=True, fastmath=_FAST)
def _pair_up(Q, Z, modules, queries, rows, out):  # pragma: no cover - compiled
    """Sum the squared distances of every pair over the modules."""
    for pair in range(len(out)):
        total = 0.0
        for m in modules:
            total += _squared(Q[queries[pair], m], Z[rows[pair], m])
        out[pair] = total


@njit(nogil=True, fastmath=_FAST)
def _keep_nearest(Q, Z, modules, candidates, exclude, distances, indices):  # pragma: no cover - compiled
    """Insert the candidates of every query into its list, by distance, then index; each once."""
    k, count = distances.shape[1], candidates.shape[1]
    for i in range(len(Q)):
        size = 0
        for j in range(count):
            row = candidates[i, j]
            if not 0 <= row < len(Z) or row == exclude[i]:
                continue
            limit = distances[i, k - 1] if size == k else np.inf
            total = 0.0
            for m in modules:
                total += _squared(Q[i, m], Z[row, m])
                if total > limit:
                    break
            rank = size
            while rank > 0 and (
                distances[i, rank - 1] > total or (distances[i, rank - 1] == total and indices[i, rank - 1] > row)
            ):
                rank -= 1
            if rank == k or (rank > 0 and indices[i, rank - 1] == row):
                continue
            size = min(size + 1, k)
            for p in range(size - 1, rank, -1):
                distances[i, p], indices[i, p] = distances[i, p - 1], indices[i, p - 1]
            distances[i, rank], indices[i, rank] = total, row
