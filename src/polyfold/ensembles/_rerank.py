"""Rows judged by the distance over all modules, without gathering them: candidates re-ranked, all within a radius."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from polyfold._threads import in_blocks, threaded
from polyfold.neighbors import ask_for_row

_FAST = {"reassoc", "contract", "nsz"}
# Candidates that are asked of memory before they are needed.
_AHEAD = 2
# Queries that one thread takes at a time.
_BLOCK = 512


def rerank(
    Q: NDArray, Z: NDArray, modules: NDArray, candidates: NDArray, k: int, hidden: NDArray | None = None
) -> tuple[NDArray, NDArray]:
    """Keep the k candidates of every query that are nearest in the named modules together.

    A candidate is left as soon as some of its modules alone are farther than the k nearest so far.

    Parameters
    ----------
    Q : ndarray of shape (n, M, H)
    Z : ndarray of shape (N, M, H)
    modules : ndarray of int of shape (r,)
    candidates : ndarray of int of shape (n, c)
        Rows of `Z`, repeats allowed.
    k : int
    hidden : ndarray of int of shape (n,), optional
        For every query a row that is not to be found.

    Returns
    -------
    distances : ndarray of shape (n, k)
        Squared, ascending; infinite where a query has fewer than k different candidates.
    indices : ndarray of shape (n, k)
        -1 where a query has fewer than k different candidates.
    """
    Q, Z, hidden = _contiguous(Q, Z, hidden)
    distances, indices = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1, dtype=np.int64)

    def fill(part: slice) -> None:
        _keep_nearest(Q[part], Z, modules, candidates[part], hidden[part], distances[part], indices[part])

    in_blocks(fill, len(Q), _BLOCK)
    return distances, indices


def paired(Q: NDArray, Z: NDArray, modules: NDArray, queries: NDArray, rows: NDArray) -> NDArray:
    """Return squared distances of pairs, a query and a row each, in the named modules together: (pairs,)."""
    Q, Z, _ = _contiguous(Q, Z, None)
    out = np.empty(len(rows))
    in_blocks(lambda part: _pair_up(Q, Z, modules, queries[part], rows[part], out[part]), len(rows), 64 * _BLOCK)
    return out


def within(Q: NDArray, Z: NDArray, radius: float, hidden: NDArray | None = None) -> tuple[NDArray, NDArray, NDArray]:
    """Find all rows whose root mean squared distance over the modules is at most `radius`.

    Returns
    -------
    counts : ndarray of shape (n,)
        Rows found of every query.
    distances, indices : ndarray of shape (sum of counts,)
        One query after the other, by index.
    """
    Q, Z, hidden = _contiguous(Q, Z, hidden)
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(Q), _BLOCK))
    found = threaded(lambda part: _all_within(Q[part], Z, radius, hidden[part]), blocks)
    counts, distances, indices = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return counts, distances, indices


def _contiguous(Q: NDArray, Z: NDArray, hidden: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
    hidden = np.full(len(Q), -1) if hidden is None else hidden
    return np.ascontiguousarray(Q), np.ascontiguousarray(Z), hidden


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def _squared(q, z):  # pragma: no cover - compiled
    """Squared distance in one module; in double precision squares of small numbers do not vanish."""
    total = 0.0
    for t in range(len(q)):
        difference = np.float64(q[t]) - np.float64(z[t])
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _pair_up(Q, Z, modules, queries, rows, out):  # pragma: no cover - compiled
    """Sum the squared distances of every pair over the modules."""
    for pair in range(len(out)):
        total = 0.0
        for m in modules:
            total += _squared(Q[queries[pair], m], Z[rows[pair], m])
        out[pair] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _keep_nearest(Q, Z, modules, candidates, hidden, distances, indices):  # pragma: no cover - compiled
    """Insert the candidates of every query into its list, by distance, then index; each once."""
    k, count = distances.shape[1], candidates.shape[1]
    for i in range(len(Q)):
        size = 0
        for j in range(count):
            row = candidates[i, j]
            if j + _AHEAD < count and 0 <= candidates[i, j + _AHEAD] < len(Z):
                ask_for_row(Z, candidates[i, j + _AHEAD])
            if not 0 <= row < len(Z) or row == hidden[i]:
                continue
            limit = distances[i, k - 1] if size == k else np.inf
            total = 0.0
            for m in modules:
                total += _squared(Q[i, m], Z[row, m])
                if total > limit:
                    break
            place = size
            while place > 0 and (
                distances[i, place - 1] > total or (distances[i, place - 1] == total and indices[i, place - 1] > row)
            ):
                place -= 1
            if place == k or (place > 0 and indices[i, place - 1] == row):
                continue
            size = min(size + 1, k)
            for p in range(size - 1, place, -1):
                distances[i, p], indices[i, p] = distances[i, p - 1], indices[i, p - 1]
            distances[i, place], indices[i, place] = total, row


@njit(cache=True, nogil=True, fastmath=_FAST)
def _all_within(Q, Z, radius, hidden):  # pragma: no cover - compiled
    """Collect counts, distances and indices of the rows within the radius of every query."""
    counts = np.zeros(len(Q), dtype=np.int64)
    distances, indices = np.empty(1024), np.empty(1024, dtype=np.int64)
    M, size = Q.shape[1], 0
    limit = M * radius * radius * (1 + 1e-9)  # the root of the mean decides
    for i in range(len(Q)):
        for row in range(len(Z)):
            if row == hidden[i]:
                continue
            total = 0.0
            for m in range(M):
                total += _squared(Q[i, m], Z[row, m])
                if total > limit:
                    break
            distance = np.sqrt(total / M)
            if distance > radius:
                continue
            if size == len(indices):
                distances = np.concatenate((distances, np.empty(size)))
                indices = np.concatenate((indices, np.empty(size, dtype=np.int64)))
            distances[size], indices[size] = distance, row
            size += 1
            counts[i] += 1
    return counts, distances[:size], indices[:size]
