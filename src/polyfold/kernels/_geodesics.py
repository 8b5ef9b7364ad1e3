"""Paths for Isomap: graphs in one piece, and geodesics that keep to the dense parts of the data.

A single stray point between two sheets shortens a great many shortest paths. Two remedies, both local: an edge counts
only if each end is a neighbour of the other, and points in sparse places are not passed through.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.neighbors import NearestNeighbors

from polyfold._typing import Matrix, SparseMatrix
from polyfold.neighbors import Neighborhoods

# Of Gaussian noise about a sheet, the tenth farthest off begins at 1.6 standard deviations.
_SPARSE = 0.1
_ZERO = np.finfo(np.float64).tiny ** 0.5


def joined(graph: SparseMatrix, labels: NDArray, X: Matrix) -> SparseMatrix:
    """Join the smallest component to its nearest other point until one is left."""
    graph = sp.lil_array(graph)
    labels = labels.copy()
    while len(sizes := np.unique_counts(labels).counts) > 1:
        small = np.unique(labels)[np.argmin(sizes)]
        inside, outside = np.flatnonzero(labels == small), np.flatnonzero(labels != small)
        distance, index = NearestNeighbors(n_neighbors=1).fit(X[outside]).kneighbors(X[inside])
        i = int(np.argmin(distance[:, 0]))
        j = outside[index[i, 0]]
        graph[inside[i], j] = max(float(distance[i, 0]), _ZERO)
        labels[inside] = labels[j]
    return sp.csr_array(graph)


def geodesics_in_dense_parts(near: Neighborhoods, X: NDArray, sources: NDArray) -> NDArray:
    """Shortest paths along mutual edges that pass through dense points only, shape (len(sources), n)."""
    sparse = _is_sparse(near)
    passable, ends = np.flatnonzero(~sparse), np.flatnonzero(sparse)
    found = NearestNeighbors(n_neighbors=min(near.n_neighbors, len(passable))).fit(X[passable])
    steps, at = found.kneighbors(X[ends]) if len(ends) else (np.empty((0, 1)), np.empty((0, 1), dtype=np.intp))
    at = passable[at]
    out = dijkstra(_ways(near, X, passable, ends, steps, at), directed=True, indices=sources)
    own = out[np.arange(len(sources)), sources].copy()
    out[:, ends] = np.inf
    for step, column in zip(steps.T, at.T, strict=True):
        out[:, ends] = np.minimum(out[:, ends], out[:, column] + step)
    out[np.arange(len(sources)), sources] = own
    return out


def _ways(
    near: Neighborhoods, X: NDArray, passable: NDArray, ends: NDArray, steps: NDArray, at: NDArray
) -> SparseMatrix:
    """Directed graph: mutual edges between passable points, in one piece, and ways out of the other ones."""
    core = _mutual(near)[passable][:, passable]
    count, labels = connected_components(core, directed=False)
    if count > 1:
        core = joined(core, labels, X[passable])
    core = sp.coo_array(core.maximum(core.T))
    rows = np.concatenate([passable[core.coords[0]], np.repeat(ends, at.shape[1])])
    columns = np.concatenate([passable[core.coords[1]], at.ravel()])
    lengths = np.concatenate([core.data, np.maximum(steps.ravel(), _ZERO)])
    return sp.csr_array((lengths, (rows, columns)), shape=(near.n_samples, near.n_samples))


def _is_sparse(near: Neighborhoods) -> NDArray:
    """Mark the points whose neighbourhoods are widest relative to those of their neighbours."""
    width = np.maximum(near.distances[:, -1], _ZERO)
    relative = width / np.median(width[near.indices], axis=1)
    order = np.argsort(-relative, kind="stable")
    sparse = np.zeros(len(width), dtype=bool)
    sparse[order[: int(_SPARSE * len(width))]] = True
    return sparse


def _mutual(near: Neighborhoods) -> SparseMatrix:
    """Edges that both ends have."""
    graph = near.graph()
    graph.data = np.maximum(graph.data, _ZERO)
    return sp.csr_array(graph.minimum(graph.T))
