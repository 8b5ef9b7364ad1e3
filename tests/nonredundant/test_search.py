import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import HessianLLE, LaplacianEigenmaps, TangentAlignment
from polyfold.nonredundant import (
    Settings,
    next_coordinate,
    nonredundant_sequence,
    unexplained,
)
from polyfold.nonredundant._bandwidth import ALPHAS, CLEAR, EMPTY, LINEAR, NEWS, PLAIN, candidates, enough
from polyfold.spectra import make_solver


def search(X, count=None, alpha=None):
    operator = LaplacianEigenmaps().operator_on(X)
    return nonredundant_sequence(operator, make_solver(operator), count, alpha, Settings())


def roll(n, height):
    X, _ = make_swiss_roll(n, random_state=0)
    X[:, 1] *= height
    return X


def ring(n, radius=1.0, tube=0.3):
    rng = np.random.RandomState(0)
    a, b = rng.uniform(0, 2 * np.pi, (2, n))
    across = radius + tube * np.cos(b)
    return np.column_stack([across * np.cos(a), across * np.sin(a), tube * np.sin(b)])


@pytest.mark.parametrize("height", [0.5, 1.0])
def test_swiss_roll_has_two_coordinates(height):
    assert len(search(roll(1500, height))) == 2


def test_ring_has_three_coordinates():
    assert len(search(ring(1500))) == 3


def test_curve_has_one_coordinate():
    t = np.random.RandomState(0).uniform(0, 1, 500)
    assert len(search(np.column_stack([t, t**2, np.zeros(500)]))) == 1


def test_noise_is_not_a_coordinate():
    # Hessian LLE has directions that live on single points: unpredictable, and nothing of the data.
    operator = HessianLLE(12).operator_on(ring(600))
    steps = nonredundant_sequence(operator, make_solver(operator), None, None, Settings())
    assert len(steps) <= 3


def test_long_roll_needs_a_narrow_smoother_and_a_blob_does_not():
    assert search(roll(1500, 0.5), 2)[1].alpha <= 0.3
    assert search(np.random.RandomState(0).randn(800, 8), 2)[1].alpha == ALPHAS[0]


def test_factors_are_tried_widest_first_and_end():
    assert candidates(0.6, 1, manifold=True) == (LINEAR, *ALPHAS)
    assert candidates(0.6, 1, manifold=False) == ALPHAS
    assert candidates(0.6, 2, manifold=True) == (0.6, 0.4, 0.2)
    assert candidates(0.1, 2, manifold=True) == (0.1,)
    assert candidates(0.6, 2, manifold=False) == (0.6, 0.3)
    assert candidates(0.1, 2, manifold=False) == (0.1,)


def test_news_that_is_enough():
    assert enough(LINEAR, 1, manifold=False) == PLAIN
    assert enough(0.6, 1, manifold=True) == enough(0.6, 2, manifold=True) == CLEAR
    assert enough(0.6, 1, manifold=False) == NEWS
    assert enough(0.6, 2, manifold=False) == EMPTY


def test_a_plain_coordinate_that_is_news_is_kept():
    # A flat square has two linear coordinates: excluding functions of the first would only bend the second.
    t = np.random.RandomState(0).uniform(size=(800, 2)) * [2, 1]
    operator = TangentAlignment(12).operator_on(np.column_stack([t, np.sin(t[:, 0])]))
    steps = nonredundant_sequence(operator, make_solver(operator), 2, None, Settings())
    assert steps[1].alpha == LINEAR
    design = np.column_stack([np.ones(800), *(step.values for step in steps)])
    residual = t - design @ np.linalg.lstsq(design, t, rcond=None)[0]
    assert np.all(residual.var(axis=0) < 0.01 * t.var(axis=0))


@pytest.mark.parametrize("kernel", [TangentAlignment(), HessianLLE()])
def test_tangent_methods_find_two_coordinates_of_a_roll(kernel):
    operator = kernel.operator_on(roll(1500, 1.0))
    steps = nonredundant_sequence(operator, make_solver(operator), None, None, Settings())
    assert len(steps) == 2


def test_unexplained_tells_a_function_from_news():
    rng = np.random.RandomState(0)
    x, y = rng.uniform(-1, 1, (2, 1000))
    assert unexplained(x[:, None], np.cos(9 * x)) < 0.05
    assert unexplained(x[:, None], y) > 0.95


def test_given_factor_is_used_throughout():
    assert [step.alpha for step in search(roll(600, 1.0), 3, 0.4)] == [None, 0.4, 0.4]


def test_a_bandwidth_that_sees_single_points_is_warned_of():
    with pytest.warns(DegenerateDataWarning, match=r"bandwidth=0.0001 is so small that \d+ functions"):
        search(roll(500, 1.0), 2, 1e-4)


def test_a_given_width_is_algorithm_1_on_manifolds_too():
    operator = LaplacianEigenmaps(10).operator_on(np.random.RandomState(0).rand(400, 2) * [3.5, 1])
    solver = make_solver(operator)
    given = nonredundant_sequence(operator, solver, 3, 0.3, Settings())
    F = np.empty((400, 0))
    for step in given:
        start = np.random.RandomState(0).standard_normal(400)
        literal = next_coordinate(operator, solver, F, 0.3, Settings(), start)
        np.testing.assert_allclose(step.values, literal.values, atol=1e-8)
        F = np.column_stack([F, literal.values])
