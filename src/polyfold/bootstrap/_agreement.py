"""How far a grouping is a matter of chance, without labels: two independent networks, one question.

The score of a layer, a setting or a number of groups is the agreement (adjusted Rand index) of the groups that two
networks with other random draws find in the same points. Of layers that agree equally well the one farthest from
the data is taken: every layer takes away some of what tells points of a group apart. Of shares of features that
agree equally well the smallest: its clusterings differ most.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from polyfold._progress import track
from polyfold._threads import threaded
from polyfold.bootstrap._choose import choose_bottom
from polyfold.bootstrap._cut import Cut, fit_cut
from polyfold.bootstrap._draws import CENTERS_PER_CLASS, chosen_count, decaying_sizes
from polyfold.bootstrap._network import fit_network
from polyfold.bootstrap._stacks import STACK, halves
from polyfold.neighbors import n_places

# Points that are grouped to compare layers, and to compare settings; more where there are many groups.
SAMPLE, PILOT = 1000, 700
PER_GROUP = 20
# Runs of k-means: what differs should be the networks, not what it ends in.
RUNS = 10
PILOT_NETWORKS = 3
# Differences of agreement that are within its own chance.
SAME_LAYER, SAME_SHARE = 0.05, 0.1
SHARES = (0.2, 0.5, 0.8)
ABOVE = 0.5
# Up to so many features each may be needed to tell groups apart: all of them are tried as well.
FEW_FEATURES = 8


def n_directions(n_groups: int) -> int:
    """Count the coordinates in which groups are looked for: as many as groups, and one more for every ten."""
    return n_groups + n_groups // 10


def group(cut: Cut, codes: np.ndarray, n_groups: int, *, seed: int) -> np.ndarray:
    """Find groups of the points of (V, n) codes: (n,)."""
    # k-means cannot find more groups than there are different points, and would say so at every run.
    places = n_places(codes.T)
    if places == 1:
        return np.zeros(codes.shape[1], dtype=np.int32)
    coordinates = cut.transform(codes, n_components=n_directions(n_groups))
    return KMeans(min(n_groups, places), n_init=RUNS, random_state=seed % 2**32).fit_predict(coordinates)


def layer_agreement(codes: Sequence[np.ndarray], sizes: Sequence[int], n_groups: int, *, seed: int) -> dict[int, float]:
    """Agreement, in every layer that is wide enough, of the groups of the two halves of its clusterings.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers, by stacks.
    sizes : list of int
    n_groups : int
    seed : int
        Of the sample of points, where there are many, and of k-means.
    """
    rows = sample_rows(codes[0].shape[1], max(SAMPLE, PER_GROUP * n_groups), seed)
    sides = zip(*(halves(layer[:, rows]) for layer in codes), strict=True)
    return _mean_agreement([[np.ascontiguousarray(part) for part in side] for side in sides], sizes, n_groups, seed)


def deepest(agreement: dict[int, float]) -> int:
    """Layer farthest from the data among those that agree as well as any."""
    best = max(agreement.values())
    return max(level for level, value in agreement.items() if value >= best - SAME_LAYER)


def choose_share(
    X: Any, *, metric: str, n_classes: int, decay: float, seed: int, n_jobs: int
) -> tuple[float, dict[float, float]]:
    """Share of the features that a clustering should see, and the agreement of those tried, on a sample of rows."""
    rows = sample_rows(X.shape[0], max(PILOT, PER_GROUP * n_classes), seed)
    X = X[rows]
    sizes = decaying_sizes(max(1, n_places(X) // 2), decay, n_classes)
    d = X.shape[1]
    candidates = (*SHARES[::2], *((1.0,) if d <= FEW_FEATURES else ()), ABOVE)
    counts = {chosen_count(share, d): share for share in candidates}
    # One feature alone cannot tell groups apart that differ in two.
    shares = [share for count, share in counts.items() if count > 1]
    if len(shares) < 2 or len(rows) < 2 * PER_GROUP:
        return ABOVE if chosen_count(ABOVE, d) > 1 else 1.0, {}
    options = (metric, n_classes, seed, n_jobs)
    tried = track(shares, "shares of features")
    scores = {share: max(_agreement(X, sizes, share, *options).values()) for share in tried}
    best = max(scores.values())
    return min(share for share, score in scores.items() if score >= best - SAME_SHARE), scores


def sample_rows(n: int, most: int, seed: int) -> np.ndarray:
    """Draw at most `most` of n rows, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, 2**31 + 2]).choice(n, most, replace=False))


def agree(left: ArrayLike, right: ArrayLike) -> float:
    """Return the adjusted Rand index, zero where all points are one group: to find nothing twice is no agreement."""
    if len(np.unique(left)) < 2 or len(np.unique(right)) < 2:
        return 0.0
    return float(adjusted_rand_score(left, right))


def _agreement(
    X: Any, sizes: list[int], share: float, metric: str, n_classes: int, seed: int, n_jobs: int
) -> dict[int, float]:
    """Mean agreement of three networks, two by two, in every layer."""
    bottom = choose_bottom(X, metric=metric, neighbors="exact", n_centers=sizes[0], reconstruction=0.0, seed=seed)
    options = {"n_clusterings": STACK, "feature_fraction": (share, ABOVE), "reconstruction": 0.0, "n_jobs": n_jobs}
    networks = [
        fit_network(X, bottom, sizes, seed=seed, first=number * STACK, **options)
        for number in track(range(PILOT_NETWORKS), "networks")
    ]
    return _mean_agreement([network.codes for network in networks], sizes, n_classes, seed)


def _mean_agreement(
    networks: Sequence[Sequence[np.ndarray]], sizes: Sequence[int], n_groups: int, seed: int
) -> dict[int, float]:
    layers = [0, *(level for level in range(1, len(sizes)) if sizes[level] >= CENTERS_PER_CLASS * n_groups)]
    tasks = [(level, codes[level]) for level in layers for codes in networks]

    def labels(task: tuple[int, np.ndarray]) -> np.ndarray:
        level, part = task
        return group(fit_cut(part, sizes[level], n_directions(n_groups), seed=seed), part, n_groups, seed=seed)

    found, count = list(threaded(labels, tasks)), len(networks)
    parts = {level: found[i * count : (i + 1) * count] for i, level in enumerate(layers)}
    return {
        level: float(np.mean([agree(left, right) for left, right in combinations(part, 2)]))
        for level, part in parts.items()
    }
