import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_swiss_roll
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from polyfold.datasets import make_ring
from polyfold.kernels import LaplacianEigenmaps
from polyfold.nonredundant import Settings, nonredundant_sequence
from polyfold.nonredundant._even import CLOSE, EvenSolver, _evenest, is_manifold
from polyfold.spectra import make_solver


def read_off(Z, target):
    folds = KFold(5, shuffle=True, random_state=0)
    return cross_val_score(KNeighborsRegressor(10), Z, target, cv=folds).mean()


def embedded(X, count):
    operator = LaplacianEigenmaps().operator_on(X)
    steps = nonredundant_sequence(operator, make_solver(operator), count, None, Settings())
    return np.column_stack([step.values for step in steps])


class Ranked:
    """Knows the constrained directions of a diagonal cost."""

    def __init__(self, costs):
        self.costs = costs

    def top(self, Q, k, start=None, tol=0.0):
        del start, tol
        P = np.eye(len(Q)) - Q @ Q.T
        d, U = np.linalg.eigh(P @ np.diag(self.costs) @ P + 1e3 * Q @ Q.T)
        return -d[:k], U[:, :k]


def test_the_evenest_combination_is_found():
    # Spreads 1 + cos and 1 − cos along the earlier coordinate: only their equal mixtures are even.
    A = np.array([[[1.0, 0.0], [0.0, -1.0]]])
    assert_allclose(np.abs(_evenest(A)), np.sqrt([0.5, 0.5]), atol=1e-4)
    assert_allclose(_evenest(np.zeros((3, 1, 1))), [1.0])


def test_only_near_ties_are_mixed():
    n = 6
    Q = np.linalg.qr(np.column_stack([np.ones(n), np.arange(n) ** 2.0]))[0]
    for gap, mixed in ((CLOSE / 10, True), (10.0, False)):
        costs = np.array([1.0, 1.0 + gap, 50.0, 60.0, 70.0, 80.0])
        inner = Ranked(costs)
        solver = EvenSolver(inner, np.diag(costs), np.ones(n), 1)
        g, plain = solver.top(Q, 1)[1][:, 0], inner.top(Q, 1)[1][:, 0]
        assert_allclose(Q.T @ g, 0, atol=1e-8)
        assert_allclose(np.linalg.norm(g), 1.0)
        assert g @ (costs * g) <= (1 + CLOSE) * (plain @ (costs * plain)) + 1e-9
        if not mixed:
            assert abs(g @ plain) > 1 - 1e-9


def test_the_first_coordinate_is_left_alone():
    costs = np.array([1.0, 1.01, 5.0, 6.0])
    Q = np.full((4, 1), 0.5)
    solver = EvenSolver(Ranked(costs), np.diag(costs), np.ones(4), 1)
    assert_allclose(solver.top(Q, 1)[1], Ranked(costs).top(Q, 1)[1])


def test_low_dimensional_graphs_are_manifolds_and_others_not():
    rng = np.random.RandomState(0)
    assert is_manifold(LaplacianEigenmaps().operator_on(rng.rand(600, 2)))
    assert not is_manifold(LaplacianEigenmaps().operator_on(rng.randn(3000, 30)))


@pytest.mark.parametrize("seed", [2, 5])
def test_height_of_a_long_roll_is_read_off_everywhere(seed):
    # Samples whose cheapest direction alone vanishes in part of the roll: 0.80 and 0.58.
    X, _ = make_swiss_roll(1500, random_state=seed)
    height = X[:, 1].copy()
    X[:, 1] *= 0.5
    assert read_off(embedded(X, 2), height) > 0.85


@pytest.mark.parametrize("seed", [0, 1])
def test_third_coordinate_of_a_ring_is_its_inner_angle(seed):
    X, angles = make_ring(1500, random_state=seed)
    Z = embedded(X, 3)
    assert read_off(Z[:, :2], np.sin(angles[:, 1])) < 0.3
    assert read_off(Z, np.sin(angles[:, 1])) > 0.85
