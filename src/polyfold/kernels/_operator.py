"""Operators: kernels that are a matrix on N points, with everything that solvers need.

Every spectral method here solves problem (4) of [Blau2017]: maximise gᵀ K g over unit vectors g. An operator adds a
measure w (degrees for walks, ones otherwise): the coordinate is f = g / √w, its mean is taken with weights w, and per
connected component. If a method minimises a cost, K = flip · I − cost, and the cost is kept: its smallest
eigenvalues would drown in the rounding of the flip.

On the training points an eigenvector, constrained or not, has K g = ν g + √w (a + v m/w): an intercept a per component
and a part v that the constraints took off. All pieces exist at a new point, so that one formula extends every method
(`Extension`):

    f(x) = (T(x) f − s(x) a − r(x) v(x)) / (o(x) + ν t(x))

    kernels of two points    T = k(x, ·),  s = r = 1,           o = 0,           t = 1
    random walks             T = a step,   s = its time,        o = 1 − s·flip,  t = s
    locally linear methods   T = weights,  s = r = 0,           o = 1,           t = 0
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from polyfold._linalg import as_dense, distinct_rows
from polyfold._typing import Matrix, SparseMatrix
from polyfold._validation import outside
from polyfold.exceptions import GraphWarning
from polyfold.neighbors import Neighborhoods, Search, fewest_neighbors, find_neighbors, is_graph, neighbor_graph

if TYPE_CHECKING:
    from polyfold.kernels._base import GraphKernel, Kernel

_MATCH = 1e-6
_NO_VALUES = np.empty(0)


@dataclass(frozen=True)
class Extension:
    """Map values at the training points to values at new points.

    `image` applies T to functions on the training points (N, k); `matches` holds the training point that a row
    coincides with, or −1: its coordinates are known. A new point so isolated that its step outlasts the coordinate's
    own time scale is not pushed further out than `floor` allows.
    """

    image: Callable[[NDArray], NDArray]
    components: NDArray
    matches: NDArray
    times: NDArray
    shares: NDArray
    offset: NDArray
    slope: NDArray
    floor: float = -np.inf

    @classmethod
    def of_kernel(cls, image: Callable[[NDArray], NDArray], n: int, matches: NDArray | None = None) -> "Extension":
        """Extend a kernel whose values at the new points are known."""
        none, one = np.zeros(n, dtype=np.intp), np.ones(n)
        return cls(image, none, none - 1 if matches is None else matches, one, one, np.zeros(n), one)

    def values(
        self, functions: NDArray, eigenvalues: NDArray, intercepts: NDArray, predictable: NDArray | float = 0.0
    ) -> NDArray:
        """Functions (N, k) at the new points, (n, k), from eigenvalues (k,), a (c, k) and v (n, k)."""
        taken = self.times[:, None] * intercepts[self.components] + self.shares[:, None] * predictable
        share = np.maximum(self.offset[:, None] + self.slope[:, None] * eigenvalues, self.floor)
        return self.settle((self.image(functions) - taken) / share, functions)

    def settle(self, new: NDArray, old: NDArray) -> NDArray:
        """Replace the values `new` (n, …) of rows that are training points by their values `old` (N, …)."""
        known = self.matches >= 0
        new[known] = old[self.matches[known]]
        return new


@dataclass(frozen=True)
class Operator:
    """Represent a symmetric kernel on N points by a matrix and its properties.

    Parameters
    ----------
    extend : callable
        New rows to an `Extension`.
    weights : ndarray of shape (N,)
        The measure w.
    matrix : (N, N) ndarray or sparse matrix
    factor : ndarray of shape (N, m)
        C, instead of a matrix, which is then C Cᵀ and never formed.
    measure : ndarray of shape (N,)
        m, how much each point counts in regressions.
    components : ndarray of shape (N,)
        Numbers of the connected components.
    cost : sparse matrix, optional
    flip : float
        What the method minimises, and the number with which ``matrix`` is flip · I − cost.
    power : int
        Eigenvalues of the kernel are those of the operator to this power.
    has_units : bool
        Whether eigenvalues are variances on the scale of the data, as in kernel PCA.
    is_walk : bool
        Whether eigenvalues are far enough apart for Lanczos unless the data are low-dimensional.
    near : Neighborhoods, optional
        The graph, if the kernel has one.
    row_points : ndarray of shape (n,), optional
        Which of the N points every row of the data is, if duplicates were merged.
    """

    extend: Callable[[Matrix], Extension]
    weights: NDArray
    matrix: Matrix | None = None
    factor: NDArray | None = None
    measure: NDArray = field(default_factory=lambda: _NO_VALUES)
    components: NDArray = field(default_factory=lambda: _NO_VALUES)
    cost: SparseMatrix | None = None
    flip: float = 0.0
    power: int = 1
    has_units: bool = False
    is_walk: bool = False
    near: Neighborhoods | None = None
    row_points: NDArray | None = None

    def __post_init__(self) -> None:
        if self.measure is _NO_VALUES:
            object.__setattr__(self, "measure", np.ones(self.n_samples))
        if self.components is _NO_VALUES:
            object.__setattr__(self, "components", np.zeros(self.n_samples, dtype=np.intp))

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return len(self.weights)

    @property
    def trivial(self) -> NDArray:
        """Directions without information, √w on every component, shape (N, c)."""
        labels = self.components
        return np.sqrt(self.weights)[:, None] * (labels[:, None] == np.arange(labels.max() + 1))

    def apply(self, V: NDArray) -> NDArray:
        """Return K V for V of shape (N,) or (N, k)."""
        if self.factor is not None:
            return self.factor @ (self.factor.T @ V)
        return self.matrix @ V

    def dense(self) -> NDArray:
        """Return K as an array, exactly symmetric."""
        if self.factor is not None:
            K = self.factor @ self.factor.T
        else:
            K = as_dense(self.matrix).astype(np.float64, copy=False)
        return (K + K.T) / 2

    def energy(self, Q: NDArray) -> float | None:
        """Sum of squares of all eigenvalues outside the span of Q; None if it is too expensive."""
        if self.factor is not None:
            C = self.factor - Q @ (Q.T @ self.factor)
            return float(np.sum((C.T @ C) ** 2))
        if self.cost is None or self.matrix is None or self.power > 1:  # indefinite, or a power of a known kernel
            return None
        return float(self.matrix.multiply(self.matrix).sum()) - float(np.sum((Q.T @ (self.matrix @ Q)) ** 2))

    @property
    def neighbor_recall(self) -> float:
        """Fraction of true nearest neighbours in the graph; nan if it is not known."""
        return np.nan if self.near is None else self.near.recall

    @property
    def finds_itself(self) -> bool:
        """Whether `extend` gives every training row the values of that row, as far as is known."""
        return self.near is not None and self.near.finds_itself

    def on_rows(self, values: NDArray) -> NDArray:
        """Values of the N points, given back to the rows of the data."""
        return values if self.row_points is None else values[self.row_points]


@dataclass(frozen=True)
class _FactorExtension:
    """New points of a kernel known by features: k(x, ·) = features(x) Cᵀ."""

    factor: NDArray
    features: Callable[[Matrix], NDArray]

    def __call__(self, X: Matrix) -> Extension:
        features = self.features(X)
        return Extension.of_kernel(lambda F: features @ (self.factor.T @ F), X.shape[0])


def feature_operator(factor: NDArray, features: Callable[[Matrix], NDArray]) -> Operator:
    """Operator C Cᵀ of a kernel known by the features C of its points and a function that gives those of others."""
    extend = _FactorExtension(factor, features)
    return Operator(extend, np.ones(len(factor)), factor=factor, has_units=True)


def minimiser(
    cost: SparseMatrix,
    extend: Callable[[Matrix], Extension],
    components: NDArray,
    near: Neighborhoods,
    row_points: NDArray | None,
) -> Operator:
    """Operator of a method that minimises fᵀ cost f and whose extension interpolates."""
    flip = largest_eigenvalue(cost)
    identity = sp.eye_array(cost.shape[0], format="csr")
    return Operator(
        extend,
        np.ones(cost.shape[0]),
        matrix=sp.csr_array(flip * identity - cost),  # [Blau2017, Alg. 1 step 2]
        components=components,
        cost=cost,
        flip=flip,
        near=near,
        row_points=row_points,
    )


def interpolation(indices: NDArray, values: NDArray, matches: NDArray, components: NDArray) -> Extension:
    """Extension by weighted means: `values` (n, k) on the training points `indices`."""
    rows, nothing = neighbor_graph(values, indices, len(components)), np.zeros(len(indices))
    first = components[indices[:, 0]]
    return Extension(lambda F: rows @ F, first, matches, nothing, nothing, nothing + 1, nothing)


def neighborhoods(
    kernel: "GraphKernel", X: Matrix, *, default: int = 10
) -> tuple[Matrix, Neighborhoods, NDArray | None]:
    """Find the neighbourhoods that the parameters of a graph kernel describe, among the distinct rows of `X`.

    Return the distinct rows, their neighbourhoods, and the distinct row of every row (None if all differ). Duplicates
    would otherwise replace the neighbours of a point.
    """
    given = takes_distances(kernel)
    points, row_points, copies = X, None, None
    # A graph of distances may hold too few neighbours to spare some of them.
    if not is_graph(kernel.neighbors) and not (given and sp.issparse(X)):
        copies = _coincident(X) if given else distinct_rows(X)
    if copies is not None:
        first, row_points = copies
        points = X[np.ix_(first, first)] if given else X[first]
    near = _neighborhoods(kernel, points, default)
    if copies is not None and given:
        near = replace(near, search=_Columns(near.search, copies[0]))
    if not near.distances.any():
        raise ValueError(
            f"{type(kernel).__name__} needs points at different places, got {near.n_samples} points whose "
            f"{near.n_neighbors} nearest neighbours are all at distance zero; raise n_neighbors."
        )
    return points, near, row_points


def _coincident(distances: NDArray) -> tuple[NDArray, NDArray] | None:
    """First of each set of points at distance zero, and for every point which of those it is; None if all differ."""
    if distances.shape[0] != distances.shape[1]:
        return None  # the search refuses them
    count, labels = connected_components(sp.csr_array(distances == 0), directed=False)
    if count == len(distances):
        return None
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first, inverse


@dataclass(frozen=True)
class _Columns:
    """A search in some columns of the distances that are given."""

    search: Search
    columns: NDArray

    def query(self, X: Matrix, k: int) -> tuple[NDArray, NDArray]:
        return self.search.query(X[:, self.columns], k)


def _neighborhoods(kernel: "GraphKernel", points: Matrix, default: int) -> Neighborhoods:
    n = points.shape[0]
    if n < 3:
        raise ValueError(
            f"{type(kernel).__name__} needs at least 3 points at different places, got {n}; drop duplicates, or use a "
            "kernel of two points such as 'rbf'."
        )
    most = fewest_neighbors(kernel.neighbors) if is_graph(kernel.neighbors) else n - 1
    k = max(1, min(default, most)) if kernel.n_neighbors is None else kernel.n_neighbors
    return find_neighbors(points, k, engine=kernel.neighbors, n_jobs=kernel.n_jobs)


def takes_distances(kernel: "GraphKernel") -> bool:
    """Whether the rows given to a graph kernel are distances."""
    return isinstance(kernel.neighbors, str) and kernel.neighbors == "precomputed"


def has_fixed_rows(kernel: "Kernel | GraphKernel") -> bool:
    """Whether values, distances or neighbours of the training rows were given, so that no row can be left out."""
    if kernel.is_pointwise:
        return kernel.takes_precomputed
    return takes_distances(kernel) or is_graph(kernel.neighbors)


def require_points(kernel: "GraphKernel", X: Matrix) -> NDArray:
    """Return `X` as an array, or explain why this kernel cannot do without points."""
    if takes_distances(kernel):
        raise ValueError(
            f"{type(kernel).__name__} needs the points themselves, so neighbors='precomputed' is not possible; pass "
            "X and, to bring your own graph, the graph or a transformer as neighbors."
        )
    return as_dense(X)


def component_labels(graph: SparseMatrix, *, what: str) -> NDArray:
    """Label connected components, and warn if there is more than one."""
    count, labels = connected_components(graph, directed=False)
    if count > 1:
        sizes = np.sort(np.bincount(labels))[::-1]
        shown = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
        warnings.warn(
            f"the neighbour graph of {what} has {count} components (sizes {shown}); coordinates are found within "
            "components and have mean zero in each. Raise n_neighbors for a connected graph.",
            GraphWarning,
            stacklevel=outside(),
        )
    return labels.astype(np.intp)


def match_training(distances: NDArray, indices: NDArray) -> NDArray:
    """Index of the training point each new row coincides with, −1 if there is none."""
    # Distances from matrix products carry rounding, so "zero" is relative to the neighbourhood's size.
    same = distances[:, 0] <= _MATCH * distances[:, -1]
    return np.where(same, indices[:, 0], -1)


def largest_eigenvalue(cost: SparseMatrix) -> float:
    """λ_max of a sparse positive semi-definite matrix, rounded up so that the flip stays positive."""
    if cost.shape[0] <= 32:
        return float(np.linalg.eigvalsh(cost.toarray())[-1]) * (1 + 1e-4)
    start = np.random.RandomState(0).uniform(-1, 1, cost.shape[0])
    options: dict[str, Any] = {"k": 1, "which": "LA", "tol": 1e-4, "v0": start, "return_eigenvectors": False}
    return float(eigsh(cost, **options)[0]) * (1 + 1e-4)
