"""Locally linear embedding [Roweis2000]."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._linalg import as_dense, row_blocks
from polyfold._typing import Matrix, Neighbors
from polyfold._validation import check_real
from polyfold.kernels._base import GraphKernel
from polyfold.kernels._operator import (
    Extension,
    Operator,
    component_labels,
    interpolation,
    match_training,
    minimiser,
    neighborhoods,
    require_points,
)
from polyfold.neighbors import Neighborhoods, neighbor_graph


class LocallyLinear(GraphKernel):
    r"""Find coordinates with the same local weights as the rows (LLE).

    .. math:: \min_f \sum_i \Big(f_i - \sum_j W_{ij} f_j\Big)^2, \quad
              W = \arg\min \sum_i \Big\|x_i - \sum_j W_{ij} x_j\Big\|^2, \; \sum_j W_{ij} = 1

    Parameters
    ----------
    n_neighbors : int, default=None
        More neighbours smooth over noise, but can join parts that are separate. None means 10, or all others if
        there are fewer.
    reg : float, default=1e-3
        Fraction of the trace added to each local Gram matrix, as in scikit-learn. Larger values make the weights of
        the neighbours more equal.
    neighbors : str, transformer or graph, default="auto"
        As in `LaplacianEigenmaps`; "precomputed" is not possible, the weights need the points.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    New points are weighted means of their neighbours too, and get the same mean of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import LocallyLinear
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> LocallyLinear(n_neighbors=8).operator_on(X).matrix.shape
    (50, 50)
    """

    takes_few = True

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        reg: float = 1e-3,
        neighbors: Neighbors = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build λ_max I − (I − W)ᵀ(I − W) from the neighbourhoods of `X`."""
        X = require_points(self, X)
        reg = check_real("reg", self.reg, minimum=0)
        X, near, row_points = neighborhoods(self, X)
        W = neighbor_graph(barycentric_weights(X, X, near.indices, reg), near.indices, near.n_samples)
        R = sp.csr_array(sp.eye_array(near.n_samples, format="csr") - W)
        components = component_labels(near.graph(), what="LocallyLinear")
        extend = Barycentric(X, near, reg, components)
        return minimiser(sp.csr_array(R.T @ R), extend, components, near, row_points)


@dataclass(frozen=True)
class Barycentric:
    """Weights of new points on their nearest training points."""

    points: NDArray
    near: Neighborhoods
    reg: float
    components: NDArray

    def __call__(self, X: Matrix) -> Extension:
        """Return rows that sum to one, shape (n, N)."""
        # One more than needed: the farthest distance is the scale that separates duplicates from close neighbours.
        distances, indices = self.near.query(X, self.near.n_neighbors + 1)
        matches = match_training(distances, indices)
        indices = indices[:, : self.near.n_neighbors]
        weights = barycentric_weights(as_dense(X), self.points, indices, self.reg)
        return interpolation(indices, weights, matches, self.components)


def barycentric_weights(X: NDArray, Y: NDArray, indices: NDArray, reg: float) -> NDArray:
    """Weights summing to one with which rows ``Y[indices]`` come closest to the rows of `X`, shape (n, k)."""
    n, k = indices.shape
    weights = np.empty((n, k))
    for rows in row_blocks(n, k * max(k, X.shape[1])):
        Z = np.asarray(Y[indices[rows]] - X[rows, None, :], dtype=np.float64)
        G = Z @ Z.transpose(0, 2, 1)
        trace = np.trace(G, axis1=1, axis2=2)
        G[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, 1.0)[:, None] + np.finfo(float).tiny
        try:
            w = np.linalg.solve(G, np.ones((len(G), k, 1)))[:, :, 0]
        except np.linalg.LinAlgError as error:
            raise ValueError(f"reg must be > 0 if {k} neighbours have no unique weights, got {reg}.") from error
        weights[rows] = w / w.sum(axis=1, keepdims=True)
    return weights
