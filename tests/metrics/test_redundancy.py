import numpy as np
import pytest

from polyfold._regression import loo_predict, lowest_residual, predict, residual_ratio
from polyfold.metrics import loo_reconstruction, psnr, redundancy
from tests.oracles.nonredundant import loo_mean, smoothing_matrix


@pytest.fixture(name="t")
def uniform():
    return np.random.RandomState(0).uniform(-1, 1, (300, 2))


def test_leaving_out_equals_the_residual_formula(t):
    y = np.sin(3 * t[:, 0])
    np.testing.assert_allclose(loo_predict(t, y[:, None], 0.3)[:, 0], loo_mean(t, y, 0.3), atol=1e-9)


def test_prediction_at_the_points_is_the_smoother(t):
    y = np.sin(3 * t)
    np.testing.assert_allclose(predict(t, y, t, 0.3), smoothing_matrix(t, 0.3) @ y, atol=1e-9)


def test_locally_linear_regression_predicts_lines_exactly(t):
    line = 1 + t @ [2.0, -1.0]
    guess = loo_predict(t, line[:, None], 0.4, regressor="locally_linear")[:, 0]
    np.testing.assert_allclose(guess, line, atol=1e-3)


def test_repetition_and_news_are_told_apart(t):
    Z = np.column_stack([t[:, 0], np.cos(4 * t[:, 0]), t[:, 1]])
    r = redundancy(Z)
    assert r[0] == 1
    assert r[1] < 0.1
    assert r[2] > 0.95


def test_the_bandwidth_decides_what_is_seen(t):
    Z = np.column_stack([t[:, 0], np.cos(12 * t[:, 0])])
    assert redundancy(Z, bandwidth=2.0)[1] > 0.9
    assert redundancy(Z, bandwidth=0.03)[1] < 0.3


@pytest.mark.parametrize("regressor", ["locally_linear", "nadaraya_watson"])
def test_best_bandwidth_is_not_beaten_by_those_of_its_grid(t, regressor):
    y = np.cos(5 * t[:, 0])
    best, h = lowest_residual(t[:, :1], y, regressor=regressor)
    assert best == pytest.approx(residual_ratio(t[:, :1], y, [h], regressor=regressor)[0])
    assert best <= residual_ratio(t[:, :1], y, [3 * h, h / 3], regressor=regressor).min()


def test_shift_and_scale_do_not_matter(t):
    Z = np.column_stack([t, t[:, 0] * t[:, 1]])
    np.testing.assert_allclose(redundancy(5 + 3 * Z), redundancy(Z), atol=1e-4)


def test_queries_sample_the_points(t):
    Z = np.column_stack([t, t[:, 0] ** 2])
    some, every = redundancy(Z, n_queries=150), redundancy(Z, n_queries=None)
    np.testing.assert_allclose(some, every, atol=0.1)


def test_images_of_one_parameter_are_rebuilt(t):
    X = np.sin(np.outer(t[:, 0], np.arange(1, 6)))
    rebuilt = loo_reconstruction(t[:, :1], X)
    assert psnr(X, rebuilt) > psnr(X, loo_reconstruction(t[:, 1:], X)) + 10


def test_psnr_is_in_decibels_of_the_range():
    X = np.array([[0.0, 255.0]])
    assert psnr(X, X + 2.55) == pytest.approx(40)
    assert psnr(X / 255, X / 255 + 0.01, data_range=2.0) == pytest.approx(40 + 20 * np.log10(2))
    assert psnr(X, X) == np.inf


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"X_rebuilt must have the shape of X, \(2,\), got \(3,\)"):
        psnr([0, 1], [0, 1, 2])


@pytest.mark.parametrize("parameter", [{"bandwidth": "wide"}, {"bandwidth": 0.0}, {"regressor": "ridge"}])
def test_wrong_parameters_are_named(t, parameter):
    with pytest.raises(ValueError, match=next(iter(parameter))):
        redundancy(t, **parameter)
