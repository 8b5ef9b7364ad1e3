"""The best directions that a set of constraints leaves: top eigenpairs of (I − QQᵀ) K (I − QQᵀ).

[Blau2017, Lemma 2]: deflating K from both sides turns the constrained problem into an ordinary eigenproblem. Q holds
the trivial directions for plain spectra and modules, and the predictable ones as well for non-redundant coordinates.
Ways to solve it, chosen once per operator by `choose_solver`:

- `DenseSolver`: LAPACK, for small problems or many directions.
- `InverseSolver`: minimisers of low-dimensional data, whose smallest eigenvalues are so close together that the flip
  λ_max I − cost stalls Lanczos. One sparse LU of cost + εI, constrained by its Schur complement on Q.
- `MultigridSolver`: random walks on low-dimensional data with too many points for an LU.
- `LanczosSolver`: everything else, Lanczos on the deflated operator.

One-sided deflation is cheaper and can return a wrong vector: it is not offered.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu
from sklearn.exceptions import ConvergenceWarning

from polyfold._linalg import eigh_descending, fix_signs
from polyfold._typing import SparseMatrix
from polyfold._validation import import_extra, outside
from polyfold.exceptions import UnsuitableKernelError
from polyfold.kernels import Operator, intrinsic_dimension

EIGEN_SOLVERS = ("auto", "dense", "inverse", "multigrid", "lanczos")
_DENSE_ROWS = 300
_TOL = 1e-8
_LOOSE_TOL = 1e-2
_MAX_ITER = 1000
# Entries of an LU that are still cheap, 1.2 GB at worst; where Lanczos is an alternative, those of a row, or a few.
_MAX_FILL = 100_000_000
_MAX_ROW_FILL, _SMALL_FILL = 500, 1_000_000
_FILL = 0.8
# Number of points above which Lanczos is too slow for random walks on low-dimensional data.
_MULTIGRID_ROWS, _FEW_DIMENSIONS = 20_000, 5
# Directions of LOBPCG beyond the wanted ones: they make the last wanted direction converge.
_GUARDS = 3
_MULTIGRID_ITER = 200
# The preconditioner is built for cost + shift, which is not singular; relative to the mean diagonal.
_SHIFT = 1e-8


class EigenSolver(Protocol):
    """Finds the best unit vectors orthogonal to the orthonormal columns of Q."""

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = _TOL) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        ...


def top_directions(operator: Operator, Q: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Return the k largest eigenvalues of an operator outside the span of Q, and their vectors (N, k)."""
    many = k > operator.n_samples // 3
    return make_solver(operator, "dense" if many else "auto").top(Q, k)


def choose_solver(operator: Operator) -> str:
    """Resolve ``eigen_solver="auto"``: dense if small, inverse if an LU stays sparse, multigrid, else Lanczos.

    Multigrid needs the extra ``pyamg``; without it Lanczos finds the same directions, in more time.
    """
    if operator.n_samples <= _DENSE_ROWS:
        return "dense"
    if _is_cheap_to_invert(operator):
        return "inverse"
    return "multigrid" if find_spec("pyamg") and _has_few_dimensions(operator) else "lanczos"


def make_solver(operator: Operator, name: str = "auto") -> EigenSolver:
    """Build the solver called `name` for `operator`."""
    name = choose_solver(operator) if name == "auto" else name
    if name == "dense":
        return DenseSolver(operator.dense())
    if name == "lanczos":
        return LanczosSolver(operator)
    if operator.cost is None:
        raise UnsuitableKernelError(
            f"eigen_solver={name!r} needs a kernel with a sparse cost; use 'lanczos' or 'dense'."
        )
    if name == "inverse":
        return InverseSolver(operator)
    if not operator.is_walk:
        raise UnsuitableKernelError(
            "eigen_solver='multigrid' needs a walk (Laplacian eigenmaps, diffusion); use 'inverse'."
        )
    return MultigridSolver(operator)


class DenseSolver:
    """LAPACK on the deflated matrix."""

    def __init__(self, K: NDArray):
        self.K = K
        # Far below every eigenvalue, in the units of the matrix.
        self.low = -10.0 * float(np.abs(K).sum(axis=1).max()) or -1.0

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = _TOL) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        KQ = self.K @ Q
        deflated = self.K - KQ @ Q.T
        deflated -= Q @ KQ.T
        deflated += (Q @ (Q.T @ KQ + self.low * np.eye(Q.shape[1]))) @ Q.T
        d, G = eigh_descending((deflated + deflated.T) / 2, k)
        return d, orthogonal_to(Q, G)


class InverseSolver:
    """Lanczos on the constrained inverse of cost + εI, from one sparse LU."""

    def __init__(self, operator: Operator):
        self.cost, self.flip = cast(SparseMatrix, operator.cost), operator.flip
        shift = 1e-9 * float(self.cost.diagonal().mean())
        shifted = sp.csc_matrix(self.cost + shift * sp.eye_array(self.cost.shape[0], format="csr"))
        self.lu = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = _TOL) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        Y = self.lu.solve(Q)
        core = np.linalg.pinv(Q.T @ Y, hermitian=True)

        def inverse(x: NDArray) -> NDArray:
            z = self.lu.solve(x)
            return z - Y @ (core @ (Q.T @ z))

        _, G = _lanczos(inverse, Q, k, start, tol)
        values = self.flip - np.einsum("ij,ij->j", G, self.cost @ G)
        order = np.argsort(-values, kind="stable")
        return values[order], G[:, order]


class MultigridSolver:
    """LOBPCG [Knyazev2001], preconditioned by pyamg's smoothed aggregation [Vanek1996] (extra ``pyamg``).

    The number of iterations does not grow with n, while Lanczos needs about 1/h of them for points a distance h apart,
    and a sparse LU needs more than O(n) memory. It is for random walks only: the costs of LLE, LTSA and Hessian LLE are
    of fourth order, h⁴ relative to the largest, and above about ten thousand points below the rounding error.
    """

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
        width = min(k + _GUARDS, len(Q) - Q.shape[1])
        # Random vectors: LOBPCG can break down if some columns of the start are solutions already.
        X = np.random.RandomState(0).standard_normal((len(Q), width))
        X -= Q @ (Q.T @ X)
        X /= np.linalg.norm(X, axis=0)
        high = float(self.cost.diagonal().max())
        cost = _deflated(Q, self.cost.dot, high)
        preconditioner = _deflated(Q, self.preconditioner.matmat, 1 / high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the residuals are checked below
            costs, G = lobpcg(cost, X, M=preconditioner, largest=False, tol=self.tol, maxiter=_MULTIGRID_ITER)
        order = np.argsort(costs)
        costs, G = costs[order], G[:, order]
        residual = self.cost @ G[:, :k] - G[:, :k] * costs[:k]
        residual -= Q @ (Q.T @ residual)
        error = float(np.linalg.norm(residual, axis=0).max())
        # LOBPCG may end within a small factor of its tolerance.
        if error > 10 * self.tol:
            warnings.warn(
                f"The eigensolver reached a residual of {error:.1e} in at most {_MULTIGRID_ITER} iterations, not "
                f"{10 * self.tol:.1e}. Try eigen_solver='inverse' for low-dimensional data, 'lanczos' for others.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        return self.flip - costs[:k], fix_signs(G[:, :k])


def _deflated(Q: NDArray, apply: Callable[[NDArray], NDArray], value: float) -> LinearOperator:
    """Return P A P + value · QQᵀ with P = I − QQᵀ.

    LOBPCG's own constraints drift: rounding brings back directions of Q, and a small cost favours them.
    """

    def matmat(V: NDArray) -> NDArray:
        inside = Q @ (Q.T @ V)
        image = apply(V - inside)
        return image - Q @ (Q.T @ image) + value * inside

    make: Any = LinearOperator  # its type stubs have only the constructors of subclasses
    return make((len(Q), len(Q)), matvec=lambda v: matmat(v.reshape(-1, 1)), matmat=matmat, dtype=np.float64)


class LanczosSolver:
    """Lanczos on the two-sided deflated operator."""

    def __init__(self, operator: Operator):
        self.operator = operator

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = _TOL) -> tuple[NDArray, NDArray]:
        """Return the k largest eigenvalues, falling, and their vectors (N, k), of the deflated operator."""
        # Costs of minimisers are smaller than any fraction of the flip that one would call converged.
        minimises = self.operator.cost is not None and not self.operator.is_walk
        return _lanczos(self.operator.apply, Q, k, start, 0.0 if minimises else tol)


def residuals(operator: Operator, Q: NDArray, G: NDArray) -> NDArray:
    """Norms (k,) of the residuals of the eigenvectors G (N, k) outside Q, relative to cost or eigenvalue."""
    image = operator.apply(G) if operator.cost is None else operator.cost @ G
    values = np.einsum("ij,ij->j", G, image)
    residual = image - G * values
    residual -= Q @ (Q.T @ residual)
    return np.linalg.norm(residual, axis=0) / np.maximum(np.abs(values), np.finfo(np.float64).tiny)


def orthogonal_to(Q: NDArray, G: NDArray) -> NDArray:
    """Project Q out of the columns of G, twice against rounding, and normalise them; signs are fixed."""
    for _ in range(2):
        G = G - Q @ (Q.T @ G)
    norms = np.linalg.norm(G, axis=0)
    return fix_signs(G / np.where(norms > 0, norms, 1.0))


def _lanczos(
    apply: Callable[[NDArray], NDArray], Q: NDArray, k: int, start: NDArray | None, tol: float
) -> tuple[NDArray, NDArray]:
    n = len(Q)

    def deflated(x: NDArray) -> NDArray:
        x = x.ravel()
        y = apply(x - Q @ (Q.T @ x))
        return y - Q @ (Q.T @ y)

    start = np.random.RandomState(0).standard_normal(n) if start is None else start
    start = orthogonal_to(Q, start[:, None])[:, 0]
    # ARPACK takes small numbers for converged ones, so the operator is scaled.
    unit = float(np.linalg.norm(deflated(start)))
    if unit == 0:  # nothing is left
        return np.zeros(k), np.zeros((n, k))
    make: Any = LinearOperator  # its type stubs have only the constructors of subclasses
    operator = make((n, n), matvec=lambda x: deflated(x) / unit, dtype=np.float64)
    options: dict[str, Any] = {"k": k, "which": "LA", "v0": start}
    options |= {"ncv": min(n, max(2 * k + 1, 24)), "maxiter": _MAX_ITER}
    try:
        d, G = eigsh(operator, tol=tol, **options)
    except ArpackNoConvergence:
        warnings.warn(
            f"the eigensolver did not reach tol={tol:g} in {_MAX_ITER} restarts; directions within {_LOOSE_TOL:g} are "
            "used. Try eigen_solver='inverse' for low-dimensional data, or 'dense' if the sample is small.",
            ConvergenceWarning,
            stacklevel=outside(),
        )
        d, G = eigsh(operator, tol=_LOOSE_TOL, **options)
    return unit * d[::-1], orthogonal_to(Q, G[:, ::-1])


def _is_cheap_to_invert(operator: Operator) -> bool:
    """Whether to solve for the smallest eigenvalues of the cost by a sparse LU, rather than by Lanczos on the flip."""
    if operator.cost is None:
        return False
    few = max(_SMALL_FILL, _MAX_ROW_FILL * operator.n_samples)
    limit = min(_MAX_FILL, few) if operator.is_walk else _MAX_FILL
    return _factor_fill(operator.cost) <= limit


def _has_few_dimensions(operator: Operator) -> bool:
    """Whether a walk is so slow that Lanczos stalls, and groups of its points have few neighbours."""
    if not operator.is_walk or operator.near is None:
        return False
    many = operator.n_samples > _MULTIGRID_ROWS
    return many and intrinsic_dimension(operator.near.distances) <= _FEW_DIMENSIONS


def _factor_fill(cost: SparseMatrix) -> float:
    """Estimate the entries of a sparse LU: small for graphs of low-dimensional data.

    With b the mean band after reverse Cuthill–McKee, a sheet of n points is cut into squares of b² of them, and
    separators of squares within squares fill n log b entries; those of a solid the b² of its largest. The factor is
    that of rolls, rings, boxes of three and four dimensions and LLE, to within 30 %.
    """
    order = reverse_cuthill_mckee(sp.csr_matrix(cost), symmetric_mode=True)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    coo = sp.coo_array(cost)
    rows, columns = place[coo.coords[0]], place[coo.coords[1]]
    first = np.arange(len(order))
    np.minimum.at(first, rows, columns)
    n = len(order)
    band = max(2.0, float(np.mean(np.arange(n) - first)))
    return min(float(n) ** 2, _FILL * cost.nnz / n * (n * np.log2(band) + band**2))
