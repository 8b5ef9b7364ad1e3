"""What earlier coordinates can predict: the row space of a kernel smoother, as few functions of them.

[Blau2017, eq. 10] writes the regression on the earlier coordinates F as a smoother matrix P; the next coordinate
must satisfy P f = 0. With Gaussian weights G and a measure m of the points (ones in the paper),

    P_ij = G_ij m_j / Σ_j G_ij m_j     (Nadaraya–Watson, Alg. 1 step 5)

With G = Z Zᵀ, where Z is known for new points too, P = A Zᵀ diag(m), so the right singular vectors above a cut (step 6)
come from two small Gram matrices: `_nadaraya_watson` → `_row_space`. Z comes from m landmarks by block randomly pivoted
Cholesky, O(n m²) time and O(n m) memory: `gaussian_factor`.

Deviations from the paper: 1. G is replaced by its low-rank factor (trace error 0.3 %); 2. the measure: where a graph
walk has an even pace, points count in regressions as they do in the walk.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from polyfold._linalg import shifted_products

# Functions with a smaller gain, relative to the largest, are not excluded [Blau2017, Alg. 1 step 6].
_CUT = 0.03
# Next coordinates of MNIST images then agree with those of the dense smoother to |cos| ≥ 0.9996, up to eight earlier.
TRACE_TOL = 3e-3
# Few points are cheap to treat more exactly, and one function more or less counts for more.
_FEW_POINTS, _FEW_TOL = 2000, 1e-5
_MANY_COORDINATES = 4
# Beyond this fraction of n the factor costs more than the matrix it replaces.
MAX_RANK_SHARE = 0.25
SATURATED_SHARE = 0.5
# Pivots below this fraction of the diagonal add digits of noise, not of the kernel.
_PIVOT_TOL = 1e-7
# Pivots drawn at once, twice as many when there are many: more at a time saves passes over Z, but adapts less.
_BLOCK = 48


class _Rows(Protocol):
    def rows(self, F: NDArray) -> NDArray: ...


@dataclass(frozen=True)
class Predictable:
    """Functions of the earlier coordinates F that the smoother can see, orthonormal in the measure w.

    `factor` gives z(F); the functions are ``factor.rows(F) @ coefficients``, shape (n, rank).
    """

    factor: _Rows
    coefficients: NDArray
    values: NDArray
    singular_values: NDArray

    @property
    def rank(self) -> int:
        """Number of functions kept."""
        return self.coefficients.shape[1]

    def slim(self) -> "Predictable":
        """Return a copy without `values`, the functions at the training points."""
        return replace(self, values=np.empty((0, self.rank)))


@dataclass(frozen=True)
class _Straight:
    """The coordinates themselves: what an infinitely wide smoother sees in addition to the mean."""

    def rows(self, F: NDArray) -> NDArray:
        return F


def predictable_functions(
    F: NDArray,
    bandwidth: float,
    weights: NDArray,
    rng: np.random.RandomState,
) -> Predictable:
    """Return the functions of `F` (n, p) whose smoother gain is above `_CUT` times the largest."""
    if np.isinf(bandwidth):
        p = F.shape[1]
        return Predictable(_Straight(), np.eye(p), np.array(F), np.ones(p))
    few = len(F) <= _FEW_POINTS
    max_rank = len(F) if few else int(MAX_RANK_SHARE * len(F))
    tol = _FEW_TOL if few else TRACE_TOL
    # In many dimensions the factor is large, far from singular and coarser than single precision.
    dtype = np.float64 if few or F.shape[1] < _MANY_COORDINATES else np.float32
    factor, Z = gaussian_factor(F, bandwidth, tol=tol, max_rank=max_rank, rng=rng, dtype=dtype)
    weights = weights.astype(dtype, copy=False)
    coefficients, gains = _row_space(_nadaraya_watson(Z, weights), Z, weights)
    values = (Z @ coefficients.astype(dtype, copy=False)).astype(np.float64, copy=False)
    return Predictable(factor, coefficients, values, gains)


def _nadaraya_watson(Z: NDArray, weights: NDArray) -> NDArray:
    """Return the factor A of P = A Zᵀ diag(w): its rows are z_i / Σ_j G_ij w_j [Blau2017, Alg. 1 step 5]."""
    total = Z @ (Z.T @ weights)
    # G_ii = 1, so a row sum below w_i is an error of the low-rank factor.
    total = np.maximum(total, weights)
    return Z / total[:, None]


def _row_space(A: NDArray, B: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Right singular vectors of A Bᵀ diag(w) in the measure w, as coefficients on B, and their gains.

    With C = Bᵀ diag(w) B = R Rᵀ and E = Aᵀ diag(w) A, the gains squared are the eigenvalues of Rᵀ E R.
    """
    root = np.sqrt(weights)[:, None]
    c, U = np.linalg.eigh(_gram(root * B))
    keep = c > c[-1] * len(c) * np.finfo(B.dtype).eps
    U, c = U[:, keep], c[keep]
    R = U * np.sqrt(c)
    gains2, Y = np.linalg.eigh(R.T @ _gram(root * A) @ R)
    gains = np.sqrt(np.maximum(gains2[::-1], 0.0))
    rank = max(1, int(np.count_nonzero(gains > _CUT * gains[0])))
    return (U / np.sqrt(c)) @ Y[:, ::-1][:, :rank], gains[:rank]


def _gram(M: NDArray) -> NDArray:
    return (M.T @ M).astype(np.float64, copy=False)


def is_saturated(functions: Predictable, n: int) -> bool:
    """Whether the kept functions are so many that nothing is left to be unpredictable."""
    return functions.rank > SATURATED_SHARE * n or (
        isinstance(functions.factor, GaussianFactor) and functions.factor.trace_error > 10 * TRACE_TOL
    )


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
    out = shifted_products(F, H, 0.5 / bandwidth**2)
    return np.exp(out, out=out)


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
    """Draw distinct pivots with probability proportional to the residual diagonal."""
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
