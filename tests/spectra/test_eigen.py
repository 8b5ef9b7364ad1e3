import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.kernels import LaplacianEigenmaps, Operator, TangentAlignment, feature_operator
from polyfold.spectra import choose_solver, make_solver, top_directions


def matrix_operator(K, cost=None):
    return Operator(None, np.ones(len(K)), matrix=K, cost=cost)


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    B = rng.randn(60, 60)
    Q = np.linalg.qr(rng.randn(60, 7))[0]
    return B @ B.T, Q, rng.randn(60)


def best(K, Q):
    N = np.linalg.svd(Q.T)[2][Q.shape[1] :].T
    d, U = np.linalg.eigh(N.T @ K @ N)
    return d[::-1], (N @ U)[:, ::-1]


@pytest.mark.parametrize("name", ["dense", "lanczos"])
@pytest.mark.parametrize("k", [1, 4])
def test_top_directions_in_the_complement(problem, name, k):
    K, Q, start = problem
    values, G = make_solver(matrix_operator(K), name).top(Q, k, start)
    d, U = best(K, Q)
    np.testing.assert_allclose(values, d[:k], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(G * U[:, :k], axis=0)), 1, atol=1e-8)
    np.testing.assert_allclose(Q.T @ G, 0, atol=1e-12)


@pytest.mark.parametrize("k", [1, 4])
def test_inverse_solver_finds_the_constrained_minimum(problem, k):
    K, Q, start = problem
    values, G = make_solver(matrix_operator(-K, sp.csr_array(K)), "inverse").top(Q, k, start)
    d, U = best(-K, Q)
    np.testing.assert_allclose(values, d[:k], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(G * U[:, :k], axis=0)), 1, atol=1e-8)


@pytest.mark.parametrize("scale", [2.0**-200, 1e-12, 2.0**200])
@pytest.mark.parametrize("name", ["dense", "lanczos"])
def test_directions_do_not_depend_on_units(problem, name, scale):
    K, Q, start = problem
    plain, scaled = (make_solver(matrix_operator(c * K), name).top(Q, 3, start) for c in (1.0, scale))
    np.testing.assert_allclose(scaled[0] / scale, plain[0], rtol=1e-8)
    np.testing.assert_allclose(scaled[1], plain[1], atol=1e-6)


def test_an_operator_without_directions_has_eigenvalues_zero():
    for n_samples in (60, 400):
        operator = feature_operator(np.zeros((n_samples, 0)), None)
        values, _ = top_directions(operator, np.full((n_samples, 1), n_samples**-0.5), 2)
        np.testing.assert_allclose(values, 0, atol=1e-12)


def test_inverse_solver_agrees_with_dense_on_tiny_eigenvalues():
    t = np.random.RandomState(0).uniform(0, 1, (400, 2)) * [8, 1]
    operator = TangentAlignment(n_neighbors=10).operator_on(t)
    start = np.random.RandomState(1).randn(400)
    Q = np.linalg.qr(np.column_stack([np.ones(400), t[:, 0]]))[0]
    inverse = make_solver(operator, "inverse").top(Q, 1, start)[1][:, 0]
    cost = operator.cost.toarray()
    assert inverse @ cost @ inverse < 1e-12 * np.linalg.norm(cost, 2)
    assert abs(np.corrcoef(inverse, t[:, 1])[0, 1]) > 0.99


def test_low_dimensional_graphs_are_factored_and_wide_ones_are_not():
    rng = np.random.RandomState(0)
    flat = LaplacianEigenmaps(8).operator_on(rng.rand(1000, 2))
    assert choose_solver(flat) == "inverse"
    assert choose_solver(LaplacianEigenmaps(8).operator_on(rng.rand(100, 2))) == "dense"


def test_inverse_needs_a_cost():
    with pytest.raises(ValueError, match="eigen_solver='inverse'"):
        make_solver(feature_operator(np.ones((20, 2)), None), "inverse")
