import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from polyfold.baselines import SelectedEmbedding, SequentialRegressionEmbedding
from polyfold.nonredundant import select_news as _select

BOTH = [SelectedEmbedding, SequentialRegressionEmbedding]


@pytest.fixture(name="X")
def strip():
    return np.random.RandomState(0).rand(500, 2) * [3.5, 1]


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GraphWarning")
@pytest.mark.parametrize("estimator", BOTH)
def test_scikit_learn_checks(estimator):
    check_estimator(estimator(), on_skip=None)


def test_selection_skips_harmonics(X):
    model = SelectedEmbedding(n_components=2, n_candidates=6).fit(X)
    assert model.selected_[0] == 0
    assert model.selected_[1] >= 2
    assert model.residuals_[1] < 0.3
    assert correlation(model.transform(X)[:, 1], X[:, 1]) > 0.7


def test_selection_fills_up_with_the_largest_residuals():
    residuals = np.array([1.0, 0.1, 0.9, 0.2, 0.05])
    np.testing.assert_array_equal(_select(residuals, 0.5, 2), [0, 2])
    np.testing.assert_array_equal(_select(residuals, 0.5, 3), [0, 2, 3])
    np.testing.assert_array_equal(_select(residuals, 0.0, 3), [0, 1, 2])


def test_sequential_regression_removes_the_first_direction(X):
    Z = SequentialRegressionEmbedding(n_components=2).fit_transform(X)
    assert correlation(Z[:, 0], X[:, 0]) > 0.95
    assert correlation(Z[:, 1], X[:, 1]) > 0.9


@pytest.mark.parametrize("estimator", BOTH)
def test_new_points_lie_among_the_old(X, estimator):
    new = np.random.RandomState(1).uniform(0.1, 0.9, (50, 2)) * [3.5, 1]
    model = estimator(n_components=2).fit(X)
    Z = pickle.loads(pickle.dumps(model)).transform(new)
    np.testing.assert_array_equal(Z, model.transform(new))
    assert correlation(Z[:, 0], new[:, 0]) > 0.95
    assert correlation(Z[:, 1], new[:, 1]) > 0.7


@pytest.mark.parametrize("estimator", BOTH)
def test_kernels_of_two_points_work_too(X, estimator):
    assert estimator(n_components=2, kernel="rbf", random_state=0).fit_transform(X).shape == (500, 2)


@pytest.mark.parametrize("estimator", BOTH)
def test_too_many_components_are_an_error(X, estimator):
    with pytest.raises(ValueError, match="n_components must be an integer >= 1 and <= 499, got 500"):
        estimator(n_components=500).fit(X)
