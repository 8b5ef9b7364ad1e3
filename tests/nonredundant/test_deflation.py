import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.kernels import LaplacianEigenmaps, TangentAlignment
from polyfold.nonredundant._deflation import DenseSolver, InverseSolver, LanczosSolver, choose_solver, make_solver


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    B = rng.randn(60, 60)
    Q = np.linalg.qr(rng.randn(60, 7))[0]
    return B @ B.T, Q, rng.randn(60)


def best(K, Q):
    N = np.linalg.svd(Q.T)[2][Q.shape[1] :].T
    return N @ np.linalg.eigh(N.T @ K @ N)[1][:, -1]


@pytest.mark.parametrize("solver", [DenseSolver, LanczosSolver])
def test_top_direction_in_the_complement(problem, solver):
    K, Q, start = problem
    g = solver(K).top(Q, 1, start)[:, 0]
    assert abs(g @ best(K, Q)) > 1 - 1e-8
    np.testing.assert_allclose(Q.T @ g, 0, atol=1e-12)


@pytest.mark.parametrize("solver", [DenseSolver, LanczosSolver])
def test_several_directions_come_at_once_best_first(problem, solver):
    K, Q, start = problem
    G = solver(K).top(Q, 3, start)
    np.testing.assert_allclose(G.T @ G, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Q.T @ G, 0, atol=1e-10)
    N = np.linalg.svd(Q.T)[2][Q.shape[1] :].T
    np.testing.assert_allclose(np.diag(G.T @ K @ G), np.linalg.eigvalsh(N.T @ K @ N)[::-1][:3], rtol=1e-6)


def test_inverse_solver_finds_the_constrained_minimum(problem):
    K, Q, start = problem
    g = InverseSolver(sp.csr_array(K)).top(Q, 1, start)[:, 0]
    assert abs(g @ best(-K, Q)) > 1 - 1e-8


def test_inverse_solver_agrees_with_dense_on_tiny_eigenvalues():
    t = np.random.RandomState(0).uniform(0, 1, (400, 2)) * [8, 1]
    operator = TangentAlignment(n_neighbors=10).operator(t)
    start = np.random.RandomState(1).randn(400)
    Q = np.linalg.qr(np.column_stack([np.ones(400), t[:, 0]]))[0]
    inverse = InverseSolver(operator.cost).top(Q, 1, start)[:, 0]
    cost = operator.cost.toarray()
    assert inverse @ cost @ inverse < 1e-12 * np.linalg.norm(cost, 2)
    assert abs(np.corrcoef(inverse, t[:, 1])[0, 1]) > 0.99


def test_low_dimensional_graphs_are_factored_and_wide_ones_are_not():
    rng = np.random.RandomState(0)
    flat = LaplacianEigenmaps(8).operator(rng.rand(1000, 2))
    assert choose_solver(flat) == "inverse"
    assert choose_solver(LaplacianEigenmaps(8).operator(rng.rand(100, 2))) == "dense"


def test_inverse_needs_a_cost():
    from polyfold.kernels import FactorOperator

    with pytest.raises(ValueError, match="eigen_solver='inverse'"):
        make_solver(FactorOperator.of(np.ones((20, 2)), None), "inverse")
