import numpy as np
import pytest
from sklearn.datasets import make_blobs

from polyfold.bootstrap import choose_bottom, fit_network, fit_stacks
from polyfold.bootstrap._stacks import FEWEST, MOST, STACK, join, reliability

OPTIONS = {"feature_fraction": 0.5, "reconstruction": 0.0, "seed": 3}


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_blobs(120, n_features=6, centers=3, cluster_std=3.0, random_state=0)
    bottom = choose_bottom(X, metric="euclidean", neighbors="exact", n_centers=40, reconstruction=0.0, seed=3)
    return X, bottom, fit_stacks(X, bottom, [40, 20, 10], **OPTIONS)


def test_stacks_are_networks_of_their_own(fitted):
    X, bottom, (network, _, _) = fitted
    second = fit_network(X, bottom, [40, 20, 10], n_clusterings=STACK, first=STACK, **OPTIONS)
    for joined, alone in zip(network.codes, second.codes, strict=True):
        np.testing.assert_array_equal(joined[STACK : 2 * STACK], alone)


def test_the_joined_network_encodes_its_own_points_as_the_stacks_did(fitted):
    X, _, (network, _, _) = fitted
    for level in range(3):
        np.testing.assert_array_equal(network.encode(X, level), network.codes[level])


def test_the_number_is_within_its_bounds_and_the_estimate_has_an_error(fitted):
    _, _, (network, value, error) = fitted
    assert FEWEST * STACK <= len(network.codes[0]) <= MOST * STACK
    assert 0.5 < value <= 1.0
    assert 0.0 < error < 0.05


def test_join_of_one_is_itself(fitted):
    X, bottom, _ = fitted
    network = fit_network(X, bottom, [40, 20], n_clusterings=10, **OPTIONS)
    for left, right in zip(join([network]).codes, network.codes, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_reliability_is_the_squared_correlation_with_the_truth(count):
    rng = np.random.default_rng(count)
    truth = rng.standard_normal(20_000)
    shares = truth + 1.5 * rng.standard_normal((count, 20_000))
    value, error = reliability(shares)
    expected = np.corrcoef(shares.mean(axis=0), truth)[0, 1] ** 2
    assert abs(value - expected) < 4 * error + 0.005


def test_nothing_that_varies_is_reliable():
    assert reliability(np.ones((3, 10))) == (1.0, 0.0)
