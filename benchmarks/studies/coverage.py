"""Do the errors that estimators report cover the truth? (`recall_` of searches: see the study `recall`.)

Design: three kinds of data (groups, a surface, integers with ties and duplicate rows), 100 repetitions with other rows
and seeds.

- `neighbor_recall_` and `assignment_error_` are fractions on a sample of 256 and 100 rows. The truth is the fraction on
  all rows. It is covered if it is within the Wilson interval, at two standard errors, of a fraction of that many rows.
- `reliability_` has no error: 20 repetitions show its bias and its spread. The truth is the squared correlation of the
  similarity, over all pairs of rows, with the mean of 16 other replicates, divided by the reliability of that mean.

Expected: at least 90 % are covered, and `reliability_` is unbiased.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

import polyfold as pf
from polyfold.bootstrap import fit_encoder, make_first_layer
from polyfold.bootstrap._encoder import reliability as spearman_brown
from polyfold.neighbors import _search

ROWS, REPETITIONS = 600, 100
REPLICATES, RELIABILITY_REPETITIONS = 16, 20
CHECKED_ROWS = 100


def groups(rng: np.random.Generator, n: int = ROWS) -> np.ndarray:
    """Five groups of different sizes."""
    labels = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return rng.standard_normal((n, 10)) + 2 * np.random.default_rng(7).standard_normal((5, 10))[labels]


def surface(rng: np.random.Generator, n: int = ROWS) -> np.ndarray:
    """Rows near a curved surface of two dimensions."""
    axes = np.random.default_rng(7).standard_normal((2, 10))
    return np.tanh(rng.standard_normal((n, 2)) @ axes) + 0.05 * rng.standard_normal((n, 10))


def integers(rng: np.random.Generator, n: int = ROWS) -> np.ndarray:
    """Rows of small integers, with ties and duplicates."""
    return rng.integers(0, 3, (n, 6)).astype(float)


KINDS = {"groups": groups, "surface": surface, "integers": integers}


def network(seed: int, **options: Any) -> Any:
    """Network of the study."""
    return pf.MultilayerBootstrapNetwork(2, n_classes=5, random_state=seed, **options)


def wilson(fraction: float, count: int, z: float = 2.0) -> tuple[float, float]:
    """Interval of a probability, given the fraction of so many trials."""
    center = (fraction + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(fraction * (1 - fraction) / count + z**2 / (4 * count**2))
    return center - half, center + half


def figures(estimates: list[float], truths: list[float], covered: list[bool] | None = None) -> dict[str, float]:
    """Summarise the repetitions of one kind of data."""
    deviation = np.subtract(estimates, truths)
    found = {
        "repetitions": len(estimates),
        "mean estimate": np.mean(estimates),
        "mean truth": np.mean(truths),
        "standard deviation of the difference": deviation.std(),
    }
    if covered is not None:
        found["covered"] = np.mean(covered)
    return {name: float(value) for name, value in found.items()}


def fractions(estimates: list[float], truths: list[float], rows: int) -> dict[str, float]:
    """Summarise fractions on a sample of rows."""
    intervals = [wilson(estimate, rows) for estimate in estimates]
    covered = [low <= truth <= high for (low, high), truth in zip(intervals, truths, strict=True)]
    return figures(estimates, truths, covered)


def neighbors(folder: Path) -> dict[str, Any]:
    """`neighbor_recall_` of graph kernels: 15 % of the neighbours are exchanged for random rows, in half of the lists.

    PyNNDescent and FAISS find nearly all neighbours of so few rows, which shows nothing.
    """
    found = {}
    for kind, make in KINDS.items():
        estimates, truths = [], []
        for seed in range(REPETITIONS):
            rng = np.random.default_rng(seed)
            X = make(rng, 1500)
            indices = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
            wrong = (rng.random(indices.shape) < 0.3) & (rng.random(len(indices)) < 0.5)[:, None]
            indices[wrong] = rng.integers(len(X), size=wrong.sum())
            estimates.append(_search.sampled_recall(X, indices))
            sampled, _search.RECALL_ROWS = _search.RECALL_ROWS, len(X)
            truths.append(_search.sampled_recall(X, indices))
            _search.RECALL_ROWS = sampled
        found[kind] = fractions(estimates, truths, _search.RECALL_ROWS)
    return found


def assignments(folder: Path) -> dict[str, Any]:
    """`assignment_error_` of networks with an approximate first layer."""
    found = {}
    for kind, make in KINDS.items():
        estimates, truths = [], []
        for seed in range(REPETITIONS):
            X = make(np.random.default_rng(seed))
            options = {"n_clusterings": 50, "feature_fraction": 0.5}
            rough = network(seed, neighbors=5, **options).fit(X)
            exact = network(seed, neighbors="exact", **options).fit(X)
            estimates.append(rough.assignment_error_)
            truths.append(float(np.mean(rough.encoder_.codes[0] != exact.encoder_.codes[0])))
        found[kind] = fractions(estimates, truths, CHECKED_ROWS)
    return found


def similarity(codes: np.ndarray) -> np.ndarray:
    """Fraction of shared codes of all pairs of rows."""
    first, second = np.triu_indices(codes.shape[1], 1)
    return np.mean([code[first] == code[second] for code in codes], axis=0)


def reliability(folder: Path) -> dict[str, Any]:
    """`reliability_` of networks."""
    found = {}
    for kind, make in KINDS.items():
        estimates, truths = [], []
        for seed in range(RELIABILITY_REPETITIONS):
            X = make(np.random.default_rng(seed))
            model = network(seed).fit(X)
            seeds, sizes = np.random.SeedSequence(10_000 + seed), model.layer_sizes_
            layer = {"metric": model.metric_, "neighbors": "exact", "n_centers": sizes[0]}
            first = make_first_layer(X, seeds=seeds, **layer)
            rows = first.prepare(X)
            options = {"n_clusterings": 100, "feature_fraction": model.feature_fraction_, "seeds": seeds}
            others = np.array(
                [
                    similarity(fit_encoder(rows, first, sizes, replicate=number, **options).codes[-1])
                    for number in range(REPLICATES)
                ]
            )
            correlation = np.corrcoef(similarity(model.encoder_.codes[-1]), others.mean(axis=0))[0, 1]
            estimates.append(model.reliability_)
            truths.append(float(correlation**2 / spearman_brown(others)))
        found[kind] = figures(estimates, truths)
    return found


PARTS = {"neighbors": neighbors, "assignments": assignments, "reliability": reliability}
