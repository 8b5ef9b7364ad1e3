"""Laplacian eigenmaps [Belkin2003]."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyfold._validation import check_choice, check_count
from polyfold.kernels._base import OperatorKernel
from polyfold.kernels._graph import GraphOperator, neighborhoods
from polyfold.kernels._walk import Affinity, edge_weights, positive_scales, walk_operator
from polyfold.neighbors import Neighborhoods

__all__ = ["LaplacianEigenmaps", "intrinsic_dimension"]

WEIGHTS = ("self_tuning", "heat", "binary")
_LOW_DIMENSION = 5


class LaplacianEigenmaps(OperatorKernel):
    r"""The Laplacian of a neighbour graph, flipped.

    .. math:: \min_f \sum_{ij} A_{ij} (f_i - f_j)^2 \quad \text{with} \quad \sum_i w_i f_i^2 = 1

    Parameters
    ----------
    n_neighbors : int, default=None
        None means 10, or all others where there are fewer. Edges of either direction count.
    weights : {"self_tuning", "heat", "binary"}, default="self_tuning"
        exp(−d²/σ_iσ_j) with σ the distance to the neighbour numbered `scale_neighbor` [ZelnikManor2004]; the same
        with one σ, the median of them; or ones.
    scale_neighbor : int, default=7
    step_time : {"auto", "length", "unit"}, default="auto"
        The measure w: "length" means degree times σ², so that the walk has the same pace in dense and in sparse parts
        of the data; "unit" the degree alone, the normalised Laplacian of [Belkin2003] and of scikit-learn. "auto"
        means "length" where the data have at most 5 intrinsic dimensions (`intrinsic_dimension`): in more, edge
        lengths say how noisy a point is rather than how densely its part of the manifold is sampled.
    neighbors : str or transformer, default="auto"
        "exact", "faiss", "pynndescent", "precomputed" (X holds distances), or an object with scikit-learn's
        `KNeighborsTransformer` interface.
    n_jobs : int, default=None

    Notes
    -----
    With ``step_time="unit"`` and a density that varies, coordinates settle in the dense part of the data, where
    steps are short; on a Swiss roll the second dimension is then read off in one half only.

    Memory O(n·k). New points: a row of the walk on their own neighbours and on the points that would have chosen
    them; training points keep their own row, so they are reproduced.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import LaplacianEigenmaps
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> LaplacianEigenmaps(n_neighbors=8).operator(X).matrix.shape
    (50, 50)
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        weights: str = "self_tuning",
        scale_neighbor: int = 7,
        step_time: str = "auto",
        neighbors: Any = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.scale_neighbor = scale_neighbor
        self.step_time = step_time
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator(self, X: Any) -> GraphOperator:
        """Build the flipped Laplacian of the neighbour graph of `X`."""
        check_choice("weights", self.weights, WEIGHTS)
        near = neighborhoods(self, X)
        even = self._has_even_pace(near)
        affinity = self._affinity(near)
        return walk_operator(near, edge_weights(near, affinity), affinity, what="LaplacianEigenmaps", even=even)

    def _has_even_pace(self, near: Neighborhoods) -> bool:
        check_choice("step_time", self.step_time, ("auto", "length", "unit"))
        if self.step_time == "auto":
            return intrinsic_dimension(near.distances) <= _LOW_DIMENSION
        return self.step_time == "length"

    def _affinity(self, near: Neighborhoods) -> Affinity:
        column = min(check_count("scale_neighbor", self.scale_neighbor), near.n_neighbors)
        if self.weights == "binary":
            # A binary edge reaches as far as the neighbourhood does.
            return Affinity(positive_scales(near.distances[:, -1]), binary=True, tuned_to=near.n_neighbors)
        scales = positive_scales(near.distances[:, column - 1])
        if self.weights == "heat":
            return Affinity(np.full(len(scales), np.median(scales)))
        return Affinity(scales, tuned_to=column)


def intrinsic_dimension(distances: np.ndarray) -> float:
    """Maximum likelihood estimate from the distances to the k nearest neighbours, shape (n, k) [Levina2004]."""
    if distances.shape[1] < 3:
        return 1.0
    ratios = positive_scales(distances[:, -1:]) / positive_scales(distances[:, :-1])
    spread = float(np.log(np.maximum(ratios, 1.0)).sum(axis=1).mean() / (distances.shape[1] - 2))
    return 1.0 / spread if spread > 0 else np.inf
