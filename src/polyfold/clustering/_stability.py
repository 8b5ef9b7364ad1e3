"""Stability: which levels, layers and fractions of features give clusters that repeat.

Two trees of clusters, from other rows or other random draws, are cut at the same number of clusters, and the two
partitions of the same rows are compared:

- *stability*: adjusted Rand index, 1 if the partitions are equal and about 0 if they agree by chance,
- *information*: bits that one partition repeats of the other beyond chance, less the bits that it does not repeat.

Levels compare trees of two halves of the rows. A level is the most stable number of every doubling (2 to 3, 4 to 7,
8 to 15, …); of equal ones the largest. Information selects the level of the labels: stability alone prefers few
clusters, and a further split pays here if more than half of it repeats.

Layers and fractions compare independent halves of a network's clusterings, cut at the number of clusters; if that
number is not given, by the mean over the levels. If layers are equally stable, the one farthest from the data is
selected: every layer removes some of the variation within groups. The fraction is selected first, by the stability of
the first layer.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from polyfold._linalg import sample_rows
from polyfold._policy import (
    CENTERS_PER_CLASS,
    CODE_FRACTION,
    FEATURE_FRACTIONS,
    MAX_REPLICATES,
    REPLICATE_CLUSTERINGS,
    ROWS_PER_CLUSTER,
    SAME_STABILITY,
    STABILITY_ROWS,
    TREE_COORDINATES,
)
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold.bootstrap import (
    FirstLayer,
    child_stream,
    fit_encoder,
    fit_spectral_readout,
    layers_for,
    n_selected,
)
from polyfold.clustering._tree import ClusterTree, fit_tree, n_leading

# Most levels: up to 511 clusters.
LEVELS = 8


@dataclass(frozen=True)
class LabelledTree:
    """A tree from other rows or draws, and the small cluster of each row of a sample."""

    tree: ClusterTree
    labels: NDArray


def stability_curve(left: LabelledTree, right: LabelledTree) -> dict[int, float]:
    """Return the adjusted Rand index between two trees for every number of clusters from two on.

    Notes
    -----
    O(K²) for trees of K small clusters: a merge changes two rows or columns of the table of counts.
    """
    table = _counts(left, right).astype(np.float64)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    n, squares = table.sum(), (table**2).sum()
    count_left, count_right = table.shape
    merges_left, merges_right = _positions(left.tree), _positions(right.tree)
    scores = {}
    for number in range(min(table.shape), 1, -1):
        while count_left > number:
            kept, merged = next(merges_left)
            squares += 2.0 * (table[kept] @ table[merged])
            table[kept] += table[merged]
            rows[kept], rows[merged], table[merged] = rows[kept] + rows[merged], 0.0, 0.0
            count_left -= 1
        while count_right > number:
            kept, merged = next(merges_right)
            squares += 2.0 * (table[:, kept] @ table[:, merged])
            table[:, kept] += table[:, merged]
            columns[kept], columns[merged], table[:, merged] = columns[kept] + columns[merged], 0.0, 0.0
            count_right -= 1
        scores[number] = _adjusted_rand(squares, (rows**2).sum(), (columns**2).sum(), n)
    return dict(sorted(scores.items()))


def information(left: LabelledTree, right: LabelledTree, n_clusters: int) -> float:
    """Bits that two trees have in common beyond chance, minus those that they do not."""
    cuts = left.tree.cut(n_clusters), right.tree.cut(n_clusters)
    table = sum_by(sum_by(_counts(left, right), cuts[0]).T, cuts[1]).T
    # Clusters without a row of the sample carry nothing.
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    shared = mutual_info_score(None, None, contingency=table)
    chance = expected_mutual_information(table, int(table.sum()))
    entropy = (_entropy(table.sum(axis=0)) + _entropy(table.sum(axis=1))) / 2
    return float(((shared - chance) - (entropy - shared)) / np.log(2))


def select_levels(curve: dict[int, float], n_clusters: int | None = None) -> list[int]:
    """Return the most stable number of every doubling, rising; `n_clusters`, if given, is one of them.

    Examples
    --------
    >>> select_levels({2: 0.9, 3: 1.0, 4: 0.7, 5: 0.8, 6: 0.6})
    [3, 5]
    >>> select_levels({2: 0.9, 3: 1.0, 4: 0.7, 5: 0.8, 6: 0.6}, n_clusters=4)
    [3, 4]
    """
    levels: dict[int, int] = {}
    for number, score in curve.items():
        doubling = number.bit_length()
        if doubling > LEVELS + 1:
            break
        if doubling not in levels or score >= curve[levels[doubling]]:
            levels[doubling] = number
    if n_clusters is not None and n_clusters > 1:
        levels[n_clusters.bit_length()] = n_clusters
    return sorted(levels.values())


def cluster_stability(tree: ClusterTree, labels: NDArray, trees: list[LabelledTree]) -> NDArray:
    """Stability of every cluster of a tree: its overlap with the most similar cluster of other trees, mean of all.

    The overlap of two clusters is the number of rows in both over the number in either (Jaccard). `labels` are the
    small clusters, in `tree`, of the rows that the other trees have labels of.
    """
    own = tree.members()
    scores = []
    for labelled in trees:
        other = labelled.tree.members()
        both = own @ _counts(LabelledTree(tree, labels), labelled) @ other.T
        sizes = own @ np.bincount(labels, minlength=tree.n_small)
        others = other @ np.bincount(labelled.labels, minlength=labelled.tree.n_small)
        either = sizes[:, None] + others - both
        scores.append((both / np.maximum(either, 1)).max(axis=1))
    return np.mean(scores, axis=0)


def sum_by(table: NDArray, groups: NDArray) -> NDArray:
    """Sum the rows of a table by group."""
    sums = np.zeros((int(groups.max()) + 1, table.shape[1]), dtype=table.dtype)
    np.add.at(sums, groups, table)
    return sums


def n_coordinates(n_rows: int, n_clusters: int | None) -> int:
    """Count the coordinates in which clusters are looked for, if their number is known or not."""
    if n_clusters is not None:
        return min(n_leading(n_clusters), max(2, n_rows))
    return max(2, min(TREE_COORDINATES, n_rows // ROWS_PER_CLUSTER))


def code_trees(
    codes: NDArray, n_centers: int, n_clusters: int | None, *, seeds: np.random.SeedSequence, count: int = 2
) -> list[LabelledTree]:
    """Build a tree from each of `count` equal parts of the (V, n) codes of a layer; the parts must be independent."""
    rows = np.arange(codes.shape[1])
    parts = np.split(codes[: len(codes) // count * count], count)
    return list(threaded(lambda part: _labelled_tree(part, rows, n_centers, n_clusters, seeds), parts))


def row_trees(
    first: FirstLayer,
    X: Any,
    sizes: list[int],
    n_clusters: int | None,
    *,
    seeds: np.random.SeedSequence,
    **options: Any,
) -> tuple[LabelledTree, LabelledTree]:
    """Build a tree from each half of the rows, by networks that end at the last layer of `sizes`.

    Parameters
    ----------
    first : FirstLayer
        Kind of search of the first layers.
    X : (n, d) ndarray or CSR matrix
    sizes : list of int
        Layers of a network of all rows; those that are too wide for half of the rows are left out.
    n_clusters : int or None
    seeds : SeedSequence
    **options : dict
        Further arguments of `fit_encoder`.
    """
    n = X.shape[0]
    order = np.random.default_rng(child_stream(seeds, "levels")).permutation(n)

    def half_tree(number: int, half: NDArray) -> LabelledTree:
        streams, others = child_stream(seeds, "levels", number), np.setdiff1d(order, half)
        layers = layers_for(first, X[half], sizes)
        encoder = fit_encoder(*layers, n_clusterings=REPLICATE_CLUSTERINGS, seeds=streams, **options)
        level, own = len(encoder.sizes) - 1, encoder.codes[-1]
        codes = np.empty((len(own), n), dtype=own.dtype)
        codes[:, half], codes[:, others] = own, encoder.encode(X[others], level)
        wanted = None if n_clusters is None else min(n_clusters, len(half))
        return _labelled_tree(codes, half, encoder.sizes[-1], wanted, streams)

    left, right = (half_tree(i, np.sort(half)) for i, half in enumerate((order[: n // 2], order[-(n // 2) :])))
    return left, right


def _labelled_tree(
    codes: NDArray, rows: NDArray, n_centers: int, n_clusters: int | None, seeds: np.random.SeedSequence
) -> LabelledTree:
    """Build a tree from the given rows, and assign all of the (V, n) codes to its small clusters."""
    count = n_coordinates(len(rows), n_clusters)
    readout = fit_spectral_readout(codes[:, rows], n_centers, count, seeds=child_stream(seeds, "readout"))
    Z = readout.transform(codes)
    tree = fit_tree(Z[rows], n_clusters, seeds=child_stream(seeds, "tree"))
    return LabelledTree(tree, tree.assign(Z))


def layer_stability(
    codes: Sequence[NDArray],
    sizes: Sequence[int],
    n_clusters: int | None,
    *,
    n_replicates: int,
    seeds: np.random.SeedSequence,
) -> dict[int, float]:
    """Stability of every layer that has enough centres.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers, replicate after replicate.
    sizes : list of int
    n_clusters : int or None
    n_replicates : int
    seeds : SeedSequence
        Of the sample of rows, if there are many, and of the trees.
    """
    rows = sample_rows(codes[0].shape[1], sample_size(n_clusters), child_stream(seeds, "rows"))
    fewest = CENTERS_PER_CLASS * (n_clusters or 2)
    layers = [0, *(level for level in range(1, len(sizes)) if sizes[level] >= fewest)]
    scores = {}
    for level in track(layers, "layers"):
        parts = code_trees(codes[level][:, rows], sizes[level], n_clusters, seeds=seeds, count=n_replicates)
        scores[level] = mean_stability(parts, n_clusters)
    return scores


def mean_stability(trees: Sequence[LabelledTree], n_clusters: int | None) -> float:
    """Stability at the number of clusters, or the mean over the levels; mean over all pairs of trees."""
    scores = []
    for pair in itertools.combinations(trees, 2):
        curve = stability_curve(*pair)
        levels = select_levels(curve) if n_clusters is None else [n_clusters]
        scores.append(np.mean([curve.get(level, 0.0) for level in levels]) if levels else 0.0)
    return float(np.mean(scores))


def select_layer(scores: dict[int, float]) -> int:
    """Layer farthest from the data among the most stable ones."""
    best = max(scores.values())
    return max(level for level, score in scores.items() if score >= best - SAME_STABILITY)


def select_feature_fraction(
    first: FirstLayer, *, n_clusters: int | None, seeds: np.random.SeedSequence
) -> tuple[float, dict[float, float]]:
    """Select the fraction of the features that a clustering sees, by the stability of the first layer on a sample.

    Returns
    -------
    fraction : float
    scores : dict
        Stability of every fraction compared; empty if there was no choice.
    """
    n, d = first.X.shape
    # One feature alone cannot separate groups that differ in two.
    fractions = {n_selected(fraction, d): fraction for fraction in FEATURE_FRACTIONS if n_selected(fraction, d) > 1}
    rows = sample_rows(n, sample_size(n_clusters), child_stream(seeds, "pilot"))
    if len(fractions) < 2 or len(rows) < 2 * ROWS_PER_CLUSTER:
        return (CODE_FRACTION if n_selected(CODE_FRACTION, d) > 1 else 1.0), {}
    X, search, (size,) = layers_for(first, first.X[rows], [])
    streams = child_stream(seeds, "pilot", 1)
    options = {"n_clusterings": 2 * REPLICATE_CLUSTERINGS, "seeds": streams}
    scores = {}
    for fraction in track(sorted(fractions.values()), "fractions of features"):
        # Clusterings of the first layer are independent of each other, and so are parts of them.
        (codes,) = fit_encoder(X, search, [size], feature_fraction=fraction, **options).codes
        parts = code_trees(codes, size, n_clusters, seeds=seeds, count=MAX_REPLICATES)
        scores[fraction] = mean_stability(parts, n_clusters)
    # The smallest of equal ones: its clusterings differ most.
    return max(scores, key=lambda fraction: (scores[fraction], -fraction)), scores


def sample_size(n_clusters: int | None) -> int:
    """Rows on which layers and fractions are compared."""
    return max(STABILITY_ROWS, ROWS_PER_CLUSTER * (n_clusters or 0))


def _counts(left: LabelledTree, right: LabelledTree) -> NDArray:
    """Rows that two small clusters share: (K, K')."""
    shape = left.tree.n_small, right.tree.n_small
    ones = np.ones(len(left.labels), dtype=np.int64)
    return sp.coo_array((ones, (left.labels, right.labels)), shape=shape).toarray()


def _positions(tree: ClusterTree) -> Iterator[tuple[int, int]]:
    """For every merge, the small cluster that represents the merged one, and the one that it replaces."""
    position = np.arange(2 * tree.n_small - 1)
    for number, (left, right) in enumerate(tree.merges):
        position[tree.n_small + number] = position[left]
        yield int(position[left]), int(position[right])


def _adjusted_rand(squares: float, rows: float, columns: float, n: float) -> float:
    """Return the adjusted Rand index from sums of squared counts, of a table and of its two margins."""
    pairs, both = n * (n - 1), squares - n
    left, right = rows - n, columns - n
    chance = left * right / pairs if pairs else 0.0
    most = (left + right) / 2
    # Finding nothing twice is not stability.
    return float((both - chance) / (most - chance)) if most > chance and max(left, right) < pairs else 0.0


def _entropy(counts: NDArray) -> float:
    fractions = counts[counts > 0] / counts.sum()
    return float(-(fractions * np.log(fractions)).sum())
