import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from polyfold import KernelEmbedding
from polyfold.datasets import make_ring, make_strip
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import HessianLLE, LaplacianEigenmaps, TangentAlignment
from polyfold.nonredundant import Settings, next_coordinate, nonredundant_sequence
from polyfold.spectra import make_solver


def search(X, count=None, alpha=None, kernel=None):
    operator = (kernel or LaplacianEigenmaps()).operator_on(X)
    return nonredundant_sequence(operator, make_solver(operator), count, alpha, Settings())


def values(steps):
    return np.column_stack([step.values for step in steps])


def read_off(Z, target):
    folds = KFold(5, shuffle=True, random_state=0)
    return cross_val_score(KNeighborsRegressor(10), Z, target, cv=folds).mean()


def roll(n, height, seed=0):
    X, _ = make_swiss_roll(n, random_state=seed)
    level = X[:, 1].copy()
    X[:, 1] *= height
    return X, level


class Counted:
    """A solver that counts what is asked of it."""

    def __init__(self, solver):
        self.solver, self.calls = solver, 0

    def top(self, Q, k, start=None, tol=0.0):
        self.calls += 1
        return self.solver.top(Q, k, start, tol)


def test_harmonics_of_a_strip_are_skipped():
    X, place = make_strip(1000, ratio=3.5, random_state=0)
    Z = values(search(X, 2))
    assert read_off(Z[:, :1], place[:, 0]) > 0.99
    assert read_off(Z, place[:, 1]) > 0.97


@pytest.mark.parametrize("seed", [2, 5])
def test_height_of_a_long_roll_is_read_off_everywhere(seed):
    # Samples whose cheapest direction alone vanishes in part of the roll: 0.80 and 0.58.
    X, level = roll(1500, 0.5, seed)
    assert read_off(values(search(X, 2)), level) > 0.85


def test_third_coordinate_of_a_ring_is_its_inner_angle():
    X, angles = make_ring(1500, random_state=0)
    Z = values(search(X, 3))
    assert read_off(Z[:, :2], np.sin(angles[:, 1])) < 0.3
    assert read_off(Z, np.sin(angles[:, 1])) > 0.85


@pytest.mark.slow
def test_clusters_are_told_apart_as_by_plain_coordinates():
    # Ten flat clusters of three dimensions each: few intrinsic dimensions, and no manifold.
    rng = np.random.RandomState(0)
    y = rng.choice(10, 1000)
    centers, planes = rng.standard_normal((10, 10)), rng.standard_normal((10, 10, 3))
    X = 0.6 * centers[y] + np.einsum("ndk,nk->nd", planes[y], rng.standard_normal((1000, 3))) / np.sqrt(3)
    plain = KernelEmbedding(9, kernel="laplacian_eigenmaps").fit_transform(X)
    errors = [
        1 - cross_val_score(KNeighborsClassifier(10), Z / Z.std(axis=0), y, cv=5).mean()
        for Z in (plain, values(search(X, 9)))
    ]
    assert errors[1] < errors[0] + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("height", [0.5, 1.0])
def test_swiss_roll_has_two_coordinates(height):
    assert len(search(roll(1500, height)[0])) == 2


def test_ring_has_three_coordinates():
    assert len(search(make_ring(1500, random_state=0)[0])) == 3


def test_curve_has_one_coordinate():
    t = np.random.RandomState(0).uniform(0, 1, 500)
    assert len(search(np.column_stack([t, t**2, np.zeros(500)]))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [TangentAlignment(), HessianLLE()])
def test_tangent_methods_find_two_coordinates_of_a_roll(kernel):
    assert len(search(roll(1500, 1.0)[0], kernel=kernel)) == 2


def test_noise_is_not_a_coordinate():
    # Hessian LLE has directions that live on single points: unpredictable, and nothing of the data.
    assert len(search(make_ring(600, random_state=0)[0], kernel=HessianLLE(12))) <= 3


def test_a_plain_coordinate_that_is_all_news_is_kept():
    # A flat square has two linear coordinates: excluding functions of the first would only bend the second.
    t = np.random.RandomState(0).uniform(size=(800, 2)) * [2, 1]
    steps = search(np.column_stack([t, np.sin(t[:, 0])]), 2, kernel=TangentAlignment(12))
    assert np.isinf(steps[1].alpha)
    design = np.column_stack([np.ones(800), values(steps)])
    residual = t - design @ np.linalg.lstsq(design, t, rcond=None)[0]
    assert np.all(residual.var(axis=0) < 0.01 * t.var(axis=0))


@pytest.mark.slow
def test_noise_in_many_coordinates_takes_few_solves():
    count = 20
    operator = LaplacianEigenmaps().operator_on(np.random.RandomState(0).randn(120, 5))
    counted = Counted(make_solver(operator))
    steps = nonredundant_sequence(operator, counted, count, None, Settings())
    assert len(steps) <= count
    assert counted.calls <= 3 * count


def test_given_factor_is_used_throughout():
    assert [step.alpha for step in search(roll(600, 1.0)[0], 3, 0.4)] == [None, 0.4, 0.4]


def test_a_bandwidth_that_sees_single_points_is_warned_of():
    with pytest.warns(DegenerateDataWarning, match=r"bandwidth=0.0001 is so small that \d+ functions"):
        search(roll(500, 1.0)[0], 2, 1e-4)


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
