"""The smallest eigenvalues of a sparse cost outside the span of Q, by LOBPCG with an algebraic multigrid.

SciPy's LOBPCG [Knyazev2001] solves the problem, and pyamg's smoothed aggregation [Vanek1996] preconditions it. The
number of iterations does not grow with n, while Lanczos needs about 1/h of them for points a distance h apart, and a
sparse LU needs more than O(n) memory.

This solver is for random walks only. The costs of LLE, LTSA and Hessian LLE are of fourth order, h⁴ relative to the
largest: above about ten thousand points they are below the rounding error of double precision.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lobpcg
from sklearn.exceptions import ConvergenceWarning

from polyfold._linalg import fix_signs
from polyfold._validation import import_extra, outside
from polyfold.kernels import Operator

# Directions beyond the wanted ones: they make the last wanted direction converge.
GUARDS = 3
MAX_ITER = 200
# The preconditioner is built for cost + shift, which is not singular; relative to the mean diagonal.
_SHIFT = 1e-8


class MultigridSolver:
    """LOBPCG with pyamg's smoothed aggregation as its preconditioner (extra ``pyamg``)."""

    def __init__(self, operator: Operator):
        pyamg = import_extra("pyamg", "pyamg")
        self.flip = operator.flip
        cost = sp.csr_array(operator.cost)
        # pyamg takes 32-bit indices only.
        parts = (cost.data, cost.indices.astype(np.int32), cost.indptr.astype(np.int32))
        self.cost = sp.csr_matrix(parts, shape=cost.shape)
        shift = _SHIFT * float(self.cost.diagonal().mean())
        shifted = self.cost + shift * sp.eye(cost.shape[0], format="csr")
        levels = pyamg.smoothed_aggregation_solver(shifted, B=np.sqrt(operator.weights)[:, None])
        self.preconditioner = levels.aspreconditioner(cycle="V")
        self.tol = float(np.sqrt(np.finfo(np.float64).eps)) * float(self.cost.diagonal().max())

    def top(
        self, Q: NDArray, k: int, start: NDArray | None = None, tol: float | None = None
    ) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        width = min(k + GUARDS, len(Q) - Q.shape[1])
        # Random vectors: LOBPCG can break down if some columns of the start are solutions already.
        X = np.random.RandomState(0).standard_normal((len(Q), width))
        X -= Q @ (Q.T @ X)
        X /= np.linalg.norm(X, axis=0)
        high = float(self.cost.diagonal().max())
        deflated = _outside(Q, self.cost.dot, high)
        preconditioner = _outside(Q, self.preconditioner.matmat, 1 / high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the residuals are checked below
            costs, G = lobpcg(deflated, X, M=preconditioner, largest=False, tol=self.tol, maxiter=MAX_ITER)
        order = np.argsort(costs)
        costs, G = costs[order], G[:, order]
        residual = self.cost @ G[:, :k] - G[:, :k] * costs[:k]
        residual -= Q @ (Q.T @ residual)
        error = float(np.linalg.norm(residual, axis=0).max())
        # LOBPCG may end within a small factor of its tolerance.
        if error > 10 * self.tol:
            warnings.warn(
                f"The eigensolver reached a residual of {error:.1e} in at most {MAX_ITER} iterations, not "
                f"{10 * self.tol:.1e}. Try eigen_solver='inverse' for low-dimensional data, 'lanczos' for others.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        return self.flip - costs[:k], fix_signs(G[:, :k])


def _outside(Q: NDArray, apply: Callable[[NDArray], NDArray], value: float) -> LinearOperator:
    """Return P A P + value · QQᵀ with P = I − QQᵀ.

    LOBPCG's own constraints drift: rounding brings back directions of Q, and a small cost favours them.
    """

    def matmat(V: NDArray) -> NDArray:
        inside = Q @ (Q.T @ V)
        image = apply(V - inside)
        return image - Q @ (Q.T @ image) + value * inside

    make: Any = LinearOperator  # its type stubs have only the constructors of subclasses
    return make((len(Q), len(Q)), matvec=lambda v: matmat(v.reshape(-1, 1)), matmat=matmat, dtype=np.float64)
