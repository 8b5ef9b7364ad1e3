import numpy as np
import pytest

from polyfold.bootstrap._early import PROMISED, Early, _upper_bound, fit_early, majority

LENGTH = 20


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def groups(rng, sizes, *, doubtful=0.0):
    """Labels, and lists of rows of the same group; those of doubtful rows are of the next group, but for two."""
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    starts = np.cumsum([0, *sizes[:-1]])

    def members(of):
        return starts[of][:, None] + rng.integers(np.array(sizes)[of][:, None], size=(len(of), LENGTH))

    lists, others = members(labels), members((labels + 1) % len(sizes))
    doubt = rng.random(len(labels)) < doubtful
    lists[doubt, 2:] = others[doubt, 2:]
    return lists.astype(np.int32), labels


def test_the_label_of_most_neighbours_is_found_with_its_count():
    labels = np.array([0, 0, 0, 1, 2], dtype=np.int32)
    found, count = majority(np.array([[0, 1, 2], [3, 0, 1], [4, 4, 4], [3, 3, 0]]), labels)
    np.testing.assert_array_equal(found, [0, 0, 2, 1])
    np.testing.assert_array_equal(count, [3, 2, 3, 2])


def test_as_few_neighbours_as_keep_the_promise_have_to_agree(rng):
    lists, labels = groups(rng, [10_000, 10_000], doubtful=0.1)
    early = fit_early(lists, labels)
    assert early is not None
    # Of the lists of doubtful rows, all but two tell the wrong group.
    assert early.fewest == LENGTH - 1
    assert early.share == pytest.approx(0.9, abs=0.01)
    assert 0 < early.disagreement <= PROMISED
    found, count = majority(lists, labels)
    assert np.all(found[count >= early.fewest] == labels[count >= early.fewest])
    assert np.mean(found[count >= early.fewest - 1] != labels[count >= early.fewest - 1]) > PROMISED


def test_neighbours_that_do_not_tell_are_not_asked(rng):
    lists, labels = groups(rng, [10_000, 10_000])
    assert fit_early(lists, labels) is not None
    assert fit_early(rng.permutation(lists), labels) is None
    assert fit_early(rng.integers(20_000, size=(20_000, LENGTH)), labels) is None
    # One in a thousand is more than is promised.
    assert fit_early(np.concatenate([lists[10_000:10_010], lists[10:]]), labels) is None


def test_too_few_rows_to_tell_are_not_asked(rng):
    assert fit_early(*groups(rng, [2000, 2000])) is None
    assert fit_early(*groups(rng, [3500, 3500])) is not None


def test_a_group_smaller_than_a_list_does_not_disappear(rng):
    lists, labels = groups(rng, [15_000, 15_000, 5])
    lists[-5:] = lists[:5]
    assert _upper_bound(np.array([5]), np.array([30_005])) < PROMISED
    assert fit_early(lists, labels) is None


def test_a_copy_of_a_training_row_has_its_label():
    X = np.arange(6.0).reshape(6, 1)
    early = Early(np.array([1, 0, 0, 0, 0, 0], dtype=np.int32), 3, 3, 1.0, 0.0)
    lists = np.array([[0, 1, 2], [0, 1, 2], [1, 2, 3], [1, 0, 2]], dtype=np.int32)
    np.testing.assert_array_equal(early.label(X, np.array([[0.0], [0.1], [1.1], [1.0]]), lists), [1, -1, 0, 0])


def test_the_bound_is_that_of_rare_events():
    assert _upper_bound(np.array([0]), np.array([6000]))[0] == pytest.approx(3.0 / 6000, rel=0.01)
    np.testing.assert_array_equal(_upper_bound(np.array([0, 4]), np.array([0, 4])), [1.0, 1.0])
