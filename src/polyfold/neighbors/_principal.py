"""Neighbours by leading principal directions: brute force on a few columns.

For an orthonormal basis Q of p directions, with y = Qᵀx and the residual norm r = √(‖x‖² − ‖y‖²),

    ‖x − w‖² ≥ ‖y_x − y_w‖² + (r_x − r_w)²,

because the residuals live in the complement of Q, where the reverse triangle inequality holds. The right side is one
matrix product of width p + 2 in single precision: a bound that rules out most rows, or the distance of an approximate
search.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.preprocessing import normalize

from polyfold.neighbors._cells import Cells

# With fewer features than this all of them enter the bound.
FULL_WIDTH = 64
# Directions of the bound, and of the neighbour search, which can afford more.
DIRECTIONS = 48
SEARCH_DIRECTIONS = 96
# Rows from which the principal directions are estimated, but for those that are so many times as far out as usual.
SAMPLE, FAR_OUT = 2000, 1e3
# Distances held at a time.
BLOCK_ENTRIES = 2**23
RECALL_SAMPLE = 100
# Rows up to which all of them are compared; beyond, those of near cells, for so many rows at a time.
ALL_ROWS = 2**16
CELL_BLOCK = 2**15
# Groups of distances whose minima give a threshold, and distances compared with it at a time.
GROUPS = 1024
STEP = 64


@dataclass(frozen=True)
class Screen:
    """Directions in which rows are told apart: mean (d,) and, for wide data, basis (d, p)."""

    mean: np.ndarray
    basis: np.ndarray | None

    def restrict(self, features: np.ndarray) -> "Screen":
        """Return the same directions on some of the features, orthonormal there."""
        if self.basis is None or len(features) <= FULL_WIDTH:
            return Screen(self.mean[features], None)
        return Screen(self.mean[features], np.linalg.qr(self.basis[features, :DIRECTIONS])[0])

    def coordinates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centred coordinates with the residual norm appended, (n, p + 1), and norms (n,)."""
        centered = rows - self.mean
        norms = _norms(centered)
        if self.basis is None:
            return centered, norms
        # In double precision the residual norm is good to single precision even where it cancels.
        y = centered @ self.basis
        within = _norms(y)
        residual = np.sqrt(np.maximum(norms - within, 0.0)) * np.sqrt(norms + within)
        return np.column_stack([y, residual]), norms


def _norms(rows: np.ndarray) -> np.ndarray:
    """Euclidean norms (n,), finite where the rows are."""
    squares = np.einsum("ij,ij->i", rows, rows)
    if np.all(np.isfinite(squares)) and not np.any(squares < np.finfo(np.float64).tiny):
        return np.sqrt(squares)
    size = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(size > 0, size, 1.0)[:, None]
    return size * np.sqrt(np.einsum("ij,ij->i", unit, unit))


def unit_rows(rows: Any) -> Any:
    """Rows, dense or CSR, divided by their norms, in double precision; zero rows stay zero."""
    rows = rows.astype(np.float64)
    if sp.issparse(rows):
        sizes = abs(rows).max(axis=1).toarray().ravel()
        return normalize(sp.diags_array(1.0 / np.where(sizes > 0, sizes, 1.0)) @ rows)
    norms = _norms(rows)
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def principal_screen(X: np.ndarray, *, unit: bool, seed: int) -> Screen:
    """Mean and leading principal directions of a sample of the rows of `X`, scaled to norm one if `unit`."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(X), min(len(X), SAMPLE), replace=False))
    sample = unit_rows(X[rows]) if unit else X[rows].astype(np.float64)
    sample = sample[_is_usual(sample)]
    mean = sample.mean(axis=0)
    if X.shape[1] <= FULL_WIDTH:
        return Screen(mean, None)
    return Screen(mean, _leading_directions(sample - mean, rng))


def _is_usual(sample: np.ndarray) -> np.ndarray:
    """Whether a row is not so far out that it would push all others together."""
    sizes = _norms(sample - np.median(sample, axis=0))
    return sizes <= FAR_OUT * (np.median(sizes) or sizes.max())


def _leading_directions(centered: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Range finder with two power steps: (d, p) orthonormal, by falling variance."""
    # Powers of the data would leave the range of numbers; directions have no scale.
    centered = centered / (np.abs(centered).max() or 1.0)
    width = min(SEARCH_DIRECTIONS, centered.shape[1])
    Y = centered.T @ (centered @ rng.standard_normal((centered.shape[1], width)))
    for _ in range(2):
        Y = centered.T @ (centered @ np.linalg.qr(Y)[0])
    Q = np.linalg.qr(Y)[0]
    return Q @ np.linalg.svd(centered @ Q, full_matrices=False)[2].T


class PrincipalIndex:
    """Nearest training rows of any rows, approximately, by principal coordinates; among many rows, in near cells.

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
        table = np.vstack([self._coordinates(X[s : s + 4096]) for s in range(0, len(X), 4096)])
        # Dividing by the largest coordinate keeps single precision from overflowing.
        self.scale = float(np.abs(table).max()) or 1.0
        table = (table / self.scale).astype(np.float32)
        # One product [x, 1]·[-2y, ‖y‖²] is the distance less ‖x‖², which does not change the order.
        self.table = np.column_stack([-2 * table, np.einsum("ij,ij->i", table, table)]).astype(np.float32)
        self.cells = Cells(self.table) if len(self.table) > ALL_ROWS else None
        if self.cells is not None:
            self.table = self.cells.table  # one of them is enough, in another order

    def _coordinates(self, rows: np.ndarray) -> np.ndarray:
        return self.screen.coordinates(unit_rows(rows) if self.unit else rows)[0]

    @property
    def block(self) -> int:
        """Rows to ask for at a time, so that their distances take a bounded memory."""
        return max(1, BLOCK_ENTRIES // len(self.table)) if self.cells is None else CELL_BLOCK

    def nearest(self, X: np.ndarray, k: int, *, own: int | None = None) -> np.ndarray:
        """Rows of the index nearest to every row of `X`, by rising distance: (n, k) int32.

        With `own`, row i of `X` is row ``own + i`` of the index, and is left out of its own list.
        """
        points = self._coordinates(X) / self.scale
        # A row divided by its size, and the 1 beside it too, keeps its order and its range.
        size = np.maximum(np.abs(points).max(axis=1, keepdims=True), 1.0)
        left = np.column_stack([points / size, 1 / size]).astype(np.float32)
        out = np.empty((len(X), min(k, len(self.table))), dtype=np.int32)
        if self.cells is not None:
            return self._nearest_in_cells(self.cells, left, own, out)
        distances = left @ self.table.T
        if own is not None:
            np.fill_diagonal(distances[:, own:], np.inf)
        _smallest(distances, out)
        return out

    def _nearest_in_cells(self, cells: Cells, left: np.ndarray, own: int | None, out: np.ndarray) -> np.ndarray:
        for cell, group in cells.groups(left):
            distances, rows = cells.distances(cell, left[group])
            if own is not None:
                distances[rows == (own + group)[:, None]] = np.inf
            places = np.empty((len(group), out.shape[1]), dtype=np.int32)
            _smallest(distances, places)
            out[group] = rows[places]
        return out


def list_recall(X: np.ndarray, lists: np.ndarray, *, unit: bool, seed: int) -> float:
    """Share of the true nearest rows, in all features, found in the lists (n, m), on a sample of points."""
    rng = np.random.default_rng(seed)
    sample = rng.choice(len(X), min(len(X), RECALL_SAMPLE), replace=False)
    points = unit_rows(X[sample]) if unit else X[sample].astype(np.float64)
    origin = np.median(points, axis=0)  # which a row far out does not move
    points -= origin
    distances = np.empty((len(sample), len(X)))
    for start in range(0, len(X), 4096):
        block = slice(start, start + 4096)
        rows = (unit_rows(X[block]) if unit else X[block].astype(np.float64)) - origin
        distances[:, block] = np.einsum("ij,ij->i", rows, rows) - 2 * points @ rows.T
    distances[np.arange(len(sample)), sample] = np.inf
    m = lists.shape[1]
    truth = np.argpartition(distances, m - 1, axis=1)[:, :m]
    return float(np.mean([np.isin(lists[i], t).mean() for i, t in zip(sample, truth, strict=True)]))


@njit(cache=True, nogil=True)
def _smallest(values, out):
    """Columns of the smallest entries of every row, ascending: a threshold, what is below it, and a short sort.

    Columns are dealt to groups; of m groups with the smallest minima each holds an entry not above the last of these.
    Both passes compare in vector registers, for which indices must be unsigned.
    """
    n, m = np.uint64(values.shape[1]), np.uint64(out.shape[1])
    groups, step = min(n, np.uint64(GROUPS)), np.uint64(STEP)
    minima, places = np.empty(groups, np.float32), np.empty(n, np.int32)
    for i in range(len(values)):
        row = values[i]
        minima[:] = np.inf
        for start in range(np.uint64(0), n, groups):
            for g in range(min(groups, n - start)):
                minima[g] = row[start + g] if row[start + g] < minima[g] else minima[g]
        limit = np.partition(minima, m - 1)[m - 1] if m <= groups else np.float32(np.inf)
        found = 0
        for start in range(np.uint64(0), n, step):
            size = min(step, n - start)
            near = False
            for e in range(size):
                # Not "at most": what cannot be compared must be found too, where there is too little else.
                near |= not row[start + e] > limit
            if near:
                for j in range(start, start + size):
                    if not row[j] > limit:
                        places[found] = j
                        found += 1
        order = np.argsort(row[places[:found]], kind="mergesort")
        for e in range(m):
            out[i, e] = places[order[e]]
