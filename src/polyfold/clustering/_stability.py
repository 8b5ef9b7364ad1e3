"""Stability: how well clusterings of independent replicates agree, without labels.

The score of a layer, or of a fraction of features, is the adjusted Rand index between the clusterings that two halves
of the replicates find in the same rows. Of equally stable layers the one farthest from the data is taken: every layer
removes some of the variation within groups. Of equally stable fractions of features the smallest: its clusterings
differ most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score

from polyfold._linalg import n_distinct
from polyfold._policy import (
    CENTERS_PER_CLASS,
    CODE_FRACTION,
    FEATURE_FRACTIONS,
    REPLICATE_CLUSTERINGS,
    ROWS_PER_CLUSTER,
    SAME_STABILITY,
    STABILITY_ROWS,
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
    stream_seed,
)
from polyfold.clustering._spectral_readout import spectral_labels

# Runs of k-means on a few hundred rows: the replicates should differ, not the local minima.
RUNS = 5


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


def layer_stability(
    codes: Sequence[np.ndarray], sizes: Sequence[int], n_clusters: int, *, seeds: np.random.SeedSequence
) -> dict[int, float]:
    """Stability of every layer that has enough centres.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers, replicate after replicate; the two halves must be independent.
    sizes : list of int
    n_clusters : int
    seeds : SeedSequence
        Of the sample of rows, if there are many, and of k-means.
    """
    rows = sample_rows(codes[0].shape[1], _n_rows(n_clusters), child_stream(seeds, "rows"))
    seed = stream_seed(child_stream(seeds, "readout"))
    layers = [0, *(level for level in range(1, len(sizes)) if sizes[level] >= CENTERS_PER_CLASS * n_clusters)]

    def labels(task: tuple[int, int]) -> np.ndarray:
        level, half = task
        middle = len(codes[level]) // 2
        part = codes[level][middle:] if half else codes[level][:middle]
        return spectral_labels(part[:, rows], sizes[level], n_clusters, seed=seed, n_init=RUNS)

    found = list(threaded(labels, [(level, half) for level in layers for half in (0, 1)]))
    return {level: agreement(*found[2 * i : 2 * i + 2]) for i, level in enumerate(layers)}


def select_layer(scores: dict[int, float]) -> int:
    """Layer farthest from the data among the most stable ones."""
    best = max(scores.values())
    return max(level for level, score in scores.items() if score >= best - SAME_STABILITY)


def select_feature_fraction(
    X: Any, *, metric: str, n_classes: int, decay: float, sizes: list[int], seeds: np.random.SeedSequence, n_jobs: int
) -> FractionChoice:
    """Select the fraction of the features that a clustering sees, by the stability of two replicates on a sample.

    If the sample is all rows, the replicates of the selected fraction, with layers of `sizes`, are returned too.
    """
    n, d = X.shape
    # One feature alone cannot separate groups that differ in two.
    fractions = {n_selected(fraction, d): fraction for fraction in FEATURE_FRACTIONS if n_selected(fraction, d) > 1}
    rows = sample_rows(n, _n_rows(n_classes), child_stream(seeds, "pilot"))
    if len(fractions) < 2 or len(rows) < 2 * ROWS_PER_CLUSTER:
        return FractionChoice(CODE_FRACTION if n_selected(CODE_FRACTION, d) > 1 else 1.0)
    # A sample has a stream of its own; replicates of all rows are the ones that the fit continues with.
    streams = seeds if len(rows) == n else child_stream(seeds, "pilot", 1)
    X = X if len(rows) == n else X[rows]
    sizes = sizes if len(rows) == n else decaying_sizes(max(1, n_distinct(X) // 2), decay, n_classes)
    first = make_first_layer(X, metric=metric, neighbors="exact", n_centers=sizes[0], reconstruction=0.0, seeds=streams)
    replicates, scores = {}, {}
    for fraction in track(sorted(fractions.values()), "fractions of features"):
        options = {"n_clusterings": REPLICATE_CLUSTERINGS, "feature_fraction": fraction, "n_jobs": n_jobs}
        pair = [fit_encoder(X, first, sizes, seeds=streams, replicate=number, **options) for number in (0, 1)]
        codes = [np.vstack([encoder.codes[level] for encoder in pair]) for level in range(len(sizes))]
        scores[fraction] = max(layer_stability(codes, sizes, n_classes, seeds=seeds).values())
        replicates[fraction] = pair
    best = max(scores.values())
    fraction = min(f for f, score in scores.items() if score >= best - SAME_STABILITY)
    return FractionChoice(fraction, scores, replicates[fraction] if len(rows) == n else [])


def agreement(left: ArrayLike, right: ArrayLike) -> float:
    """Return the adjusted Rand index, zero if all rows are one cluster: finding nothing twice is not stability."""
    if len(np.unique(left)) < 2 or len(np.unique(right)) < 2:
        return 0.0
    return float(adjusted_rand_score(left, right))


def _n_rows(n_clusters: int) -> int:
    return max(STABILITY_ROWS, ROWS_PER_CLUSTER * n_clusters)
