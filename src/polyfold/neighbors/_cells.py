"""Cells of near rows: a search compares a row with those of the nearest cells instead of all.

Rows are parted by k-means on a sample. The cells that are searched are the same for all rows of a cell: those nearest
to its centre, with so many rows together. Distances are then matrix products, and what a row costs does not depend on
how many there are. Neighbours beyond those cells are missed: the share found is for the caller to
estimate (`list_recall`).
"""

import numpy as np

# Rows of a cell on average, and rows compared with each.
CELL_ROWS = 512
SEARCHED_ROWS = 16_384
# Rows per cell and steps from which its centre is found.
SAMPLE_ROWS = 40
STEPS = 6
# Products held at a time.
ENTRIES = 2**21
BLOCK = 4096


class Cells:
    """Rows by cells.

    Parameters
    ----------
    table : (n, p + 1) float32
        A row (-2 y, ‖y‖²) for every row y, so that (x, 1) times it is the squared distance from x less ‖x‖².
    """

    def __init__(self, table: np.ndarray) -> None:
        n = len(table)
        count = max(1, n // CELL_ROWS)
        self.weights = _centres(table, count)
        cell = _nearest_cells(_as_points(table), self.weights)
        self.order = np.argsort(cell, kind="stable").astype(np.int32)
        self.table = table[self.order]
        self.starts = np.searchsorted(cell[self.order], np.arange(count + 1))
        self.searched = _searched(self.weights, np.diff(self.starts))

    def groups(self, left: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Cells and which of (m, p + 1) points (x, 1), or multiples of them, are to be searched together there."""
        cell = _nearest_cells(left, self.weights)
        order = np.argsort(cell, kind="stable")
        ends = np.flatnonzero(np.diff(cell[order])) + 1
        return [
            (int(cell[some[0]]), some[start : start + step])
            for some in np.split(order, ends)
            if len(some)
            for step in [max(1, ENTRIES // self._n_searched(int(cell[some[0]])))]
            for start in range(0, len(some), step)
        ]

    def distances(self, cell: int, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances less those from the origin, (g, c), of a group (g, p + 1) from the rows searched, (c,)."""
        parts = [slice(self.starts[other], self.starts[other + 1]) for other in self.searched[cell]]
        out = np.empty((len(left), self._n_searched(cell)), dtype=np.float32)
        at = 0
        for part in parts:
            size = part.stop - part.start
            out[:, at : at + size] = left @ self.table[part].T
            at += size
        return out, np.concatenate([self.order[part] for part in parts])

    def _n_searched(self, cell: int) -> int:
        found = self.searched[cell]
        return int((self.starts[found + 1] - self.starts[found]).sum())


def _centres(table: np.ndarray, count: int) -> np.ndarray:
    """Centres of k-means, as rows of a table: (count, p + 1) float32."""
    rng = np.random.default_rng(count)
    sample = table[np.sort(rng.choice(len(table), min(len(table), SAMPLE_ROWS * count), replace=False))]
    points = _as_points(sample)
    weights = sample[rng.choice(len(sample), count, replace=False)]
    for _ in range(STEPS):
        cell = _nearest_cells(points, weights)
        sizes = np.bincount(cell, minlength=count)
        order = np.argsort(cell, kind="stable")
        filled = np.flatnonzero(sizes)
        firsts = (np.cumsum(sizes) - sizes)[filled]
        means = np.add.reduceat(points[order, :-1], firsts, axis=0, dtype=np.float64) / sizes[filled, None]
        # One that has lost all of its rows stays where it was.
        weights[filled] = _as_table(means.astype(np.float32))
    return weights


def _as_table(points: np.ndarray) -> np.ndarray:
    return np.column_stack([-2 * points, np.einsum("ij,ij->i", points, points)])


def _as_points(table: np.ndarray) -> np.ndarray:
    """Rows (y, 1) of those of a table."""
    points = table / np.float32(-2)
    points[:, -1] = 1
    return points


def _nearest_cells(left: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of every point (x, 1), or multiple of one: (m,) int64."""
    out = np.empty(len(left), dtype=np.int64)
    for start in range(0, len(left), BLOCK):
        out[start : start + BLOCK] = np.argmin(left[start : start + BLOCK] @ weights.T, axis=1)
    return out


def _searched(weights: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Cells searched from each: itself and the nearest others, until they hold enough rows."""
    found = []
    for start in range(0, len(weights), BLOCK):
        near = np.argsort(_as_points(weights[start : start + BLOCK]) @ weights.T, axis=1, kind="stable")
        held = np.cumsum(sizes[near], axis=1)
        found += [row[: int(np.searchsorted(total, SEARCHED_ROWS)) + 1] for row, total in zip(near, held, strict=True)]
    return found
