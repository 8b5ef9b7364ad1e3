"""A seed decides the result; threads, copies and files do not."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tests.catalog import ENTRIES, ONE_EACH
from tests.contracts.answers import answers, assert_same, documented_warnings, fitted
from tests.contracts.samples import sheet

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
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
    assert_same_for_any_number_of_threads(entry, sheet())


# One of every way to work: of few rows no library makes parts.
LARGE = [
    "KernelEmbedding-rbf",
    "KernelEmbedding-isomap",
    "NonRedundantEmbedding-laplacian_eigenmaps",
    "SelectedEmbedding-laplacian_eigenmaps",
    "ModularKernelPCA-beyond_the_rank",
    "ModularAutoencoder-closed",
    "BaggingAutoencoder",
    "BootstrapKernelPCA",
    "MultilayerBootstrapNetwork-exact",
    "ModularClassifier",
    "ModularNeighbors-sklearn",
    "BootstrapClustering",
]


@pytest.mark.parametrize("name", LARGE)
def test_threads_do_not_matter_where_there_is_work_for_them(name):
    [entry] = [entry for entry in ENTRIES if entry.name == name]
    assert_same_for_any_number_of_threads(entry, sheet(700))


def assert_same_for_any_number_of_threads(entry, X):
    """Assert the same bits for one, two and all threads, of this library's and of those below."""
    results = []
    for n_jobs, below in ((1, 1), (2, 2), (None, 3)):
        model = entry.new()
        jobs = {name: n_jobs for name in model.get_params() if name.endswith("n_jobs")}
        with threadpool_limits(below), documented_warnings():
            model.set_params(**jobs).fit(entry.given(X), entry.y(len(X)))
            results.append(answers(model, entry.given(X)))
    for found in results[1:]:
        for name, expected in results[0].items():
            np.testing.assert_array_equal(found[name], expected, err_msg=name)


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_clones_of_fitted_models_fit_alike(entry):
    X = entry.given(sheet())
    with documented_warnings():
        model = fitted(entry, X)
        copy = clone(model)
        assert not [name for name in vars(copy) if name.endswith("_")]
        assert_same(answers(copy.fit(X, entry.y(len(X))), X), answers(model, X), 0)
