import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from polyfold import KernelEmbedding
from polyfold.baselines import SelectedEmbedding, SequentialRegressionEmbedding
from polyfold.estimators._selected import select_unpredictable as _select

BOTH = [SelectedEmbedding, SequentialRegressionEmbedding]


@pytest.fixture(name="X")
def strip():
    return np.random.RandomState(0).rand(500, 2) * [3.5, 1]


def correlation(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


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


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "isomap", "laplacian_eigenmaps"])
@pytest.mark.parametrize("estimator", BOTH)
def test_the_first_coordinate_is_that_of_the_kernel(X, estimator, kernel):
    first = KernelEmbedding(1, kernel=kernel, random_state=0).fit_transform(X)[:, 0]
    Z = estimator(n_components=2, kernel=kernel, random_state=0).fit_transform(X)
    assert correlation(Z[:, 0], first) > 0.999


@pytest.mark.parametrize("kernel", ["rbf", "isomap"])
def test_selected_coordinates_are_coordinates_of_the_kernel(X, kernel):
    model = SelectedEmbedding(2, kernel=kernel, n_candidates=6, random_state=0).fit(X)
    plain = KernelEmbedding(6, kernel=kernel, random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(plain[:, model.selected_]), atol=1e-6)


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_number_of_coordinates_does_not_change_the_first(X, n_components):
    Z = SequentialRegressionEmbedding(n_components, kernel="rbf", random_state=0).fit_transform(X)
    three = SequentialRegressionEmbedding(3, kernel="rbf", random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z, three[:, :n_components], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_news_is_what_is_selected(seed):
    """On a strip 2.5 times as long as wide, eigenvectors 0, 1 and 3 are harmonics of the length and 2 is the width."""
    X = np.random.RandomState(seed).rand(800, 2) * [2.5, 1]
    model = SelectedEmbedding(2, n_candidates=8, random_state=0).fit(X)
    plain = KernelEmbedding(8, kernel="laplacian_eigenmaps", random_state=0).fit_transform(X)
    width = [correlation(plain[:, j], X[:, 1]) for j in range(8)]
    assert model.selected_[1] == np.argmax(width) == 2
    assert width[2] > 0.85
    assert width[1] < 0.1


def test_what_is_left_after_a_coordinate_does_not_tell_it(X):
    Z = SequentialRegressionEmbedding(2, kernel="linear", random_state=0).fit_transform(X)
    assert correlation(Z[:, 0], X[:, 0]) > 0.99
    assert correlation(Z[:, 1], X[:, 1]) > 0.9
    assert correlation(Z[:, 0], Z[:, 1]) < 0.1


@pytest.mark.parametrize("estimator", BOTH)
def test_too_many_components_are_an_error(X, estimator):
    with pytest.raises(ValueError, match="n_components must be an integer >= 1 and <= 499, got 500"):
        estimator(n_components=500).fit(X)


def test_kernel_values_go_through_folds_where_they_can_be_used(rng):
    X = rng.standard_normal((60, 4))
    model = make_pipeline(SelectedEmbedding(2, kernel="precomputed"), LogisticRegression())
    assert np.isfinite(cross_val_score(model, X @ X.T, X[:, 0] > 0, cv=3)).all()
    with pytest.raises(ValueError, match="kernel must be one of points, which are regressed, got 'precomputed'"):
        SequentialRegressionEmbedding(kernel="precomputed").fit(X @ X.T)
