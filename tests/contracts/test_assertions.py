"""Every assertion of the contracts can fail, and for the reason it is there for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import polyfold as pf
from polyfold.exceptions import GraphWarning
from tests.contracts.answers import (
    answers,
    assert_all,
    assert_clear_refusal,
    assert_close,
    assert_copies_agree,
    assert_finite,
    assert_same,
    documented_warnings,
)
from tests.contracts.interruption import at_call, calls_of, interrupt
from tests.contracts.samples import sheet
from tests.contracts.test_degenerate import assert_names_x_and_the_way_out
from tests.contracts.test_globals import assert_unchanged, overlap, snapshot
from tests.contracts.test_state import assert_unfitted, assert_whole

Z = np.array([[1.0, 2.0], [-3.0, 0.5]])


def refused(assertion, *arguments):
    """Whether an assertion fails."""
    try:
        assertion(*arguments)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("found", [Z + np.array([0, 4e-6]), Z * np.nan, Z[:, :1], Z[:1]])
def test_values_that_differ_are_refused(found):
    assert refused(assert_close, found, Z, 1e-6)


def test_values_within_the_precision_pass():
    assert_close(Z + 2e-6, Z, 1e-6)
    assert refused(assert_close, Z + 2e-6, Z, 1e-7)


def test_zeros_are_only_close_to_zeros():
    assert_close(0 * Z, 0 * Z, 1e-6)
    assert refused(assert_close, 0 * Z + 1e-300, 0 * Z, 1e-6)


def test_signs_of_columns_are_free_and_those_of_rows_are_not():
    assert_same({"coordinates": Z * [-1, 1]}, {"coordinates": Z}, 1e-9)
    assert refused(assert_same, {"coordinates": Z * [[-1], [1]]}, {"coordinates": Z}, 1e-9)
    assert refused(assert_same, {"probabilities": Z * [-1, 1]}, {"probabilities": Z}, 1e-9)


def test_a_factor_is_expected_not_allowed():
    assert_same({"coordinates": 8 * Z}, {"coordinates": Z}, 0, 8.0)
    assert refused(assert_same, {"coordinates": 8 * Z}, {"coordinates": Z}, 1e-6)
    assert refused(assert_same, {"coordinates": Z}, {"coordinates": Z}, 1e-6, 8.0)


def test_numbers_of_rows_must_be_equal_and_answers_complete():
    assert refused(assert_same, {"indices": np.array([1, 2])}, {"indices": np.array([1, 3])}, 1.0)
    assert refused(assert_same, {}, {"coordinates": Z}, 1.0)


def test_copies_that_differ_are_refused():
    twice = np.repeat(Z, 2, axis=0)
    assert_copies_agree({"coordinates": twice}, 2, 1e-9)
    twice[1, 0] += 1e-3
    assert refused(assert_copies_agree, {"coordinates": twice}, 2, 1e-6)


def test_infinite_answers_are_refused():
    assert refused(assert_finite, {"coordinates": Z * np.inf})


@pytest.mark.parametrize(
    "error",
    [
        np.linalg.LinAlgError("the matrix is singular and nothing was done"),
        RuntimeWarning("invalid value encountered in the division of two numbers"),
        ValueError("bad X"),
        ValueError("operands could not be broadcast together with shapes (3,) (4,)"),
    ],
)
def test_accidents_are_no_refusals(error):
    assert refused(assert_clear_refusal, error)


def test_refusals_name_the_parameter_and_the_way_out():
    assert_names_x_and_the_way_out(ValueError("X must have entries below 1e150, got 1e200; divide X by its largest."))
    assert refused(assert_names_x_and_the_way_out, ValueError("X must have entries below 1e150, got 1e200."))
    assert refused(assert_names_x_and_the_way_out, ValueError("values are too large for this; divide by the largest."))


def test_all_cases_are_tried_and_the_failures_named():
    def check(case):
        if case != "good":
            raise ValueError(f"no {case}")

    assert_all(["good"], check)
    with pytest.raises(AssertionError, match="2 of 3 cases: bad: ValueError: no bad; worse"):
        assert_all(["bad", "good", "worse"], check)


def test_undocumented_warnings_stay_errors():
    with documented_warnings():
        warnings.warn("as documented", GraphWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning):
            warnings.warn("an accident", RuntimeWarning, stacklevel=1)


def test_models_without_answers_are_noticed():
    assert refused(answers, object(), Z)


def test_interruptions_happen_inside_the_library():
    model = pf.KernelEmbedding(2)
    total = calls_of(lambda: pf.KernelEmbedding(2).fit(sheet()))
    assert total > 10
    with pytest.raises(KeyboardInterrupt), at_call(total // 2, interrupt):
        model.fit(sheet())
    with at_call(10 * total, interrupt):
        model.fit(sheet())


def test_half_models_are_neither_unfitted_nor_whole():
    whole = pf.KernelEmbedding(2, random_state=0).fit(sheet())
    assert_whole(whole, [(whole, sheet())])
    assert_whole(pf.KernelEmbedding(2), [(whole, sheet())])
    assert_unfitted(pf.KernelEmbedding(2), sheet())
    half = pf.KernelEmbedding(2, random_state=0).fit(sheet())
    half.surplus_ = 1
    assert refused(assert_whole, half, [(whole, sheet())])
    del half.surplus_
    half.spectrum_ = pf.KernelEmbedding(2, kernel="linear").fit(sheet()).spectrum_
    assert refused(assert_whole, half, [(whole, sheet())])
    with pytest.raises(BaseException, match="DID NOT RAISE"):
        assert_unfitted(whole, sheet())


def test_changes_of_the_process_are_noticed():
    before = snapshot()
    assert_unchanged(before)
    state = np.random.get_state()  # noqa: NPY002 - the global generator is what is looked at
    np.random.rand()  # noqa: NPY002 - the same
    assert refused(assert_unchanged, before)
    np.random.set_state(state)  # noqa: NPY002 - the same
    with np.errstate(all="ignore"):
        assert refused(assert_unchanged, before)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert refused(assert_unchanged, before)
    assert_unchanged(before)


def test_overlapping_runs_overlap_and_their_errors_are_seen():
    inside, most = [0], [0]

    def run():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        pf.KernelEmbedding(2).fit(sheet())
        inside[0] -= 1

    overlap(run, 5)
    assert most[0] == 2
    assert refused(overlap, lambda: pf.KernelEmbedding(0).fit(sheet()), 5)


def test_not_fitted_is_told_from_other_errors():
    with pytest.raises(NotFittedError):
        answers(pf.KernelEmbedding(2), sheet())
