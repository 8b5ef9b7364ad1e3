"""Clusterers for the study ``clusterings``: other packages, and ours, all with one setting for all data sets.

Every function returns a `Found`: the labels that a user gets, and all levels, coarse to fine, if there are several.

- k-means: one run, and the best of ten runs.
- UMAP: 5 components, ``min_dist=0``, 15 neighbours; the cosine for text and embeddings.
- HDBSCAN, after UMAP or on the rows (fast_hdbscan): clusters of at least 10 rows, as in BERTopic.
- EVoC: defaults. It is written for embeddings; it also runs on other dense sets here.
- Leiden: UMAP's weighted graph of 15 neighbours at eight resolutions; the labels are those of resolution 1.

EVoC and fast_hdbscan cannot read sparse rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN, KMeans

import polyfold as pf
from benchmarks.clusterers import k_means, partition, umap, weighted_graph
from benchmarks.labelled import Labelled

SMALLEST = 10
RESOLUTIONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Found(NamedTuple):
    """Labels, -1 for noise, and the labels of every level, coarse to fine; no levels if there is only one."""

    labels: np.ndarray
    levels: list[np.ndarray]


class Method(NamedTuple):
    """A clusterer: the name of its shared preparation, and a function of its result, the classes and the seed."""

    prepared: str
    cluster: Callable[[Any, int, int], Found]
    is_told: bool  # gets the number of classes
    is_seeded: bool = True
    reads_sparse: bool = True


def one_run(X: Any, c: int, seed: int) -> Found:
    """One run of k-means."""
    return Found(KMeans(c, n_init=1, random_state=seed).fit(X).labels_, [])


def ten_runs(X: Any, c: int, seed: int) -> Found:
    """Best of ten runs of k-means."""
    return Found(k_means(X, c, seed), [])


def hdbscan(Z: np.ndarray, c: int, seed: int) -> Found:
    """HDBSCAN of a few coordinates."""
    return Found(HDBSCAN(min_cluster_size=SMALLEST, copy=True).fit(Z).labels_, [])


def fast_hdbscan(X: np.ndarray, c: int, seed: int) -> Found:
    """HDBSCAN of the rows."""
    import fast_hdbscan as package

    return Found(package.HDBSCAN(min_cluster_size=SMALLEST).fit(np.ascontiguousarray(X, np.float32)).labels_, [])


def evoc(X: np.ndarray, c: int, seed: int) -> Found:
    """EVoC with all its layers."""
    from evoc import EVoC

    model = EVoC(random_state=seed).fit(X.astype(np.float32))
    return Found(model.labels_, sorted(model.cluster_layers_, key=np.max))


def leiden(graph: Any, c: int, seed: int) -> Found:
    """Leiden at all resolutions."""
    levels = [partition(graph, resolution, seed) for resolution in RESOLUTIONS]
    return Found(levels[RESOLUTIONS.index(1.0)], levels)


def ours(name: str, is_told: bool) -> Method:
    """Build a method from one of our estimators with defaults."""

    def cluster(X: Any, c: int, seed: int) -> Found:
        given = (c,) if is_told else ()
        model = getattr(pf, name)(*given, random_state=seed).fit(X)
        return Found(model.labels_, [] if is_told else list(getattr(model, "levels_", None) or []))

    return Method("rows", cluster, is_told)


PREPARED: dict[str, Callable[[Labelled, int], Any]] = {
    "rows": lambda sample, seed: sample.X,
    "umap": lambda sample, seed: umap(sample, seed, n_components=5),
    "graph": weighted_graph,
}
RIVALS = {
    "k-means, 1 run": Method("rows", one_run, True),
    "k-means, 10 runs": Method("rows", ten_runs, True),
    "UMAP + k-means": Method("umap", ten_runs, True),
    "UMAP + HDBSCAN": Method("umap", hdbscan, False),
    "EVoC": Method("rows", evoc, False, reads_sparse=False),
    "fast_hdbscan": Method("rows", fast_hdbscan, False, is_seeded=False, reads_sparse=False),
    "Leiden": Method("graph", leiden, False),
}
OURS = {
    f"{name}({'c' if is_told else ''})": ours(name, is_told)
    for name in ("BootstrapClustering", "KernelClustering")
    if hasattr(pf, name)
    for is_told in (True, False)
}
METHODS = {**RIVALS, **OURS}


def applies(method: Method, sample: Labelled) -> bool:
    """Whether the method can read the rows."""
    return method.reads_sparse or not sp.issparse(sample.X)
