"""The smallest eigenvalues of a sparse cost outside the span of Q, from coarse to fine.

`slow_directions` of a multigrid hierarchy, found among a few hundred groups of points, span a space in which
Rayleigh–Ritz finds a start for any constraints Q; locally optimal conjugate gradients [Knyazev2001], preconditioned by
the same hierarchy, do the rest. An iteration costs O(n (k + q)) for k neighbours and q constraints, and their number
does not grow with n, where Lanczos needs about 1/h of them for points a distance h apart, and a sparse LU more memory
than O(n).

For walks only: costs of methods that minimise squared local errors (LLE, LTSA, Hessian) are of fourth order, h⁴ beside
the largest, and beyond some ten thousand points below what double precision can tell from zero.
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyfold._linalg import fix_signs
from polyfold.kernels import Operator
from polyfold.spectra._multigrid import Multigrid
from polyfold.spectra._rows import SparseRows, combine, inner, take_off

# Directions that a start is made of, and directions beyond those wanted, which make the last of these converge.
STARTS, GUARDS = 60, 3
# Norm of (I − QQᵀ)(C g − λ g) beside λ. What is left is of fast directions, in which the error of g is far smaller.
TOL = 3e-3
MAX_ITER = 100
# Share below which a direction is within the span of the others.
_DEPENDENT = 1e-12


class MultigridSolver:
    """Preconditioned conjugate gradients from a coarse start."""

    def __init__(self, operator: Operator):
        self.cost, self.flip = SparseRows(operator.cost), operator.flip
        self.grid = Multigrid(operator.cost, np.sqrt(operator.weights))
        self.slow = self.grid.slow_directions(STARTS)
        self.last = np.empty((operator.n_samples, 0))

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = TOL) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        Q = np.ascontiguousarray(Q)
        width = min(k + GUARDS, len(Q) - Q.shape[1])
        X = self._start(Q, width)
        costs, G, residual = smallest(self.cost.__matmul__, self.grid.solve, Q, X, k)
        if residual > TOL:
            warnings.warn(
                f"the eigensolver reached a residual of {residual:.1e} of the eigenvalue in {MAX_ITER} iterations, not "
                f"{TOL:g}. Try eigen_solver='inverse' for low-dimensional data, 'lanczos' for others.",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.last = G
        return self.flip - costs[:k], fix_signs(G[:, :k])

    def _start(self, Q: NDArray, width: int) -> NDArray:
        """Return the best combinations (N, width) of the slow directions, what was found before and noise."""
        few = max(0, width - self.slow.shape[1] + Q.shape[1])
        noise = np.random.RandomState(0).standard_normal((len(Q), few))
        X = take_off(Q, np.concatenate([self.slow, self.last, noise], axis=1))
        return _ritz(X, self.cost @ X, width)[1]


def smallest(
    apply: Callable[[NDArray], NDArray],
    improve: Callable[[NDArray], NDArray],
    Q: NDArray,
    X: NDArray,
    k: int,
) -> tuple[NDArray, NDArray, float]:
    """Return eigenvalues, vectors and the largest residual of the first k, from a start X (n, m) orthogonal to Q."""
    AX, m = apply(X), X.shape[1]
    P, AP, residual = X[:, :0], X[:, :0], np.inf
    costs, U = np.linalg.eigh(inner(X, AX))
    X, AX = combine(X, U), combine(AX, U)
    for iteration in range(MAX_ITER + 1):
        R = take_off(Q, AX - X * costs)
        sizes = np.maximum(np.abs(costs), np.finfo(np.float64).tiny)
        residual = float((np.linalg.norm(R, axis=0) / sizes)[:k].max())
        if residual <= TOL or iteration == MAX_ITER:
            break
        W = take_off(Q, improve(R))
        W = take_off(X, W)
        W /= np.maximum(np.linalg.norm(W, axis=0), np.finfo(np.float64).tiny)
        S, AS = np.hstack([X, W, P]), np.hstack([AX, apply(W), AP])
        costs, T = _ritz_vectors(inner(S, S), inner(S, AS), m)
        # Rounding brings back what was taken off, and the cost would favour it.
        X, AX = take_off(Q, combine(S, T)), combine(AS, T)
        # The direction of the step: what the new vectors have beyond the old ones.
        P, AP = combine(S[:, m:], T[m:]), combine(AS[:, m:], T[m:])
    return costs, X, residual


def _ritz(X: NDArray, AX: NDArray, count: int) -> tuple[NDArray, NDArray]:
    costs, T = _ritz_vectors(inner(X, X), inner(X, AX), count)
    return costs, combine(X, T)


def _ritz_vectors(M: NDArray, H: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """Smallest eigenvalues of H in the metric M, and coefficients (p, count); dependent directions are dropped."""
    scale = 1 / np.sqrt(np.maximum(np.diag(M), np.finfo(np.float64).tiny))
    d, U = np.linalg.eigh(M * scale * scale[:, None])
    keep = d > _DEPENDENT * d[-1]
    T = scale[:, None] * (U[:, keep] / np.sqrt(d[keep]))
    H = T.T @ ((H + H.T) / 2) @ T
    costs, V = np.linalg.eigh(H)
    return costs[:count], T @ V[:, :count]
