"""Laplacian eigenmaps [Belkin2003] and diffusion maps [Coifman2006]: random walks on a weighted neighbour graph.

Edges A, degrees d, and a time s_i for every step from i. The cost is the walk's generator,

    cost = W^-1/2 (D − A) W^-1/2   with   w_i = d_i s_i,

in g = W^1/2 f; s = 1 is the normalised Laplacian. If edges are longer in sparse parts of the data, a step that
takes time 1 everywhere is slow in dense parts, and coordinates settle there: s_i ∝ (edge length)² makes the pace even.

New points x get a row T(x) of D⁻¹A from their own neighbours and from the training points they would be neighbours
of; (D − A) f = λ W f then reads f(x) = T(x) f / (1 − λ s(x)).
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._typing import Matrix, Neighbors, SparseMatrix
from polyfold._validation import check_choice, check_real
from polyfold.kernels._base import GraphKernel
from polyfold.kernels._operator import (
    Extension,
    Operator,
    component_labels,
    largest_eigenvalue,
    match_training,
    neighborhoods,
)
from polyfold.neighbors import Neighborhoods, neighbor_graph

WEIGHTS = ("self_tuning", "binary")
_LOW_DIMENSION = 5
# The neighbour whose distance is the scale of a point [ZelnikManor2004].
_SCALE_NEIGHBOR = 7
# New points look among this many times their neighbours for training points that would have chosen them.
_REVERSE = 3
_LOWEST_SHARE = 0.1


class LaplacianEigenmaps(GraphKernel):
    r"""Find coordinates that vary least along the edges of a neighbour graph.

    .. math:: \min_f \sum_{ij} A_{ij} (f_i - f_j)^2 \quad \text{with} \quad \sum_i w_i f_i^2 = 1

    Parameters
    ----------
    n_neighbors : int, default=None
        More neighbours smooth over noise, but can join parts that are separate. None means 10, or all others if
        there are fewer. Edges of either direction count.
    weights : {"self_tuning", "binary"}, default="self_tuning"
        "self_tuning" is exp(−d²/σ_iσ_j), where σ is the distance to the seventh neighbour [ZelnikManor2004].
        "binary" gives all edges the weight 1.
    step_time : {"auto", "length", "unit"}, default="auto"
        The measure w: "length" means degree times σ², so that the walk has the same pace in dense and in sparse parts
        of the data; "unit" the degree alone, the normalised Laplacian of [Belkin2003] and of scikit-learn. "auto"
        means "length" if the data have at most 5 intrinsic dimensions (`intrinsic_dimension`): in more, edge
        lengths measure the noise of a point rather than the density of the samples.
    neighbors : str, transformer or graph, default="auto"
        "exact", "faiss", "pynndescent", "precomputed" (X holds distances), an object with scikit-learn's
        `KNeighborsTransformer` interface such as :class:`~polyfold.BootstrapNeighborsTransformer`, or a matrix (n, n)
        of the distances of neighbouring training rows, which is not defined for new points.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    With ``step_time="unit"`` and a density that varies, coordinates settle in the dense part of the data, where
    steps are short; on a Swiss roll the second dimension is then visible in one half only.

    Duplicate points count as one. Memory O(n·k). New points: a row of the walk on their own neighbours and on the
    points that would have chosen them; training points keep their own coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import LaplacianEigenmaps
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> LaplacianEigenmaps(n_neighbors=8).operator_on(X).matrix.shape
    (50, 50)
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        weights: Literal["self_tuning", "binary"] = "self_tuning",
        step_time: Literal["auto", "length", "unit"] = "auto",
        neighbors: Neighbors = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.step_time = step_time
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build the flipped Laplacian of the neighbour graph of `X`."""
        _, near, row_points = neighborhoods(self, X)
        return self.operator_of(near, row_points)

    def operator_of(self, near: Neighborhoods, row_points: NDArray | None = None) -> Operator:
        """Build the flipped Laplacian of neighbourhoods that are known."""
        check_choice("weights", self.weights, WEIGHTS)
        check_choice("step_time", self.step_time, ("auto", "length", "unit"))
        affinity = self._affinity(near)
        walk = _Walk.of(near, affinity, edge_weights(near, affinity), even=self._has_even_pace(near))
        flip = largest_eigenvalue(walk.cost)
        return walk.operator("LaplacianEigenmaps", flip=flip, row_points=row_points)

    def _has_even_pace(self, near: Neighborhoods) -> bool:
        if self.step_time == "auto":
            return intrinsic_dimension(near.distances) <= _LOW_DIMENSION
        return self.step_time == "length"

    def _affinity(self, near: Neighborhoods) -> "Affinity":
        column = min(_SCALE_NEIGHBOR, near.n_neighbors)
        if self.weights == "binary":
            # A binary edge reaches as far as the neighbourhood does.
            return Affinity(positive_scales(near.distances[:, -1]), binary=True, tuned_to=near.n_neighbors)
        return Affinity(positive_scales(near.distances[:, column - 1]), tuned_to=column)


class DiffusionMaps(GraphKernel):
    r"""Compare rows by a random walk, corrected for the density (diffusion maps).

    .. math:: A_{ij} = \frac{e^{-\|x_i - x_j\|^2 / \varepsilon}}{q_i^\alpha q_j^\alpha}, \quad
              q_i = \sum_j e^{-\|x_i - x_j\|^2 / \varepsilon}

    Parameters
    ----------
    n_neighbors : int, default=None
        More neighbours smooth over noise, but can join parts that are separate. None means 30, or all others if
        there are fewer.
    alpha : float, default=1.0
        How far the density of the rows is removed: 0 keeps it, 1 removes it (the Laplace–Beltrami operator).
    epsilon : float, default=None
        Squared step length. Larger steps blur fine structure. None means half the median squared distance to the
        middle neighbour, so that the cut to neighbours removes almost nothing.
    neighbors : str, transformer or graph, default="auto"
        As in `LaplacianEigenmaps`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    The kernel is cut to the neighbour graph, and a point does not step to itself: on a sparse graph that step
    only makes the walk lazy, and new points have no value to step to. Memory O(n·k).

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import DiffusionMaps
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> DiffusionMaps(n_neighbors=8).operator_on(X).matrix.shape
    (50, 50)
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        alpha: float = 1.0,
        epsilon: float | None = None,
        neighbors: Neighbors = "auto",
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.epsilon = epsilon
        self.neighbors = neighbors
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build the α-normalised walk on the neighbour graph of `X`."""
        alpha = check_real("alpha", self.alpha, minimum=0)
        _, near, row_points = neighborhoods(self, X, default=30)
        gaussian = Affinity(np.full(near.n_samples, np.sqrt(self._epsilon(near.distances))))
        A = edge_weights(near, gaussian)
        density = np.asarray(A.sum(axis=1)).ravel() ** alpha
        normal = sp.diags_array(1 / density)
        walk = _Walk.of(near, replace(gaussian, density=density), sp.csr_array(normal @ A @ normal))
        return walk.operator("DiffusionMaps", flip=1.0, row_points=row_points, power=2)

    def _epsilon(self, distances: NDArray) -> float:
        if self.epsilon is not None:
            return check_real("epsilon", self.epsilon, minimum=0, open_minimum=True)
        middle = distances[:, distances.shape[1] // 2]
        return float(0.5 * np.median(positive_scales(middle) ** 2))


@dataclass(frozen=True)
class Affinity:
    """Edge weights from distances: exp(−d² / (σ_i σ_j)), or ones where `binary`.

    `scales` (n,) holds σ of the training points, and new points take σ from their neighbour number `tuned_to`, or
    the common scale if that is zero; `density` (n,) holds the q^α by which diffusion maps divide.
    """

    scales: NDArray
    binary: bool = False
    tuned_to: int = 0
    density: NDArray | None = None

    def __call__(self, distances: NDArray, columns: NDArray, scales: NDArray) -> NDArray:
        """Weights of edges from points with `scales` (n,) to training points `columns` (n, k)."""
        if self.binary:
            values = np.ones_like(distances)
        else:
            values = np.exp(-(distances / scales[:, None]) * (distances / self.scales[columns]))
            # An edge of the graph stays an edge, even if it is long relative to its scales.
            values = np.maximum(values, 1e-12)
        return values if self.density is None else values / self.density[columns]

    def new_scales(self, distances: NDArray) -> NDArray:
        """σ of new points from the distances to their neighbours, shape (n,)."""
        if not self.tuned_to:
            return np.full(len(distances), self.scales[0])
        return np.maximum(distances[:, min(self.tuned_to, distances.shape[1]) - 1], self.scales.min())


@dataclass(frozen=True)
class _Walk:
    """The walk on the training points, and how new ones join it."""

    near: Neighborhoods
    affinity: Affinity
    cost: SparseMatrix
    degrees: NDArray
    times: NDArray
    unit: float  # squared scale whose step takes time 1; 0 where every step does

    @classmethod
    def of(cls, near: Neighborhoods, affinity: Affinity, A: Matrix, *, even: bool = False) -> "_Walk":
        """Walk on the weights A; `even` lets steps take time in proportion to their squared scale."""
        degrees = np.asarray(A.sum(axis=1)).ravel()
        unit = float(np.average(affinity.scales**2, weights=degrees)) if even else 0.0
        times = affinity.scales**2 / unit if even else np.ones(len(degrees))
        root = sp.diags_array(1 / np.sqrt(degrees * times))
        cost = sp.csr_array(root @ (sp.diags_array(degrees) - A) @ root)
        return cls(near, affinity, cost, degrees, times, unit)

    @property
    def keeps_measure(self) -> bool:
        """Whether points count in regressions as in the walk: if that compensates for the density of the sample."""
        return self.unit > 0 or self.affinity.density is not None

    def operator(self, what: str, *, flip: float, row_points: NDArray | None, power: int = 1) -> Operator:
        """Operator flip · I − cost of the walk, in the measure w = d s."""
        components = component_labels(self.cost, what=what)
        weights = self.degrees * self.times
        identity = sp.eye_array(len(weights), format="csr")
        return Operator(
            WalkExtension(self, components, flip),
            weights,
            matrix=sp.csr_array(flip * identity - self.cost),
            measure=weights if self.keeps_measure else np.ones(len(weights)),
            components=components,
            cost=self.cost,
            flip=flip,
            power=power,
            is_walk=True,
            near=self.near,
            row_points=row_points,
        )


@dataclass(frozen=True)
class WalkExtension:
    """Rows T(x), summing to one, and step times s(x) of new points."""

    walk: _Walk
    components: NDArray
    flip: float

    def __call__(self, X: Matrix) -> Extension:
        """Let the rows of `X` join the walk."""
        walk, near = self.walk, self.walk.near
        distances, indices = near.query(X, _REVERSE * near.n_neighbors + 1)
        scales = walk.affinity.new_scales(distances)
        values = walk.affinity(distances, indices, scales) * self._is_edge(distances, indices)
        degrees = values.sum(axis=1)
        rows = neighbor_graph(values / degrees[:, None], indices, near.n_samples)
        times = scales**2 / walk.unit if walk.unit else np.ones(len(scales))
        return Extension(
            lambda F: rows @ F,
            self.components[indices[:, 0]],
            match_training(distances, indices),
            times,
            times if walk.keeps_measure else 1 / degrees,  # time × measure over weight
            1 - times * self.flip,
            times,
            floor=_LOWEST_SHARE,
        )

    def _is_edge(self, distances: NDArray, indices: NDArray) -> NDArray:
        near = self.walk.near
        own = np.arange(distances.shape[1])[None, :] < near.n_neighbors
        return own | (distances <= near.distances[indices, -1])


def edge_weights(near: Neighborhoods, affinity: Affinity) -> SparseMatrix:
    """Symmetric weights A of the union graph: an edge that either end has, with the larger of both weights."""
    values = affinity(near.distances, near.indices, affinity.scales)
    directed = neighbor_graph(values, near.indices, near.n_samples)
    return sp.csr_array(directed.maximum(directed.T))


def positive_scales(scales: NDArray) -> NDArray:
    """Lift the zeros that duplicates leave to a small fraction of the median."""
    positive = scales[scales > 0]
    floor = 1e-3 * np.median(positive) if len(positive) else 1.0
    return np.maximum(scales, floor)


def intrinsic_dimension(distances: NDArray) -> float:
    """Estimate the intrinsic dimension from neighbour distances [Levina2004].

    The distances to the k nearest neighbours have shape (n, k); the estimate is that of maximum likelihood.
    """
    if distances.shape[1] < 3:
        return 1.0
    ratios = positive_scales(distances[:, -1:]) / positive_scales(distances[:, :-1])
    spread = float(np.log(np.maximum(ratios, 1.0)).sum(axis=1).mean() / (distances.shape[1] - 2))
    return 1.0 / spread if spread > 0 else np.inf
