"""Exact nearest centres of dense rows; a lower bound in principal directions rules most of them out.

For an orthonormal basis Q of p directions, with y = Qᵀx and the residual norm r = √(‖x‖² − ‖y‖²),

    ‖x − w‖² ≥ ‖y_x − y_w‖² + (r_x − r_w)²,

because the residuals live in the complement of Q, where the reverse triangle inequality holds. The right side is one
matrix product of width p + 2 in single precision. A centre is compared in full only if its bound, less a rigorous
allowance for rounding, does not exceed the smallest distance found so far. The result is that of brute force: the
nearest centre, the one with the lowest index if there are several.

Equation → method:

- arg min_i ‖w_i − x‖² on the selected features [Zhang2016, sec. 2] → `DenseSearch.assign`
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from polyfold._linalg import row_norms_safe, sample_rows, unit_rows
from polyfold._policy import CANDIDATE_DIRECTIONS
from polyfold._threads import njit
from polyfold._validation import check_indices
from polyfold.bootstrap._sampling import ClusteringSpec, stream_seed

# With at most this many features all of them enter the bound; with more, this many directions.
FULL_WIDTH, DIRECTIONS = 64, 48
# Rows from which the directions are estimated, except those that are this many times as far out as usual.
SAMPLE, FAR_OUT = 2000, 1e3
# Rows copied, entries of bounds held, and bounds compared at a time.
BLOCK, BLOCK_ENTRIES, CHUNK = 8192, 2**20, 64
# Up to this many rows, one product with all training rows costs less than copying the centres of every clustering.
FEW_ROWS, FEW_BLOCK = 8, 1024
REASSOCIATE = {"reassoc", "contract"}


@dataclass(frozen=True)
class PrincipalBound:
    """Mean (d,) and principal directions (d, p) of rows; without directions all columns count."""

    mean: np.ndarray
    basis: np.ndarray | None

    def restrict(self, features: np.ndarray) -> "PrincipalBound":
        """Return the same directions on some of the features, orthonormal there."""
        if self.basis is None or len(features) <= FULL_WIDTH:
            return PrincipalBound(self.mean[features], None)
        return PrincipalBound(self.mean[features], np.linalg.qr(self.basis[features, :DIRECTIONS])[0])

    def coordinates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centred coordinates with the residual norm appended, (n, p + 1), and norms (n,)."""
        centered = rows - self.mean
        norms = row_norms_safe(centered)
        if self.basis is None:
            return centered, norms
        # In double precision the residual norm is good to single precision even if it cancels.
        y = centered @ self.basis
        within = row_norms_safe(y)
        residual = np.sqrt(np.maximum(norms - within, 0.0)) * np.sqrt(norms + within)
        return np.column_stack([y, residual]), norms


def fit_bound(X: np.ndarray, *, unit: bool, seeds: np.random.SeedSequence) -> PrincipalBound:
    """Mean and leading principal directions of a sample of the rows of `X`, scaled to norm one if `unit`."""
    sample = X[sample_rows(len(X), SAMPLE, seeds)]
    sample = unit_rows(sample) if unit else sample.astype(np.float64)
    sizes = row_norms_safe(sample - np.median(sample, axis=0))
    # A row very far out would push all others together.
    sample = sample[sizes <= FAR_OUT * (np.median(sizes) or sizes.max())]
    mean = sample.mean(axis=0)
    if X.shape[1] <= FULL_WIDTH:
        return PrincipalBound(mean, None)
    centered = sample - mean
    # Powers of the data would leave the range of numbers; directions have no scale.
    centered /= np.abs(centered).max() or 1.0
    width = min(CANDIDATE_DIRECTIONS, *centered.shape)
    directions = randomized_svd(centered, width, n_iter=2, random_state=stream_seed(seeds))[2]
    return PrincipalBound(mean, np.linalg.qr(directions.T)[0])


@dataclass
class DenseSearch:
    """Nearest centres of dense rows in all clusterings of the first layer, exactly.

    Parameters
    ----------
    X : (n, d) uint8, float32 or float64
        Training rows; kept, not copied.
    metric : {"euclidean", "cosine", "linear"}
    bound : PrincipalBound
    specs : list of ClusteringSpec
    """

    X: np.ndarray
    metric: str
    bound: PrincipalBound
    specs: list[ClusteringSpec] = field(default_factory=list, repr=False)
    by_clustering = True

    def adapt(self, rows: Any) -> np.ndarray:
        """Return rows as dense rows."""
        return rows if isinstance(rows, np.ndarray) else rows.toarray()

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows: nothing else is needed."""
        return rows

    def among(self, rows: np.ndarray, n_centers: int) -> "DenseSearch":
        """Return the same search among other training rows; the directions of the bound stay."""
        return DenseSearch(rows, self.metric, self.bound)

    def quality(self, codes: np.ndarray, **_: Any) -> dict[str, float]:
        """Return no estimates: the search is exact."""
        return {}

    def assign(self, rows: np.ndarray) -> np.ndarray:
        """Nearest centre of every row: (v, n) int32."""
        if len(rows) <= FEW_ROWS and self.metric == "euclidean":
            codes = [_nearest_few(self.X, row, self.specs) for row in rows]
            if (found := [code for code in codes if code is not None]) and len(found) == len(codes):
                return np.stack(found, axis=1)
        return np.stack([self._assign_one(rows, spec) for spec in self.specs])

    def _assign_one(self, rows: np.ndarray, spec: ClusteringSpec) -> np.ndarray:
        # Bytes are compared as integers only with bytes.
        unit = self.metric == "cosine"
        dtype = np.float64 if unit else np.result_type(rows, self.X)
        centers = take(self.X, spec.rows, spec.features)
        centers = unit_rows(centers) if unit else centers.astype(dtype, copy=False)
        bound = self.bound.restrict(spec.features)
        out = np.empty(len(rows), dtype=np.int32)
        for start in range(0, len(rows), BLOCK):
            block = np.arange(start, min(start + BLOCK, len(rows)))
            points = take(rows, block, spec.features)
            points = unit_rows(points) if unit else points.astype(dtype, copy=False)
            out[block] = self._nearest(points, centers, bound)
        return out

    def _nearest(self, points: np.ndarray, centers: np.ndarray, bound: PrincipalBound) -> np.ndarray:
        if self.metric == "linear":
            return nearest_linear(points, centers)
        return _nearest_unit(points, centers, bound) if self.metric == "cosine" else nearest(points, centers, bound)


def nearest(points: np.ndarray, centers: np.ndarray, bound: PrincipalBound) -> np.ndarray:
    """Index of the nearest centre of every point, the lowest one of several.

    Parameters
    ----------
    points : (n, d) uint8, float32 or float64
    centers : (k, d), same type
    bound : PrincipalBound
        Restricted to the same d features.

    Returns
    -------
    (n,) int32

    Notes
    -----
    O(n k p) time for the bounds; memory for a block of bounds of at most 2²⁰ entries, or one row.
    """
    out = np.empty(len(points), dtype=np.int32)
    W, w_norms = bound.coordinates(centers)
    step = max(1, BLOCK_ENTRIES // len(centers))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y, norms = bound.coordinates(block)
        # Everything is divided by the largest norm: single precision can neither overflow nor underflow.
        scale = max(w_norms.max(), norms.max()) or 1.0
        weights = np.column_stack([-2.0 * W / scale, (w_norms / scale) ** 2]).astype(np.float32)
        bounds = np.column_stack([Y / scale, np.ones(len(Y))]).astype(np.float32) @ weights.T
        # Rounding of the entries and of p + 2 products, each at most (‖x‖ + ‖w‖)² ≤ 4 in this scale.
        slack = 8.0 * (weights.shape[1] + 8) * float(np.finfo(np.float32).eps)
        out[start : start + step] = _verify(block, centers, bounds, (norms / scale) ** 2, scale**2, slack)
    return out


def nearest_linear(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Index of the centre with the largest inner product, the lowest one of several: (n,) int32."""
    out = np.empty(len(points), dtype=np.int32)
    W = centers.astype(np.float64)
    step = max(1, BLOCK_ENTRIES // len(centers))
    slack = 4.0 * (W.shape[1] + 4) * float(np.finfo(np.float32).eps)
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y = block.astype(np.float64)
        scale = max(row_norms_safe(W).max(), row_norms_safe(Y).max()) or 1.0
        bounds = (Y / scale).astype(np.float32) @ (-W / scale).astype(np.float32).T
        found = _verify(block, centers, bounds, np.zeros(len(Y)), scale**2, slack, linear=True)
        out[start : start + step] = found
    return out


def _nearest_unit(points: np.ndarray, centers: np.ndarray, bound: PrincipalBound) -> np.ndarray:
    """Nearest centres by the cosine, which is 0 with a zero row: by the distance those would be the nearest."""
    full = np.flatnonzero(centers.any(axis=1))
    if not len(full):
        return np.zeros(len(points), dtype=np.int32)
    winners = full[nearest(points, centers[full], bound)].astype(np.int32)
    # If the cosine is not positive, rounded distances would decide; the first of the largest counts.
    apart = np.flatnonzero(np.einsum("ij,ij->i", points, centers[winners]) <= 0)
    if len(apart):
        winners[apart] = (points[apart] @ centers.T).argmax(axis=1)
    return winners


def _nearest_few(X: np.ndarray, point: np.ndarray, specs: list[ClusteringSpec]) -> np.ndarray | None:
    """Nearest centres of one point in every clustering: (V,) int32; None if numbers leave their range.

    One product of the selected features, as zeros and ones, with the squared differences from all training rows gives
    all distances in single precision. Sums of positive numbers have a small relative error, so only the centres within
    it of the smallest are compared again.
    """
    n, d = X.shape
    selected = np.zeros((len(specs), d), dtype=np.float32)
    for mask, spec in zip(selected, specs, strict=True):
        mask[spec.features] = 1.0
    # Squared differences of bytes are exact in single precision; others are divided by the largest, to stay in range.
    is_exact = X.dtype == point.dtype == np.uint8
    x = point.astype(np.float32 if is_exact else np.float64)
    blocks = [slice(start, start + FEW_BLOCK) for start in range(0, n, FEW_BLOCK)]
    scale = 1.0 if is_exact else max(float(np.abs(X[block] - x).max(initial=0.0)) for block in blocks) or 1.0
    if not np.isfinite(scale):
        return None
    distances = np.empty((len(specs), n), dtype=np.float32)
    for block in blocks:
        squares = np.square((X[block] - x) / x.dtype.type(scale)).astype(np.float32, copy=False)
        distances[:, block] = selected @ squares.T
    eps, tiny = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
    out, dtype = np.empty(len(specs), dtype=np.int32), np.result_type(X, point)
    for v, spec in enumerate(specs):
        near = distances[v, spec.rows]
        candidates = np.flatnonzero(near <= float(near.min()) * (1 + 4 * (d + 4) * eps) + 4 * d * tiny)
        if len(candidates) > 1:
            centers = take(X, spec.rows[candidates], spec.features).astype(dtype, copy=False)
            selected_point = point[spec.features][None].astype(dtype, copy=False)
            bounds = np.zeros((1, len(candidates)), dtype=np.float32)
            candidates = candidates[_verify(selected_point, centers, bounds, np.zeros(1), 1.0, np.inf)]
        out[v] = candidates[0]
    return out


def take(X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Copy the given rows and columns: (n, d)."""
    for numbers, count in ((rows, len(X)), (columns, X.shape[1])):
        check_indices(numbers, count)
    out = np.empty((len(rows), len(columns)), dtype=X.dtype)
    _take(X, np.asarray(rows, dtype=np.int64), columns, out)
    return out


def sum_kind(rows: np.ndarray) -> np.ndarray:
    """Empty array of the type in which squared distances of `rows` are exact (bytes) or in double precision."""
    if rows.dtype != np.uint8:
        return np.empty(0, dtype=np.float64)
    return np.empty(0, dtype=np.int32 if rows.shape[1] * 255**2 < 2**31 else np.int64)


def _verify(points, centers, bounds, squares, unit, slack, *, linear: bool = False) -> np.ndarray:
    out = np.empty(len(points), dtype=np.int32)
    minima = np.empty(-(-len(centers) // CHUNK), dtype=np.float32)
    _verify_bounds(points, centers, bounds, squares, unit, slack, sum_kind(points), linear, minima, out)
    return out


@njit(nogil=True)
def _take(X, rows, columns, out):
    for i in range(len(rows)):
        row = X[rows[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]


# Plain loops, and the cost in one line only: helpers, `min` and a second copy would double the time of compilation.
# No bound is NaN.
@njit(nogil=True, error_model="numpy", fastmath=REASSOCIATE | {"nnan", "nsz"})
def _verify_bounds(points, centers, bounds, squares, unit, slack, kind, linear, minima, out):
    """Smallest cost in full among the centres whose bound, plus ‖x‖², does not exceed it.

    The cost is the squared distance, or the negative inner product if `linear`. The centre of the lowest bound comes
    first, as a separate chunk, then the chunks in order.
    """
    n_chunks, k, d, number = len(minima), len(centers), points.shape[1], kind.dtype.type
    far = np.float32(np.inf)
    for i in range(len(points)):
        lowest, first = far, 0
        for chunk in range(n_chunks):
            low = far
            for j in range(chunk * CHUNK, k if chunk == n_chunks - 1 else (chunk + 1) * CHUNK):
                low = bounds[i, j] if bounds[i, j] < low else low
            minima[chunk] = low
            first = chunk if low < lowest else first
            lowest = low if low < lowest else lowest
        first *= CHUNK
        while first < k - 1 and bounds[i, first] > lowest:
            first += 1
        best, winner, limit = number(0), -1, lowest
        for chunk in range(-1, n_chunks):
            begin, end = first, first + 1
            if chunk >= 0:
                if minima[chunk] > limit:
                    continue
                begin, end = chunk * CHUNK, k if chunk == n_chunks - 1 else (chunk + 1) * CHUNK
            for j in range(begin, end):
                if bounds[i, j] > limit or j == winner:
                    continue
                cost = number(0)
                if linear:
                    for f in range(d):
                        product = number(number(points[i, f]) * number(centers[j, f]))
                        cost = number(cost - product)
                else:
                    for f in range(d):
                        gap = number(number(points[i, f]) - number(centers[j, f]))
                        cost = number(cost + number(gap * gap))
                if winner < 0 or cost < best or (cost == best and j < winner):
                    best, winner = cost, j
                    limit = np.float32(best / unit - squares[i] + slack)
        out[i] = winner
