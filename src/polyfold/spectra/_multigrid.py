"""Approximate inverses of graph Laplacians by smoothed aggregation [Vanek1996].

A step of damped Jacobi takes the fast part of an error off, and the rest is slow enough to be told by one number for
every group of neighbouring points: groups are points of a coarser problem Pᵀ C P, solved the same way, down to one that
is small enough for LAPACK. Time and memory are O(n·k) where groups of points have few neighbours, as they have in data
of few dimensions; where they have many, P is not smoothed, which is slower to converge and never denser than C.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from polyfold.spectra._rows import SparseRows

# Points of the coarsest problem.
COARSEST = 500
# Neighbours below this share of the strongest are not in the same group because of each other.
STRONG = 0.25
# Entries of a coarse matrix beside those of the finer one, beyond which P is not smoothed.
DENSEST = 0.7
# Damping of Jacobi steps, over the largest eigenvalue of the scaled matrix.
DAMPING = 1.5
_SHIFT = 1e-8
_POWERS = 15


@dataclass(frozen=True)
class Level:
    """A matrix C (n, n), what a Jacobi step multiplies residuals by (n,), and P (n, m) from the coarser level."""

    matrix: SparseRows
    steps: NDArray
    prolong: SparseRows
    restrict: SparseRows


class Multigrid:
    """Levels of a symmetric positive semi-definite sparse matrix with `null` (n,) as its slowest direction."""

    def __init__(self, matrix: Any, null: NDArray):
        self.levels: list[Level] = []
        while matrix.shape[0] > COARSEST:
            level, matrix, null = _coarsen(matrix, null)
            if matrix.shape[0] > 0.9 * len(level.steps):  # points without neighbours: nothing to group
                break
            self.levels.append(level)
        dense = matrix.toarray()
        dense[np.diag_indices_from(dense)] += _SHIFT * np.trace(dense) / len(dense)
        self.coarsest = (dense + dense.T) / 2
        self.factor = scipy.linalg.cho_factor(self.coarsest, check_finite=False)

    def solve(self, B: NDArray) -> NDArray:
        """Return about C⁻¹ B for B (n, k), by one V-cycle: symmetric and positive definite in B."""
        return self._cycle(0, B)

    def _cycle(self, depth: int, B: NDArray) -> NDArray:
        if depth == len(self.levels):
            return scipy.linalg.cho_solve(self.factor, B, check_finite=False)
        level = self.levels[depth]
        X = level.steps[:, None] * B
        X += level.prolong @ self._cycle(depth + 1, level.restrict @ (B - level.matrix @ X))
        return X + level.steps[:, None] * (B - level.matrix @ X)

    def slow_directions(self, count: int) -> NDArray:
        """Return the slowest directions of the coarsest level on all points, (n, count)."""
        count = min(count, len(self.coarsest))
        _, V = scipy.linalg.eigh(self.coarsest, subset_by_index=(0, count - 1), check_finite=False)
        for level in reversed(self.levels):
            V = level.prolong @ V
            for _ in range(2):
                V -= level.steps[:, None] * (level.matrix @ V)
        return V


def _coarsen(matrix: Any, null: NDArray) -> tuple[Level, Any, NDArray]:
    """Group the points of a matrix; return its level, the matrix of the groups and its slowest direction."""
    matrix = sp.csr_array(matrix)
    diagonal = matrix.diagonal()
    groups, count = _groups(matrix.indptr, matrix.indices, matrix.data, STRONG)
    sizes = np.sqrt(np.bincount(groups, weights=null**2, minlength=count))
    n = len(groups)
    plain = sp.csr_array((null / sizes[groups], groups, np.arange(n + 1)), shape=(n, count))
    steps = DAMPING / _radius(matrix, diagonal) / diagonal
    smoothed = sp.csr_array(plain - sp.diags_array(steps) @ (matrix @ plain))
    coarse = sp.csr_array(smoothed.T @ (matrix @ smoothed))
    if coarse.nnz > DENSEST * matrix.nnz:
        smoothed = plain
        coarse = sp.csr_array(plain.T @ (matrix @ plain))
    return Level(SparseRows(matrix), steps, SparseRows(smoothed), SparseRows(smoothed.T)), coarse, sizes


def _radius(matrix: Any, diagonal: NDArray) -> float:
    """Largest eigenvalue of the matrix over its diagonal, by powers; a little more, since those come from below."""
    v = np.random.RandomState(0).standard_normal(len(diagonal))
    size = 1.0
    for _ in range(_POWERS):
        v = (matrix @ (v / np.linalg.norm(v))) / diagonal
        size = float(np.linalg.norm(v))
    return 1.1 * size


@njit(cache=True, nogil=True)
def _groups(indptr, indices, data, strong):
    """Return the group of every point, and how many: a point with all its strong neighbours, then what is left."""
    n = len(indptr) - 1
    limits = np.zeros(n)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] != i:
                limits[i] = max(limits[i], strong * abs(data[e]))
    groups = np.full(n, -1, np.int64)
    count = 0
    for i in range(n):
        free = groups[i] < 0
        for e in range(indptr[i], indptr[i + 1]):
            free = free and (abs(data[e]) < limits[i] or groups[indices[e]] < 0)
        if free:
            for e in range(indptr[i], indptr[i + 1]):
                if abs(data[e]) >= limits[i]:
                    groups[indices[e]] = count
            groups[i] = count
            count += 1
    joined = groups.copy()
    for i in range(n):
        if groups[i] >= 0:
            continue
        best = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j != i and groups[j] >= 0 and abs(data[e]) > best:
                best = abs(data[e])
                joined[i] = groups[j]
    for i in range(n):
        if joined[i] < 0:
            joined[i] = count
            count += 1
    return joined, count
