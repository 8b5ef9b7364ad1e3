import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.sources import as_source, pick_rows, transform_rest
from tests.sources.containers import LOCAL, Again, container, rows

pytest.importorskip("dask")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")


def sums(block):
    return np.column_stack([block.sum(axis=1), block[:, :2]])


@pytest.mark.parametrize("kind", [*LOCAL, "dask"])
def test_rows_are_picked_and_the_others_answered(kind, tmp_path):
    X, numbers = rows(20_000, d=6), np.arange(3, 20_000, 7)
    source = as_source(container(kind, X, tmp_path))
    np.testing.assert_array_equal(pick_rows(source, numbers), X[numbers])
    known = np.full((len(numbers), 3), -1.0, dtype=np.float32)
    found = transform_rest(source, sums, numbers, known)
    assert (found[numbers] == -1).all()
    others = np.delete(np.arange(20_000), numbers)
    np.testing.assert_array_equal(found[others], sums(X[others]))


def test_nothing_is_asked_where_all_is_known():
    X = rows(100)
    found = transform_rest(as_source(X), lambda block: 1 / 0, np.arange(100), X)
    np.testing.assert_array_equal(found, X)


def test_bytes_are_kept_where_they_are_asked_for(tmp_path):
    X = np.arange(240, dtype=np.uint8).reshape(40, 6)
    for kind in (*LOCAL, "dask"):
        source = as_source(container(kind, X, tmp_path))
        assert source.dtype == np.float64
        picked = pick_rows(source.in_bytes(), np.array([0, 39]))
        assert picked.dtype == np.uint8
        np.testing.assert_array_equal(picked, X[[0, 39]])
    floats = as_source(rows(40))
    assert floats.in_bytes() is floats


def test_blocks_of_another_type_than_bytes_are_refused():
    blocks = [np.zeros((3, 2), np.uint8), np.full((3, 2), 0.5)]
    assert as_source(blocks).in_bytes().dtype == np.float64  # all of them can be seen
    source = as_source(Again(blocks)).in_bytes()
    with pytest.raises(ValueError, match="blocks of X must hold bytes, as the first one, got float64"):
        pick_rows(source, np.array([4]))


def test_sparse_rows_stay_sparse():
    X = sp.random_array((500, 30), density=0.1, random_state=0, format="csr")
    picked = pick_rows(as_source(X), np.array([1, 400]))
    assert sp.issparse(picked)
    np.testing.assert_array_equal(picked.toarray(), X.toarray()[[1, 400]])
