import numpy as np
import pytest

from polyfold.modular import approximate_root, solve_sweeps, spectral_loss
from tests.oracles import modular as oracle


def test_loss_falls_at_every_epoch(rng):
    """Theorem 1 of [Reeve2018]."""
    d = 0.9 ** np.arange(40)
    curve = solve_sweeps(d, 4, 3, 0.9, rng, max_iter=100, tol=0).loss_curve
    assert np.all(np.diff(curve) <= 1e-12 * curve[0])
    assert curve[-1] < curve[0]


@pytest.mark.slow
def test_reduced_sweeps_equal_the_printed_algorithm(rng):
    d = 0.8 ** np.arange(12)
    K = np.diag(d)
    _, losses = oracle.algorithm_1(K, 3, 2, 0.7, 1e-6, 400, rng)
    fast = solve_sweeps(d, 3, 2, 0.7, rng, max_iter=2000, tol=1e-14)
    assert fast.loss_curve[-1] / len(d) ** 2 == pytest.approx(losses[-1], rel=1e-4)


def test_full_and_reduced_space_agree():
    d = 0.8 ** np.arange(20)
    reduced = solve_sweeps(d, 3, 2, 0.7, np.random.RandomState(0), max_iter=3000, tol=1e-13)
    full = solve_sweeps(d, 3, 2, 0.7, np.random.RandomState(0), max_iter=3000, tol=1e-13, reduce=False)
    assert full.factors.shape[2] == 20
    assert reduced.loss_curve[-1] == pytest.approx(full.loss_curve[-1], rel=1e-5)


@pytest.mark.parametrize("r", [2, 5])
def test_approximate_root_of_an_indefinite_matrix(r, rng):
    T = rng.standard_normal((5, 5))
    T = T + T.T
    F, slow = approximate_root(T, r), oracle.best_root(T, r)
    np.testing.assert_allclose(F.T @ F, slow.T @ slow, atol=1e-10)


def test_spectral_loss_is_the_definition(rng):
    """In any basis: mean loss minus λ times the variance of inner products."""
    n, M, H, lam = 7, 3, 2, 0.6
    A = rng.standard_normal((n, n))
    d, V = np.linalg.eigh(A @ A.T)
    d, V = d[::-1], V[:, ::-1]
    F = rng.standard_normal((M, H, n))
    modules = [V @ f.T for f in F]
    slow = oracle.modular_loss_by_variance(modules, V @ np.diag(d) @ V.T, lam)
    assert spectral_loss(F, d, lam) / n**2 == pytest.approx(slow)
