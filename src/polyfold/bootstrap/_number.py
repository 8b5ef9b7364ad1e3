"""How many groups there are: how many the random walk on a network's neighbour graph hardly leaves.

With λ_1 ≥ λ_2 ≥ … the eigenvalues of that walk, a group that is left rarely gives one near 1, and what splits a group
gives smaller ones [Ng2002]. The score of a number c is the gap behind its eigenvalue,

    log((1 − λ_{c+1} + ε) / (1 − λ_c + ε)) √(log₂ c),

how much sooner the walk leaves the parts of a group than the groups themselves; walks that stay longer than 1/ε steps
count as staying. Of gaps alike the finer grouping is taken, which says more: two halves of a set without clear groups
say nothing, many small ones something. Gaps by chance move from sample to sample and those of groups do not, so that
scores are means over samples of the points and of the clusterings.

Walks of 20 steps cross a group in many dimensions, but not one of many points in the plane. Where they see little, or
agree, those of 500 are asked; on a line their parts are left four times as soon as its halves, so that clear groups
must have a larger gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyfold._threads import threaded
from polyfold.bootstrap._agreement import sample_rows
from polyfold.bootstrap._nearest import nearest_by_codes
from polyfold.bootstrap._output import largest_pairs
from polyfold.neighbors import distinct_rows

# Samples, their share of the points, and how many of these at least and at most.
SAMPLES, SHARE = 40, 0.7
FEWEST_POINTS, MOST_POINTS = 16, 500
# Points among which samples are drawn; copies count once if there are so many places.
DRAWN, MANY_PLACES = 20_000, 20
# Neighbours in the graph, a quarter of its points where those are few.
NEIGHBORS = 10
# ε of short and of long walks.
SHORT, LONG = 0.05, 0.002
# Numbers that are tried: up to this one, and as long as there are so many points for each group.
MOST_GROUPS, FEWEST_MEMBERS = 60, 8
# A number is clear if its score is as high, and the highest in such a share of the samples; with fewer points or
# clusterings none is.
CLEAR, OFTEN = 0.75, 0.9
CLEAR_POINTS, CLEAR_CLUSTERINGS = 32, 20
# Short walks see little below this score; the gap of long ones must be larger than on a line.
LITTLE, LINE = 0.4, np.log(4.0)

Scores = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Number:
    """What is known of the number of groups.

    Attributes
    ----------
    number : int
    doubt : str
        Why it is a guess; empty if it is clear.
    scores : dict
        Score of every number tried, and the share of the samples in which it is the highest.
    """

    number: int
    doubt: str
    scores: Scores


def find_number(codes: Sequence[np.ndarray], sizes: Sequence[int], *, seed: int) -> Number:
    """Find the number of groups by the codes of all layers.

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
    most = max(2, min(MOST_GROUPS, max(3, len(points) // FEWEST_MEMBERS), n_places))

    def leaving(sample: int) -> np.ndarray:
        rng = np.random.default_rng([seed, 2**31 + 3, sample])
        rows = np.sort(rng.choice(points, size, replace=False))
        halves = [rng.choice(len(layer), -(-len(layer) // 2), replace=False) for layer in codes]
        parts = [layer[np.ix_(half, rows)] for layer, half in zip(codes, halves, strict=True)]
        return _leaving(parts, sizes, most + 1)

    found = np.array(list(threaded(leaving, range(SAMPLES))))
    return judge(_scores(found, SHORT), _scores(found, LONG), len(points), len(codes[0]))


def judge(short: Scores, long: Scores, n_points: int, n_clusterings: int) -> Number:
    """Choose between what short and long walks see, and say whether it is clear."""
    number, far = (max(scores, key=lambda c: scores[c][0]) for scores in (short, long))
    score, share = short[number]
    if n_points < CLEAR_POINTS:
        return Number(number, f"there are {n_points} different points, fewer than {CLEAR_POINTS}", short)
    if n_clusterings < CLEAR_CLUSTERINGS:
        return Number(number, f"there are {n_clusterings} clusterings, fewer than {CLEAR_CLUSTERINGS}", short)
    if score >= CLEAR and share >= OFTEN:
        return Number(number, "", short)
    stays = long[far][0] > LINE * _worth(far) and long[far][1] >= OFTEN
    if stays and (far == number or score < LITTLE):
        return Number(far, "", long)
    if score < CLEAR:
        return Number(number, f"its score is {score:.2f}, below {CLEAR}", short)
    return Number(number, f"its score is the highest in {share:.0%} of the samples, below {OFTEN:.0%}", short)


def _scores(leaving: np.ndarray, staying: float) -> Scores:
    """Scores of the numbers from 2 on, of samples in rows."""
    gaps = np.diff(np.log(leaving + staying), axis=1)[:, 1:]
    numbers = range(2, gaps.shape[1] + 2)
    scores = gaps * [_worth(number) for number in numbers]
    highest = np.bincount(scores.argmax(axis=1), minlength=len(numbers)) / len(scores)
    return {c: (float(s), float(h)) for c, s, h in zip(numbers, scores.mean(axis=0), highest, strict=True)}


def _worth(number: int) -> float:
    """Root of the bits that a number of groups can say."""
    return float(np.sqrt(np.log2(number)))


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
