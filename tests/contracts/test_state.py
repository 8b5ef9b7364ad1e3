"""What is left after a fit that did not end: nothing, or the old model; never half of each."""

from contextlib import suppress

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests.catalog import ENTRIES, ONE_EACH
from tests.contracts.answers import answers, assert_all, assert_same, documented_warnings, fitted
from tests.contracts.interruption import at_call, calls_of, interrupt
from tests.contracts.samples import sheet

pytestmark = pytest.mark.slow

# Where in the fit it stops: early, on the way, at its last call.
MOMENTS = (0.1, 0.5, 0.9, 1.0)


def other(entry):
    """Other data than the sheet, with another number of columns."""
    X = np.column_stack([sheet(40, seed=1), sheet(40, seed=2)[:, 0]])
    return entry.given(X)


def interrupted_fit(model, X, y, number):
    """Fit, and stop at the library's call of that number."""
    with suppress(KeyboardInterrupt), documented_warnings(), at_call(number, interrupt):
        model.fit(X, y)


def numbers_of_calls(entry, X):
    """Return the calls at which to interrupt a fit of `X`."""
    y = entry.y(len(X))
    with documented_warnings():
        entry.new().fit(X, y)  # the first of all compiles
        total = calls_of(lambda: entry.new().fit(X, y))
    return sorted({max(1, round(moment * total)) for moment in MOMENTS})


def assert_unfitted(model, X):
    """Assert that the model says in scikit-learn's way that it is not fitted."""
    with pytest.raises(NotFittedError):
        answers(model, X)


def assert_whole(model, possible):
    """Assert that the model is unfitted, or just like one of the `possible` fitted ones about the rows beside it."""
    for reference, X in possible:
        try:
            found = answers(model, X)
        except NotFittedError:
            return
        except (ValueError, AttributeError, KeyError, IndexError, TypeError):
            continue  # of another shape; the next may fit
        if set(vars(model)) == set(vars(reference)):
            assert_same(found, answers(reference, X), 0)
            return
    raise AssertionError("neither unfitted nor one of the models that were fitted, but part of one")


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_an_interrupted_first_fit_leaves_no_model(entry):
    X = entry.given(sheet())
    with documented_warnings():
        whole = fitted(entry, X)

    def check(number):
        model = entry.new()
        interrupted_fit(model, X, entry.y(len(X)), number)
        assert repr(model) == repr(entry.new())
        # Stopped at the very last call, it may have come to its end.
        assert_whole(model, [(whole, X)])

    assert_all(numbers_of_calls(entry, X), check)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_an_interrupted_second_fit_leaves_one_model_or_none(entry):
    old, new = entry.given(sheet()), other(entry)
    with documented_warnings():
        possible = [(fitted(entry, X), X) for X in (old, new)]

    def check(number):
        with documented_warnings():
            model = fitted(entry, old)
        interrupted_fit(model, new, entry.y(len(new)), number)
        assert_whole(model, possible)

    assert_all(numbers_of_calls(entry, new), check)


BAD_DATA = {
    "NaN": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X),
    "infinite": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 5, np.inf, X),
    "text": lambda X: np.full(X.shape, "many"),
    "no columns": lambda X: X[:, :0],
    "three dimensions": lambda X: X[None],
    "one dimension": lambda X: X[0],
    "complex": lambda X: X + 1j,
}


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_bad_data_leave_no_model(entry):
    X = entry.given(sheet())

    def check(case):
        model = entry.new()
        bad = BAD_DATA[case](X)
        y = entry.y(len(bad))
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad, y)
        assert repr(model) == repr(entry.new())
        assert_unfitted(model, X)

    assert_all(BAD_DATA, check)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_bad_data_leave_the_old_model_or_none(entry):
    X = entry.given(sheet())
    with documented_warnings():
        before = fitted(entry, X)

    def check(case):
        with documented_warnings():
            model = fitted(entry, X)
        bad = BAD_DATA[case](other(entry))
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad, entry.y(len(bad)))
        assert_whole(model, [(before, X)])

    assert_all(BAD_DATA, check)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if hasattr(e.estimator, "partial_fit")], ids=repr)
def test_a_refused_chunk_leaves_the_model_as_it_was(entry):
    X = sheet()
    bad = np.array(X[:5])
    bad[2, 1] = np.nan
    with documented_warnings():
        model = entry.new().partial_fit(X[:20])
        before = answers(model, X)
        for chunk in (bad, X[:5, :2]):
            with pytest.raises(ValueError):
                model.partial_fit(chunk)
        assert_same(answers(model, X), before, 0)
        assert_same(answers(model.partial_fit(X[20:]), X), answers(_in_two(entry, X), X), 1e-9)


def _in_two(entry, X):
    return entry.new().partial_fit(X[:20]).partial_fit(X[20:])


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_parameters_are_only_read(entry):
    model = entry.new()
    X = entry.given(sheet())
    before = {name: repr(value) for name, value in model.get_params().items()}
    with documented_warnings():
        answers(model.fit(X, entry.y(len(X))), X)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_a_second_fit_forgets_the_first(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, other(entry))
        model.fit(X, entry.y(len(X)))
        fresh = fitted(entry, X)
        assert_same(answers(model, X), answers(fresh, X), 0)
    assert set(vars(model)) == set(vars(fresh))
