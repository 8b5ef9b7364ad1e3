"""The neighbour lists from which approximate bottom layers take their candidates.

Centres of a clustering are training points, so the centres near a point are found among its nearest training
points, whatever the clustering: the search is done once and serves all of them. It runs in the leading
principal directions plus the residual norm (the bound of `_screen`), an approximation whose recall against
distances in the full space is measured on a sample.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from polyfold._running import threaded
from polyfold.bootstrap._screen import Screen

__all__ = ["NeighborIndex", "neighbor_recall"]

BLOCK_ENTRIES = 2**23
RECALL_SAMPLE = 100


class NeighborIndex:
    """Nearest training rows of any rows, by principal coordinates.

    Parameters
    ----------
    X : (n, d) ndarray
    screen : Screen
        Of the whole feature space.
    unit : bool
        Whether rows are scaled to norm one first (cosine).
    """

    def __init__(self, X: np.ndarray, screen: Screen, *, unit: bool) -> None:
        self.screen = screen
        self.unit = unit
        # Dividing by the largest coordinate keeps single precision from overflowing.
        self.scale = 1.0
        table = self._coordinates(X)
        self.scale = float(np.abs(table).max()) or 1.0
        table = (table / self.scale).astype(np.float32)
        # One product [x, 1]·[-2y, ‖y‖²] is the distance less ‖x‖², which does not change the order.
        self.table = np.column_stack([-2 * table, np.einsum("ij,ij->i", table, table)]).astype(np.float32)

    def _coordinates(self, X: np.ndarray) -> np.ndarray:
        """Scaled coordinates, in blocks of rows, so that no wide copy of `X` is made."""
        return np.vstack([self._block(X[s : s + 4096]) for s in range(0, len(X), 4096)])

    def _block(self, rows: np.ndarray) -> np.ndarray:
        if self.unit:
            norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
            rows = rows / np.where(norms > 0, norms, 1.0)
        return self.screen.coordinates(rows)[0] / self.scale

    def query(self, X: np.ndarray, n_neighbors: int, *, n_jobs: int = 1, exclude_self: bool = False) -> np.ndarray:
        """Rows of the index nearest to every row of `X`, by rising distance: (n, n_neighbors) int32.

        With `exclude_self`, `X` is what the index was built on, and row i is left out of list i.
        """
        points = self._coordinates(X).astype(np.float32)
        out = np.empty((len(points), n_neighbors), dtype=np.int32)
        step = max(1, BLOCK_ENTRIES // len(self.table))

        def search(start: int) -> None:
            block = slice(start, start + step)
            distances = np.column_stack([points[block], np.ones(len(points[block]), np.float32)]) @ self.table.T
            if exclude_self:
                np.fill_diagonal(distances[:, start:], np.inf)
            _smallest(distances, out[block])

        for _ in threaded(search, range(0, len(points), step), n_jobs):
            pass
        return out


def neighbor_recall(X: np.ndarray, neighbors: np.ndarray, *, unit: bool, seed: int) -> float:
    """Share of the true nearest rows, in all features, found in `neighbors`, on a sample of points."""
    rng = np.random.default_rng(seed)
    sample = rng.choice(len(X), min(len(X), RECALL_SAMPLE), replace=False)
    points = _float_rows(X[sample], unit)
    distances = np.empty((len(sample), len(X)))
    for start in range(0, len(X), 4096):
        rows = _float_rows(X[start : start + 4096], unit)
        distances[:, start : start + 4096] = np.einsum("ij,ij->i", rows, rows) - 2 * points @ rows.T
    distances[np.arange(len(sample)), sample] = np.inf
    m = neighbors.shape[1]
    truth = np.argpartition(distances, m - 1, axis=1)[:, :m]
    return float(np.mean([np.isin(neighbors[i], t).mean() for i, t in zip(sample, truth, strict=True)]))


def _float_rows(rows: np.ndarray, unit: bool) -> np.ndarray:
    rows = rows.astype(np.float64)
    if unit:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(norms > 0, norms, 1.0)
    return rows


@njit(cache=True, nogil=True)
def _smallest(values, out):
    """Columns of the smallest entries of every row, ascending: a threshold from a sample, then a short sort."""
    n = values.shape[1]
    m = out.shape[1]
    stride = max(1, n // 1024)
    places = np.empty(n + 1, np.int32)
    for i in range(len(values)):
        row = values[i]
        sample = np.sort(row[::stride])
        # Twice the expected rank: rarely too few, seldom many more than needed.
        rank = 2 * (m // stride + 4)
        found = 0
        while found < m:
            limit = sample[rank] if rank < len(sample) else np.float32(np.inf)
            found = 0
            for j in range(n):
                places[found] = j
                found += row[j] <= limit
            rank *= 2
        kept = places[:found]
        order = np.argsort(row[kept], kind="mergesort")
        for e in range(m):
            out[i, e] = kept[order[e]]
