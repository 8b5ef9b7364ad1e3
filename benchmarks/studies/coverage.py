"""Do the errors that estimators report cover the truth? (`recall_` of searches: see the study `recall`.)

Design: three kinds of data (groups, a surface, integers with ties and duplicate rows), 20 repetitions with other rows
and seeds.

- `reliability_` ± 2 `reliability_error_`: the truth is the squared correlation, over 20,000 pairs of rows, of the
  similarity of the network with that of another network of 2,000 clusterings.
- `assignment_error_`: the truth is the fraction of codes of the first layer that differ from those of the same network
  with an exact search.
- `neighbor_recall_`: the truth is the recall of the lists of all rows.

Expected: two errors cover the truth in at least 90 % of the repetitions; estimates without an error are unbiased.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import polyfold as pf

ROWS, PAIRS, REPETITIONS = 600, 20_000, 20


def groups(rng: np.random.Generator) -> np.ndarray:
    """Five groups of different sizes."""
    labels = rng.choice(5, ROWS, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return rng.standard_normal((ROWS, 10)) + 2 * np.random.default_rng(7).standard_normal((5, 10))[labels]


def surface(rng: np.random.Generator) -> np.ndarray:
    """Rows near a curved surface of two dimensions."""
    axes = np.random.default_rng(7).standard_normal((2, 10))
    return np.tanh(rng.standard_normal((ROWS, 2)) @ axes) + 0.05 * rng.standard_normal((ROWS, 10))


def integers(rng: np.random.Generator) -> np.ndarray:
    """Rows of small integers, with ties and duplicates."""
    return rng.integers(0, 3, (ROWS, 6)).astype(float)


KINDS = {"groups": groups, "surface": surface, "integers": integers}


def network(seed: int, **options: Any) -> Any:
    """Network of the study."""
    return pf.MultilayerBootstrapNetwork(2, n_classes=5, random_state=seed, **options)


def similarity(model: Any, pairs: np.ndarray) -> np.ndarray:
    """Fraction of shared codes of pairs of rows in the last layer."""
    codes = model.encoder_.codes[-1]
    return (codes[:, pairs[0]] == codes[:, pairs[1]]).mean(axis=0)


def reliability(folder: Path) -> dict[str, Any]:
    """Fraction of repetitions in which two errors cover the reliability."""
    found = {}
    for kind, make in KINDS.items():
        runs = []
        for seed in range(REPETITIONS):
            rng = np.random.default_rng(seed)
            X, pairs = make(rng), rng.integers(ROWS, size=(2, PAIRS))
            model = network(seed).fit(X)
            options = {"n_clusterings": 2000, "feature_fraction": model.feature_fraction_}
            truth = network(1000 + seed, **options).fit(X)
            value = np.corrcoef(similarity(model, pairs), similarity(truth, pairs))[0, 1] ** 2
            runs.append((model.reliability_, model.reliability_error_, value))
        estimate, error, true = np.array(runs).T
        found[kind] = {
            "repetitions": REPETITIONS,
            "coverage": float(np.mean(np.abs(estimate - true) <= 2 * error)),
            "mean estimate": float(estimate.mean()),
            "mean truth": float(true.mean()),
            "mean error": float(error.mean()),
        }
    return found


def assignments(folder: Path) -> dict[str, Any]:
    """Bias and spread of the estimates of an approximate first layer."""
    found = {}
    for kind, make in KINDS.items():
        runs = []
        for seed in range(REPETITIONS):
            X = make(np.random.default_rng(seed))
            options = {"n_clusterings": 100, "feature_fraction": 0.5}
            rough = network(seed, neighbors=5, **options).fit(X)
            exact = network(seed, neighbors="exact", **options).fit(X)
            wrong = float(np.mean(rough.encoder_.codes[0] != exact.encoder_.codes[0]))
            runs.append((rough.assignment_error_, wrong, rough.neighbor_recall_))
        estimate, true, recall = np.array(runs).T
        found[kind] = {
            "repetitions": REPETITIONS,
            "mean assignment_error_": float(estimate.mean()),
            "mean truth": float(true.mean()),
            "largest deviation": float(np.abs(estimate - true).max()),
            # The search in principal directions is exact for so few columns, so the truth is one.
            "mean neighbor_recall_": float(recall.mean()),
        }
    return found


PARTS = {"reliability": reliability, "assignments": assignments}
