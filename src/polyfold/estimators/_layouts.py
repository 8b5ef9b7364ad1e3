"""Layouts of a neighbour graph in few dimensions: Laplacian eigenmaps, openTSNE or umap-learn, with their defaults.

A graph is given as lists of neighbours, nearest first: distances and indices of shape (n, k) each.
"""

import warnings
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


def eigenmaps(near: Neighborhoods, n_components: int) -> Spectrum | None:
    """Laplacian eigenmaps of neighbourhoods; None if their graph is not connected."""
    if connected_components(near.graph(), directed=False)[0] > 1:
        return None
    return spectrum_from_operator(LaplacianEigenmaps(step_time="unit").operator_of(near), n_components)


def count_neighbors(layout: str, n_samples: int) -> int:
    """Return how many neighbours of every point a layout takes: three times openTSNE's perplexity, or 15."""
    wanted = 3 * require_layout("tsne").TSNE().perplexity if layout == "tsne" else N_NEIGHBORS
    return min(wanted, n_samples - 1)


def tsne_layout(distances: NDArray, indices: NDArray, start: NDArray, *, seed: int) -> NDArray:
    """t-SNE of a graph with openTSNE's defaults, from given coordinates: (n, n_components)."""
    tsne = require_layout("tsne")
    index = tsne.nearest_neighbors.PrecomputedNeighbors(indices, distances)
    perplexity = distances.shape[1] / 3
    # On one thread: several would add up in another order.
    affinities = tsne.affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=1)
    model = tsne.TSNE(start.shape[1], random_state=seed, n_jobs=1)
    Z = model.fit(affinities=affinities, initialization=tsne.initialization.rescale(start))
    return np.array(Z, dtype=np.float64)


def umap_layout(distances: NDArray, indices: NDArray, start: NDArray, *, seed: int) -> NDArray:
    """Layout of a graph with umap-learn's defaults, from given coordinates: (n, n_components)."""
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
