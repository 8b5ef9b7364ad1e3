import numpy as np
import pytest

from polyfold.bootstrap import find_number, shared_centers
from polyfold.bootstrap._number import NEIGHBORS, Number, _graph, _leaving, judge


def codes_of(labels, n_clusterings, n_centers, noise, seed):
    """Codes that tell the groups apart but for a share of stray ones."""
    rng = np.random.default_rng(seed)
    stray = rng.random((n_clusterings, len(labels))) < noise
    return np.where(stray, rng.integers(n_centers, size=stray.shape), labels).astype(np.uint8)


@pytest.mark.parametrize("n_groups", [2, 4, 7, 20])
def test_the_number_of_clear_groups_is_found(n_groups):
    y = np.arange(40 * n_groups) % n_groups
    found = find_number([codes_of(y, 60, 25, 0.3, seed=1)], [25], seed=0)
    assert (found.number, found.doubt) == (n_groups, "")
    assert found.scores[n_groups][1] == 1.0


def test_groups_of_very_unequal_size_count_alike():
    y = np.repeat(np.arange(4), [300, 120, 40, 15])
    found = find_number([codes_of(y, 60, 15, 0.3, seed=1)], [15], seed=0)
    assert (found.number, found.doubt) == (4, "")


def test_noise_has_no_number_that_stands_out():
    codes = codes_of(np.zeros(300, dtype=int), 60, 15, 1.0, seed=1)
    assert find_number([codes], [15], seed=0).doubt.startswith("its score is 0.")


FLAT = {2: (0.1, 0.5), 3: (0.05, 0.5), 4: (0.0, 0.0)}


def test_what_makes_a_number_a_guess_is_named():
    low, seldom, clear = {2: (0.2, 0.3), 3: (0.5, 0.7)}, {2: (0.2, 0.3), 3: (0.9, 0.7)}, {2: (0.2, 0.1), 3: (0.9, 0.9)}
    assert judge(low, FLAT, 100, 50) == Number(3, "its score is 0.50, below 0.75", low)
    assert judge(seldom, FLAT, 100, 50) == Number(
        3, "its score is the highest in 70% of the samples, below 90%", seldom
    )
    assert judge(clear, FLAT, 100, 50) == Number(3, "", clear)
    assert judge(clear, FLAT, 20, 50) == Number(3, "there are 20 different points, fewer than 32", clear)
    assert judge(clear, FLAT, 100, 2) == Number(3, "there are 2 clusterings, fewer than 20", clear)


def test_long_walks_are_asked_where_short_ones_see_little_or_agree():
    little, some, far = {2: (0.2, 0.3), 3: (0.1, 0.7)}, {2: (0.5, 0.3), 3: (0.1, 0.7)}, {2: (0.1, 0.0), 3: (2.0, 1.0)}
    assert judge(little, far, 100, 50) == Number(3, "", far)
    assert judge(some, far, 100, 50).number == 2
    assert judge(some, far, 100, 50).doubt
    assert judge(some, {2: (2.0, 1.0), 3: (0.1, 0.0)}, 100, 50).doubt == ""
    assert judge(little, {2: (1.3, 1.0), 3: (0.1, 0.0)}, 100, 50).doubt  # no more than on a line


def test_one_is_never_left_for_every_part_of_the_graph():
    y = np.repeat(np.arange(3), 30)
    codes = [np.tile(y.astype(np.uint8), (8, 1)), codes_of(y, 8, 3, 0.0, seed=0)]
    leaving = _leaving(codes, [3, 3], 5)
    np.testing.assert_allclose(leaving[:3], 0.0, atol=1e-12)
    assert leaving[3] > 0.05


def test_the_graph_is_that_of_all_layers_written_out():
    """Weights against their formula on the matrix of shared codes."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(4, size=(30, 40), dtype=np.uint8), rng.integers(3, size=(20, 40), dtype=np.uint8)]
    shared = sum(shared_centers(layer, layer) for layer in codes) / 50
    np.fill_diagonal(shared, -np.inf)
    weights = np.zeros((40, 40))
    for i, row in enumerate(shared):
        near = np.argsort(-row, kind="stable")[:NEIGHBORS]
        d = np.sqrt(1 - row[near])
        weights[i, near] = np.exp(-(d - d[0]) / np.mean(d - d[0]))
    # Of points at one distance the last of the list may be another: their rows are left out.
    found = _graph(codes, [4, 3], NEIGHBORS).toarray()
    expected = weights + weights.T - weights * weights.T
    same = [i for i in range(40) if np.sort(shared[i])[-NEIGHBORS] > np.sort(shared[i])[-NEIGHBORS - 1]]
    rows = np.ix_(same, same)
    assert len(same) > 10
    np.testing.assert_allclose(found[rows], expected[rows], atol=1e-12)


def test_copies_count_once_where_there_are_many_places():
    """Forty copies of each of some points are no groups of their own."""
    y = np.repeat([0, 1], 40)
    codes = codes_of(y, 60, 15, 0.4, seed=1)
    found = find_number([np.repeat(codes, 40, axis=1)], [15], seed=0)
    assert (found.number, found.doubt) == (2, "")


@pytest.mark.parametrize(("n", "numbers"), [(2, [2]), (3, [2, 3]), (10, [2, 3]), (31, [2, 3]), (40, [2, 3, 4, 5])])
def test_every_number_tried_has_points_for_its_groups(n, numbers):
    y = np.arange(n) % 2
    found = find_number([codes_of(y, 60, 9, 0.3, seed=0)], [9], seed=0)
    assert list(found.scores) == numbers
    assert found.number == 2
    assert bool(found.doubt) == (n < 32)
