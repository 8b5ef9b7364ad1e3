import numpy as np
import pytest

from polyfold._regression import loo_predict, predict, residual_ratio
from polyfold.exceptions import DegenerateDataWarning
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


def test_a_repetition_far_from_the_origin_is_seen(t):
    Z = np.column_stack([t[:, 0], t[:, 0] ** 2])
    np.testing.assert_allclose(redundancy(Z + 1e6), redundancy(Z), atol=1e-4)


@pytest.mark.parametrize("level", [0.0, 0.1, -1e9])
def test_a_constant_coordinate_tells_nothing_and_disturbs_nothing(t, level):
    Z = np.column_stack([t, t[:, 0] * t[:, 1]])
    with pytest.warns(DegenerateDataWarning, match=r"Columns \[0, 2\] of Z are constant.*leave"):
        r = redundancy(np.insert(Z, [0, 1], level, axis=1))
    np.testing.assert_allclose(r, np.insert(redundancy(Z), [0, 1], 0.0), rtol=1e-9)


def test_nothing_but_constants_is_nothing_new():
    with pytest.warns(DegenerateDataWarning, match=r"Columns \[0, 1\]"):
        assert redundancy(np.ones((5, 2))).tolist() == [0, 0]


@pytest.mark.parametrize("regressor", ["locally_linear", "nadaraya_watson"])
@pytest.mark.parametrize("h", [1e-300, 1e-5, 1e300])
def test_any_bandwidth_gives_numbers(t, regressor, h):
    assert np.isfinite(residual_ratio(t, t[:, 0], [h], regressor=regressor)).all()


def test_a_constant_has_nothing_unexplained(t):
    assert residual_ratio(t, np.full(300, 0.1), [0.3]).tolist() == [0]


def test_constant_coordinates_explain_what_a_mean_does(t):
    y = t[:, 0]
    np.testing.assert_allclose(residual_ratio(np.ones((300, 1)), y, [0.0, 1.0]), 300 / 299)


@pytest.mark.parametrize("regressor", ["locally_linear", "nadaraya_watson"])
def test_regression_knows_neither_origin_nor_unit(t, regressor):
    y = np.sin(3 * t)
    guess = loo_predict(t, y, 0.2, regressor=regressor)
    far = loo_predict(2.0**200 * (t + 1e5), 2.0**-200 * (y + 1e5), 2.0**200 * 0.2, regressor=regressor)
    np.testing.assert_allclose(far * 2.0**200 - 1e5, guess, atol=1e-8)


def test_prediction_at_new_points_knows_neither_origin_nor_unit(t):
    new, y = t[:20] + 0.01, np.sin(3 * t)
    far = predict(2.0**200 * (t + 1e5), y + 1e5, 2.0**200 * (new + 1e5), 2.0**200 * 0.2)
    np.testing.assert_allclose(far - 1e5, predict(t, y, new, 0.2), atol=1e-8)


def test_sparse_weights_are_those_that_count(t, monkeypatch):
    F, y = np.random.RandomState(0).standard_normal((300, 6)), np.sin(t[:, 0])
    grid = [0.02, 0.1, 0.5]
    some = residual_ratio(F, y, grid, regressor="locally_linear")
    monkeypatch.setattr("polyfold._regression._SPARSE", -1.0)
    np.testing.assert_allclose(residual_ratio(F, y, grid, regressor="locally_linear"), some, rtol=1e-9)


def test_a_constant_signal_needs_its_range():
    with pytest.raises(ValueError, match="data_range must be given where X is constant, here 2; pass"):
        psnr([2.0, 2.0], [2.0, 2.1])
    assert psnr([2.0, 2.0], [2.1, 1.9], data_range=1.0) == pytest.approx(20)


def test_psnr_of_huge_and_tiny_signals():
    assert psnr([0, 1e300], [1e299, 9e299]) == pytest.approx(20)
    assert psnr([0, 1e-300], [1e-301, 9e-301]) == pytest.approx(20)
