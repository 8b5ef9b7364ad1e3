"""The best direction that a set of constraints leaves: top eigenvector of (I − QQᵀ) K (I − QQᵀ).

[Blau2017, Lemma 2]: deflating K from both sides by the predictable directions turns the constrained problem into an
ordinary eigenproblem. Three ways to solve it, chosen once per operator by `choose_solver`:

- `DenseSolver`: small problems, LAPACK;
- `InverseSolver`: minimisers of low-dimensional data, whose smallest eigenvalues are so close together that the flip
  λ_max I − cost stalls Lanczos. One sparse LU of cost + εI, constrained by its Schur complement on Q;
- `LanczosSolver`: everything else, Lanczos on the deflated operator.

One-sided deflation is cheaper and can return a wrong vector: it is not offered.
"""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu
from sklearn.exceptions import ConvergenceWarning

from polyfold.kernels import KernelOperator, is_cheap_to_invert, linear_operator

__all__ = ["EIGEN_SOLVERS", "ConstrainedSolver", "choose_solver", "make_solver"]

EIGEN_SOLVERS = ("auto", "dense", "inverse", "lanczos")
_DENSE_ROWS = 300
_TOL = 1e-6
_LOOSE_TOL = 1e-2
_MAX_ITER = 1000


class ConstrainedSolver(Protocol):
    """Finds the best directions orthogonal to the orthonormal columns of Q."""

    def top(self, Q: NDArray, k: int, start: NDArray) -> NDArray:
        """Return orthonormal G ⟂ Q (n, k), the directions that maximise gᵀ K g, best first."""
        ...


def choose_solver(operator: KernelOperator) -> str:
    """Resolve ``eigen_solver="auto"``: dense if small, inverse where an LU stays sparse, else Lanczos."""
    if operator.n_samples <= _DENSE_ROWS:
        return "dense"
    return "inverse" if is_cheap_to_invert(operator) else "lanczos"


def make_solver(operator: KernelOperator, name: str = "auto") -> ConstrainedSolver:
    """Build the solver called `name` for `operator`."""
    name = choose_solver(operator) if name == "auto" else name
    if name == "dense":
        return DenseSolver(_as_dense(operator.matrix))
    if name == "inverse":
        cost = getattr(operator, "cost", None)
        if cost is None:
            raise ValueError("eigen_solver='inverse' needs a kernel with a sparse cost; use 'lanczos' or 'dense'.")
        return InverseSolver(cost)
    return LanczosSolver(operator.matrix)


class DenseSolver:
    """LAPACK on the deflated matrix."""

    def __init__(self, K: NDArray):
        self.K = K
        self.low = -10.0 * float(np.abs(K).sum(axis=1).max()) - 1.0

    def top(self, Q: NDArray, k: int, start: NDArray) -> NDArray:
        """Return the k directions ⟂ Q that maximise gᵀ K g, best first."""
        KQ = self.K @ Q
        deflated = self.K - KQ @ Q.T - Q @ KQ.T + Q @ ((Q.T @ KQ) + self.low * np.eye(Q.shape[1])) @ Q.T
        return _orthonormal(np.linalg.eigh((deflated + deflated.T) / 2)[1][:, ::-1][:, :k], Q)


class InverseSolver:
    """Lanczos on the constrained inverse of cost + εI, from one sparse LU."""

    def __init__(self, cost: Any):
        diagonal = cost.diagonal()
        self.shift = 1e-9 * float(diagonal.mean())
        shifted = sp.csc_array(cost + self.shift * sp.eye_array(cost.shape[0], format="csr"))
        self.lu = splu(sp.csc_matrix(shifted), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def top(self, Q: NDArray, k: int, start: NDArray) -> NDArray:
        """Return the k directions ⟂ Q that minimise gᵀ cost g, best first."""
        Y = self.lu.solve(Q)
        core = np.linalg.pinv(Q.T @ Y, hermitian=True)

        def inverse(x: NDArray) -> NDArray:
            x = x.ravel() - Q @ (Q.T @ x.ravel())
            z = self.lu.solve(x)
            z -= Y @ (core @ (Q.T @ z))
            return z - Q @ (Q.T @ z)

        return _lanczos(inverse, Q, k, start)


class LanczosSolver:
    """Lanczos on the two-sided deflated operator."""

    def __init__(self, K: Any):
        self.K = K

    def top(self, Q: NDArray, k: int, start: NDArray) -> NDArray:
        """Return the k directions ⟂ Q that maximise gᵀ K g, best first."""

        def deflated(x: NDArray) -> NDArray:
            x = x.ravel() - Q @ (Q.T @ x.ravel())
            y = self.K @ x
            return y - Q @ (Q.T @ y)

        return _lanczos(deflated, Q, k, start)


def _lanczos(apply: Any, Q: NDArray, k: int, start: NDArray) -> NDArray:
    n = len(Q)
    operator = linear_operator(n, apply)
    options: dict[str, Any] = {"k": k, "which": "LA", "v0": _orthonormal(start[:, None], Q)[:, 0], "ncv": min(n, 24)}
    options |= {"tol": _TOL, "maxiter": _MAX_ITER}
    try:
        g = eigsh(operator, **options)[1]
    except ArpackNoConvergence:
        warnings.warn(
            f"the eigensolver did not reach tol={_TOL:g} in {_MAX_ITER} restarts; a direction within {_LOOSE_TOL:g} is "
            "used. Try eigen_solver='inverse' for low-dimensional data, or 'dense' if the sample is small.",
            ConvergenceWarning,
            stacklevel=6,
        )
        options["tol"] = _LOOSE_TOL
        g = eigsh(operator, **options)[1]
    return _orthonormal(g[:, ::-1], Q)


def _orthonormal(G: NDArray, Q: NDArray) -> NDArray:
    """Project out Q (twice, against rounding) and restore orthonormal columns, in their order."""
    for _ in range(2):
        G = G - Q @ (Q.T @ G)
    return np.linalg.qr(G)[0]


def _as_dense(K: Any) -> NDArray:
    if sp.issparse(K):
        return K.toarray()
    return np.asarray(K @ np.eye(K.shape[0])) if isinstance(K, LinearOperator) else np.asarray(K, dtype=np.float64)
