"""Which layer of a network, and which fraction of the features, gives clusters that repeat.

The two halves of a network's replicates are independent. Each half builds a tree of clusters of the same rows, and the
stability of a layer is the adjusted Rand index between the two trees, cut at the number of clusters; if that number is
not given, the mean over the levels. If layers are equally stable, the one farthest from the data is selected: every
layer removes some of the variation within groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    Encoder,
    child_stream,
    decaying_sizes,
    fit_encoder,
    make_first_layer,
    n_selected,
    sample_rows,
)
from polyfold.clustering._levels import Replicate, select_levels, stability_curve
from polyfold.clustering._spectral_readout import fit_spectral_readout
from polyfold.clustering._tree import fit_tree


@dataclass(frozen=True)
class FractionChoice:
    """Outcome of `select_feature_fraction`.

    Attributes
    ----------
    fraction : float
    scores : dict
        Stability of every fraction compared; empty if there was no choice.
    replicates : list of Encoder
        Replicates with that fraction, if they were fitted to all rows.
    """

    fraction: float
    scores: dict[float, float] = field(default_factory=dict)
    replicates: list[Encoder] = field(default_factory=list)


def n_coordinates(n_rows: int, n_clusters: int | None) -> int:
    """Count the coordinates in which clusters are looked for: one per cluster, if their number is known."""
    if n_clusters is not None:
        return max(2, min(n_clusters, n_rows))
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
    X: Any,
    *,
    metric: str,
    n_classes: int,
    n_clusters: int | None,
    decay: float,
    sizes: list[int],
    seeds: np.random.SeedSequence,
    n_jobs: int,
) -> FractionChoice:
    """Select the fraction of the features that a clustering sees, by the stability of two replicates on a sample.

    If the sample is all rows, the replicates of the selected fraction, with layers of `sizes`, are returned too.
    """
    n, d = X.shape
    # One feature alone cannot separate groups that differ in two.
    fractions = {n_selected(fraction, d): fraction for fraction in FEATURE_FRACTIONS if n_selected(fraction, d) > 1}
    rows = sample_rows(n, sample_size(n_clusters), child_stream(seeds, "pilot"))
    if len(fractions) < 2 or len(rows) < 2 * ROWS_PER_CLUSTER:
        return FractionChoice(CODE_FRACTION if n_selected(CODE_FRACTION, d) > 1 else 1.0)
    # A sample has a stream of its own; replicates of all rows are the ones that the fit continues with.
    streams = seeds if len(rows) == n else child_stream(seeds, "pilot", 1)
    X = X if len(rows) == n else X[rows]
    sizes = sizes if len(rows) == n else decaying_sizes(max(1, n_distinct(X) // 2), decay, n_classes)
    first = make_first_layer(X, metric=metric, neighbors="exact", n_centers=sizes[0], seeds=streams)
    replicates, scores = {}, {}
    for fraction in track(sorted(fractions.values()), "fractions of features"):
        options = {"n_clusterings": REPLICATE_CLUSTERINGS, "feature_fraction": fraction, "n_jobs": n_jobs}
        pair = [fit_encoder(X, first, sizes, seeds=streams, replicate=number, **options) for number in (0, 1)]
        codes = [np.vstack([encoder.codes[level] for encoder in pair]) for level in range(len(sizes))]
        scores[fraction] = max(layer_stability(codes, sizes, n_clusters, seeds=seeds).values())
        replicates[fraction] = pair
    # Of equal ones the smallest: its clusterings differ most.
    fraction = max(scores, key=lambda f: (scores[f], -f))
    return FractionChoice(fraction, scores, replicates[fraction] if len(rows) == n else [])


def sample_size(n_clusters: int | None) -> int:
    """Rows on which layers and fractions are compared."""
    return max(STABILITY_ROWS, ROWS_PER_CLUSTER * (n_clusters or 0))
