"""Which layer of a network, and which fraction of the features, gives clusters that repeat.

The two halves of a network's replicates are independent. Each half builds a tree of clusters of the same rows, and the
stability of a layer is the adjusted Rand index between the two trees, cut at the number of clusters; if that number is
not given, the mean over the levels. Of equally stable layers the one farthest from the data is selected: every layer
removes some of the variation within groups. The fraction is selected first, by the stability of the first layer.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyfold._linalg import n_distinct
from polyfold._policy import (
    CENTERS_PER_CLASS,
    CODE_FRACTION,
    FEATURE_FRACTIONS,
    REPLICATE_CLUSTERINGS,
    ROWS_PER_CLUSTER,
    SAME_STABILITY,
    STABILITY_ROWS,
    TREE_COORDINATES,
)
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold.bootstrap import (
    child_stream,
    fit_encoder,
    make_first_layer,
    n_selected,
    sample_rows,
)
from polyfold.clustering._levels import Replicate, select_levels, stability_curve
from polyfold.clustering._spectral_readout import fit_spectral_readout
from polyfold.clustering._tree import fit_tree, n_leading


def n_coordinates(n_rows: int, n_clusters: int | None) -> int:
    """Count the coordinates in which clusters are looked for, if their number is known or not."""
    if n_clusters is not None:
        return min(n_leading(n_clusters), max(2, n_rows))
    return max(2, min(TREE_COORDINATES, n_rows // ROWS_PER_CLUSTER))


def code_replicates(
    codes: np.ndarray, n_centers: int, n_clusters: int | None, *, seeds: np.random.SeedSequence
) -> tuple[Replicate, Replicate]:
    """Build a tree from each half of the (V, n) codes of a layer; the halves must be independent."""
    middle = len(codes) // 2

    def replicate(half: slice) -> Replicate:
        part = codes[half]
        seed = child_stream(seeds, "readout")
        readout = fit_spectral_readout(part, n_centers, n_coordinates(part.shape[1], n_clusters), seeds=seed)
        Z = readout.transform(part)
        tree = fit_tree(Z, n_clusters, seeds=child_stream(seeds, "tree"))
        return Replicate(tree, tree.assign(Z))

    left, right = threaded(replicate, [slice(middle), slice(middle, 2 * middle)])
    return left, right


def layer_stability(
    codes: Sequence[np.ndarray], sizes: Sequence[int], n_clusters: int | None, *, seeds: np.random.SeedSequence
) -> dict[int, float]:
    """Stability of every layer that has enough centres.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers, replicate after replicate; the two halves must be independent.
    sizes : list of int
    n_clusters : int or None
    seeds : SeedSequence
        Of the sample of rows, if there are many, and of the trees.
    """
    rows = sample_rows(codes[0].shape[1], sample_size(n_clusters), child_stream(seeds, "rows"))
    fewest = CENTERS_PER_CLASS * (n_clusters or 2)
    layers = [0, *(level for level in range(1, len(sizes)) if sizes[level] >= fewest)]
    scores = {}
    for level in track(layers, "layers"):
        curve = stability_curve(*code_replicates(codes[level][:, rows], sizes[level], n_clusters, seeds=seeds))
        scores[level] = mean_stability(curve, n_clusters)
    return scores


def mean_stability(curve: dict[int, float], n_clusters: int | None) -> float:
    """Stability at the number of clusters, or the mean over the levels."""
    if n_clusters is not None:
        return curve.get(n_clusters, 0.0)
    return float(np.mean([curve[level] for level in select_levels(curve)])) if curve else 0.0


def select_layer(scores: dict[int, float]) -> int:
    """Layer farthest from the data among the most stable ones."""
    best = max(scores.values())
    return max(level for level, score in scores.items() if score >= best - SAME_STABILITY)


def select_feature_fraction(
    X: Any, *, metric: str, n_clusters: int | None, seeds: np.random.SeedSequence, n_jobs: int
) -> tuple[float, dict[float, float]]:
    """Select the fraction of the features that a clustering sees, by the stability of the first layer on a sample.

    Returns
    -------
    fraction : float
    scores : dict
        Stability of every fraction compared; empty if there was no choice.
    """
    n, d = X.shape
    # One feature alone cannot separate groups that differ in two.
    fractions = {n_selected(fraction, d): fraction for fraction in FEATURE_FRACTIONS if n_selected(fraction, d) > 1}
    rows = sample_rows(n, sample_size(n_clusters), child_stream(seeds, "pilot"))
    if len(fractions) < 2 or len(rows) < 2 * ROWS_PER_CLUSTER:
        return (CODE_FRACTION if n_selected(CODE_FRACTION, d) > 1 else 1.0), {}
    X = X if len(rows) == n else X[rows]
    streams, size = child_stream(seeds, "pilot", 1), max(1, n_distinct(X) // 2)
    first = make_first_layer(X, metric=metric, neighbors="exact", n_centers=size, seeds=streams)
    options = {"n_clusterings": 2 * REPLICATE_CLUSTERINGS, "seeds": streams, "n_jobs": n_jobs}
    scores = {}
    for fraction in track(sorted(fractions.values()), "fractions of features"):
        # Clusterings of the first layer are independent of each other, and so are two halves of them.
        (codes,) = fit_encoder(X, first, [size], feature_fraction=fraction, **options).codes
        curve = stability_curve(*code_replicates(codes, size, n_clusters, seeds=seeds))
        scores[fraction] = mean_stability(curve, n_clusters)
    # Of equal ones the smallest: its clusterings differ most.
    return max(scores, key=lambda fraction: (scores[fraction], -fraction)), scores


def sample_size(n_clusters: int | None) -> int:
    """Rows on which layers and fractions are compared."""
    return max(STABILITY_ROWS, ROWS_PER_CLUSTER * (n_clusters or 0))
