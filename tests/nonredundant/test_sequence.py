import numpy as np
import pytest

from polyfold.kernels import LaplacianEigenmaps, Operator, feature_operator
from polyfold.nonredundant import _sequence, bandwidth_of, next_coordinate
from polyfold.spectra import make_solver
from tests.oracles.nonredundant import algorithm_1, dense_functions


def strip(n=200, ratio=3.5, seed=0):
    return np.random.RandomState(seed).rand(n, 2) * [ratio, 1]


def sequence(operator, d, alpha):
    n = operator.n_samples
    solver = make_solver(operator)
    F = np.empty((n, 0))
    for _ in range(d):
        step = next_coordinate(operator, solver, F, alpha, 0)
        F = np.column_stack([F, step.values])
    return F


@pytest.mark.parametrize("dense", [True, False])
def test_sequence_is_algorithm_1(dense, monkeypatch):
    if dense:
        monkeypatch.setattr(_sequence, "predictable_functions", dense_functions)
    X = strip()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 0.5)
    ours = sequence(Operator(None, np.ones(200), matrix=K), 3, 0.3)
    paper = algorithm_1(K, 3, 0.3)
    tolerance = 1e-6 if dense else 0.01
    for i in range(3):
        assert abs(np.corrcoef(ours[:, i], paper[:, i])[0, 1]) > 1 - tolerance


def test_coordinates_are_orthogonal_to_functions_of_earlier_ones():
    operator = LaplacianEigenmaps(10).operator_on(strip(400))
    solver = make_solver(operator)
    first = next_coordinate(operator, solver, np.empty((400, 0)), None, 0)
    second = next_coordinate(operator, solver, first.values[:, None], 0.3, 0)
    w = operator.measure
    assert abs(w @ second.raw) < 1e-8 * w.sum()
    for power in (1, 2, 3):
        f = first.values**power
        assert abs(np.sum(w * f * second.raw)) < 0.02 * np.sqrt(np.sum(w * f**2) * np.sum(w * second.raw**2))


def test_bandwidth_rule_is_relative_to_the_mean_squared_norm():
    F = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert bandwidth_of(F, 0.5) == pytest.approx(0.5 * np.sqrt(25 / 2))


def test_coordinates_have_mean_zero_and_unit_variance():
    F = sequence(feature_operator(np.random.RandomState(0).randn(50, 3), None), 2, 0.5)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(F.std(axis=0), 1)
