"""Solvers of the linear modular autoencoder against the paper's equations, and against each other."""

import numpy as np
import pytest

from polyfold.modular import (
    SOLVERS,
    as_autoencoders,
    autoencoder_terms,
    bound_of,
    descent_gradient,
    score_solution,
    solve_backfit,
    solve_gradient,
    waterfill,
)
from polyfold.modular._backfit import backfit_module, random_modules
from tests.oracles.autoencoder import autoencoder_loss, backfit_epoch

D, M, H, LAM = 8, 4, 2, 0.6


@pytest.fixture
def d():
    return 0.8 ** np.arange(D) * 5


def loss(A, B, d, lam):
    single, composite = autoencoder_terms(A, B, d, float(np.sum(d**2)))
    return (1 - lam) * single + lam * composite


def solved(d, m, h, lam, solver="closed", **options):
    """Decoders and encoders of a solver."""
    solution = SOLVERS[solver](d, m, h, lam, np.random.RandomState(0), **options)
    return as_autoencoders(score_solution(solution, d, lam, float(np.sum(d**2)), 1.0), d)


def data_with(d):
    """Centred columns X (D, N) with the singular values d in the directions of the axes."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(30, len(d)))
    V = np.linalg.qr(V - V.mean(axis=0))[0]
    return (V * d).T


@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_terms_are_the_loss_of_the_paper(d, lam):
    X = data_with(d)
    A, B = random_modules(D, M, H, np.random.RandomState(0))
    assert loss(A, B, d, lam) == pytest.approx(X.shape[1] * autoencoder_loss(A, B, X, lam), rel=1e-10)


def test_epoch_is_algorithm_one(d):
    A, B = random_modules(D, M, H, np.random.RandomState(0))
    literal_A, literal_B = A.copy(), B.copy()
    backfit_epoch(literal_A, literal_B, np.diag(d**2), LAM)
    total = np.einsum("mkh,mhl->kl", A, B)
    for i in range(M):
        total = backfit_module(A, B, i, total, d, LAM)
    np.testing.assert_allclose(A @ B, literal_A @ literal_B, atol=1e-10)


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.9, 1.0])
def test_backfitting_never_raises_the_loss(d, lam):
    """Theorem 2 of the paper."""
    for seed in range(5):
        curve = solve_backfit(d, M, H, lam, np.random.RandomState(seed), max_iter=40, tol=0.0).loss_curve
        assert np.all(np.diff(curve) <= 1e-12 * curve[0])


def test_update_is_the_best_module_given_the_others(d):
    """Proposition 3: no other module i does better, also beyond λ = 1 as long as λ < M/(M-1)."""
    rng = np.random.RandomState(0)
    for lam in (0.5, 1.0, 1.2):
        A, B = random_modules(D, M, H, rng)
        backfit_module(A, B, 1, np.einsum("mkh,mhl->kl", A, B), d, lam)
        best = loss(A, B, d, lam)
        for _ in range(20):
            other_A, other_B = A.copy(), B.copy()
            other_A[1] += 0.1 * rng.standard_normal(A[1].shape)
            other_B[1] += 0.1 * rng.standard_normal(B[1].shape)
            assert loss(other_A, other_B, d, lam) >= best - 1e-10


def test_one_module_is_bounded_up_to_m_over_m_minus_one(d):
    """Theorem 4: beyond M/(M-1) a single module can lower the loss without end."""
    A, B = random_modules(D, M, H, np.random.RandomState(0))
    bound = M / (M - 1)

    def grown(size, lam):
        larger = B.copy()
        larger[0] *= size
        return loss(A, larger, d, lam)

    assert grown(1e4, 0.99 * bound) > grown(1e3, 0.99 * bound) > 0
    assert grown(1e4, 1.01 * bound) < grown(1e3, 1.01 * bound) < 0


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_closed_form_is_not_above_backfitting_nor_below_the_bound(d, lam):
    reached = loss(*solved(d, M, H, lam), d, lam)
    swept = min(
        solve_backfit(d, M, H, lam, np.random.RandomState(seed), max_iter=400).loss_curve[-1] for seed in range(5)
    )
    bound = bound_of(d, waterfill(d, M, H, lam), M, lam)
    assert bound - 1e-9 <= reached <= swept * (1 + 1e-9)


def test_closed_form_has_orthonormal_decoders(d):
    A, B = solved(d, M, H, LAM)
    np.testing.assert_allclose(A.transpose(0, 2, 1) @ A, np.broadcast_to(np.eye(H), (M, H, H)), atol=1e-10)
    np.testing.assert_allclose(A.transpose(0, 2, 1) @ (A @ B), B)


def test_gradient_has_the_right_slope(d):
    rng = np.random.RandomState(0)
    A, B = random_modules(D, M, H, rng)
    to_A, to_B = descent_gradient(A, B, d**2, LAM)
    step_A, step_B = rng.standard_normal(A.shape), rng.standard_normal(B.shape)
    slope = np.sum(to_A * step_A) + np.sum(to_B * step_B)
    for h in (1e-4, 1e-5):
        ahead = loss(A + h * step_A, B + h * step_B, d, LAM)
        behind = loss(A - h * step_A, B - h * step_B, d, LAM)
        assert (ahead - behind) / (2 * h) == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_gradient_descent_approaches_the_closed_form(d, lam):
    descended = solve_gradient(d, M, H, lam, np.random.RandomState(0), max_iter=5000, tol=1e-9)
    best = loss(*solved(d, M, H, lam), d, lam)
    assert descended.converged
    assert best <= loss(descended.decoders, descended.factors, d, lam) <= 1.02 * best


def test_gradient_descent_is_a_descent(d):
    curve = solve_gradient(d, M, H, LAM, np.random.RandomState(0), max_iter=200, learning_rates=(0.2,)).loss_curve
    assert np.all(np.diff(curve) <= 0)


@pytest.mark.parametrize("solver", ["closed", "backfit", "gradient"])
def test_more_dimensions_than_directions_stay_empty(solver):
    d = np.array([2.0, 1.0])
    A, B = solved(d, 3, 4, 0.5, solver)
    assert B.shape == (3, 4, 2)
    assert np.all(B[:, 2:] == 0)
    assert loss(A, B, d, 0.5) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("solve", [solve_backfit, solve_gradient])
def test_epochs_end_when_the_gain_falls_below_the_tolerance(d, solve):
    solution = solve(d, M, H, LAM, np.random.RandomState(0), max_iter=5000)
    curve = np.array(solution.loss_curve)
    gains = -np.diff(curve)
    assert solution.converged
    assert gains[-1] <= 1e-7 * curve[-1]
    assert (gains[:-1] > 1e-7 * curve[1:-1]).all()
