import numpy as np
import pytest

from polyfold.neighbors import PrincipalIndex, list_recall, principal_screen
from polyfold.neighbors import _cells as cells
from polyfold.neighbors import _principal as principal


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(cells, "CELL_ROWS", 40)
    monkeypatch.setattr(principal, "ALL_ROWS", 500)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, 3)) @ np.random.default_rng(9).standard_normal((3, 12))).astype(np.float32)


def index_of(X):
    return PrincipalIndex(X, principal_screen(X, unit=False, seed=0), unit=False)


def test_all_cells_are_all_rows(small, monkeypatch):
    X, new = rows(2000), rows(300, seed=1)
    in_cells = index_of(X)
    monkeypatch.setattr(principal, "ALL_ROWS", 10**6)
    whole = index_of(X)
    assert in_cells.cells is not None
    assert whole.cells is None
    np.testing.assert_array_equal(in_cells.nearest(new, 9), whole.nearest(new, 9))
    np.testing.assert_array_equal(in_cells.nearest(X[70:400], 9, own=70), whole.nearest(X[70:400], 9, own=70))


def test_near_cells_hold_most_neighbours_and_never_the_row_itself(small, monkeypatch):
    monkeypatch.setattr(cells, "SEARCHED_ROWS", 400)
    X = rows(3000)
    index = index_of(X)
    searched = [sum(index.cells.starts[c + 1] - index.cells.starts[c] for c in found) for found in index.cells.searched]
    assert max(searched) < 800
    lists = index.nearest(X, 10, own=0)
    assert not (lists == np.arange(len(X))[:, None]).any()
    assert 0.9 < list_recall(X, lists, unit=False, seed=0) <= 1.0


def test_equal_rows_make_cells_too(small):
    X = np.repeat(rows(3), 400, axis=0)
    lists = index_of(X).nearest(X, 5, own=0)
    np.testing.assert_array_equal(X[lists[:, 0]], X)


def test_rows_far_from_all_cells_find_the_nearest(small):
    X = rows(2000)
    far = 1e6 * np.ones((1, 12), dtype=np.float32)
    found = index_of(X).nearest(far, 3)[0, 0]
    assert found == np.argmin(((X.astype(np.float64) - far) ** 2).sum(axis=1))
