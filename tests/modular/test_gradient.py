import numpy as np
import pytest

from polyfold.modular import (
    drop_probability,
    modular_gradient,
    solve_adam,
    solve_closed,
    solve_stochastic,
    spectral_loss,
)
from tests.oracles import modular as oracle

D = 0.8 ** np.arange(8)


def test_gradient_has_the_slope_of_the_loss(rng):
    W, step = rng.standard_normal((3, 2, 8)), rng.standard_normal((3, 2, 8))
    gradient = modular_gradient(W, np.diag(D), 0.7)

    def loss(t):
        return spectral_loss((W + t * step) * np.sqrt(D), D, 0.7)

    slopes = [(loss(h) - loss(-h)) / (2 * h) for h in (1e-3, 1e-4)]
    assert slopes[1] == pytest.approx(np.sum(gradient * step), rel=1e-6)


def test_adam_reaches_the_closed_form(rng):
    closed = spectral_loss(solve_closed(D, 3, 2, 0.8, rng).factors, D, 0.8)
    found = solve_adam(D, 3, 2, 0.8, rng, max_iter=3000, tol=1e-9)
    assert closed * (1 - 1e-9) <= min(found.loss_curve) <= closed * 1.001


@pytest.mark.parametrize("drop", [False, True])
def test_stochastic_descent_comes_near(drop, rng):
    C = np.linalg.qr(rng.standard_normal((200, 9)) - 0.5)[0][:, :8] * np.sqrt(D)
    closed = spectral_loss(solve_closed(D, 3, 2, 0.8, rng).factors, D, 0.8)
    found = solve_stochastic(D, 3, 2, 0.8, rng, C, drop=drop, max_iter=150, batch_size=20)
    start = found.loss_curve[0]
    assert closed * (1 - 1e-9) <= min(found.loss_curve) <= closed * 1.25
    assert min(found.loss_curve) < start


@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_drop_module_identity(p, rng):
    """L_drop(Φ) = (1-λ)‖K‖²/N² + λ L_mod(√(p/λ) Φ), by enumeration of all 2^M choices [Reeve2018, Theorem 2]."""
    M, n = 4, 6
    modules = rng.standard_normal((M, n, 2))
    A = rng.standard_normal((n, n))
    K = A @ A.T
    lam = M * p / (1 + p * (M - 1))
    scaled = [np.sqrt(p / lam) * Z for Z in modules]
    expected = (1 - lam) * np.mean(K**2) + lam * oracle.modular_loss_by_variance(scaled, K, lam)
    assert oracle.drop_module_loss(modules, K, p) == pytest.approx(expected, rel=1e-12)
    assert drop_probability(lam, M) == pytest.approx(p)
