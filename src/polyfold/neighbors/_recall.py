"""How much of the truth an approximate search has found, by exact search for a few rows."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import block_rows
from polyfold._threads import threaded
from polyfold._validation import outside
from polyfold.exceptions import GraphWarning
from polyfold.neighbors._search import Exact

SAMPLE = 200
LOWEST = 0.9
# A distance in single precision may be this share above the same in double.
_ROUNDING = 1e-5


def sampled_recall(X: Any, distances: NDArray) -> float:
    """Share of the true neighbours among those found, whose distances (n, k) are given, on some rows of `X`.

    A neighbour counts if it is as near as the k-th true one: of points at the same distance any is right.
    """
    n, k = distances.shape
    sample = np.sort(np.random.RandomState(0).choice(n, min(n, SAMPLE), replace=False))
    step = max(4 * (k + 1), block_rows(X.shape[1]))
    queries = X[sample]
    parts = threaded(
        lambda start: Exact(X[start : start + step]).query(queries, min(k + 1, n - start))[0], range(0, n, step)
    )
    nearest = np.empty((len(sample), 0))
    for part in parts:
        nearest = np.partition(np.hstack([nearest, part]), min(k, nearest.shape[1] + part.shape[1] - 1))[:, : k + 1]
    # The nearest is the row itself, or a copy of it.
    limits = np.sort(nearest, axis=1)[:, k]
    return float(np.mean(distances[sample] <= limits[:, None] * (1 + _ROUNDING)))


def reported_recall(engine: str, X: Any, distances: NDArray) -> float:
    """Return the same, and warn where so many neighbours were missed that the graph is another one."""
    recall = sampled_recall(X, distances)
    if recall < LOWEST:
        warnings.warn(
            f"the search by {engine!r} found {recall:.0%} of the true neighbours of {min(len(distances), SAMPLE)} "
            f"rows, fewer than {LOWEST:.0%}; pass a kernel with neighbors='exact', or another engine.",
            GraphWarning,
            stacklevel=outside(),
        )
    return recall
