"""Small data for the contracts: generic (no ties, connected graphs, distinct spreads) and exact in binary."""

from functools import cache

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances


@cache
def sheet(n=36, seed=0):
    """A curved sheet with a little noise, (n, 4), on a grid of 2⁻¹²: offsets up to 2²⁰ lose no digit."""
    rng = np.random.RandomState(seed)
    u, v = rng.rand(2, n)
    X = np.column_stack([4 * u, 2 * v, 2 * u**2 + 0.2 * rng.standard_normal(n), 0.4 * rng.standard_normal(n)])
    return _frozen(np.round(X * 4096) / 4096)


@cache
def counts(n=36, seed=1):
    """Whole numbers from 0 to 200 with many zeros, (n, 6): the same values in every dtype and sparse format."""
    rng = np.random.RandomState(seed)
    u, v = rng.rand(2, n)
    columns = [190 * u, 120 * v, 90 * (1 - u) * v, 80 * u * v, 60 * (v - u), 60 * (u + v - 1)]
    X = np.column_stack(columns) + rng.uniform(0, 8, (n, 6))
    X[:, 3:] -= 15
    return _frozen(np.clip(np.round(X), 0, 200))


@cache
def ranks_of_distances(n=36):
    """Distances with the values 1, 2, 3, …: whole numbers without ties, (n, n)."""
    D = euclidean_distances(sheet(n))
    upper = np.triu_indices(n, 1)
    ranks = np.zeros((n, n))
    ranks[upper] = 1 + np.argsort(np.argsort(D[upper]))
    return _frozen(ranks + ranks.T)


def _frozen(X):
    X.setflags(write=False)
    return X
