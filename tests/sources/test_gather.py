"""All rows, or a sample that is the same in every container."""

import numpy as np
import pytest

pytest.importorskip("dask")
pytest.importorskip("pyarrow")
pytest.importorskip("zarr")

from polyfold.sources import _picking as module
from polyfold.sources import all_or_some, memory_budget, rows_to_fit
from tests.sources.containers import LOCAL, container, rows


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(module, "LANDMARKS", 200)


@pytest.mark.parametrize("kind", [*LOCAL, "dask", "frame"])
def test_the_same_rows_are_taken_from_every_container(kind, few, tmp_path):
    X = rows(1000)
    found, numbers = all_or_some(container(kind, X, tmp_path), few=True, seed=3)
    assert len(numbers) == 200
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(found, X[numbers])
    np.testing.assert_array_equal(numbers, all_or_some(X, few=True, seed=3)[1])
    assert not np.array_equal(numbers, all_or_some(X, few=True, seed=4)[1])


@pytest.mark.parametrize("kind", LOCAL)
def test_what_fits_the_budget_is_there_as_a_whole(kind, few, tmp_path):
    X = rows(1000)
    found, numbers = all_or_some(container(kind, X, tmp_path))
    assert numbers is None
    np.testing.assert_array_equal(found, X)


def test_the_budget_decides_on_streams_and_not_on_arrays(few, monkeypatch, tmp_path):
    X = rows(1000)
    monkeypatch.setattr(module, "budget", lambda: X.nbytes - 1)
    assert len(all_or_some(container("zarr", X, tmp_path))[1]) == 200
    assert len(all_or_some(container("memmap", X, tmp_path))[1]) == 200
    assert all_or_some(X)[1] is None
    monkeypatch.undo()
    with memory_budget("1 GB"):
        assert all_or_some(container("zarr", X, tmp_path))[1] is None


def test_rows_of_a_cluster_are_gathered_only_where_they_are_few(few, tmp_path):
    X = rows(1000)
    assert len(all_or_some(container("dask", X, tmp_path))[1]) == 200
    assert all_or_some(container("dask", X[:200], tmp_path))[1] is None


@pytest.mark.parametrize("kind", ["array", "zarr"])
def test_a_fit_takes_landmarks_unless_its_rows_are_fixed(kind, few, tmp_path):
    X = rows(1000)
    given = X if kind == "array" else container(kind, X, tmp_path)
    landmarks, numbers = rows_to_fit(given, np.asarray, few=True, seed=3)
    np.testing.assert_array_equal(landmarks, X[numbers])
    assert len(numbers) == 200
    for options in ({"few": False}, {"few": True, "fixed": True}):
        everything, numbers = rows_to_fit(given, np.asarray, **options, seed=3)
        assert numbers is None
        np.testing.assert_array_equal(everything, X)
        assert not np.shares_memory(everything, X)
