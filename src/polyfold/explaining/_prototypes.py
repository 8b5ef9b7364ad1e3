"""Typical and borderline rows of groups."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from polyfold._typing import Matrix


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
    own, outside = _distances(space, centres), _distances(space, rest)
    found = []
    for c, mask in enumerate(member):
        rows = np.flatnonzero(mask)
        others = [i for i in range(len(member)) if not (member[i] & mask).any()]
        nearest = own[rows][:, others].min(axis=1) if others else outside[rows, c]
        typical = rows[np.argsort(own[rows, c], kind="stable")[:count]]
        border = rows[np.argsort(nearest - own[rows, c], kind="stable")[:count]]
        found.append({"typical": typical, "borderline": border})
    return found


def _distances(space: Matrix, centres: NDArray) -> NDArray:
    products = np.asarray(safe_sparse_dot(space, centres.T, dense_output=True))
    squares = row_norms(space, squared=True)[:, None] - 2 * products + row_norms(centres, squared=True)
    return np.sqrt(np.maximum(squares, 0))
