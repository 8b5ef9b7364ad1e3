"""Hessian eigenmaps [Donoho2003]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._validation import check_count
from polyfold.kernels._base import GraphKernel
from polyfold.kernels._operator import (
    Operator,
    component_labels,
    minimiser,
    neighborhoods,
    require_points,
)
from polyfold.kernels._tangent import TangentPlanes, assemble, tangent_bases, tangent_neighbors

__all__ = ["HessianLLE"]

# A column sum this close to zero cannot be divided by; scikit-learn uses the same bound.
_SMALL_SUM = 1e-4


class HessianLLE(GraphKernel):
    r"""Coordinates whose second derivatives vanish in every tangent space (Hessian LLE), flipped.

    .. math:: \min_f \sum_i \big\|H_i f_{N(i)}\big\|^2

    where :math:`H_i` estimates the Hessian in local principal coordinates.

    Parameters
    ----------
    n_neighbors : int, default=None
        None means √n/3, at least 12 and at most 30, at least d(d + 3)/2 + 6 for d = `n_directions`, or all others where
        there are fewer. Must exceed d(d + 3)/2.
    n_directions : int, default=2
        Dimension of the tangent spaces.
    neighbors : str or transformer, default="auto"
        As in `LaplacianEigenmaps`; "precomputed" is not possible, tangent spaces need the points.
    n_jobs : int, default=None

    Notes
    -----
    Only the second-order columns of the local design enter, as in [Donoho2003]; scikit-learn (up to 1.9) takes all
    columns of a full QR factorisation there, which makes its ``method="hessian"`` equal to LTSA.

    New points read the least squares plane of the neighbourhood of their nearest training point.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import HessianLLE
    >>> X = np.random.RandomState(0).rand(50, 3)
    >>> HessianLLE(n_neighbors=10).operator_on(X).matrix.shape
    (50, 50)
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        n_directions: int = 2,
        neighbors: Any = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_directions = n_directions
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator_on(self, X: Any) -> Operator:
        """Build the flipped Hessian functional from the neighbourhoods of `X`."""
        X = require_points(self, X)
        d = check_count("n_directions", self.n_directions)
        default = max(tangent_neighbors(X.shape[0]), d * (d + 3) // 2 + 6)
        X, near, row_points = neighborhoods(self, X, default=default)
        check_count(
            "n_neighbors", near.n_neighbors, minimum=d * (d + 3) // 2 + 1, hint=f"n_directions={d} needs that many"
        )
        U, _ = tangent_bases(X, near.indices, d)
        H = _hessians(U)
        components = component_labels(near.graph(), what="HessianLLE")
        cost = assemble(near.indices, H @ H.transpose(0, 2, 1))
        return minimiser(cost, TangentPlanes(X, near, d, components), components, near, row_points)


def _hessians(U: NDArray) -> NDArray:
    """Second-order columns of the orthonormalised design (1, U, U∘U), scaled by their sums, shape (n, k, d(d+1)/2)."""
    n, k, d = U.shape
    i, j = np.triu_indices(d)
    design = np.concatenate([np.ones((n, k, 1)), U, U[:, :, i] * U[:, :, j]], axis=2)
    Q = np.linalg.qr(design)[0][:, :, d + 1 :]
    sums = Q.sum(axis=1, keepdims=True)
    return Q / np.where(np.abs(sums) < _SMALL_SUM, 1.0, sums)
