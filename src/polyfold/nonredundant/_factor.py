"""Low-rank factor of a Gaussian kernel matrix by block randomly pivoted Cholesky.

G ≈ Z Zᵀ with Z (n, m) from m landmark points; the relative trace error is below `tol`. Time O(n m²), memory O(n m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

__all__ = ["GaussianFactor", "gaussian_block", "gaussian_factor"]

# Pivots below this share of the diagonal add digits of noise, not of the kernel.
_PIVOT_TOL = 1e-7
# Pivots drawn at once, twice as many when there are many: more at a time saves passes over Z, but adapts less.
_BLOCK = 48


@dataclass(frozen=True)
class GaussianFactor:
    """Landmarks and their Cholesky factor: ``rows(F) @ rows(F).T`` approximates the kernel."""

    landmarks: NDArray
    cholesky: NDArray
    bandwidth: float
    trace_error: float

    def rows(self, F: NDArray) -> NDArray:
        """Return z(F), shape (n, m), for old or new points."""
        block = gaussian_block(self.landmarks, F, self.bandwidth)
        return solve_triangular(self.cholesky, block, lower=True, check_finite=False).T


def gaussian_block(F: NDArray, H: NDArray, bandwidth: float) -> NDArray:
    """Gaussian kernel exp(−‖f − h‖² / 2 bandwidth²) between the rows of `F` and of `H`."""
    d2 = np.einsum("ij,ij->i", F, F)[:, None] + np.einsum("ij,ij->i", H, H)[None, :] - 2.0 * (F @ H.T)
    np.maximum(d2, 0.0, out=d2)
    return np.exp(d2 * (-0.5 / bandwidth**2))


def gaussian_factor(
    F: NDArray,
    bandwidth: float,
    *,
    tol: float,
    max_rank: int,
    rng: np.random.RandomState,
    dtype: type[np.floating] = np.float64,
) -> tuple[GaussianFactor, NDArray]:
    """Factor the kernel of the rows of `F`; return the landmarks and Z (n, m) of type `dtype`.

    Stops at a trace error of `tol` or at `max_rank` columns, whichever comes first: compare ``trace_error``.
    """
    n = len(F)
    max_rank = min(max_rank, n)
    F = F.astype(dtype, copy=False)
    Z = np.empty((n, min(max_rank, 8 * _BLOCK)), dtype=dtype)
    left = np.ones(n)
    pivots: list[int] = []
    while left.sum() > tol * n and len(pivots) < max_rank:
        m = len(pivots)
        block = _draw(left, min(_BLOCK if m < 8 * _BLOCK else 2 * _BLOCK, max_rank - m), rng)
        columns = gaussian_block(F, F[block], bandwidth) - Z[:, :m] @ Z[block, :m].T
        order, L = _independent(columns[block])
        if len(order) == 0:
            break
        fresh = solve_triangular(L.astype(dtype), columns[:, order].T, lower=True, check_finite=False).T
        Z = _with_room(Z, m + len(order))
        Z[:, m : m + len(order)] = fresh
        pivots.extend(block[order])
        left = np.maximum(left - np.einsum("ij,ij->i", fresh, fresh, dtype=np.float64), 0.0)
        left[block] = 0.0
    Z = Z[:, : len(pivots)]
    factor = GaussianFactor(
        landmarks=np.array(F[pivots], dtype=np.float64),
        cholesky=np.tril(Z[pivots]).astype(np.float64),
        bandwidth=bandwidth,
        trace_error=float(left.sum() / n),
    )
    return factor, Z


def _draw(left: NDArray, size: int, rng: np.random.RandomState) -> NDArray:
    """Draw distinct pivots with probability proportional to what is left on the diagonal."""
    size = min(size, int(np.count_nonzero(left)))
    return rng.choice(len(left), size=size, replace=False, p=left / left.sum())


def _independent(C: NDArray) -> tuple[NDArray, NDArray]:
    """Pivoted Cholesky of the small block: the independent columns and their lower factor."""
    L, order, rank, _ = lapack.dpstrf(C.astype(np.float64), tol=_PIVOT_TOL, lower=1)
    keep = np.asarray(order[:rank], dtype=np.intp) - 1
    return keep, np.tril(L[:rank, :rank])


def _with_room(Z: NDArray, columns: int) -> NDArray:
    if columns <= Z.shape[1]:
        return Z
    wider = np.empty((len(Z), max(columns, 2 * Z.shape[1])), dtype=Z.dtype)
    wider[:, : Z.shape[1]] = Z
    return wider
