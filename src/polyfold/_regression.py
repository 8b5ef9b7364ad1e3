"""Leave-one-out kernel regression: predict a value from the earlier coordinates of all other rows.

Nadaraya–Watson and locally linear, both with a Gaussian kernel of bandwidth ``h``, and the mean of nearest neighbours
(`NeighborRegression`). Leaving a point out is exact: its own weight is set to zero, which equals dividing the in-sample
residual by 1 − L_ii. Coordinates and values are centred and scaled first, so that the result does not depend on the
origin or the scale of the data.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from polyfold._linalg import squared_distances
from polyfold._typing import Matrix

REGRESSORS = ("nadaraya_watson", "locally_linear")
_BLOCK = 1_000_000
# Fraction of the trace added to the local moment matrix: a neighbourhood of one point has no slope.
_RIDGE = 1e-6
# Squares of bandwidths within these limits are numbers; beyond them a smoother sees one point, or all points as equal.
_NARROWEST, _WIDEST = 1e-150, 1e150
# Weights below exp(-45) change no digit, not even next to the ridge; a product of sparse weights pays below a tenth.
_NEGLIGIBLE, _SPARSE = 45.0, 0.1

Smoother = Callable[[NDArray, Matrix], NDArray]


def standard_position(X: NDArray) -> tuple[NDArray, NDArray, float]:
    """Return (S, origin, unit) with X = origin + unit * S, the columns of S centred, its entries of order one.

    The unit is a power of two, so scaling is exact; a column that is constant up to rounding becomes zero.
    """
    X = np.asarray(X, dtype=np.float64)
    _, exponent = np.frexp(np.abs(X).max(initial=0))
    S = np.ldexp(X, -exponent)
    size = np.abs(S).max(axis=0)
    origin = S[0] + np.mean(S - S[0], axis=0)
    S = S - origin
    S[:, np.abs(S).max(axis=0) <= 4 * np.finfo(np.float64).eps * size] = 0
    _, spread = np.frexp(np.abs(S).max(initial=0))
    power = min(int(spread + exponent) - 1, np.finfo(np.float64).maxexp - 1)
    return np.ldexp(S, exponent - power), np.ldexp(origin, exponent), float(np.ldexp(1.0, power))


def loo_predict(F: NDArray, Y: NDArray, bandwidth: float, *, regressor: str = "nadaraya_watson") -> NDArray:
    """Predict the rows of `Y` (n, t) from `F` (n, p), each row without itself; returns (n, t)."""
    F, _, size = standard_position(F)
    Y, origin, unit = standard_position(Y)
    smooth = _smoother(F, Y, regressor)
    parts = [smooth(rows, _weights(d2, bandwidth / size)) for rows, d2 in _distance_blocks(F, np.arange(len(F)))]
    return origin + unit * np.concatenate(parts)


def predict(F: NDArray, Y: NDArray, new: NDArray, bandwidth: float) -> NDArray:
    """Nadaraya–Watson prediction of `Y` (n, t) at the rows of `new` (m, p), from all rows of `F` (n, p)."""
    F, start, size = standard_position(F)
    Y, origin, unit = standard_position(Y)
    new = (new - start) / size
    step = max(1, _BLOCK // len(F))
    parts = []
    for first in range(0, len(new), step):
        d2 = squared_distances(new[first : first + step], F)
        d2 -= d2.min(axis=1, keepdims=True)
        parts.append(_local_mean(Y, np.empty(0, dtype=np.intp), _weights(d2, bandwidth / size)))
    return origin + unit * np.concatenate(parts)


def residual_ratio(
    F: NDArray,
    y: NDArray,
    bandwidths: Sequence[float],
    *,
    queries: NDArray | None = None,
    regressor: str = "nadaraya_watson",
) -> NDArray:
    """Root of (squared leave-one-out errors / variance) of `y` on `F`, for each bandwidth; 0 if `y` is constant."""
    F, _, size = standard_position(F)
    target, _, _ = standard_position(np.asarray(y)[:, None])
    queries = np.arange(len(F)) if queries is None else queries
    smooth = _smoother(F, target, regressor)
    errors = np.zeros(len(bandwidths))
    for rows, d2 in _distance_blocks(F, queries):
        for i, h in enumerate(bandwidths):
            errors[i] += np.sum((target[rows] - smooth(rows, _weights(d2, h / size))) ** 2)
    spread = float(np.sum(target[queries] ** 2))
    return np.sqrt(errors / spread) if spread > 0 else np.zeros(len(bandwidths))


def bandwidth_grid(F: NDArray, *, size: int = 8, lowest: float = 0.01) -> NDArray:
    """Geometric grid of bandwidths from `lowest` to 1 times the root mean squared norm of centred `F`."""
    return np.geomspace(lowest, 1.0, size) * root_mean_square(F)


def novelty(F: NDArray, seed: int, *, n_queries: int = 500) -> NDArray:
    """Return the leave-one-out residual of every column on the earlier ones, with the bandwidth that predicts best.

    It is relative to the standard deviation of the column and at most 1, on `n_queries` of the rows.
    """
    queries = np.random.RandomState(seed).permutation(len(F))[:n_queries]
    out = np.ones(F.shape[1])
    for i in range(1, F.shape[1]):
        grid = bandwidth_grid(F[:, :i])
        residuals = residual_ratio(F[:, :i], F[:, i], list(grid), queries=queries, regressor="locally_linear")
        out[i] = min(1.0, residuals.min())
    return out


def root_mean_square(F: NDArray) -> float:
    """Root mean squared norm of the centred rows of `F`."""
    S, _, unit = standard_position(F)
    return unit * float(np.sqrt(np.sum(np.mean(S**2, axis=0))))


@dataclass(frozen=True)
class NeighborRegression:
    """Predict rows of data from their nearest rows in some coordinates, each row without itself.

    The fraction of the variance of the data that this leaves unexplained measures coordinates without labels: the
    reconstruction error of [Blau2017, section 5.1], with nearest neighbours instead of a bandwidth.
    """

    squares: NDArray  # (m, m), squared distances of the data, scaled to order one
    rows: NDArray  # (m,), numbers of the data among the rows of the coordinates

    @classmethod
    def of(cls, X: Matrix, rows: NDArray) -> "NeighborRegression":
        """Prepare the data `X` (m, p), whose coordinates are the rows `rows` (m,) of those that are compared."""
        if sp.issparse(X):
            points = sp.csr_array(X).astype(np.float64)
            return cls(euclidean_distances(points / (np.abs(points.data).max(initial=0) or 1.0), squared=True), rows)
        points = standard_position(X)[0]
        return cls(squared_distances(points, points), rows)

    @classmethod
    def of_distances(cls, D: NDArray, rows: NDArray) -> "NeighborRegression":
        """Prepare data known by their distances (m, m), with the same results as for the data."""
        return cls((np.asarray(D, dtype=np.float64) / (np.abs(D).max(initial=0) or 1.0)) ** 2, rows)

    def thinned(self, most: int) -> "NeighborRegression":
        """Return the regression on every i-th row, so that at most `most` remain."""
        step = -(-len(self.rows) // most)
        return NeighborRegression(np.ascontiguousarray(self.squares[::step, ::step]), self.rows[::step])

    def unexplained(self, F: NDArray, *, n_neighbors: int = 10) -> NDArray:
        """Return squared errors (m,) in units of the variance of the data, by the standardised coordinates `F` (n, d).

        Their mean is the unexplained fraction: 0 if the coordinates determine the data, about 1 if they are unrelated.
        """
        F = F[self.rows]
        F = (F - F.mean(axis=0)) / np.maximum(F.std(axis=0), np.finfo(np.float64).tiny)
        # All pairs are faster than a tree for a few thousand rows of several coordinates.
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(F) - 1), algorithm="brute")
        near = search.fit(F).kneighbors(return_distance=False)
        # ‖x − mean of its neighbours‖² is the mean squared distance to them, less half of that among them.
        among = self.squares[near[:, :, None], near[:, None, :]].mean(axis=(1, 2))
        errors = np.take_along_axis(self.squares, near, axis=1).mean(axis=1) - among / 2
        variance = self.squares.mean() / 2
        return np.maximum(errors, 0.0) / variance if variance > 0 else np.zeros(len(F))


def _distance_blocks(F: NDArray, queries: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield blocks of query rows with squared distances to all rows, their own set to infinity."""
    step = max(1, _BLOCK // len(F))
    for start in range(0, len(queries), step):
        rows = queries[start : start + step]
        d2 = squared_distances(F[rows], F)
        d2[np.arange(len(rows)), rows] = np.inf
        # The nearest other point gets weight 1: ratios are unchanged, and far outliers do not underflow.
        d2 -= d2.min(axis=1, keepdims=True)
        yield rows, d2


def _weights(d2: NDArray, bandwidth: float) -> Matrix:
    """Gaussian weights (q, n), sparse if most of them are negligible."""
    scale = 2.0 * min(max(bandwidth, _NARROWEST), _WIDEST) ** 2
    near = d2 < _NEGLIGIBLE * scale
    counts = np.count_nonzero(near, axis=1)
    if counts.sum() > _SPARSE * d2.size:
        return np.exp(d2 / -scale)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_array((np.exp(d2[near] / -scale), np.nonzero(near)[1], indptr), shape=d2.shape)


def _smoother(F: NDArray, Y: NDArray, regressor: str) -> Smoother:
    """Return the function from query rows and their weights (q, n) to predictions (q, t)."""
    if regressor == "nadaraya_watson":
        return partial(_local_mean, Y)
    X, products, upper = _design(F)
    targets = (X[:, :, None] * Y[:, None, :]).reshape(len(X), -1)
    return partial(_local_line, X, np.hstack([products, targets]), upper)


def _local_mean(Y: NDArray, rows: NDArray, W: Matrix) -> NDArray:
    return (W @ Y) / (W @ np.ones((len(Y), 1)))


def _design(F: NDArray) -> tuple[NDArray, NDArray, tuple]:
    """X = (1, F) with F of variance one on average, products of its columns, and which columns those are."""
    # The ridge then weighs slopes and level by the same measure in any unit.
    X = np.column_stack([np.ones(len(F)), F / (np.sqrt(np.mean(F**2)) or 1.0)])
    upper = np.triu_indices(X.shape[1])
    return X, X[:, upper[0]] * X[:, upper[1]], upper


def _slopes(x: NDArray, sums: NDArray, upper: tuple) -> NDArray:
    """S⁻¹x of every query x (q, p), with its moments S from the sums of products (q, k)."""
    p = x.shape[1]
    moments = np.empty((len(x), p, p))
    moments[:, upper[0], upper[1]] = moments[:, upper[1], upper[0]] = sums
    ridge = _RIDGE * np.trace(moments, axis1=1, axis2=2) / p
    moments[:, np.arange(p), np.arange(p)] += ridge[:, None]
    return np.linalg.solve(moments, x[:, :, None])[:, :, 0]


def _local_line(X: NDArray, products: NDArray, upper: tuple, rows: NDArray, W: Matrix) -> NDArray:
    """Weighted least squares of the targets on (1, F) around every query, evaluated at the query."""
    k, sums = len(upper[0]), W @ products
    return np.einsum("qp,qpt->qt", _slopes(X[rows], sums[:, :k], upper), sums[:, k:].reshape(*X[rows].shape, -1))
