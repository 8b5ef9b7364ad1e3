"""Isomap, and its landmark version [Tenenbaum2000, DeSilva2003]."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.neighbors import NearestNeighbors

from polyfold._linalg import eigh_descending
from polyfold._typing import Matrix, Neighbors, SparseMatrix
from polyfold._validation import check_choice, check_count, outside
from polyfold.exceptions import GraphWarning
from polyfold.kernels._base import GraphKernel
from polyfold.kernels._operator import Extension, Operator, match_training, neighborhoods
from polyfold.neighbors import Neighborhoods

_FULL_ROWS = 2000
_LANDMARKS = 1000
# Directions below this fraction of the first are as large as the negative ones: errors of the geodesics.
_CUT = 1e-3
# Length of an edge between duplicates.
_SHORTEST = np.finfo(np.float64).tiny ** 0.5


class Isomap(GraphKernel):
    r"""Compare rows by geodesic distances on a neighbour graph (Isomap).

    .. math:: K = -\tfrac12 \, [\delta_G(x_i, x_j)^2]_{ij} \quad \text{on mean-zero vectors}

    Parameters
    ----------
    n_neighbors : int, default=None
        More neighbours smooth over noise, but can join parts that are separate. None means 10, or all others if
        there are fewer.
    n_landmarks : int or "auto", default="auto"
        Points from which geodesics are computed. More points are more accurate and slower. "auto" means all of up
        to 2,000 points (the classical method) and 1,000 of more, so that memory is O(n·m) instead of O(n²).
    neighbors : str, transformer or graph, default="auto"
        As in `LaplacianEigenmaps`.
    random_state : int, default=0
        Seed of the choice of landmarks.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    The kernel is indefinite in general: geodesic distances need not be Euclidean. Negative eigenvalues are dropped.
    Components of a disconnected graph are joined by their shortest edges, with a warning.
    New points: geodesics through their neighbours to the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import Isomap
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> Isomap(n_neighbors=8).operator_on(X).matrix.shape
    (50, 50)
    """

    takes_few = True

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        n_landmarks: int | str = "auto",
        neighbors: Neighbors = "auto",
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build the kernel of geodesic distances between the rows of `X`."""
        X, near, row_points = neighborhoods(self, X, default=10)
        landmarks = self._landmarks(near.n_samples)
        geodesics = dijkstra(self._connected(near, X), directed=False, indices=landmarks).T
        squared, weights = geodesics**2, np.ones(near.n_samples)
        shared: dict[str, Any] = {"has_units": True, "near": near, "row_points": row_points}
        if len(landmarks) == near.n_samples:
            K = -0.25 * (squared + squared.T)
            return Operator(GeodesicExtension(near, geodesics), weights, matrix=K, **shared)
        scaling = LandmarkScaling.of(squared[landmarks])
        factor = scaling.project(-0.5 * squared)
        return Operator(GeodesicExtension(near, geodesics, scaling, factor), weights, factor=factor, **shared)

    def _landmarks(self, n: int) -> NDArray:
        if isinstance(self.n_landmarks, str):
            check_choice("n_landmarks", self.n_landmarks, ("auto",))
            count = n if n <= _FULL_ROWS else _LANDMARKS
        else:
            count = check_count("n_landmarks", self.n_landmarks, minimum=2, maximum=n)
        if count == n:
            return np.arange(n)
        return np.sort(np.random.RandomState(self.random_state).choice(n, count, replace=False))

    def _connected(self, near: Neighborhoods, X: Matrix) -> SparseMatrix:
        graph = near.graph()
        # Zero-length edges of duplicates would vanish from the sparse graph and cut it.
        graph.data = np.maximum(graph.data, _SHORTEST)
        count, labels = connected_components(graph, directed=False)
        if count == 1:
            return graph
        if self.takes_precomputed:
            raise ValueError(f"the neighbour graph has {count} components, Isomap needs one; raise n_neighbors.")
        warnings.warn(
            f"the neighbour graph of Isomap has {count} components; they are joined by their shortest edges. "
            "Raise n_neighbors for a connected graph.",
            GraphWarning,
            stacklevel=outside(),
        )
        return _joined(graph, labels, X)


def _joined(graph: SparseMatrix, labels: NDArray, X: Matrix) -> SparseMatrix:
    """Join the smallest component to its nearest other point until one is left."""
    graph = sp.lil_array(graph)
    labels = labels.copy()
    while len(sizes := np.unique_counts(labels).counts) > 1:
        small = np.unique(labels)[np.argmin(sizes)]
        inside, outside = np.flatnonzero(labels == small), np.flatnonzero(labels != small)
        distance, index = NearestNeighbors(n_neighbors=1).fit(X[outside]).kneighbors(X[inside])
        i = int(np.argmin(distance[:, 0]))
        j = outside[index[i, 0]]
        graph[inside[i], j] = max(float(distance[i, 0]), _SHORTEST)
        labels[inside] = labels[j]
    return sp.csr_array(graph)


@dataclass(frozen=True)
class GeodesicExtension:
    """−½ δ²(x, landmark) of new points, through their nearest training points, as kernel values."""

    near: Neighborhoods
    geodesics: NDArray  # (N, m)
    scaling: "LandmarkScaling | None" = None
    factor: NDArray | None = None

    def __call__(self, X: Matrix) -> Extension:
        """Find the paths of the rows of `X`; training points keep the coordinates they have."""
        distances, indices = self.near.query(X, self.near.n_neighbors + 1)
        rows = self._paths(distances[:, : self.near.n_neighbors], indices[:, : self.near.n_neighbors])
        matches = match_training(distances, indices)
        if self.scaling is None or self.factor is None:
            return Extension.of_kernel(lambda F: rows @ F, len(rows), matches)
        features, factor = self.scaling.project(rows), self.factor
        return Extension.of_kernel(lambda F: features @ (factor.T @ F), len(rows), matches)

    def _paths(self, distances: NDArray, indices: NDArray) -> NDArray:
        shortest = np.full((len(indices), self.geodesics.shape[1]), np.inf)
        for column in range(indices.shape[1]):
            through = distances[:, column, None] + self.geodesics[indices[:, column]]
            np.minimum(shortest, through, out=shortest)
        return -0.5 * shortest**2


@dataclass(frozen=True)
class LandmarkScaling:
    """Landmark multidimensional scaling: coordinates from squared distances to landmarks."""

    mean: NDArray
    readout: NDArray

    @classmethod
    def of(cls, squared: NDArray) -> "LandmarkScaling":
        """Scale the landmarks from their squared distances (m, m)."""
        K = -0.25 * (squared + squared.T)
        mean = K.mean(axis=0)
        d, U = eigh_descending(K - mean - mean[:, None] + mean.mean())
        keep = d > _CUT * d[0]
        return cls(mean, U[:, keep] / np.sqrt(d[keep]))

    def project(self, raw: NDArray) -> NDArray:
        """Coordinates from −½ δ² to the landmarks."""
        return (raw - self.mean) @ self.readout
