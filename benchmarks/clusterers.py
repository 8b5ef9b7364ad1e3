"""What people cluster with, each a function of the set, the number of groups and a seed that gives labels.

Settings are those of each package but for what is written here. UMAP has 10 components and ``min_dist=0``, as its
documentation advises for clustering, and 15 neighbours; the distance is the cosine for text and Euclidean elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks.labelled import Labelled

NEIGHBORS = 15
RESOLUTIONS = 12


def k_means(Z: Any, c: int, seed: int) -> np.ndarray:
    """Best of ten runs."""
    return KMeans(c, n_init=10, random_state=seed).fit(Z).labels_


def pca_k_means(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """50 principal components, or all."""
    solver = "arpack" if sample.is_text else "auto"
    Z = PCA(min(50, *sample.X.shape), svd_solver=solver, random_state=seed).fit_transform(sample.X)
    return k_means(Z, c, seed)


def lsa_k_means(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """Latent semantic analysis: 100 components with rows of unit length."""
    return k_means(normalize(TruncatedSVD(100, random_state=seed).fit_transform(sample.X)), c, seed)


def spectral(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """Spectral clustering of the neighbour graph."""
    model = SpectralClustering(c, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        return model.fit(sample.X).labels_


def umap(sample: Labelled, seed: int, **options: Any) -> np.ndarray:
    """Coordinates of umap-learn, by default for clustering."""
    from umap import UMAP

    metric = "cosine" if sample.is_text else "euclidean"
    settings = {"n_components": 10, "min_dist": 0.0, "n_neighbors": NEIGHBORS, "random_state": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="umap|sklearn.manifold")
        return UMAP(metric=metric, **{**settings, **options}).fit_transform(sample.X)


def umap_k_means(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """UMAP, then k-means."""
    return k_means(umap(sample, seed), c, seed)


def umap_hdbscan(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """UMAP, then HDBSCAN, which is not told the number; clusters of a hundredth of the rows, at least 10.

    Points that it calls noise are one cluster more.
    """
    smallest = max(10, len(sample.y) // 100)
    return HDBSCAN(min_cluster_size=smallest, min_samples=10, copy=True).fit(umap(sample, seed)).labels_


def leiden(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """Leiden on UMAP's weighted neighbour graph at the resolution that gives the number of groups, or the nearest."""
    graph, weights = _weighted_graph(sample, seed)
    low, high, best = 1e-3, 1e2, np.zeros(len(sample.y), dtype=int)
    for _ in range(RESOLUTIONS):
        middle = float(np.sqrt(low * high))
        labels = _partition(graph, weights, middle, seed)
        found = labels.max() + 1
        if abs(found - c) < abs(best.max() + 1 - c):
            best = labels
        if found == c:
            break
        low, high = (middle, high) if found < c else (low, middle)
    return best


def leiden_default(sample: Labelled, c: int, seed: int) -> np.ndarray:
    """Leiden at resolution 1, which is not told the number."""
    return _partition(*_weighted_graph(sample, seed), 1.0, seed)


def _weighted_graph(sample: Labelled, seed: int) -> tuple[Any, np.ndarray]:
    import igraph

    W = umap(sample, seed, transform_mode="graph").tocoo()
    upper = W.row < W.col
    edges = np.column_stack([W.row[upper], W.col[upper]])
    return igraph.Graph(n=W.shape[0], edges=edges.tolist()), W.data[upper]


def _partition(graph: Any, weights: np.ndarray, resolution: float, seed: int) -> np.ndarray:
    import leidenalg

    found = leidenalg.find_partition(
        graph,
        leidenalg.RBConfigurationVertexPartition,
        weights=weights,
        resolution_parameter=resolution,
        seed=seed,
    )
    return np.asarray(found.membership)


PEERS: dict[str, Callable[[Labelled, int, int], np.ndarray]] = {
    "k-means": lambda sample, c, seed: k_means(sample.X, c, seed),
    "PCA + k-means": pca_k_means,
    "LSA + k-means": lsa_k_means,
    "UMAP + k-means": umap_k_means,
    "UMAP + HDBSCAN": umap_hdbscan,
    "spectral clustering": spectral,
    "Leiden": leiden,
    "Leiden, resolution 1": leiden_default,
}
TEXT_ONLY = ("LSA + k-means",)
UNTOLD = ("UMAP + HDBSCAN", "Leiden, resolution 1")
