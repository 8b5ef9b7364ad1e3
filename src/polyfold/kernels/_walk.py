"""The random walk on a weighted neighbour graph: Laplacian eigenmaps and diffusion maps.

Edges A, degrees d, and a time s_i for every step from i. The cost is the walk's generator,

    cost = W^-1/2 (D − A) W^-1/2   with   w_i = d_i s_i,

in g = W^1/2 f; s = 1 is the normalised Laplacian. Where edges are longer in sparse parts of the data, a step that
takes time 1 everywhere is slow in dense parts, and coordinates settle there: s_i ∝ (edge length)² makes the pace even.

New points x get a row T(x) of D⁻¹A from their own neighbours and from the training points they would be neighbours
of; (D − A) f = λ W f then reads f(x) = T(x) f / (1 − λ s(x)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold.kernels._graph import (
    Extension,
    ExtensionRows,
    GraphOperator,
    component_labels,
    flipped,
    indicator,
    largest_eigenvalue,
    match_training,
    symmetric_union,
)
from polyfold.neighbors import Neighborhoods

__all__ = ["Affinity", "WalkExtension", "edge_weights", "positive_scales", "walk_operator"]

# New points look among this many times their neighbours for training points that would have chosen them.
_REVERSE = 3


@dataclass(frozen=True)
class Affinity:
    """Edge weights from distances: exp(−d² / (σ_i σ_j)), or ones where `binary`.

    `scales` (n,) holds σ of the training points, and new points take σ from their neighbour number `tuned_to`, or
    where that is zero the common scale; `density` (n,) holds the q^α by which diffusion maps divide.
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
            values = np.exp(-(distances**2) / (scales[:, None] * self.scales[columns]))
            # An edge of the graph stays an edge, however long it is beside its scales.
            values = np.maximum(values, 1e-12)
        return values if self.density is None else values / self.density[columns]

    def new_scales(self, distances: NDArray) -> NDArray:
        """σ of new points from the distances to their neighbours, shape (n,)."""
        if not self.tuned_to:
            return np.full(len(distances), self.scales[0])
        return np.maximum(distances[:, min(self.tuned_to, distances.shape[1]) - 1], self.scales.min())


@dataclass(frozen=True)
class WalkExtension:
    """Rows and step times of new points; one that coincides with a training point gets that point's own."""

    near: Neighborhoods
    affinity: Affinity
    walk: Any  # D⁻¹A
    times: NDArray
    components: NDArray
    unit: float  # squared scale whose step takes time 1; 0 where every step does
    own_measure: bool  # whether points count in regressions as in the walk; else all alike

    def __call__(self, X: Any) -> Extension:
        """Return T(x), rows summing to one, and s(x)."""
        distances, indices = self.near.query(X, _REVERSE * self.near.n_neighbors + 1)
        matches = match_training(distances, indices)
        scales = self.affinity.new_scales(distances)
        values = self.affinity(distances, indices, scales) * self._is_edge(distances, indices)
        degrees = values.sum(axis=1)
        values /= degrees[:, None]
        n, k = indices.shape
        shape = (n, self.near.n_samples)
        rows = sp.csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=shape)
        times = scales**2 / self.unit if self.unit else np.ones(n)
        times = np.where(matches >= 0, self.times[matches], times)
        rows = _own_rows(rows, self.walk, matches)
        # Time × measure over weight.
        shares = times if self.own_measure else 1 / degrees
        return Extension(rows, times, self.components[indices[:, 0]], matches, shares)

    def _is_edge(self, distances: NDArray, indices: NDArray) -> NDArray:
        own = np.arange(distances.shape[1])[None, :] < self.near.n_neighbors
        return own | (distances <= self.near.distances[indices, -1])


def _own_rows(rows: Any, walk: Any, matches: NDArray) -> Any:
    """Replace the rows of points that match a training point by that point's row of the walk."""
    hit = np.flatnonzero(matches >= 0)
    if len(hit) == 0:
        return rows
    keep = sp.diags_array((matches < 0).astype(np.float64), format="csr")
    put = sp.csr_array((np.ones(len(hit)), (hit, np.arange(len(hit)))), shape=(rows.shape[0], len(hit)))
    return sp.csr_array(keep @ rows + put @ walk[matches[hit]])


def positive_scales(scales: NDArray) -> NDArray:
    """Lift the zeros that duplicates leave to a small share of the median."""
    positive = scales[scales > 0]
    floor = 1e-3 * np.median(positive) if len(positive) else 1.0
    return np.maximum(scales, floor)


def edge_weights(near: Neighborhoods, affinity: Affinity) -> Any:
    """Symmetric weights A of the union graph."""
    values = affinity(near.distances, near.indices, affinity.scales)
    n, k = near.indices.shape
    directed = sp.csr_array((values.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return symmetric_union(directed)


def walk_operator(
    near: Neighborhoods, A: Any, affinity: Affinity, *, what: str, even: bool = False, power: int = 1
) -> GraphOperator:
    """Operator of the walk on A; `even` lets steps take time in proportion to their squared scale.

    With ``power=1`` the cost is flipped by its λ_max; other powers are of the walk itself, 1 − cost. Where the walk
    makes up for the density of the sample, by its pace or by its weights, points count in regressions as in the walk.
    """
    degree = np.asarray(A.sum(axis=1)).ravel()
    unit = float(np.average(affinity.scales**2, weights=degree)) if even else 0.0
    times = affinity.scales**2 / unit if even else np.ones(len(degree))
    weights = degree * times
    root = sp.diags_array(1 / np.sqrt(weights))
    cost = sp.csr_array(root @ (sp.diags_array(degree) - A) @ root)
    components = component_labels(A, what=what)
    walk = sp.csr_array(sp.diags_array(1 / degree) @ A)
    own_measure = even or affinity.density is not None
    extend = WalkExtension(near, affinity, walk, times, components, unit, own_measure)
    flip = largest_eigenvalue(cost) if power == 1 else 1.0
    return GraphOperator(
        matrix=flipped(cost, flip),
        rows=ExtensionRows(extend),
        trivial=np.sqrt(weights)[:, None] * indicator(components),
        weights=weights,
        measure=weights if own_measure else np.ones(len(degree)),
        components=components,
        cost=cost,
        flip=flip,
        extend=extend,
        power=power,
    )
