import shlex
from importlib.metadata import requires

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from packaging.requirements import Requirement

from polyfold._validation import (
    check_choice,
    check_count,
    check_range,
    check_real,
    draw_seed,
    import_extra,
    keeps_state_on_failure,
    own_rows,
    sum_duplicates,
)
from polyfold.exceptions import MissingExtraError


@pytest.mark.parametrize("value", [1.5, True, "3", None])
def test_counts_are_integers(value):
    with pytest.raises(TypeError, match="k must be an integer >= 1, got"):
        check_count("k", value)


def test_counts_have_bounds_and_hints():
    with pytest.raises(ValueError, match="k must be an integer >= 1 and <= 5, got 6; take fewer."):
        check_count("k", 6, maximum=5, hint="take fewer")


@pytest.mark.parametrize(
    ("value", "error"), [("x", TypeError), (True, TypeError), (-1, ValueError), (float("nan"), ValueError)]
)
def test_reals_are_finite_numbers_in_range(value, error):
    with pytest.raises(error, match="a must be a number >= 0, got"):
        check_real("a", value, minimum=0)


def test_choices_are_listed():
    with pytest.raises(ValueError, match="mode must be one of 'a', 'b', got 'c'."):
        check_choice("mode", "c", ("a", "b"))


@pytest.mark.parametrize("extra", ["cli", "dask", "faiss", "map", "onnx", "plot", "pynndescent", "torch"])
def test_a_missing_extra_raises_one_sentence_that_installs_its_packages(extra):
    with pytest.raises(
        MissingExtraError, match="^no_such_module is needed for this and is not installed; run: "
    ) as info:
        import_extra("no_such_module", extra)
    program, action, *packages = shlex.split(str(info.value).partition("run: ")[2])
    assert [program, action] == ["pip", "install"]
    declared = [Requirement(line) for line in requires("polyfold")]
    of_extra = [each for each in declared if each.marker and each.marker.evaluate({"extra": extra})]
    expected = {(each.name, each.specifier) for each in of_extra}
    assert expected
    assert {(each.name, each.specifier) for each in map(Requirement, packages)} == expected


@pytest.mark.parametrize("random_state", [0, np.int64(0), np.random.RandomState(0)])
def test_seeds_are_integers_that_the_random_state_decides(random_state):
    seed = draw_seed(random_state)
    assert type(seed) is int
    assert seed == draw_seed(0)


def test_two_seeds_of_one_generator_differ():
    generator = np.random.RandomState(0)
    assert draw_seed(generator) != draw_seed(generator)


@pytest.mark.parametrize(("dtype", "fine", "beyond"), [(np.float64, 1e75, 1e80), (np.float32, 1e18, 1e19)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("sign", [-1, 1])
def test_magnitudes_whose_squares_overflow_are_refused(dtype, fine, beyond, form, sign):
    X = np.zeros((5, 4), dtype)
    X[1, 2] = sign * fine
    check_range(form(X))
    assert np.isfinite(4 * X.shape[1] * np.square(X.max() - X.min()))
    X[1, 2] = sign * beyond
    with pytest.raises(ValueError, match="X must have magnitudes <= .*, got 1e.*; remove outliers, or divide"):
        check_range(form(X))


@pytest.mark.parametrize("X", [np.full((2, 2), 255, np.uint8), sp.csr_array((3, 3)), np.array([[True]])])
def test_bytes_and_empty_matrices_are_in_range(X):
    check_range(X)


@pytest.mark.parametrize("given", [np.ones((3, 2)), np.ones((4, 6))[::2, ::3], np.ones((3, 2)).view()])
def test_rows_that_share_memory_are_copied(given):
    kept = own_rows(np.asarray(given), given)
    given[:] = 7
    assert np.all(kept == 1)


def test_rows_of_a_frame_are_copied():
    frame = pd.DataFrame(np.ones((3, 2)))
    kept = own_rows(frame.to_numpy(), frame)
    assert not np.shares_memory(kept, frame.to_numpy())


@pytest.mark.parametrize("part", ["data", "indices"])
def test_sparse_rows_that_share_memory_are_copied(part):
    given = sp.csr_matrix(np.eye(3))
    kept = own_rows(sp.csr_array(given), given)
    getattr(given, part)[:] = 2
    np.testing.assert_array_equal(kept.toarray(), np.eye(3))


def test_rows_that_are_new_are_not_copied_again():
    given = np.ones((3, 2), dtype=np.float32)
    fresh = given.astype(np.float64)
    assert own_rows(fresh, given) is fresh
    assert own_rows(fresh, fresh.tolist()) is fresh


def test_files_mapped_for_reading_are_not_copied(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.may_share_memory(own_rows(np.asarray(mapped), mapped), mapped)


def test_files_mapped_for_writing_are_copied(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r+")
    view = mapped[:]
    view.flags.writeable = False
    assert not np.may_share_memory(own_rows(np.asarray(view), view), mapped)


def test_duplicates_are_summed_in_a_copy():
    X = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    summed = sum_duplicates(X)
    np.testing.assert_array_equal(summed.data, [2, 1])
    assert X.nnz == 3
    assert sum_duplicates(summed) is summed


class Half:
    """Fails halfway through its fit when it is told to."""

    @keeps_state_on_failure
    def fit(self, error=None):
        self.first_ = error
        if error is not None:
            raise error
        self.second_ = 2
        return self


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_failed_fit_leaves_the_estimator_as_it_was(error):
    for estimator in (Half(), Half().fit()):
        before = dict(vars(estimator))
        with pytest.raises(type(error)):
            estimator.fit(error)
        assert vars(estimator) == before
