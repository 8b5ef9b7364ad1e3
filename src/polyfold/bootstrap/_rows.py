"""Loops over rows of a dense matrix: column subsets, squared distances, equal rows."""

import numpy as np
from numba import njit

from polyfold.neighbors import unit_rows

REASSOCIATE = {"reassoc", "contract"}
# Rows compared in full at a time.
COPIES = 4096


def take(X: np.ndarray, rows: np.ndarray | slice, columns: np.ndarray, *, unit: bool = False) -> np.ndarray:
    """Copy the rows and columns asked for, with rows scaled to norm one if `unit` (zero rows stay zero)."""
    indices = np.arange(len(X))[rows] if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
    out = np.empty((len(indices), len(columns)), dtype=X.dtype)
    _take(X, indices, columns, out)
    return unit_rows(out) if unit else out


def first_equal(rows: np.ndarray) -> np.ndarray:
    """Lowest index of a row equal to each row: (k,) int32.

    Rows are compared by a 64-bit hash first; only rows of equal hash are compared in full.
    """
    k = len(rows)
    hashes = np.concatenate([_hashes(rows[start : start + COPIES]) for start in range(0, k, COPIES)])
    out = np.arange(k, dtype=np.int32)
    _, first, run = np.unique(hashes, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[run] != out)
    for start in range(0, len(copies), COPIES):
        some = copies[start : start + COPIES]
        equal = (rows[some] == rows[first[run[some]]]).all(axis=1)
        out[some[equal]] = first[run[some[equal]]]
        for i in some[~equal]:  # another row with the same hash: all before it are compared
            out[i] = np.flatnonzero((rows[: i + 1] == rows[i]).all(axis=1))[0]
    return out


def _hashes(rows: np.ndarray) -> np.ndarray:
    """Hash of every row, (k,) uint64: its bytes as words of 64 bits, each times a random number."""
    # Adding zero turns -0.0, equal to 0.0 but of other bits, into 0.0.
    rows = rows if rows.dtype == np.uint8 else rows + 0.0
    width = -(-rows.shape[1] * rows.itemsize // 8)
    words = np.zeros((len(rows), width), dtype=np.uint64)
    words.view(rows.dtype)[:, : rows.shape[1]] = rows
    # Short numbers leave the low bits of doubles empty, and a product passes bits only upwards.
    words ^= words >> np.uint64(32)
    return words @ np.random.default_rng(width).integers(1, 2**63, size=width, dtype=np.uint64)


@njit(cache=True, nogil=True)
def _take(X, rows, columns, out):
    for i in range(len(rows)):
        row = X[rows[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def squared_distance(a, b, kind):
    """Squared Euclidean distance, summed in the type of `kind` (see `sum_kind`)."""
    total = kind.dtype.type(0)
    for j in range(len(a)):
        difference = kind.dtype.type(kind.dtype.type(a[j]) - kind.dtype.type(b[j]))
        total = kind.dtype.type(total + kind.dtype.type(difference * difference))
    return total


def sum_kind(rows: np.ndarray) -> np.ndarray:
    """Empty array of the type in which squared distances of `rows` are exact (bytes) or in double precision."""
    if rows.dtype != np.uint8:
        return np.empty(0, dtype=np.float64)
    return np.empty(0, dtype=np.int32 if rows.shape[1] * 255**2 < 2**31 else np.int64)


def nearest_directly(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of every point by computing all distances: (n,) int32."""
    out = np.empty(len(points), dtype=np.int32)
    _compare_all(points, centers, sum_kind(points), out)
    return out


@njit(cache=True, nogil=True)
def _compare_all(points, centers, kind, out):
    for i in range(len(points)):
        winner = 0
        best = squared_distance(points[i], centers[0], kind)
        for j in range(1, len(centers)):
            distance = squared_distance(points[i], centers[j], kind)
            if distance < best:
                best, winner = distance, j
        out[i] = winner


@njit(cache=True, nogil=True)
def nearest_candidate(points, centers, neighbors, position, limit, kind, out):
    """Nearest of the first `limit` neighbours that are centres; -1 where no neighbour is one.

    Shapes: points (n, d), centers (k, d), neighbors (n, m) training rows by rising distance, -1 for none,
    position (n_train,) index as a centre or -1, out (n,) int32.
    """
    for i in range(len(points)):
        found = 0
        winner = -1
        best = kind.dtype.type(0)
        for e in range(neighbors.shape[1]):
            if neighbors[i, e] < 0:
                break
            j = position[neighbors[i, e]]
            if j < 0:
                continue
            distance = squared_distance(points[i], centers[j], kind)
            if winner < 0 or distance < best or (distance == best and j < winner):
                best, winner = distance, j
            found += 1
            if found == limit:
                break
        out[i] = winner
