"""Rows that represent a cluster or an axis: typical and borderline rows, ends of axes, and steps along them."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from polyfold._typing import Matrix
from polyfold.explaining._features import Features, relative_ranks
from polyfold.explaining._strengths import centred

# Fraction of the rows that an end of an axis holds, and steps of the walk along it.
END, STEPS = 0.1, 7


def space_of(features: Features) -> Matrix:
    """Return where the distances between rows are measured, for tables and for models without coordinates."""
    if features.words is not None and not features.numbers.shape[1]:
        return normalize(features.words.astype(np.float64))
    return np.hstack([centred(features.numbers), features.indicators()[0]])


def ends_of(z: NDArray) -> tuple[NDArray, NDArray]:
    """Return masks of the rows with the lowest and the highest tenth of the values."""
    count = max(1, round(END * len(z)))
    order = np.argsort(z, kind="stable")
    low, high = np.zeros(len(z), dtype=bool), np.zeros(len(z), dtype=bool)
    low[order[:count]], high[order[-count:]] = True, True
    return low, high


def steps_along(z: NDArray) -> list[NDArray]:
    """Return the rows of seven steps along an axis, of equally many rows each."""
    return np.array_split(np.argsort(z, kind="stable"), min(STEPS, len(z)))


def walk_means(Z: NDArray, numbers: NDArray) -> NDArray:
    """Return the means of the features in the steps along every axis, shape (c, steps, D)."""
    return np.array([[numbers[rows].mean(axis=0) for rows in steps_along(z)] for z in Z.T])


def rows_along(Z: NDArray, k: int) -> NDArray:
    """Return one row for each step along axis `k`: the one whose other coordinates are nearest to their medians.

    Distances are between relative ranks, so that outliers and the scale of the coordinates do not matter.
    """
    ranks = relative_ranks(Z)
    steps, along = steps_along(Z[:, k]), []
    for rows, place in zip(steps, np.linspace(0, 1, len(steps)), strict=True):
        target = np.full(Z.shape[1], 0.5)
        target[k] = place
        along.append(rows[np.argmin(np.sum((ranks[rows] - target) ** 2, axis=1))])
    return np.array(along)


def typical_rows(space: Matrix, member: NDArray, count: int) -> list[dict[str, NDArray]]:
    """Return rows near the mean of their group, and rows almost as near to the mean of another, for masks (k, n).

    Every dictionary has "typical" and "borderline", each with at most `count` row numbers. Distances are Euclidean in
    `space` (n, p). A single group is compared with the mean of all other rows.
    """
    sizes = np.maximum(member.sum(axis=1), 1)[:, None]
    weights = sp.csr_array(member.astype(np.float64))
    sums = np.asarray(safe_sparse_dot(weights, space, dense_output=True))
    centres = sums / sizes
    everything = np.asarray(space.sum(axis=0), dtype=np.float64).ravel()
    rest = (everything - sums) / np.maximum(member.shape[1] - sizes, 1)
    inside, outside = _distances(space, centres), _distances(space, rest)
    prototypes = []
    for c, mask in enumerate(member):
        rows = np.flatnonzero(mask)
        others = [i for i in range(len(member)) if not (member[i] & mask).any()]
        nearest = inside[rows][:, others].min(axis=1) if others else outside[rows, c]
        typical = rows[np.argsort(inside[rows, c], kind="stable")[:count]]
        border = rows[np.argsort(nearest - inside[rows, c], kind="stable")[:count]]
        prototypes.append({"typical": typical, "borderline": border})
    return prototypes


def _distances(space: Matrix, centres: NDArray) -> NDArray:
    products = np.asarray(safe_sparse_dot(space, centres.T, dense_output=True))
    squares = row_norms(space, squared=True)[:, None] - 2 * products + row_norms(centres, squared=True)
    return np.sqrt(np.maximum(squares, 0))
