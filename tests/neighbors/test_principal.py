import numpy as np
import pytest

from polyfold.neighbors import PrincipalIndex, list_recall, principal_screen
from polyfold.neighbors._principal import _smallest


def index_of(X):
    return PrincipalIndex(X, principal_screen(X, unit=False, seed=0), unit=False)


def own_lists(X, k):
    return index_of(X).nearest(X, k, own=0)


@pytest.mark.parametrize("n", [40, 5000])
def test_lists_are_exact_when_all_features_are_kept(n):
    X = np.random.default_rng(0).standard_normal((n, 6))
    lists = own_lists(X, 7)
    probes = np.arange(0, n, max(1, n // 20))
    distances = np.linalg.norm(X[probes, None] - X, axis=2)
    np.testing.assert_array_equal(lists[probes], np.argsort(distances, axis=1)[:, 1:8])
    assert list_recall(X, lists, unit=False, seed=0) == 1.0


def test_equal_rows_are_all_found():
    X = np.zeros((50, 3))
    lists = own_lists(X, 10)
    for i in range(50):
        assert len(set(lists[i]) - {i}) == 10


def test_recall_sees_wrong_lists():
    X = np.random.default_rng(0).standard_normal((500, 6))
    wrong = np.random.default_rng(1).integers(0, 500, (500, 5)).astype(np.int32)
    assert list_recall(X, wrong, unit=False, seed=0) < 0.1


def test_principal_coordinates_keep_most_neighbors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10)) @ rng.standard_normal((10, 200)) + 0.5 * rng.standard_normal((1000, 200))
    assert list_recall(X, own_lists(X, 20), unit=False, seed=0) > 0.9


@pytest.mark.parametrize("d", [10, 100])
def test_a_row_far_out_does_not_push_the_others_together(d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) @ rng.standard_normal((5, d))
    X[7] *= 1e9
    assert list_recall(X, own_lists(X, 10), unit=False, seed=0) > 0.95


@pytest.mark.parametrize("size", [1e20, 1e39, 1e150])
def test_far_points_get_the_rows_nearest_in_their_direction(size):
    X = np.random.default_rng(0).standard_normal((3000, 6))
    far = np.zeros((2, 6))
    far[0, 2], far[1, 4] = size, -size
    lists = index_of(X).nearest(far, 5)
    np.testing.assert_array_equal(lists[0], np.argsort(-X[:, 2])[:5])
    np.testing.assert_array_equal(lists[1], np.argsort(X[:, 4])[:5])


def test_what_cannot_be_compared_is_no_reason_to_search_forever():
    values = np.full((2, 50), np.nan, dtype=np.float32)
    values[0, 7] = 1.0
    out = np.full((2, 5), -1, dtype=np.int32)
    _smallest(values, out)
    assert out[0, 0] == 7
    assert np.all((out >= 0) & (out < 50))


@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
@pytest.mark.parametrize("d", [6, 90])
def test_lists_do_not_depend_on_the_scale(factor, d):
    X = np.random.default_rng(0).standard_normal((200, d))
    np.testing.assert_array_equal(own_lists(X * factor, 8), own_lists(X, 8))


def test_recall_does_not_depend_on_the_origin():
    X = np.random.default_rng(0).standard_normal((300, 6))
    lists = own_lists(X, 8)
    assert list_recall(X + 1e6, lists, unit=False, seed=0) == 1.0
