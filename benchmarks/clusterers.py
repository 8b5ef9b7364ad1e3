"""What people cluster with: what is done to the rows first, which methods share, and what finds groups in that.

Settings are those of each package but for what is written here. UMAP has 10 components and ``min_dist=0``, as its
documentation advises for clustering, and 15 neighbours; the distance is the cosine for text and Euclidean elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks.labelled import Labelled

NEIGHBORS = 15
RESOLUTIONS = 12


def k_means(Z: Any, c: int, seed: int) -> np.ndarray:
    """Best of ten runs."""
    return KMeans(c, n_init=10, random_state=seed).fit(Z).labels_


def pca_k_means(X: Any, c: int, seed: int) -> np.ndarray:
    """50 principal components, or all."""
    solver = "arpack" if sp.issparse(X) else "auto"
    return k_means(PCA(min(50, *X.shape), svd_solver=solver, random_state=seed).fit_transform(X), c, seed)


def lsa_k_means(X: Any, c: int, seed: int) -> np.ndarray:
    """Latent semantic analysis: 100 components with rows of unit length."""
    return k_means(normalize(TruncatedSVD(100, random_state=seed).fit_transform(X)), c, seed)


def spectral(X: Any, c: int, seed: int) -> np.ndarray:
    """Spectral clustering of the neighbour graph."""
    model = SpectralClustering(c, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        return model.fit(X).labels_


def umap(sample: Labelled, seed: int, **options: Any) -> np.ndarray:
    """Coordinates of umap-learn, by default for clustering."""
    from umap import UMAP

    settings = {"n_components": 10, "min_dist": 0.0, "n_neighbors": NEIGHBORS, "random_state": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="umap|sklearn.manifold")
        return UMAP(metric=sample.metric, **{**settings, **options}).fit_transform(sample.X)


def hdbscan(Z: np.ndarray, c: int, seed: int) -> np.ndarray:
    """HDBSCAN, which is not told the number; clusters of a hundredth of the rows, at least 10.

    Points that it calls noise are one cluster more.
    """
    return HDBSCAN(min_cluster_size=max(10, len(Z) // 100), min_samples=10, copy=True).fit(Z).labels_


def leiden(graph: Any, c: int, seed: int) -> np.ndarray:
    """Leiden at the resolution that gives the number of groups, or the nearest."""
    low, high, best = 1e-3, 1e2, np.zeros(graph.vcount(), dtype=int)
    for _ in range(RESOLUTIONS):
        middle = float(np.sqrt(low * high))
        labels = partition(graph, middle, seed)
        found = labels.max() + 1
        if abs(found - c) < abs(best.max() + 1 - c):
            best = labels
        if found == c:
            break
        low, high = (middle, high) if found < c else (low, middle)
    return best


def partition(graph: Any, resolution: float, seed: int) -> np.ndarray:
    """Leiden at one resolution."""
    import leidenalg

    found = leidenalg.find_partition(
        graph,
        leidenalg.RBConfigurationVertexPartition,
        weights="weight",
        resolution_parameter=resolution,
        seed=seed,
    )
    return np.asarray(found.membership)


def weighted_graph(sample: Labelled, seed: int) -> Any:
    """UMAP's weighted graph of neighbours."""
    import igraph

    W = umap(sample, seed, transform_mode="graph").tocoo()
    upper = W.row < W.col
    edges = np.column_stack([W.row[upper], W.col[upper]]).tolist()
    return igraph.Graph(n=W.shape[0], edges=edges, edge_attrs={"weight": W.data[upper].tolist()})


PREPARED: dict[str, Callable[[Labelled, int], Any]] = {
    "rows": lambda sample, seed: sample.X,
    "umap": umap,
    "graph": weighted_graph,
}
PEERS: dict[str, tuple[str, Callable[[Any, int, int], np.ndarray]]] = {
    "k-means": ("rows", k_means),
    "PCA + k-means": ("rows", pca_k_means),
    "LSA + k-means": ("rows", lsa_k_means),
    "UMAP + k-means": ("umap", k_means),
    "UMAP + HDBSCAN": ("umap", hdbscan),
    "spectral clustering": ("rows", spectral),
    "Leiden": ("graph", leiden),
    "Leiden, resolution 1": ("graph", lambda graph, c, seed: partition(graph, 1.0, seed)),
}
TEXT_ONLY = ("LSA + k-means",)
UNTOLD = ("UMAP + HDBSCAN", "Leiden, resolution 1")
