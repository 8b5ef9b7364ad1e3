from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from polyfold.modular import (
    ModularSolution,
    as_autoencoders,
    autoencoder_terms,
    bound_of,
    fit_modules,
    score,
    spectral_loss,
    waterfill,
)

VALUES = 0.85 ** np.arange(30)
ALL = ["closed", "mbm", "adam", "backfit", "gradient"]


def fitted(d=VALUES, M=4, H=3, lam=0.8, *, beyond=0.0, unit=1.0, **options):
    energy = float(np.sum(d**2)) + beyond
    return fit_modules(d, M, H, lam, np.random.RandomState(0), energy=energy, unit=unit, **options)


@pytest.mark.parametrize("solver", ALL)
def test_every_solver_reports_the_same_things(solver):
    fit = fitted(solver=solver, max_iter=3000, tol=1e-6)
    assert fit.converged
    assert fit.bound <= fit.loss * (1 + 1e-12)
    assert fit.gap == pytest.approx((fit.loss - fit.bound) / fit.bound, abs=1e-12)
    assert fit.loss == pytest.approx(0.2 * fit.single + 0.8 * fit.composite)
    assert min(fit.curve) == pytest.approx(fit.loss, rel=1e-9)
    assert fit.n_iter == len(fit.curve)
    assert fit.allocation.sum() == pytest.approx(12)


@pytest.mark.parametrize("solver", ALL)
def test_units_and_unknown_directions_only_shift_and_scale(solver):
    plain, other = fitted(solver=solver, max_iter=5), fitted(solver=solver, max_iter=5, beyond=7.0, unit=10.0)
    np.testing.assert_array_equal(other.factors, plain.factors)
    for name in ("single", "composite", "loss", "bound"):
        assert getattr(other, name) == pytest.approx((getattr(plain, name) + 7) / 10)
    np.testing.assert_allclose(other.curve, (np.array(plain.curve) + 7) / 10)


@pytest.mark.parametrize("solver", ALL)
def test_modules_do_not_depend_on_the_scale(solver):
    plain = fitted(solver=solver, max_iter=20)
    for power in (-200, 200):
        scaled = fitted(np.ldexp(VALUES, power), solver=solver, max_iter=20)
        ours, theirs = as_autoencoders(scaled, np.ldexp(VALUES, power)), as_autoencoders(plain, VALUES)
        np.testing.assert_allclose(ours[0] @ ours[1], theirs[0] @ theirs[1], atol=1e-12)
        np.testing.assert_allclose(scaled.allocation, plain.allocation, atol=1e-9)
        assert np.ldexp(scaled.loss, -2 * power) == pytest.approx(plain.loss)


def test_any_unit_of_the_values_gives_the_same_frame():
    plain = fitted(M=3, H=4, lam=0.99).factors
    for unit in (1e-9, 0.3, 7.0):
        np.testing.assert_allclose(fitted(unit * VALUES, M=3, H=4, lam=0.99).factors / np.sqrt(unit), plain, atol=1e-9)


def test_modules_as_autoencoders_have_the_same_loss():
    fit = fitted()
    single, composite = autoencoder_terms(*as_autoencoders(fit, VALUES), VALUES, float(np.sum(VALUES**2)))
    assert (single, composite) == pytest.approx((fit.single, fit.composite))


def test_scores_are_those_of_the_solution(rng):
    solution = ModularSolution(rng.standard_normal((3, 2, 6)), [9.0, 8.0], converged=False)
    fit = score(solution, VALUES[:6], 0.5, float(np.sum(VALUES[:6] ** 2)), 1.0)
    assert fit.loss == pytest.approx(spectral_loss(solution.factors, VALUES[:6], 0.5))
    assert (fit.curve, fit.n_iter, fit.converged) == ((9.0, 8.0), 2, False)


def test_a_fit_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        fitted().loss = 0.0


def test_a_loss_of_rounding_has_no_gap():
    fit = fitted(np.array([3.0, 2.0, 1.0]), M=5, H=3, lam=0.3)
    assert fit.bound == 0
    assert fit.gap == 0


@pytest.mark.parametrize("solver", ALL)
def test_without_directions_nothing_is_reached(solver):
    fit = fitted(np.zeros(0), beyond=2.0, solver=solver)
    assert fit.factors.shape == (4, 3, 0)
    assert (fit.loss, fit.bound, fit.gap) == (2.0, 2.0, 0.0)
    assert as_autoencoders(fit, np.zeros(0))[0].shape == (4, 0, 3)


def gain(n, d, M, lam):
    t = np.asarray(n) / M
    return np.sum(d**2 * t / ((1 - lam) + lam * t))


@pytest.mark.parametrize("lam", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize(("M", "H"), [(2, 3), (5, 2), (10, 4)])
def test_no_other_allocation_gains_more(lam, M, H, rng):
    d = np.sort(rng.uniform(0.1, 1, size=M * H))[::-1]
    best = waterfill(d, M, H, lam).copies
    assert best.sum() == pytest.approx(M * H)
    for _ in range(200):
        i, j = rng.choice(d.size, 2, replace=False)
        move = min(best[i], M - best[j], 0.1)
        other = best.copy()
        other[i] -= move
        other[j] += move
        assert gain(other, d, M, lam) <= gain(best, d, M, lam) + 1e-12


def test_bound_equals_energy_minus_gain(rng):
    d = np.sort(rng.uniform(size=12))[::-1]
    allocation = waterfill(d, 4, 3, 0.7)
    assert bound_of(d, allocation, 4, 0.7) == pytest.approx(np.sum(d**2) - gain(allocation.copies, d, 4, 0.7))


def test_saturated_and_active_are_counted():
    allocation = waterfill(np.array([100.0, 1.0, 1.0, 1e-9]), 2, 2, 0.5)
    assert (allocation.saturated, allocation.active) == (1, 3)


def test_flat_piece_between_full_and_begun_directions():
    d = np.array([8.0, 4.0, 1e-3, 1e-4])
    np.testing.assert_array_equal(waterfill(d, 2, 2, 0.1).copies, [2, 2, 0, 0])
