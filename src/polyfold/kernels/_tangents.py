"""Local tangent space alignment [Zhang2004] and Hessian eigenmaps [Donoho2003]: planes in every neighbourhood."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._linalg import as_dense, row_blocks
from polyfold._typing import Matrix, Neighbors, SparseMatrix
from polyfold._validation import check_count
from polyfold.exceptions import UnsuitableKernelError
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
from polyfold.neighbors import Neighborhoods

_FEWEST, _MOST = 12, 30
# A column sum this close to zero cannot be divided by; scikit-learn uses the same bound.
_SMALL_SUM = 1e-4


class _TangentKernel(GraphKernel):
    """Sum of a quadratic form in the tangent coordinates of every neighbourhood; subclasses define the form."""

    takes_few = True

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        n_directions: int = 2,
        neighbors: Neighbors = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_directions = n_directions
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build the flipped matrix from the neighbourhoods of `X`."""
        X = require_points(self, X)
        d = check_count("n_directions", self.n_directions)
        fewest, default = self._neighbors_needed(d)
        X, near, row_points = neighborhoods(self, X, default=max(tangent_neighbors(X.shape[0]), default))
        if near.n_neighbors < fewest:
            raise UnsuitableKernelError(
                f"n_neighbors must be an integer >= {fewest}, got {near.n_neighbors}; n_directions={d} needs that many."
            )
        blocks = self._blocks(tangent_bases(X, near.indices, d)[0])
        components = component_labels(near.graph(), what=type(self).__name__)
        extend = TangentPlanes(X, near, d, components)
        return minimiser(assemble(near.indices, blocks), extend, components, near, row_points)

    @abstractmethod
    def _neighbors_needed(self, d: int) -> tuple[int, int]:
        """Fewest neighbours that `d` directions need, and how many they should have."""

    @abstractmethod
    def _blocks(self, U: NDArray) -> NDArray:
        """Quadratic forms (n, k, k) of neighbourhoods with orthonormal tangent coordinates U (n, k, d)."""


class TangentAlignment(_TangentKernel):
    r"""Find coordinates that are affine in every tangent space (LTSA).

    .. math:: \min_f \sum_i \big\|(I - G_i G_i^T) f_{N(i)}\big\|^2, \quad
              G_i = [1/\sqrt k, \; \text{local principal coordinates}]

    Parameters
    ----------
    n_neighbors : int, default=None
        None means √n/3, at least 12 and at most 30, or all others if there are fewer. Must exceed `n_directions`.
    n_directions : int, default=2
        Dimension of the tangent spaces: that of the manifold.
    neighbors : str, transformer or graph, default="auto"
        As in `LaplacianEigenmaps`; "precomputed" is not possible, tangent spaces need the points.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    New points read the least squares plane of the neighbourhood of their nearest training point.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import TangentAlignment
    >>> X = np.random.RandomState(0).rand(50, 3)
    >>> TangentAlignment(n_neighbors=8).operator_on(X).matrix.shape
    (50, 50)
    """

    def _neighbors_needed(self, d: int) -> tuple[int, int]:
        return d + 1, d + 1

    def _blocks(self, U: NDArray) -> NDArray:
        k = U.shape[1]
        return np.eye(k) - 1.0 / k - U @ U.transpose(0, 2, 1)


class HessianLLE(_TangentKernel):
    r"""Find coordinates with the smallest second derivatives (Hessian LLE).

    .. math:: \min_f \sum_i \big\|H_i f_{N(i)}\big\|^2

    where :math:`H_i` estimates the Hessian in local principal coordinates. Parameters and new points are those of
    :class:`TangentAlignment`, except `n_neighbors`: it must exceed d(d + 3)/2 for d = `n_directions`, and None leaves
    at least 6 more than that.

    Notes
    -----
    Only the second-order columns of the local design enter, as in [Donoho2003]; scikit-learn (up to 1.9) takes all
    columns of a full QR factorisation there, which makes its ``method="hessian"`` equal to LTSA.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import HessianLLE
    >>> X = np.random.RandomState(0).rand(50, 3)
    >>> HessianLLE(n_neighbors=10).operator_on(X).matrix.shape
    (50, 50)
    """

    def _neighbors_needed(self, d: int) -> tuple[int, int]:
        columns = d * (d + 3) // 2
        return columns + 1, columns + 6

    def _blocks(self, U: NDArray) -> NDArray:
        """Second-order columns of the orthonormalised design (1, U, U∘U), scaled by their sums."""
        n, k, d = U.shape
        i, j = np.triu_indices(d)
        design = np.concatenate([np.ones((n, k, 1)), U, U[:, :, i] * U[:, :, j]], axis=2)
        Q = np.linalg.qr(design)[0][:, :, d + 1 :]
        sums = Q.sum(axis=1, keepdims=True)
        H = Q / np.where(np.abs(sums) < _SMALL_SUM, 1.0, sums)
        return H @ H.transpose(0, 2, 1)


def tangent_neighbors(n_samples: int) -> int:
    """Return a number of neighbours that grows as √n/3 from 12 to 30.

    A tangent plane needs neighbourhoods wider than the noise, into which a denser sample would shrink them, and
    narrower than the gaps of the manifold: 20 neighbours among 1,500 points of a Swiss roll reach its next turn.
    """
    return int(np.clip(round(np.sqrt(n_samples) / 3), _FEWEST, _MOST))


def tangent_bases(X: NDArray, indices: NDArray, n_directions: int) -> tuple[NDArray, NDArray]:
    """Top left singular vectors and squared singular values of every centred neighbourhood.

    Returns U (n, k, d) and s² (n, d); works through k × k Gram matrices, so wide data cost no more.
    """
    n, k = indices.shape
    U = np.empty((n, k, n_directions))
    s2 = np.empty((n, n_directions))
    for rows in row_blocks(n, k * max(k, X.shape[1])):
        Z = np.asarray(X[indices[rows]], dtype=np.float64)
        Z = Z - Z.mean(axis=1, keepdims=True)
        d, V = np.linalg.eigh(Z @ Z.transpose(0, 2, 1))
        U[rows] = V[:, :, ::-1][:, :, :n_directions]
        s2[rows] = np.maximum(d[:, ::-1][:, :n_directions], 0.0)
    return U, s2


def assemble(indices: NDArray, blocks: NDArray) -> SparseMatrix:
    """Sum k × k blocks of all neighbourhoods into one sparse matrix."""
    n, k = indices.shape
    rows = np.repeat(indices, k, axis=1).ravel()
    columns = np.tile(indices, (1, k)).ravel()
    return sp.csr_array(sp.coo_array((blocks.ravel(), (rows, columns)), shape=(n, n)))


@dataclass(frozen=True)
class TangentPlanes:
    """New points read a plane off the neighbourhood of their nearest training point.

    In the tangent coordinates u(x) of that neighbourhood, f(x) = Σ_j (1/k + u(x)·u_j) f_j: the least squares plane.
    """

    points: NDArray
    near: Neighborhoods
    n_directions: int
    components: NDArray

    def __call__(self, X: Matrix) -> Extension:
        """Return rows that sum to one, shape (n, N)."""
        distances, indices = self.near.query(X, self.near.n_neighbors + 1)
        matches = match_training(distances, indices)
        around = self.near.indices[indices[:, 0]]
        return interpolation(around, self._planes(as_dense(X), around), matches, self.components)

    def _planes(self, X: NDArray, around: NDArray) -> NDArray:
        n, k = around.shape
        U, s2 = tangent_bases(self.points, around, self.n_directions)
        weights = np.empty((n, k))
        for rows in row_blocks(n, k * max(k, X.shape[1])):
            Z = np.asarray(self.points[around[rows]], dtype=np.float64)
            mean = Z.mean(axis=1)
            products = np.einsum("nkd,nd->nk", Z - mean[:, None, :], X[rows] - mean)
            flat = s2[rows] <= s2[rows, :1] * 1e-10 + np.finfo(np.float64).tiny
            inverse = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, s2[rows]))
            u = np.einsum("nk,nkd->nd", products, U[rows]) * inverse
            weights[rows] = 1.0 / k + np.einsum("nd,nkd->nk", u, U[rows])
        return weights
