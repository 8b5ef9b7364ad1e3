"""Levels of a tree of clusters: which numbers of clusters repeat if the tree is built again from other rows.

Two *replicates*, trees built from disjoint halves of the rows, are cut at the same number of clusters, and the two
partitions of all rows are compared:

- *stability*: adjusted Rand index, 1 if the partitions are equal and about 0 if they agree by chance,
- *information*: bits that one partition repeats of the other beyond chance, less the bits that it does not repeat.

A level is the most stable number of every doubling (2 to 3, 4 to 7, 8 to 15, …); of equal ones the largest.
Information selects the level of the labels: stability alone prefers few clusters, and a further split pays here if more
than half of it repeats.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from polyfold.clustering._tree import ClusterTree

# Most levels: up to 511 clusters.
LEVELS = 8


@dataclass(frozen=True)
class Replicate:
    """A tree from other rows or draws, and the small cluster of each row of a sample."""

    tree: ClusterTree
    labels: NDArray


def stability_curve(left: Replicate, right: Replicate) -> dict[int, float]:
    """Return the adjusted Rand index between two replicates for every number of clusters from two on.

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


def information(left: Replicate, right: Replicate, n_clusters: int) -> float:
    """Bits that two replicates share beyond chance, less those that they do not share."""
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


def cluster_stability(tree: ClusterTree, labels: NDArray, replicates: list[Replicate]) -> NDArray:
    """Stability of every cluster of a tree: its overlap with the most similar cluster of a replicate, mean of all.

    The overlap of two clusters is the number of rows in both over the number in either (Jaccard). `labels` are the
    small clusters, in `tree`, of the rows of the replicates.
    """
    own = _members(tree)
    scores = []
    for replicate in replicates:
        other = _members(replicate.tree)
        both = own @ _counts(Replicate(tree, labels), replicate) @ other.T
        sizes = own @ np.bincount(labels, minlength=tree.n_small)
        others = other @ np.bincount(replicate.labels, minlength=replicate.tree.n_small)
        either = sizes[:, None] + others - both
        scores.append((both / np.maximum(either, 1)).max(axis=1))
    return np.mean(scores, axis=0)


def sum_by(table: NDArray, groups: NDArray) -> NDArray:
    """Sum the rows of a table by group."""
    sums = np.zeros((int(groups.max()) + 1, table.shape[1]), dtype=table.dtype)
    np.add.at(sums, groups, table)
    return sums


def _counts(left: Replicate, right: Replicate) -> NDArray:
    """Rows that two small clusters share: (K, K')."""
    shape = left.tree.n_small, right.tree.n_small
    ones = np.ones(len(left.labels), dtype=np.int64)
    return sp.coo_array((ones, (left.labels, right.labels)), shape=shape).toarray()


def _positions(tree: ClusterTree) -> Iterator[tuple[int, int]]:
    """For every merge, the small cluster that stands for the merged one, and the one that it replaces."""
    position = np.arange(2 * tree.n_small - 1)
    for number, (left, right) in enumerate(tree.merges):
        position[tree.n_small + number] = position[left]
        yield int(position[left]), int(position[right])


def _members(tree: ClusterTree) -> NDArray:
    """Small clusters in every cluster of the tree: (2K - 1, K)."""
    K = tree.n_small
    members = np.zeros((2 * K - 1, K))
    members[:K] = np.eye(K)
    for number, pair in enumerate(tree.merges):
        members[K + number] = members[pair].sum(axis=0)
    return members


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
