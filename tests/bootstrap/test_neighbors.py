import numpy as np
import pytest

from polyfold.bootstrap._neighbors import NeighborIndex, neighbor_recall
from polyfold.bootstrap._screen import principal_screen


@pytest.mark.parametrize("n", [40, 5000])
def test_lists_are_exact_when_all_features_are_kept(n):
    X = np.random.default_rng(0).standard_normal((n, 6))
    index = NeighborIndex(X, principal_screen(X, unit=False, seed=0), unit=False)
    lists = index.query(X, 7, exclude_self=True, n_jobs=2)
    probes = np.arange(0, n, max(1, n // 20))
    distances = np.linalg.norm(X[probes, None] - X, axis=2)
    np.testing.assert_array_equal(lists[probes], np.argsort(distances, axis=1)[:, 1:8])
    assert neighbor_recall(X, lists, unit=False, seed=0) == 1.0


def test_equal_rows_are_all_found():
    X = np.zeros((50, 3))
    lists = NeighborIndex(X, principal_screen(X, unit=False, seed=0), unit=False).query(X, 10, exclude_self=True)
    for i in range(50):
        assert len(set(lists[i]) - {i}) == 10


def test_recall_sees_wrong_lists():
    X = np.random.default_rng(0).standard_normal((500, 6))
    wrong = np.random.default_rng(1).integers(0, 500, (500, 5)).astype(np.int32)
    assert neighbor_recall(X, wrong, unit=False, seed=0) < 0.1


def test_principal_coordinates_keep_most_neighbors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10)) @ rng.standard_normal((10, 200)) + 0.5 * rng.standard_normal((1000, 200))
    index = NeighborIndex(X, principal_screen(X, unit=False, seed=0), unit=False)
    assert neighbor_recall(X, index.query(X, 20, exclude_self=True), unit=False, seed=0) > 0.9
