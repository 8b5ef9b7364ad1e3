import numpy as np
from sklearn.datasets import make_blobs

from polyfold._policy import SAME_STABILITY
from polyfold.bootstrap import make_first_layer
from polyfold.clustering import layer_stability, select_feature_fraction, select_layer

SEEDS = np.random.SeedSequence(0)


def codes_of(labels, n_clusterings, n_centers, noise, seed):
    rng = np.random.default_rng(seed)
    stray = rng.random((n_clusterings, len(labels))) < noise
    return np.where(stray, rng.integers(n_centers, size=stray.shape), labels).astype(np.uint8)


def select(X):
    first = make_first_layer(X, metric="euclidean", neighbors="auto", n_centers=len(X) // 2, seeds=SEEDS)
    return select_feature_fraction(first, n_clusters=3, seeds=SEEDS)


def test_the_layer_that_separates_groups_is_stable():
    y = np.repeat([0, 1, 2], 40)
    layers = [codes_of(y, 40, 9, noise, seed=0) for noise in (1.0, 0.3)]
    scores = layer_stability(layers, [9, 9], 3, n_replicates=2, seeds=SEEDS)
    assert scores[0] < 0.3
    assert scores[1] > 0.9


def test_stability_is_the_mean_over_all_pairs_of_replicates():
    """Three replicates agree and the fourth is random: three of six pairs are equal."""
    y = np.repeat([0, 1, 2], 40)
    layer = np.vstack([codes_of(y, 20, 9, noise, seed) for seed, noise in enumerate((0.2, 0.2, 0.2, 1.0))])
    scores = layer_stability([layer], [9], 3, n_replicates=4, seeds=SEEDS)
    assert abs(scores[0] - 0.5) < 0.05


def test_without_a_number_a_layer_is_judged_by_its_levels():
    y = np.arange(120) % 8
    layers = [codes_of(y, 40, 9, noise, seed=0) for noise in (0.95, 0.3)]
    scores = layer_stability(layers, [9, 9], None, n_replicates=2, seeds=SEEDS)
    assert scores[1] > scores[0] + 0.2


def test_of_equally_stable_layers_the_deepest_is_selected():
    assert select_layer({0: 0.9, 1: 0.9 - SAME_STABILITY / 2, 2: 0.5}) == 1
    assert select_layer({0: 0.9, 1: 0.2}) == 0


def test_a_fraction_with_one_feature_is_not_tried():
    X, _ = make_blobs(100, n_features=4, centers=3, random_state=0)
    fraction, scores = select(X)
    assert set(scores) == {0.5, 0.8}
    assert fraction in scores


def test_few_rows_keep_one_half_and_two_features_are_both_seen():
    X, _ = make_blobs(30, n_features=4, random_state=0)
    assert select(X) == (0.5, {})
    X, _ = make_blobs(100, n_features=2, random_state=0)
    assert select(X) == (1.0, {})


def test_the_fraction_that_shows_the_groups_is_selected():
    """One feature in ten holds the groups: clusterings that see a fifth of them often see none."""
    X, _ = make_blobs(200, n_features=2, centers=3, random_state=0)
    noise = np.random.default_rng(0).normal(0, X.std() / 3, (200, 18))
    fraction, scores = select(np.hstack([X, noise]))
    assert fraction == 0.8
    assert scores[0.8] > scores[0.2] + 0.1
