import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from polyfold import KernelEmbedding
from polyfold._policy import BANDWIDTHS
from polyfold.datasets import make_ring, make_strip
from polyfold.kernels import HessianLLE, Isomap, LaplacianEigenmaps, TangentAlignment
from polyfold.nonredundant import MAX_AUTO_COMPONENTS, find_sequence, follow_bandwidths, next_coordinate
from polyfold.spectra import make_solver


def selected(X, count=None, alpha=None, kernel=None):
    operator = (kernel or LaplacianEigenmaps()).operator_on(X)
    bandwidths = BANDWIDTHS if alpha is None else (alpha,)
    bandwidths = [(None,), *[bandwidths] * ((count or MAX_AUTO_COMPONENTS) - 1)]
    return find_sequence(operator, make_solver(operator), X, bandwidths, 0, stops=count is None)


def search(*args, **options):
    return selected(*args, **options).steps


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


def test_harmonics_of_a_strip_are_skipped():
    X, place = make_strip(1000, ratio=3.5, random_state=0)
    Z = values(search(X, 2))
    assert read_off(Z[:, :1], place[:, 0]) > 0.99
    assert read_off(Z, place[:, 1]) > 0.97


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


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps(), Isomap(), TangentAlignment(), HessianLLE()])
def test_swiss_roll_has_two_coordinates(kernel):
    assert len(search(roll(1000, 1.0)[0], kernel=kernel)) == 2


def test_ring_has_three_coordinates():
    assert len(search(make_ring(1000, random_state=0)[0], kernel=Isomap())) == 3


def test_curve_has_one_coordinate():
    t = np.random.RandomState(0).uniform(0, 1, 500)
    assert len(search(np.column_stack([t, t**2, np.zeros(500)]))) == 1


def test_scores_show_why_the_sequence_ends():
    found = selected(roll(800, 1.0)[0])
    assert len(found.scores) == len(found.permuted) == len(found.steps) + 1
    factors, limits = found.scores[:-1] / found.scores[1:], found.permuted[1:] / found.scores[:-1]
    assert np.all(factors[:-1] > limits[:-1])
    assert factors[-1] <= limits[-1]
    assert found.unexplained == found.scores[1]


def test_each_coordinate_has_the_widest_bandwidth_within_the_error_of_the_best():
    X, _ = make_strip(600, ratio=3.5, random_state=0)
    step = search(X, 2)[1]
    every = {alpha: selected(X, 2, alpha).scores[1] for alpha in BANDWIDTHS}
    assert every[step.alpha] < 1.1 * min(every.values())
    assert every[np.inf] > 2 * min(every.values())


def test_a_plain_coordinate_that_is_new_is_kept():
    # A flat square has two linear coordinates: excluding functions of the first would only bend the second.
    t = np.random.RandomState(0).uniform(size=(800, 2)) * [2, 1]
    steps = search(np.column_stack([t, np.sin(t[:, 0])]), 2, kernel=TangentAlignment(12))
    assert np.isinf(steps[1].alpha)
    design = np.column_stack([np.ones(800), values(steps)])
    residual = t - design @ np.linalg.lstsq(design, t, rcond=None)[0]
    assert np.all(residual.var(axis=0) < 0.01 * t.var(axis=0))


def test_given_factor_is_used_throughout():
    assert [step.alpha for step in search(roll(600, 1.0)[0], 3, 0.4)] == [None, 0.4, 0.4]


def test_a_given_width_is_algorithm_1_on_manifolds_too():
    X = np.random.RandomState(0).rand(400, 2) * [3.5, 1]
    operator = LaplacianEigenmaps(10).operator_on(X)
    solver = make_solver(operator)
    F = np.empty((400, 0))
    for step in search(X, 3, 0.3, LaplacianEigenmaps(10)):
        literal = next_coordinate(operator, solver, F, 0.3, 0)
        np.testing.assert_allclose(step.values, literal.values, atol=1e-8)
        F = np.column_stack([F, literal.values])
    assert F.shape[1] == 3


def test_selected_bandwidths_give_the_selected_coordinates_without_the_criterion(monkeypatch):
    X = roll(400, 1.0)[0]
    found = search(X, 3)
    operator = LaplacianEigenmaps().operator_on(X)
    monkeypatch.delattr("polyfold._regression.NeighborRegression.unexplained")
    steps = follow_bandwidths(operator, make_solver(operator), [step.alpha for step in found], 0)
    np.testing.assert_array_equal(values(steps), values(found))
