"""Leave-one-out kernel regression: what earlier coordinates say about a value, without looking at it.

Nadaraya–Watson and locally linear, both with a Gaussian kernel of bandwidth ``h``. Leaving a point out is exact:
its own weight is set to zero, which equals dividing the in-sample residual by 1 − L_ii.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["REGRESSORS", "bandwidth_grid", "loo_predict", "loo_rows", "lowest_residual", "predict", "residual_ratio"]

REGRESSORS = ("nadaraya_watson", "locally_linear")
_BLOCK = 4_000_000
# Share of the trace added to the local moment matrix: a neighbourhood of one point has no slope.
_RIDGE = 1e-6


def loo_predict(
    F: NDArray,
    Y: NDArray,
    bandwidth: float,
    *,
    queries: NDArray | None = None,
    regressor: str = "nadaraya_watson",
) -> NDArray:
    """Predict ``Y[queries]`` from `F` (n, p), each row without itself; returns (n_queries, t)."""
    queries = np.arange(len(F)) if queries is None else queries
    predict = _local_mean if regressor == "nadaraya_watson" else _local_line
    parts = [predict(F, Y, rows, _weights(d2, bandwidth)) for rows, d2 in _distance_blocks(F, queries)]
    return np.concatenate(parts)


def predict(F: NDArray, Y: NDArray, new: NDArray, bandwidth: float) -> NDArray:
    """Nadaraya–Watson prediction of `Y` (n, t) at the rows of `new` (m, p), from all rows of `F` (n, p)."""
    step = max(1, _BLOCK // len(F))
    parts = []
    for start in range(0, len(new), step):
        d2 = _squared_distances(new[start : start + step], F)
        d2 -= d2.min(axis=1, keepdims=True)
        parts.append(_local_mean(F, Y, np.empty(0, dtype=np.intp), _weights(d2, bandwidth)))
    return np.concatenate(parts)


def residual_ratio(
    F: NDArray,
    y: NDArray,
    bandwidths: Sequence[float],
    *,
    queries: NDArray | None = None,
    regressor: str = "nadaraya_watson",
) -> NDArray:
    """Root of (squared leave-one-out errors / variance) of `y` on `F`, for each bandwidth."""
    queries = np.arange(len(F)) if queries is None else queries
    predict = _local_mean if regressor == "nadaraya_watson" else _local_line
    target = np.asarray(y, dtype=np.float64)[:, None]
    errors = np.zeros(len(bandwidths))
    for rows, d2 in _distance_blocks(F, queries):
        for i, h in enumerate(bandwidths):
            errors[i] += np.sum((target[rows] - predict(F, target, rows, _weights(d2, h))) ** 2)
    spread = np.sum((target[queries] - target.mean()) ** 2)
    return np.sqrt(errors / max(float(spread), np.finfo(np.float64).tiny))


def bandwidth_grid(F: NDArray, *, size: int = 8, lowest: float = 0.01) -> NDArray:
    """Geometric grid of bandwidths from `lowest` to 1 times the root mean squared norm of centred `F`."""
    scale = float(np.sqrt(np.sum(np.var(F, axis=0))))
    return np.geomspace(lowest, 1.0, size) * max(scale, np.finfo(np.float64).tiny)


def lowest_residual(
    F: NDArray,
    y: NDArray,
    *,
    queries: NDArray | None = None,
    regressor: str = "nadaraya_watson",
) -> tuple[float, float]:
    """Residual ratio of `y` on `F` with the bandwidth that predicts best, and that bandwidth."""
    grid = bandwidth_grid(F)
    ratios = residual_ratio(F, y, list(grid), queries=queries, regressor=regressor)
    best = int(np.argmin(ratios))
    return float(ratios[best]), float(grid[best])


def loo_rows(F: NDArray, queries: NDArray) -> NDArray:
    """Return locally linear leave-one-out regressions as matrices (bandwidths, queries, n), one for each of the grid.

    They do not depend on the value that is predicted, so several values share them.
    """
    X = np.column_stack([np.ones(len(F)), F - F.mean(axis=0)])
    grid = bandwidth_grid(F)
    out = np.empty((len(grid), len(queries), len(F)), dtype=np.float32)
    start = 0
    for rows, d2 in _distance_blocks(F, queries):
        for i, h in enumerate(grid):
            W = _weights(d2, h)
            out[i, start : start + len(rows)] = (_local_slopes(X, rows, W) @ X.T) * W
        start += len(rows)
    return out


def _distance_blocks(F: NDArray, queries: NDArray) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield blocks of query rows with squared distances to all rows, their own set to infinity."""
    F = np.asarray(F, dtype=np.float64)
    step = max(1, _BLOCK // len(F))
    for start in range(0, len(queries), step):
        rows = queries[start : start + step]
        d2 = _squared_distances(F[rows], F)
        d2[np.arange(len(rows)), rows] = np.inf
        # The nearest other point gets weight 1: ratios are unchanged, and far outliers do not underflow.
        d2 -= d2.min(axis=1, keepdims=True)
        yield rows, d2


def _squared_distances(A: NDArray, B: NDArray) -> NDArray:
    d2 = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :] - 2.0 * (A @ B.T)
    return np.maximum(d2, 0.0, out=d2)


def _weights(d2: NDArray, bandwidth: float) -> NDArray:
    return np.exp(d2 * (-0.5 / bandwidth**2))


def _local_mean(F: NDArray, Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    return (W @ Y) / W.sum(axis=1, keepdims=True)


def _local_line(F: NDArray, Y: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """Weighted least squares of `Y` on (1, F) around every query, evaluated at the query."""
    X = np.column_stack([np.ones(len(F)), F - F.mean(axis=0)])
    slopes = _local_slopes(X, rows, W)
    # Weighted sums of x_j y_j for every target, contracted with the solved query features.
    return np.stack([np.einsum("qp,qp->q", slopes, W @ (X * y[:, None])) for y in Y.T], axis=1)


def _local_slopes(X: NDArray, rows: NDArray, W: NDArray) -> NDArray:
    """S⁻¹x of every query, with its moments S = Σ_j W_j x_j x_jᵀ."""
    p = X.shape[1]
    products = (X[:, :, None] * X[:, None, :]).reshape(len(X), p * p)
    moments = (W @ products).reshape(len(rows), p, p)
    ridge = _RIDGE * np.trace(moments, axis1=1, axis2=2) / p
    moments[:, np.arange(p), np.arange(p)] += ridge[:, None]
    return np.linalg.solve(moments, X[rows][:, :, None])[:, :, 0]
