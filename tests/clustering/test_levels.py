import numpy as np
import pytest

from polyfold.bootstrap import shared_centers
from polyfold.clustering import estimate_number
from polyfold.clustering._levels import _graph, _smallest_gaps

SEEDS = np.random.SeedSequence(0)
K = 10


def codes_of(labels, n_clusterings, n_centers, noise, seed):
    """Codes that separate the groups, except for a fraction of stray ones."""
    rng = np.random.default_rng(seed)
    stray = rng.random((n_clusterings, len(labels))) < noise
    return np.where(stray, rng.integers(n_centers, size=stray.shape), labels).astype(np.uint8)


def estimate(codes, size):
    return estimate_number([codes], [size], seeds=SEEDS)


@pytest.mark.parametrize("n_groups", [2, 4, 20])
def test_the_number_of_clear_groups_is_found(n_groups):
    y = np.arange(40 * n_groups) % n_groups
    found = estimate(codes_of(y, 60, 25, 0.3, seed=1), 25)
    assert (found.number, found.doubt) == (n_groups, "")
    assert found.scores[n_groups][1] == 1.0


def test_groups_of_very_unequal_size_count_alike():
    y = np.repeat(np.arange(4), [300, 120, 40, 18])
    found = estimate(codes_of(y, 60, 15, 0.3, seed=1), 15)
    assert (found.number, found.doubt) == (4, "")


def test_noise_has_no_clear_number():
    codes = codes_of(np.zeros(300, dtype=int), 60, 15, 1.0, seed=1)
    assert estimate(codes, 15).doubt.startswith("its score is 0.")


def test_gaps_are_zero_for_every_component_of_the_graph():
    y = np.repeat(np.arange(3), 30)
    codes = [np.tile(y.astype(np.uint8), (8, 1)), codes_of(y, 8, 3, 0.0, seed=0)]
    gaps = _smallest_gaps(codes, [3, 3], 5)
    np.testing.assert_allclose(gaps[:3], 0.0, atol=1e-12)
    assert gaps[3] > 0.05


def test_the_graph_is_that_of_all_layers_written_out():
    """Weights against their formula on the matrix of shared codes."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(4, size=(30, 40), dtype=np.uint8), rng.integers(3, size=(20, 40), dtype=np.uint8)]
    shared = sum(shared_centers(layer, layer) for layer in codes) / 50
    np.fill_diagonal(shared, -np.inf)
    weights = np.zeros((40, 40))
    for i, row in enumerate(shared):
        near = np.argsort(-row, kind="stable")[:K]
        d = np.sqrt(1 - row[near])
        weights[i, near] = np.exp(-(d - d[0]) / np.mean(d - d[0]))
    # At equal distances the last of the list may be another: their rows are left out.
    found = _graph(codes, [4, 3], K).toarray()
    expected = weights + weights.T - weights * weights.T
    same = [i for i in range(40) if np.sort(shared[i])[-K] > np.sort(shared[i])[-K - 1]]
    rows = np.ix_(same, same)
    assert len(same) > 10
    np.testing.assert_allclose(found[rows], expected[rows], atol=1e-12)


def test_duplicates_count_once_if_there_are_many_distinct_rows():
    y = np.repeat([0, 1], 40)
    found = estimate(np.repeat(codes_of(y, 60, 15, 0.4, seed=1), 40, axis=1), 15)
    assert (found.number, found.doubt) == (2, "")


@pytest.mark.parametrize(("n", "numbers"), [(2, [2]), (10, [2, 3]), (40, [2, 3, 4, 5])])
def test_every_number_tried_has_rows_for_its_clusters(n, numbers):
    found = estimate(codes_of(np.arange(n) % 2, 60, 9, 0.3, seed=0), 9)
    assert list(found.scores) == numbers
    assert found.number == 2
