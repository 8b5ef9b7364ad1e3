"""What the graph kernels share: operators with a measure, the random walk on a graph, components, matches.

Every spectral method here solves problem (4) of [Blau2017]: maximise gᵀ K g over unit vectors g. A graph adds a
measure w (degrees for walks, ones otherwise): the coordinate is f = g / √w, its mean is taken with weights w, and
`rows` acts on f. Where a method minimises a cost, K = λ_max I − cost, and the cost is kept: its smallest eigenvalues
would drown in the rounding of the flip.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, eigsh

from polyfold.exceptions import GraphWarning
from polyfold.kernels._base import KernelOperator
from polyfold.neighbors import Neighborhoods, find_neighbors

__all__ = [
    "Extension",
    "ExtensionRows",
    "FactorOperator",
    "GraphOperator",
    "component_labels",
    "default_neighbors",
    "factor_fill",
    "flipped",
    "indicator",
    "interpolation",
    "is_cheap_to_invert",
    "largest_eigenvalue",
    "linear_operator",
    "match_training",
    "minimiser",
    "neighborhoods",
    "require_points",
    "symmetric_union",
]

_MATCH = 1e-6
# Entries of a banded factor that are still cheap: 400 MB of doubles at worst.
_MAX_FILL = 50_000_000
_NARROW_BAND = 1000


@dataclass(frozen=True)
class Extension:
    """What new points take from the graph: `rows` (n, N) on old coordinates, step times, components.

    `shares` is what a constraint in the operator's measure weighs at x, and `matches` holds the training point that a
    row coincides with, or −1: its coordinates are known.
    """

    rows: Any
    times: NDArray
    components: NDArray
    matches: NDArray
    shares: NDArray

    def settle(self, new: NDArray, old: NDArray) -> NDArray:
        """Put the known values `old` (N, …) in place of `new` (n, …) where a row is a training point."""
        known = self.matches >= 0
        new[known] = old[self.matches[known]]
        return new


@dataclass(frozen=True)
class GraphOperator(KernelOperator):
    """A graph kernel: the matrix to be maximised, its measure, and how new points read coordinates off old ones.

    With coordinates f on the training points and an extension (T, s) of new ones, f(x) is T f where the operator
    `interpolates` (locally linear methods); otherwise an eigenvector with eigenvalue ν has f(x) = T f / (1 − s λ) for
    its cost λ = flip − ν (random walks whose steps take time s).
    """

    weights: NDArray = field(default_factory=lambda: np.empty(0))  # (N,) the measure w
    measure: NDArray = field(default_factory=lambda: np.empty(0))  # (N,) how much each point counts in regressions
    components: NDArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    cost: Any | None = None  # what the method minimises, `matrix` = flip · I − cost
    flip: float = 0.0
    extend: Any = None  # X_new -> Extension
    interpolates: bool = False
    power: int = 1  # eigenvalues of the kernel are (those of the matrix) ** power


@dataclass(frozen=True)
class FactorOperator(KernelOperator):
    """A kernel known by features: matrix = C Cᵀ with `factor` C (N, m), and ``features(X)`` for new points."""

    factor: NDArray = field(default_factory=lambda: np.empty((0, 0)))
    features: Any = None

    @classmethod
    def of(cls, factor: NDArray, features: Any) -> FactorOperator:
        """Wrap a factor as an operator that never forms the N × N matrix."""
        matrix = linear_operator(len(factor), lambda v: factor @ (factor.T @ v))
        return cls(matrix=matrix, rows=_FactorRows(factor, features), factor=factor, features=features)

    def __reduce__(self) -> tuple[Any, ...]:
        return (FactorOperator.of, (self.factor, self.features))


@dataclass(frozen=True)
class _FactorRows:
    factor: NDArray
    features: Any

    def __call__(self, X: Any) -> NDArray:
        return self.features(X) @ self.factor.T


def linear_operator(n: int, apply: Callable[[NDArray], NDArray]) -> Any:
    """Wrap a symmetric map of vectors of length `n` for the iterative solvers."""
    make: Any = LinearOperator  # its stubs know only the subclasses' constructors
    return make((n, n), matvec=apply, matmat=apply, dtype=np.float64)


def default_neighbors(n_neighbors: int | None, n_samples: int, *, default: int) -> int:
    """Return the number asked for, or `default` as far as there are other points."""
    return max(1, min(default, n_samples - 1)) if n_neighbors is None else n_neighbors


def neighborhoods(kernel: Any, X: Any, *, default: int = 10) -> Neighborhoods:
    """Find the neighbourhoods a graph kernel asks for by its parameters."""
    k = default_neighbors(kernel.n_neighbors, X.shape[0], default=default)
    near = find_neighbors(X, k, engine=kernel.neighbors, n_jobs=kernel.n_jobs)
    if not near.distances.any():
        raise ValueError(
            f"{type(kernel).__name__} needs points at different places, got {near.n_samples} rows whose {k} nearest "
            "neighbours are all copies of them; drop duplicates, or raise n_neighbors."
        )
    return near


def require_points(kernel: Any, X: Any) -> Any:
    """Return `X`, or explain why this kernel cannot do without points."""
    if isinstance(kernel.neighbors, str) and kernel.neighbors == "precomputed":
        raise ValueError(
            f"{type(kernel).__name__} needs the points themselves, so neighbors='precomputed' is not possible; pass "
            "X and, to bring your own graph, a transformer as neighbors."
        )
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def symmetric_union(graph: Any) -> Any:
    """Keep an edge that either end has: the larger of both weights."""
    return sp.csr_array(graph.maximum(graph.T))


def component_labels(graph: Any, *, what: str) -> NDArray:
    """Label connected components, and warn where there is more than one."""
    count, labels = connected_components(graph, directed=False)
    if count > 1:
        sizes = np.sort(np.bincount(labels))[::-1]
        shown = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
        warnings.warn(
            f"the neighbour graph of {what} has {count} components (sizes {shown}); coordinates are found within "
            "components and have mean zero in each. Raise n_neighbors for a connected graph.",
            GraphWarning,
            stacklevel=4,
        )
    return labels.astype(np.intp)


def indicator(labels: NDArray) -> NDArray:
    """One column per component, shape (n, c)."""
    return (labels[:, None] == np.arange(labels.max() + 1)[None, :]).astype(np.float64)


def match_training(distances: NDArray, indices: NDArray) -> NDArray:
    """Index of the training point each new row coincides with, −1 where there is none."""
    # Distances from matrix products carry rounding, so "zero" is relative to the neighbourhood's size.
    same = distances[:, 0] <= _MATCH * distances[:, -1]
    return np.where(same, indices[:, 0], -1)


def largest_eigenvalue(cost: Any) -> float:
    """λ_max of a sparse positive semi-definite matrix, rounded up so that the flip stays positive."""
    if cost.shape[0] <= 32:
        return float(np.linalg.eigvalsh(cost.toarray())[-1])
    start = np.random.RandomState(0).uniform(-1, 1, cost.shape[0])
    options: dict[str, Any] = {"k": 1, "which": "LA", "tol": 1e-4, "v0": start, "return_eigenvectors": False}
    top = eigsh(cost, **options)[0]
    return float(top) * (1 + 1e-4)


def factor_fill(cost: Any) -> int:
    """Entries of a banded LU after reverse Cuthill–McKee: small for graphs of low-dimensional data."""
    order = reverse_cuthill_mckee(sp.csr_matrix(cost), symmetric_mode=True)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    coo = sp.coo_array(cost)
    rows, columns = place[coo.coords[0]], place[coo.coords[1]]
    first = np.arange(len(order))
    np.minimum.at(first, rows, columns)
    return int(np.sum(np.arange(len(order)) - first))


def is_cheap_to_invert(operator: KernelOperator) -> bool:
    """Whether to solve for the smallest eigenvalues of the cost by a sparse LU, rather than by Lanczos on the flip."""
    if not isinstance(operator, GraphOperator):
        return False
    # Walks have eigenvalues far enough apart for Lanczos, unless the data are low-dimensional: narrow bands.
    limit = _MAX_FILL if operator.interpolates else min(_MAX_FILL, _NARROW_BAND * operator.n_samples)
    return factor_fill(operator.cost) <= limit


def flipped(cost: Any, flip: float) -> Any:
    """λ_max I − cost [Blau2017, Alg. 1 step 2]."""
    return sp.csr_array(flip * sp.eye_array(cost.shape[0], format="csr") - cost)


@dataclass(frozen=True)
class ExtensionRows:
    """The rows of an extension alone."""

    extend: Any

    def __call__(self, X: Any) -> Any:
        """Return rows of shape (n, N)."""
        return self.extend(X).rows


def minimiser(cost: Any, extend: Any, components: NDArray) -> GraphOperator:
    """Operator of a method that minimises fᵀ cost f and whose extension interpolates."""
    flip = largest_eigenvalue(cost)
    return GraphOperator(
        matrix=flipped(cost, flip),
        rows=ExtensionRows(extend),
        trivial=indicator(components),
        weights=np.ones(cost.shape[0]),
        measure=np.ones(cost.shape[0]),
        components=components,
        cost=cost,
        flip=flip,
        extend=extend,
        interpolates=True,
    )


def interpolation(
    indices: NDArray,
    values: NDArray,
    matches: NDArray,
    components: NDArray,
) -> Extension:
    """Rows with `values` at `indices`; rows that match a training point select it."""
    n, k = indices.shape
    values, indices = values.copy(), indices.copy()
    hit = matches >= 0
    values[hit] = 0.0
    values[hit, 0] = 1.0
    indices[hit, 0] = matches[hit]
    shape = (n, len(components))
    rows = sp.csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=shape)
    return Extension(rows, np.ones(n), components[indices[:, 0]], matches, np.ones(n))
