"""How many groups there are: how many the random walk on a network's neighbour graph hardly leaves.

With λ_1 ≥ λ_2 ≥ … the eigenvalues of that walk, a group that is left rarely gives one near 1, and what splits a group
gives smaller ones [Ng2002]. The score of a number c is the gap behind its eigenvalue,

    log((1 − λ_{c+1} + ε) / (1 − λ_c + ε)) √(log₂ c),

how much sooner the walk leaves the parts of a group than the groups themselves; walks that stay longer than 1/ε steps
count as staying. Of gaps alike the finer grouping is taken, which says more: two halves of a set without clear groups
say nothing, many small ones something. Gaps by chance move from sample to sample and those of groups do not, so that
scores are means over samples of the points and of the clusterings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyfold._running import threaded
from polyfold.bootstrap._agreement import sample_rows
from polyfold.bootstrap._nearest import nearest_by_codes
from polyfold.bootstrap._output import largest_pairs
from polyfold.neighbors import distinct_rows

# Samples, their share of the points, and how many of these at least and at most.
SAMPLES, SHARE = 20, 0.7
FEWEST_POINTS, MOST_POINTS = 16, 1000
# Points among which samples are drawn; copies count once if there are so many places.
DRAWN, MANY_PLACES = 20_000, 20
# Neighbours in the graph, a quarter of its points where those are few, and ε.
NEIGHBORS, STAYING = 10, 0.05
# Numbers that are tried: up to this one, and as long as there are so many points for each group.
MOST_GROUPS, FEWEST_MEMBERS = 60, 8
# A number is a guess if its score is lower, or the highest in a smaller share of the samples.
CLEAR, OFTEN = 0.75, 0.9


def number_scores(codes: Sequence[np.ndarray], sizes: Sequence[int], *, seed: int) -> dict[int, tuple[float, float]]:
    """Score of every number of groups, and the share of the samples in which it is the highest.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers.
    sizes : list of int
    seed : int
        Of the samples.

    Notes
    -----
    O(s (m² V L + m³)) time for s samples of m points, whatever their number is.
    """
    points, n_places = _points(codes, seed)
    size = min(MOST_POINTS, max(int(SHARE * len(points)), min(len(points), FEWEST_POINTS)))
    # Three are tried in any case: a number is clear only beside another one.
    numbers = range(2, max(2, min(MOST_GROUPS, max(3, len(points) // FEWEST_MEMBERS), n_places)) + 1)

    def score(sample: int) -> np.ndarray:
        rng = np.random.default_rng([seed, 2**31 + 3, sample])
        rows = np.sort(rng.choice(points, size, replace=False))
        halves = [rng.choice(len(layer), -(-len(layer) // 2), replace=False) for layer in codes]
        parts = [layer[np.ix_(half, rows)] for layer, half in zip(codes, halves, strict=True)]
        gaps = np.diff(np.log(_leaving(parts, sizes, len(numbers) + 2) + STAYING))
        return gaps[1:] * np.sqrt(np.log2(numbers))

    found = np.array(list(threaded(score, range(SAMPLES))))
    highest = np.bincount(found.argmax(axis=1), minlength=len(numbers)) / SAMPLES
    return {c: (float(g), float(h)) for c, g, h in zip(numbers, found.mean(axis=0), highest, strict=True)}


def clearest(scores: dict[int, tuple[float, float]]) -> tuple[int, str]:
    """Return the number with the highest score, and why it is a guess: nothing if it is clear."""
    number = max(scores, key=lambda count: scores[count][0])
    score, share = scores[number]
    if score < CLEAR:
        return number, f"its score is {score:.2f} and not {CLEAR}"
    if share < OFTEN:
        return number, f"its score is the highest in {share:.0%} of the samples and not in {OFTEN:.0%}"
    return number, ""


def _points(codes: Sequence[np.ndarray], seed: int) -> tuple[np.ndarray, int]:
    """Points of which samples are drawn, and the number of places: of copies one, unless there are few places."""
    rows = sample_rows(codes[0].shape[1], DRAWN, seed)
    # Points that share all codes of the first layer share those of the others.
    copies = distinct_rows(codes[0][:, rows].T)
    if copies is None:
        return rows, len(rows)
    return (rows if len(copies[0]) < MANY_PLACES else rows[copies[0]]), len(copies[0])


def _leaving(codes: Sequence[np.ndarray], sizes: Sequence[int], count: int) -> np.ndarray:
    """How soon the walk on the neighbour graph of (V, m) codes leaves its groups: the smallest 1 - λ, rising."""
    m = codes[0].shape[1]
    k = min(NEIGHBORS, max(3, m // 4), m - 1)
    W = _graph(codes, sizes, k).toarray()
    roots = np.sqrt(W.sum(axis=1))
    values, _ = largest_pairs(W / np.outer(roots, roots), count)
    # Fewer points than asked for have no further groups.
    return np.pad(1.0 - values[::-1], (0, count - len(values)), constant_values=1.0).clip(0.0)


def _graph(codes: Sequence[np.ndarray], sizes: Sequence[int], k: int) -> Any:
    """Graph of the k nearest by the codes of all layers: weight 1 to the nearest, falling by its own scale."""
    n_clusterings, m = sum(map(len, codes)), codes[0].shape[1]
    agreements, indices = nearest_by_codes(codes, codes, sizes, k, layers=range(len(codes)), own=True)
    # The root of the share of differing codes is the Euclidean distance of the one-of-k vectors.
    distances = np.sqrt(1.0 - agreements / n_clusterings)
    farther = distances - distances[:, :1]
    scale = farther.mean(axis=1, keepdims=True)
    weights = np.exp(-farther / np.where(scale > 0, scale, 1.0))
    W = sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, m))
    return W + W.T - W * W.T
