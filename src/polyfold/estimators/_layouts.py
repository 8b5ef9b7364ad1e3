"""Layouts of a neighbour graph in few dimensions: Laplacian eigenmaps, openTSNE or umap-learn, with their defaults."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from polyfold._policy import N_NEIGHBORS
from polyfold._validation import import_extra
from polyfold.exceptions import MissingExtraError
from polyfold.kernels import LaplacianEigenmaps
from polyfold.neighbors import Neighborhoods
from polyfold.spectra import Spectrum, spectrum_from_operator

LAYOUTS = ("tsne", "umap", "spectral")
PACKAGES = {"tsne": "openTSNE", "umap": "umap"}


def require_layout(layout: str) -> Any:
    """Import the package of a layout, or raise with the pip command."""
    try:
        return import_extra(PACKAGES[layout], "map")
    except MissingExtraError as error:
        raise MissingExtraError(
            f"{error}, or pass layout='spectral' (on the command line: --set layout=spectral), which needs no further "
            "package."
        ) from error


def count_neighbors(layout: str, n_samples: int) -> int:
    """Return how many neighbours of every point a layout takes: three times openTSNE's perplexity, or 15."""
    wanted = 3 * require_layout("tsne").TSNE().perplexity if layout == "tsne" else N_NEIGHBORS
    return min(wanted, n_samples - 1)


def connected_eigenmaps(
    near: Neighborhoods, find: Callable[[int], Neighborhoods], n_components: int
) -> Spectrum | None:
    """Laplacian eigenmaps of 15 neighbours, or of more until the graph is connected; None if it never is.

    `find` returns that many neighbours of every point, if `near` has fewer.
    """
    n, k = near.n_samples, min(N_NEIGHBORS, near.n_samples - 1)
    while k < min(n, 16 * N_NEIGHBORS):
        near = find(k) if k > near.n_neighbors else near
        nearest = replace(near, distances=near.distances[:, :k], indices=near.indices[:, :k])
        if connected_components(nearest.graph(), directed=False)[0] == 1:
            return spectrum_from_operator(LaplacianEigenmaps(step_time="unit").operator_of(nearest), n_components)
        k = 2 * k if 2 * k < n else max(k + 1, n - 1)
    return None


def lay_out(layout: str, near: Neighborhoods, start: NDArray, seed: int) -> NDArray:
    """Lay out neighbours by shared codes with "tsne" or "umap", from given coordinates: (n, n_components)."""
    # Points with equal coordinates would never separate.
    noise = np.random.default_rng(seed).standard_normal(start.shape)
    start = start + 1e-4 * np.abs(start).max(initial=1e-12) * noise
    # The root of the fraction of differing codes is the Euclidean distance of the one-of-k vectors.
    distances = np.sqrt(near.distances)
    function = _umap_layout if layout == "umap" else _tsne_layout
    return function(distances, near.indices, start, seed)


def _tsne_layout(distances: NDArray, indices: NDArray, start: NDArray, seed: int) -> NDArray:
    """t-SNE with openTSNE's defaults."""
    tsne = require_layout("tsne")
    index = tsne.nearest_neighbors.PrecomputedNeighbors(indices, distances)
    perplexity = distances.shape[1] / 3
    # On one thread: several would add up in another order.
    affinities = tsne.affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=1)
    model = tsne.TSNE(start.shape[1], random_state=seed, n_jobs=1)
    Z = model.fit(affinities=affinities, initialization=tsne.initialization.rescale(start))
    return np.array(Z, dtype=np.float64)


def _umap_layout(distances: NDArray, indices: NDArray, start: NDArray, seed: int) -> NDArray:
    """UMAP with umap-learn's defaults."""
    own = np.arange(len(indices))[:, None]
    # umap-learn lists every point as its own first neighbour.
    graph = np.hstack([own, indices]).astype(np.int32), np.hstack([0.0 * own, distances]).astype(np.float32)
    model = require_layout("umap").UMAP(
        graph[0].shape[1],
        start.shape[1],
        precomputed_knn=graph,
        force_approximation_algorithm=True,  # otherwise umap-learn searches small data again
        init=(10 * start / np.abs(start).max()).astype(np.float32),  # as wide as umap-learn's own
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit_transform(own.astype(np.float32)).astype(np.float64)


def interpolate(distances: NDArray, indices: NDArray, Z: NDArray) -> NDArray:
    """Coordinates of new points: weighted means of those of their neighbours, shape (q, p).

    A point at distance zero from a training point has its coordinates.
    """
    nearest = distances[:, :1]
    reach = np.mean(distances - nearest, axis=1, keepdims=True)
    weights = np.exp(-(distances - nearest) / np.where(reach > 0, reach, 1.0))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.where(nearest == 0, Z[indices[:, 0]], np.einsum("ij,ijp->ip", weights, Z[indices]))
