"""Single coordinates: sign, scale, and what they exclude."""

import numpy as np
import pytest

import polyfold as pf
from polyfold._regression import NeighborRegression
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import LaplacianEigenmaps, feature_operator
from polyfold.nonredundant import best_rotation, extend, next_coordinate
from polyfold.nonredundant._sequence import criterion, rounding
from polyfold.spectra import make_solver


def first_steps(operator, alphas):
    F, found = np.empty((operator.n_samples, 0)), []
    for alpha in alphas:
        found.append(next_coordinate(operator, make_solver(operator), F, alpha, 0))
        F = np.column_stack([F, found[-1].values])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_point_farthest_out_is_on_the_positive_side(seed):
    X = np.random.RandomState(seed).exponential(size=(150, 3))
    for step in first_steps(LaplacianEigenmaps(10).operator_on(X), [None, 0.5]):
        assert step.values[np.abs(step.values).argmax()] > 0
        np.testing.assert_allclose((step.raw - step.center) / step.scale, step.values)


def test_the_first_coordinate_excludes_nothing_and_the_second_something():
    X = np.random.RandomState(0).rand(150, 2) * [3, 1]
    first, second = first_steps(LaplacianEigenmaps(10).operator_on(X), [None, 0.5])
    assert first.rank == 0
    assert second.rank >= 2
    assert first.slim() is first
    assert second.slim().predictable.values.shape == (0, second.rank)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_coordinates_of_a_kernel_with_units_follow_the_scale(scale):
    X = np.random.RandomState(0).standard_normal((80, 3)) * [3, 2, 1]
    found, expected = (
        pf.NonRedundantEmbedding(2, kernel="linear", random_state=0).fit_transform(rows) for rows in (scale * X, X)
    )
    np.testing.assert_allclose(found / scale, expected, rtol=1e-4, atol=1e-4)


def test_the_criterion_takes_rows_unless_distances_are_announced():
    X = np.random.RandomState(0).standard_normal((60, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    operator = feature_operator(X, None)
    by_rows = criterion(operator, X, 0).unexplained(X[:, :1])
    by_distances = criterion(operator, D, 0, by_distances=True).unexplained(X[:, :1])
    np.testing.assert_allclose(by_rows, by_distances, rtol=1e-6, atol=1e-9)


def test_points_next_to_training_points_have_nearly_their_coordinates():
    X = np.random.RandomState(0).rand(300, 2) * [3, 1]
    operator = LaplacianEigenmaps(10).operator_on(X)
    steps = first_steps(operator, [None, 0.5])
    near = X + 1e-4 * np.random.RandomState(1).standard_normal(X.shape)
    found, known = extend(operator, steps, near), np.column_stack([step.values for step in steps])
    for i in range(2):
        assert np.corrcoef(found[:, i], known[:, i])[0, 1] > 0.99
        np.testing.assert_allclose(found[:, i].std(), 1, atol=0.05)
    np.testing.assert_array_equal(extend(operator, steps, X), known)


def test_a_bandwidth_that_leaves_only_noise_is_warned_of():
    X = np.random.RandomState(0).rand(120, 3)
    with pytest.warns(DegenerateDataWarning, match="bandwidth=0.001 is so small that .* for coordinate 2, of 120"):
        pf.NonRedundantEmbedding(2, kernel="laplacian_eigenmaps", bandwidth=1e-3, random_state=0).fit(X)


@pytest.mark.parametrize("degrees", [20, 70])
def test_any_mixture_of_two_coordinates_is_rotated_back(degrees):
    T = np.random.RandomState(0).uniform(-1, 1, (1500, 3))
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    F = T @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) / T.std()
    R = best_rotation(NeighborRegression.of(T * [3.0, 2.0, 1.0], np.arange(1500)), F)
    assert np.abs(np.corrcoef((F @ R).T, T.T)[:3, 3:]).diagonal().min() > 0.99


def test_a_wide_bandwidth_is_not_warned_of(recwarn):
    X = np.random.RandomState(0).rand(120, 2) * [3, 1]
    pf.NonRedundantEmbedding(2, kernel="laplacian_eigenmaps", bandwidth=1.0, random_state=0).fit(X)
    assert not recwarn.list


def test_a_kernel_of_two_directions_has_no_third_coordinate():
    operator = feature_operator(np.random.RandomState(0).standard_normal((80, 2)) * [3, 1], None)
    steps = first_steps(operator, [None, np.inf])
    F = np.column_stack([step.values for step in steps])
    assert next_coordinate(operator, make_solver(operator), F, np.inf, 0, rounding(steps)) is None


def test_coordinates_of_many_points_solve_their_equation():
    X = np.random.RandomState(0).standard_normal((2500, 12)) * np.linspace(3, 1, 12)
    for step in first_steps(LaplacianEigenmaps(10).operator_on(X), [None, np.inf]):
        assert step.residual < 1e-4
