"""By which features a group of rows differs from all other rows: effect sizes with bootstrap intervals.

    effect = (mean inside - mean outside) / √((variance inside + variance outside) / 2)

The denominator is at least a tenth of the standard deviation of all rows, so that an effect stays finite if a feature
is constant on both sides.
Categories enter as columns of 0 and 1, one for each level, with their lift: (fraction inside) / (fraction of all rows).
Words are ranked by class-based tf-idf, (fraction of the words inside) · log(1 + A / f), where f is how often the word
occurs in all groups and A the mean number of words in a group.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._progress import track

# Bootstrap samples of the rows, and the part of their effects that an interval holds.
SAMPLES, COVERED = 200, 0.95
# Smallest denominator of an effect, in standard deviations of all rows.
NARROWEST = 0.1


@dataclass(frozen=True)
class Effects:
    """Differences of k groups from their complements in D columns; all arrays have shape (k, D)."""

    effect: NDArray
    low: NDArray
    high: NDArray
    inside: NDArray
    outside: NDArray

    def certain(self) -> NDArray:
        """Return the end of the interval that is nearer to zero, and zero if the interval contains zero."""
        size = np.minimum(np.abs(self.low), np.abs(self.high))
        return np.where(np.sign(self.low) == np.sign(self.high), size, 0.0)


def bootstrap_weights(n: int, rng: np.random.RandomState) -> NDArray:
    """Return how often every row is in the data and in each bootstrap sample of it, shape (1 + samples, n)."""
    return np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), size=SAMPLES)]).astype(np.float64)


def group_effects(X: NDArray, member: NDArray, weights: NDArray) -> Effects:
    """Return the effects of columns `X` (n, D) for groups given as masks (k, n), which may overlap."""
    n, k, columns = len(X), len(member), X.shape[1]
    S = X - X.mean(axis=0)
    S /= np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    total = weights.sum(axis=1), weights @ S, weights @ S**2
    out = {name: np.empty((k, columns)) for name in ("effect", "low", "high", "inside", "outside")}
    for c in track(range(k), "groups"):
        rows = np.flatnonzero(member[c])
        within = weights[:, rows]
        inner = within.sum(axis=1), within @ S[rows], within @ S[rows] ** 2
        effects = _standardised(inner, tuple(a - b for a, b in zip(total, inner, strict=True)))
        out["effect"][c] = effects[0]
        ends = 100 * (0.5 + np.array([-0.5, 0.5]) * COVERED)
        out["low"][c], out["high"][c] = np.percentile(effects[1:], ends, axis=0)
        out["inside"][c] = X[rows].mean(axis=0) if len(rows) else np.nan
        out["outside"][c] = X[~member[c]].mean(axis=0) if len(rows) < n else np.nan
    return Effects(**out)


def auc_of(ranks: NDArray, mask: NDArray) -> NDArray:
    """Return the probability that a row inside has a larger value than a row outside, from relative ranks (n, D)."""
    n, m = len(mask), int(mask.sum())
    odd = np.rint(2 * n * ranks[mask])  # whole numbers, whose sums are exact
    return (odd.sum(axis=0) - m**2) / max(2 * m * (n - m), 1)


def _standardised(inner: tuple, outer: tuple) -> NDArray:
    """Return standardised mean differences from (count, sums, sums of squares) inside and outside, shape (B, D)."""
    means, variances = [], []
    for count, sums, squares in (inner, outer):
        count = np.maximum(count, 1)[:, None]
        means.append(sums / count)
        variances.append(np.maximum(squares / count - means[-1] ** 2, 0))
    return (means[0] - means[1]) / np.maximum(np.sqrt((variances[0] + variances[1]) / 2), NARROWEST)


def class_tfidf(words: sp.csr_array, member: NDArray) -> NDArray:
    """Return the class-based tf-idf of words (n, V) in groups given as masks (k, n), shape (k, V)."""
    counts = (sp.csr_array(member.astype(np.float64)) @ words.astype(np.float64)).toarray()
    total = np.asarray(words.sum(axis=0), dtype=np.float64).ravel()
    size = counts.sum(axis=1, keepdims=True)
    fraction = counts / np.where(size > 0, size, 1)
    return fraction * np.log1p(size.mean() / np.where(total > 0, total, 1))
