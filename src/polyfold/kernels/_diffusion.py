"""Diffusion maps, α-normalised [Coifman2006]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyfold._validation import check_count, check_real
from polyfold.kernels._base import OperatorKernel
from polyfold.kernels._graph import GraphOperator, neighborhoods
from polyfold.kernels._walk import Affinity, edge_weights, positive_scales, walk_operator

__all__ = ["DiffusionMaps"]


class DiffusionMaps(OperatorKernel):
    r"""A random walk with Gaussian steps, corrected for the density of the sample.

    .. math:: A_{ij} = \frac{e^{-\|x_i - x_j\|^2 / \varepsilon}}{q_i^\alpha q_j^\alpha}, \quad
              q_i = \sum_j e^{-\|x_i - x_j\|^2 / \varepsilon}

    Parameters
    ----------
    n_neighbors : int, default=None
        None means 30, or all others where there are fewer.
    alpha : float, default=1.0
        0 keeps the density, 1 removes it (the Laplace–Beltrami operator).
    epsilon : float, default=None
        Squared step length; None means half the median squared distance to the middle neighbour, so that the cut to
        neighbours takes off next to nothing.
    n_steps : int, default=1
        Steps t of the walk: coordinates are λᵗ ψ, their kernel has eigenvalues λ²ᵗ.
    neighbors : str or transformer, default="auto"
        As in `LaplacianEigenmaps`.
    n_jobs : int, default=None

    Notes
    -----
    The kernel is cut to the neighbour graph, and a point does not step to itself: on a sparse graph that step
    only makes the walk lazy, and new points have no value of their own to step to. Memory O(n·k).

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import DiffusionMaps
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> DiffusionMaps(n_neighbors=8).operator(X).matrix.shape
    (50, 50)
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        alpha: float = 1.0,
        epsilon: float | None = None,
        n_steps: int = 1,
        neighbors: Any = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.epsilon = epsilon
        self.n_steps = n_steps
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator(self, X: Any) -> GraphOperator:
        """Build the α-normalised walk on the neighbour graph of `X`."""
        alpha = check_real("alpha", self.alpha, minimum=0)
        steps = check_count("n_steps", self.n_steps)
        near = neighborhoods(self, X, default=30)
        scale = np.sqrt(self._epsilon(near.distances))
        gaussian = Affinity(np.full(near.n_samples, scale))
        A = edge_weights(near, gaussian)
        density = np.asarray(A.sum(axis=1)).ravel() ** alpha
        normal = sp.diags_array(1 / density)
        affinity = replace(gaussian, density=density)
        A = sp.csr_array(normal @ A @ normal)
        return walk_operator(near, A, affinity, what="DiffusionMaps", power=2 * steps)

    def _epsilon(self, distances: np.ndarray) -> float:
        if self.epsilon is not None:
            return check_real("epsilon", self.epsilon, minimum=0, open_minimum=True)
        middle = distances[:, distances.shape[1] // 2]
        return float(0.5 * np.median(positive_scales(middle) ** 2))
