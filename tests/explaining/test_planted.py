"""Features that coordinates and clusters depend on are found; decoys and irrelevant features are not."""

import numpy as np
import pytest

import polyfold as pf

DRAWS, PLANTED = 50, [{0, 1}, {2, 3}, {0, 4}]


def draw(seed, n=600):
    """Five planted features, three decoys with a correlation of 0.8, twenty irrelevant ones; three coordinates."""
    rng = np.random.RandomState(seed)
    A = rng.randn(n, 5)
    X = np.column_stack([A, 0.8 * A[:, :3] + 0.6 * rng.randn(n, 3), rng.randn(n, 20)])
    bends, product, switch = (
        np.sin(1.5 * A[:, 0]) + 0.5 * A[:, 1] ** 2,
        A[:, 2] * A[:, 3],
        A[:, 0] * (1 + (A[:, 4] > 0)),
    )
    Z = np.column_stack([bends, product, switch])
    return X, Z / Z.std(axis=0) + 0.3 * rng.randn(n, 3)


def draw_clusters(seed, n=600):
    """Three clusters that differ in two planted features each; decoys and irrelevant features as above."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(3, size=n)
    shift = np.array([[1.5, 0, 0, 0, -1.2], [0, 1.5, -1.2, 0, 0], [0, 0, 0, 1.5, 1.2]])
    A = rng.randn(n, 5) + shift[labels]
    return np.column_stack([A, 0.7 * A[:, :3] + 0.7 * rng.randn(n, 3), rng.randn(n, 20)]), labels


def numbers(features):
    return np.array([int(name[1:]) for name in features])


@pytest.mark.slow
def test_planted_features_of_axes_rank_first_and_irrelevant_ones_stay_below_the_null():
    first, above = [], []
    for seed in range(DRAWS):
        X, Z = draw(seed)
        table = pf.explain(Z, X, random_state=seed).tables["axes"]
        for k, planted in enumerate(PLANTED):
            own = np.flatnonzero(table["axis"] == k)
            first.append(set(numbers(table["feature"][own[:2]])) == planted)
            irrelevant = own[numbers(table["feature"][own]) >= 8]
            reported = (table["strength"] > table["null"]) | np.isfinite(table["joint"])
            above.append(reported[irrelevant].any())
    assert np.mean(first) >= 0.95
    assert np.mean(above) <= 0.05


@pytest.mark.slow
def test_planted_features_of_clusters_rank_first():
    first = []
    for seed in range(DRAWS):
        X, labels = draw_clusters(seed)
        table = pf.explain(labels, X, random_state=seed).tables["clusters"]
        for c, planted in enumerate([{0, 4}, {1, 2}, {3, 4}]):
            best = (table["cluster"] == c) & (table["rank"] <= 2)
            first.append(set(numbers(table["feature"][best])) == planted)
    assert np.mean(first) >= 0.95
