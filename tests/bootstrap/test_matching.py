import numpy as np
import pytest

from polyfold.bootstrap._matching import code_dtype, match, prefers_lanes, shared_centers
from tests.oracles.bootstrap import one_of_k, upper_layer


def random_codes(rng, n_clusterings, n, k):
    # Skewed, so that some codes are shared by many points and some by none.
    return np.minimum(rng.geometric(3 / k, (n_clusterings, n)) - 1, k - 1).astype(code_dtype(k))


@pytest.mark.parametrize("lanes", [True, False])
@pytest.mark.parametrize(
    ("n", "k_below", "k", "n_clusterings"), [(300, 40, 20, 10), (131, 300, 40, 7), (700, 400, 350, 6), (5, 9, 3, 3)]
)
def test_match_agrees_with_one_of_k_products(lanes, n, k_below, k, n_clusterings):
    rng = np.random.default_rng(n)
    codes = random_codes(rng, n_clusterings, n, k_below)
    rows = rng.choice(n, k, replace=False)
    chosen = np.sort(rng.choice(n_clusterings, (n_clusterings + 1) // 2, replace=False))
    expected = upper_layer(one_of_k(codes, k_below), k_below, rows, chosen)
    got = match(codes, chosen, codes[chosen][:, rows], k_below, lanes=lanes)
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == code_dtype(k)


@pytest.mark.parametrize("lanes", [True, False])
def test_more_agreements_than_a_byte_counts(lanes):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (600, 40)).astype(np.uint8)
    chosen = np.arange(0, 600, 2)
    rows = np.arange(10)
    expected = upper_layer(one_of_k(codes, 2), 2, rows, chosen)
    np.testing.assert_array_equal(match(codes, chosen, codes[chosen][:, rows], 2, lanes=lanes), expected)


@pytest.mark.parametrize("lanes", [True, False])
def test_ties_and_points_without_any_agreement_go_to_the_first_center(lanes):
    codes = np.array([[0, 0, 5, 5], [1, 1, 6, 6]], dtype=np.uint8)
    chosen = np.array([0, 1])
    centers = np.array([[0, 0], [1, 1]], dtype=np.uint8)
    np.testing.assert_array_equal(match(codes, chosen, centers, 7, lanes=lanes), [0, 0, 0, 0])


def test_more_centers_than_sixteen_bits_hold():
    rng = np.random.default_rng(0)
    codes = rng.permutation(70_000).astype(np.uint32)[None]
    got = match(codes, np.array([0]), codes, 70_000, lanes=False)
    np.testing.assert_array_equal(got, np.arange(70_000))


def test_the_policy_follows_the_number_of_centers_and_of_points():
    assert prefers_lanes(60_000, 15, 31)
    assert not prefers_lanes(60_000, 4000, 8000)
    assert not prefers_lanes(60_000, 15, 257)


def test_shared_centers_counts_equal_codes():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 4, (6, 5)).astype(np.uint8), rng.integers(0, 4, (6, 7)).astype(np.uint8)
    np.testing.assert_array_equal(shared_centers(left, right), one_of_k(left, 4) @ one_of_k(right, 4).T)
