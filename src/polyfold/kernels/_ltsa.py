"""Local tangent space alignment [Zhang2004]."""

from __future__ import annotations

from typing import Any

import numpy as np

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

__all__ = ["TangentAlignment"]


class TangentAlignment(GraphKernel):
    r"""Coordinates that are affine in every tangent space (LTSA), flipped.

    .. math:: \min_f \sum_i \big\|(I - G_i G_i^T) f_{N(i)}\big\|^2, \quad
              G_i = [1/\sqrt k, \; \text{local principal coordinates}]

    Parameters
    ----------
    n_neighbors : int, default=None
        None means √n/3, at least 12 and at most 30, or all others where there are fewer.
    n_directions : int, default=2
        Dimension of the tangent spaces.
    neighbors : str or transformer, default="auto"
        As in `LaplacianEigenmaps`; "precomputed" is not possible, tangent spaces need the points.
    n_jobs : int, default=None

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
        """Build the flipped alignment matrix from the neighbourhoods of `X`."""
        X = require_points(self, X)
        X, near, row_points = neighborhoods(self, X, default=tangent_neighbors(X.shape[0]))
        k = near.n_neighbors
        d = check_count("n_directions", self.n_directions, maximum=k - 1, hint="raise n_neighbors")
        U, _ = tangent_bases(X, near.indices, d)
        blocks = np.eye(k) - 1.0 / k - U @ U.transpose(0, 2, 1)
        components = component_labels(near.graph(), what="TangentAlignment")
        extend = TangentPlanes(X, near, d, components)
        return minimiser(assemble(near.indices, blocks), extend, components, near, row_points)
