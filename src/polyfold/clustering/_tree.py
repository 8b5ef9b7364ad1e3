"""A tree of nested clusters: many small ones, merged two by two until one is left.

Coordinates come sorted, the most important first, and c clusters differ in the first c of them [Ng2002], or in a few
more if one of the first is about something else. So the small clusters are found in all coordinates, and merges from
√2 t to t clusters are decided in the first 1.1 t. Two clusters merge if this raises the sum of squares within clusters
least, which is Ward's method for clusters of any size.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from polyfold._linalg import distinct_rows, row_blocks, sample_rows, unit_rows
from polyfold._policy import COORDINATES_PER_CLUSTER, SMALL_CLUSTERS
from polyfold._threads import njit
from polyfold.bootstrap import stream_seed

# Rows on which small clusters are found, for each of them; the others join the nearest one.
ROWS_PER_SMALL_CLUSTER = 40
# Steps of k-means for small clusters: later ones move barely any row.
STEPS = 20


@dataclass(frozen=True)
class ClusterTree:
    """Small clusters and the order in which they merge.

    Attributes
    ----------
    means : (K, p)
        Means of the small clusters, in coordinates of unit length.
    merges : (K - 1, 2) int32
        Numbers of the two clusters of each merge, as in scipy: the small ones are 0 … K - 1, and merge i makes K + i.
    sizes : (K,) int64
        Training rows of every small cluster.
    """

    means: NDArray
    merges: NDArray
    sizes: NDArray

    @property
    def n_small(self) -> int:
        """Number of small clusters."""
        return len(self.means)

    def assign(self, Z: NDArray) -> NDArray:
        """Small cluster of every row of (n, p) coordinates: (n,)."""
        return _nearest(unit_rows(Z), self.means)

    def cut(self, n_clusters: int) -> NDArray:
        """Cluster of every small cluster when `n_clusters` are left, numbered from the largest one down: (K,)."""
        K = self.n_small
        done = max(0, K - n_clusters)
        end = np.arange(2 * K - 1)
        # From the last merge down, so that every cluster finds the one that it ends in.
        for number in range(done - 1, -1, -1):
            end[self.merges[number]] = end[K + number]
        labels = np.unique(end[:K], return_inverse=True)[1]
        order = np.argsort(-np.bincount(labels, weights=self.sizes), kind="stable")
        return np.argsort(order)[labels].astype(np.int32)

    def members(self) -> NDArray:
        """Whether every cluster, small or merged, holds each small cluster: (2K - 1, K) of ones and zeros."""
        K = self.n_small
        members = np.zeros((2 * K - 1, K))
        members[:K] = np.eye(K)
        for number, pair in enumerate(self.merges):
            members[K + number] = members[pair].sum(axis=0)
        return members


def n_leading(n_clusters: int) -> int:
    """Count the leading coordinates in which a number of clusters is looked for."""
    return max(2, round(COORDINATES_PER_CLUSTER * n_clusters))


def fit_tree(Z: NDArray, n_clusters: int | None, *, seeds: np.random.SeedSequence) -> ClusterTree:
    """Build the tree of (n, p) coordinates.

    `n_clusters`, if given, is a number at which the tree will be cut.

    Notes
    -----
    O(n K p) time for K small clusters, on at most 40 K rows, and O(n p + K³) for the merges.
    """
    U = unit_rows(Z)
    count = SMALL_CLUSTERS + (n_clusters or 0)
    rows = sample_rows(len(U), ROWS_PER_SMALL_CLUSTER * count, seeds)
    means = _small_means(U[rows], count, stream_seed(seeds))
    labels = _nearest(U, means)
    sizes = np.bincount(labels, minlength=len(means))
    return ClusterTree(means, _merge_all(Z, labels, sizes, n_clusters), sizes)


def _small_means(U: NDArray, count: int, seed: int) -> NDArray:
    """Means of `count` small clusters, or the distinct rows if there are no more."""
    groups = distinct_rows(U)
    distinct = U if groups is None else U[groups[0]]
    if len(distinct) <= count:
        return distinct
    with warnings.catch_warnings():
        # Rows that differ by rounding only make fewer clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(count, n_init=1, max_iter=STEPS, random_state=seed).fit(U)
    return found.cluster_centers_[np.unique(found.labels_)]


def _nearest(U: NDArray, means: NDArray) -> NDArray:
    squares, nearest = np.einsum("ij,ij->i", means, means), np.empty(len(U), dtype=np.int32)
    for rows in row_blocks(len(U), len(means)):
        nearest[rows] = np.argmin(squares - 2.0 * (U[rows] @ means.T), axis=1)
    return nearest


def _merge_all(Z: NDArray, labels: NDArray, sizes: NDArray, n_clusters: int | None) -> NDArray:
    """Order of merges from small clusters to one: (K - 1, 2)."""
    K = len(sizes)
    merges = np.empty((K - 1, 2), dtype=np.int32)
    # Clusters so far: their numbers in the tree, and which of them holds every small cluster.
    numbers, holder = np.arange(K), np.arange(K)
    for target in _targets(K, n_clusters):
        count = len(numbers)
        U = unit_rows(Z[:, : n_leading(target)])
        group = holder[labels]
        weights = np.bincount(group, minlength=count).astype(np.float64)
        sums = np.stack([np.bincount(group, weights=column, minlength=count) for column in U.T], axis=1)
        pairs = _ward(sums / np.maximum(weights, 1.0)[:, None], weights, target)
        for left, right in pairs:
            number = 2 * K - count  # the number that the next merge gets
            merges[number - K] = numbers[left], numbers[right]
            numbers[left], numbers[right] = number, -1
            holder[holder == right] = left
            count -= 1
        kept = np.flatnonzero(numbers >= 0)
        holder = np.searchsorted(kept, holder)
        numbers = numbers[kept]
    return merges


def _targets(count: int, n_clusters: int | None) -> list[int]:
    """Numbers of clusters at which merging continues in fewer coordinates, falling to one."""
    powers = {round(2 ** (i / 2)) for i in range(2 * count.bit_length())}
    if n_clusters is not None:
        # Down to the required number, in as many coordinates.
        powers = {power for power in powers if power < n_clusters} | {n_clusters}
    return sorted((t for t in powers | {1} if t < count), reverse=True)


@njit()
def _ward(means, weights, target):  # pragma: no cover (compiled)
    """Pairs of clusters that merge, in order, until `target` are left; the first of a pair holds both afterwards."""
    count, width = means.shape
    means, weights = means.copy(), weights.copy()
    cost = np.full((count, count), np.inf)
    nearest, least = np.zeros(count, np.int64), np.full(count, np.inf)
    alive = np.ones(count, np.bool_)
    pairs = np.empty((count - target, 2), np.int64)
    for i in range(count):
        for j in range(i):
            cost[i, j] = cost[j, i] = _rise(means, weights, i, j, width)
    for i in range(count):
        nearest[i], least[i] = _cheapest(cost, alive, i)
    for step in range(count - target):
        left = 0
        for i in range(count):
            if alive[i] and (not alive[left] or least[i] < least[left]):
                left = i
        right = nearest[left]
        left, right = min(left, right), max(left, right)
        pairs[step, 0], pairs[step, 1] = left, right
        total = weights[left] + weights[right]
        for k in range(width):
            means[left, k] = (weights[left] * means[left, k] + weights[right] * means[right, k]) / max(total, 1e-300)
        weights[left], alive[right], least[right] = total, False, np.inf
        for i in range(count):
            if alive[i] and i != left:
                cost[i, left] = cost[left, i] = _rise(means, weights, i, left, width)
        for i in range(count):
            if not alive[i]:
                continue
            if i == left or nearest[i] == left or nearest[i] == right:
                nearest[i], least[i] = _cheapest(cost, alive, i)
            elif cost[i, left] < least[i]:
                nearest[i], least[i] = left, cost[i, left]
    return pairs


@njit()
def _rise(means, weights, i, j, width):  # pragma: no cover (compiled)
    """Increase of the sum of squares within clusters if two clusters merge."""
    square = 0.0
    for k in range(width):
        square += (means[i, k] - means[j, k]) ** 2
    return square * weights[i] * weights[j] / max(weights[i] + weights[j], 1e-300)


@njit()
def _cheapest(cost, alive, i):  # pragma: no cover (compiled)
    best, value = i, np.inf
    for j in range(len(cost)):
        if j != i and alive[j] and cost[i, j] < value:
            best, value = j, cost[i, j]
    return best, value
