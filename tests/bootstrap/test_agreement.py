import numpy as np
from sklearn.datasets import make_blobs

from polyfold.bootstrap import choose_share, deepest, layer_agreement
from polyfold.bootstrap._agreement import SAME_LAYER, agree


def codes_of(labels, n_clusterings, n_centers, noise, seed):
    rng = np.random.default_rng(seed)
    stray = rng.random((n_clusterings, len(labels))) < noise
    return np.where(stray, rng.integers(n_centers, size=stray.shape), labels).astype(np.uint8)


def test_the_layer_that_tells_groups_apart_agrees():
    y = np.repeat([0, 1, 2], 40)
    layers = [codes_of(y, 40, 9, noise, seed=0) for noise in (1.0, 0.3)]
    agreement = layer_agreement(layers, [9, 9], 3, seed=0)
    assert agreement[0] < 0.3
    assert agreement[1] > 0.9


def test_of_equal_layers_the_deepest_is_taken():
    assert deepest({0: 0.9, 1: 0.9 - SAME_LAYER / 2, 2: 0.5}) == 1
    assert deepest({0: 0.9, 1: 0.2}) == 0


def test_finding_nothing_twice_is_no_agreement():
    assert agree([0, 0, 0], [0, 0, 0]) == 0.0
    assert agree([0, 1, 1], [1, 0, 0]) == 1.0


def test_a_share_with_one_feature_is_not_tried():
    X, _ = make_blobs(100, n_features=4, centers=3, random_state=0)
    _, scores = choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1)
    assert set(scores) == {0.5, 0.8, 1.0}


def test_few_rows_keep_one_half_and_two_features_are_both_seen():
    X, _ = make_blobs(30, n_features=4, random_state=0)
    assert choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1) == (0.5, {})
    X, _ = make_blobs(100, n_features=2, random_state=0)
    assert choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1) == (1.0, {})
