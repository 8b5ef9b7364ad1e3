"""Local tangent coordinates: what LTSA and Hessian eigenmaps compute in every neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._linalg import as_dense, row_blocks
from polyfold.kernels._operator import Extension, interpolation, match_training
from polyfold.neighbors import Neighborhoods

__all__ = ["TangentPlanes", "assemble", "tangent_bases", "tangent_neighbors"]

_FEWEST, _MOST = 12, 30


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


def assemble(indices: NDArray, blocks: NDArray) -> Any:
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

    def __call__(self, X: Any) -> Extension:
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
