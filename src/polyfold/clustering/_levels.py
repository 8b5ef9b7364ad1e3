"""The number of clusters, estimated by the eigengap of the random walk on a network's neighbour graph.

With λ_1 ≥ λ_2 ≥ … the eigenvalues of that walk, a cluster that the walk rarely leaves gives one near 1, and what splits
a cluster gives smaller ones [Ng2002]. The score of a number c is the gap behind its eigenvalue,

    log((1 − λ_{c+1} + ε) / (1 − λ_c + ε)) √(log₂ c),

where 1/ε steps is the longest time that counts. Of equal gaps the finer clustering is taken, which carries more
information. Gaps by chance differ from sample to sample, so that scores are means over samples of the rows and of the
clusterings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyfold._linalg import distinct_rows
from polyfold._policy import CLEAR_GAP, LEVEL_SAMPLES, MAX_CLUSTERS, N_NEIGHBORS, STABILITY_ROWS, WALK_STEPS
from polyfold._threads import threaded
from polyfold.bootstrap import child_stream, largest_pairs, nearest_by_codes, sample_rows

# Rows among which samples are drawn; each sample holds this fraction of the distinct ones, at least so many.
DRAWN, SAMPLE_FRACTION, FEWEST_ROWS = 20_000, 0.7, 16
# Duplicates count once if there are this many distinct rows; a cluster has at least so many rows.
MANY_DISTINCT, FEWEST_MEMBERS = 20, 8


@dataclass(frozen=True)
class NumberEstimate:
    """Estimated number of clusters.

    Attributes
    ----------
    number : int
    doubt : str
        Why it is a guess; empty if it is clear.
    scores : dict
        Score of every number tried, and the fraction of the samples in which it is the highest.
    """

    number: int
    doubt: str
    scores: dict[int, tuple[float, float]]


def estimate_number(
    codes: Sequence[np.ndarray], sizes: Sequence[int], *, seeds: np.random.SeedSequence
) -> NumberEstimate:
    """Estimate the number of clusters from the codes of all layers, (V, n) each.

    Notes
    -----
    O(s (m² V L + m³)) time for s samples of m rows, however many rows there are.
    """
    rows, n_rows = _distinct(codes, child_stream(seeds, "levels"))
    size = min(STABILITY_ROWS, max(int(SAMPLE_FRACTION * len(rows)), min(len(rows), FEWEST_ROWS)))
    # Three numbers are compared in any case: a score has a meaning only next to another one.
    most = max(2, min(MAX_CLUSTERS, max(3, len(rows) // FEWEST_MEMBERS), n_rows))

    def gaps(sample: int) -> np.ndarray:
        rng = np.random.default_rng(child_stream(seeds, "levels", sample))
        drawn = np.sort(rng.choice(rows, size, replace=False))
        halves = [rng.choice(len(layer), -(-len(layer) // 2), replace=False) for layer in codes]
        parts = [layer[np.ix_(half, drawn)] for layer, half in zip(codes, halves, strict=True)]
        return _smallest_gaps(parts, sizes, most + 1)

    scores = _scores(np.array(list(threaded(gaps, range(LEVEL_SAMPLES)))))
    number = max(scores, key=lambda c: scores[c][0])
    score = scores[number][0]
    doubt = f"its score is {score:.2f}, below {CLEAR_GAP}" if score < CLEAR_GAP else ""
    return NumberEstimate(number, doubt, scores)


def _scores(gaps: np.ndarray) -> dict[int, tuple[float, float]]:
    """Scores of the numbers from 2 on, of samples in rows."""
    steps = np.diff(np.log(gaps + 1 / WALK_STEPS), axis=1)[:, 1:]
    numbers = range(2, steps.shape[1] + 2)
    scores = steps * np.sqrt(np.log2(numbers))
    highest = np.bincount(scores.argmax(axis=1), minlength=len(numbers)) / len(scores)
    return {c: (float(s), float(h)) for c, s, h in zip(numbers, scores.mean(axis=0), highest, strict=True)}


def _distinct(codes: Sequence[np.ndarray], seeds: np.random.SeedSequence) -> tuple[np.ndarray, int]:
    """Rows of which samples are drawn, and the number of distinct ones."""
    rows = sample_rows(codes[0].shape[1], DRAWN, seeds)
    # Rows that share all codes of the first layer share those of the others.
    duplicates = distinct_rows(codes[0][:, rows].T)
    if duplicates is None:
        return rows, len(rows)
    return (rows if len(duplicates[0]) < MANY_DISTINCT else rows[duplicates[0]]), len(duplicates[0])


def _smallest_gaps(codes: Sequence[np.ndarray], sizes: Sequence[int], count: int) -> np.ndarray:
    """Smallest values of 1 - λ, rising, of the walk on the neighbour graph of (V, m) codes."""
    m = codes[0].shape[1]
    W = _graph(codes, sizes, min(N_NEIGHBORS, max(3, m // 4), m - 1)).toarray()
    roots = np.sqrt(W.sum(axis=1))
    values, _ = largest_pairs(W / np.outer(roots, roots), count)
    # Fewer rows than asked for have no further clusters.
    return np.pad(1.0 - values[::-1], (0, count - len(values)), constant_values=1.0).clip(0.0)


def _graph(codes: Sequence[np.ndarray], sizes: Sequence[int], k: int) -> Any:
    """Graph of the k nearest rows by the codes of all layers: weight 1 to the nearest, falling by its own scale."""
    n_clusterings, m = sum(map(len, codes)), codes[0].shape[1]
    agreements, indices = nearest_by_codes(codes, codes, sizes, k, layers=range(len(codes)), own=True)
    # The root of the fraction of differing codes is the Euclidean distance of the one-of-k vectors.
    distances = np.sqrt(1.0 - agreements / n_clusterings)
    farther = distances - distances[:, :1]
    scale = farther.mean(axis=1, keepdims=True)
    weights = np.exp(-farther / np.where(scale > 0, scale, 1.0))
    W = sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, m))
    return W + W.T - W * W.T
