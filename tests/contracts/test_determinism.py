"""A seed decides the result; threads, copies and files do not."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tests.catalog import ENTRIES
from tests.contracts.answers import answers, assert_same, documented_warnings, fitted
from tests.contracts.samples import sheet


def new_points():
    """Points between those of the sheet."""
    X = sheet()
    return (X[:10] + X[10:20]) / 2


def both(entry, model):
    """Answers about old and about new points."""
    X = sheet()
    with documented_warnings():
        return answers(model, entry.given(X)), answers(model, entry.given(new_points(), X))


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_the_seed_decides(entry):
    X = entry.given(sheet())
    with documented_warnings():
        models = [fitted(entry, X) for _ in range(2)]
    for found, expected in zip(both(entry, models[0]), both(entry, models[1]), strict=True):
        assert_same(found, expected, 0)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_a_generator_is_a_seed_too(entry):
    names = [name for name in entry.new().get_params() if name.endswith("random_state")]
    X, results = entry.given(sheet()), []
    for _ in range(2):
        model = entry.new().set_params(**{name: np.random.RandomState(3) for name in names if "kernel" not in name})
        with documented_warnings():
            results.append(answers(model.fit(X, entry.y(len(X))), X))
    assert_same(results[0], results[1], 0)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_threads_do_not_matter(entry):
    X, results = entry.given(sheet()), []
    for threads in (1, 2):
        model = entry.new()
        jobs = {name: threads for name in model.get_params() if name.endswith("n_jobs")}
        with threadpool_limits(threads), documented_warnings():
            results.append(answers(model.set_params(**jobs).fit(X, entry.y(len(X))), X))
    assert_same(results[1], results[0], entry.precision)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_pickles_keep_the_model(entry):
    with documented_warnings():
        model = fitted(entry, entry.given(sheet()))
    again = pickle.loads(pickle.dumps(model))
    for found, expected in zip(both(entry, again), both(entry, model), strict=True):
        assert_same(found, expected, 0)


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_clones_of_fitted_models_fit_alike(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
        copy = clone(model)
        assert not [name for name in vars(copy) if name.endswith("_")]
        assert_same(answers(copy.fit(X, entry.y(len(X))), X), answers(model, X), 0)
