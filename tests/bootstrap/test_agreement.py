import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polyfold.bootstrap import choose_share, deepest, layer_agreement, most_reproduced, number_scores
from polyfold.bootstrap._agreement import SAME_LAYER, agree
from polyfold.bootstrap._number import reproduced


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


@pytest.mark.parametrize("n_groups", [2, 4, 7])
def test_the_number_of_clear_groups_is_found(n_groups):
    y = np.arange(40 * n_groups) % n_groups
    scores = number_scores([codes_of(y, 60, 15, 0.3, seed=1)], [15], range(2, 10), seed=0)
    assert most_reproduced(scores) == (n_groups, "")


def test_noise_has_no_number_that_stands_out():
    codes = codes_of(np.zeros(300, dtype=int), 60, 15, 1.0, seed=1)
    assert "agree to" in most_reproduced(number_scores([codes], [15], range(2, 10), seed=0))[1]


def test_a_number_nearly_as_good_is_named():
    near = {2: (1.0, 0.9), 4: (1.06, 1.0), 5: (1.0, 1.0), 9: (1.0, 1.0)}
    assert most_reproduced(near) == (4, "2 of them score 1.00 bits, 4 score 1.06")
    assert most_reproduced({3: (0.7, 0.9), 4: (1.0, 1.0), 5: (0.99, 1.0)}) == (4, "")


def test_bits_are_counted_beyond_chance():
    rng = np.random.default_rng(0)
    labels = np.arange(4000) % 4
    assert reproduced(labels, (labels + 1) % 4) == pytest.approx(2.0, abs=0.01)
    assert reproduced(labels, rng.permutation(labels)) == pytest.approx(-8.0, abs=0.1)


def test_a_share_with_one_feature_is_not_tried():
    X, _ = make_blobs(100, n_features=4, centers=3, random_state=0)
    _, scores = choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1)
    assert set(scores) == {0.5, 0.8, 1.0}


def test_few_rows_keep_one_half_and_two_features_are_both_seen():
    X, _ = make_blobs(30, n_features=4, random_state=0)
    assert choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1) == (0.5, {})
    X, _ = make_blobs(100, n_features=2, random_state=0)
    assert choose_share(X, metric="euclidean", n_classes=3, decay=0.5, seed=0, n_jobs=1) == (1.0, {})
