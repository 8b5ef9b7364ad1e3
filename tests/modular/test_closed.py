import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from polyfold.modular import (
    bound_of,
    modular_gradient,
    random_factors,
    solve_closed,
    solve_sweeps,
    spectral_loss,
    waterfill,
)
from polyfold.modular._closed import balance, deal, group_solution, grouped_loss, pad, refine

SPECTRA = {
    "geometric": 0.9 ** np.arange(80),
    "flat": np.ones(40),
    "ties": np.repeat(0.7 ** np.arange(8), 4),
    "steep": 0.5 ** np.arange(30),
    "short": np.linspace(1, 0.2, 7),
}


def bound(d, M, H, lam):
    k = min(d.size, M * H)
    return bound_of(d[:k], waterfill(d[:k], M, H, lam), M, lam, float(np.sum(d**2)))


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("lam", [0.0, 1e-12, 0.1, 0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize(("M", "H"), [(1, 3), (3, 1), (2, 3), (5, 4), (10, 5)])
def test_loss_is_never_below_the_bound(name, lam, M, H, rng):
    d = SPECTRA[name]
    solution = solve_closed(d, M, H, lam, rng)
    assert solution.factors.shape == (M, H, min(d.size, M * H))
    assert spectral_loss(solution.factors, d, lam) >= bound(d, M, H, lam) - 1e-12 * np.sum(d**2)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize(("M", "H"), [(1, 3), (4, 1), (15, 4), (20, 6)])
def test_bound_is_attained_where_a_frame_exists(name, lam, M, H, rng):
    d = SPECTRA[name]
    allocation = waterfill(d[: M * H], M, H, lam)
    if allocation.active - allocation.saturated > M * (H - allocation.saturated):
        pytest.skip("no frame exists: more open directions than free dimensions")
    solution = solve_closed(d, M, H, lam, rng)
    gap = spectral_loss(solution.factors, d, lam) - bound(d, M, H, lam)
    assert gap <= 1e-6 * max(bound(d, M, H, lam), 1e-9 * np.sum(d**2))


@pytest.mark.parametrize(
    ("M", "H", "lam", "d", "best"),
    [
        (2, 2, 0.5, [0.875, 0.825, 0.8], 0.439792),
        (3, 2, 0.5, [1, 1, 1, 1, 1], 2.166667),
        (2, 2, 0.9, [0.9, 0.8, 0.75, 0.7], 0.223207),
    ],
)
def test_best_known_loss_where_no_frame_exists(M, H, lam, d, best, rng):
    d = np.array(d, dtype=float)
    solution = solve_closed(d, M, H, lam, rng)
    assert spectral_loss(solution.factors, d, lam) == pytest.approx(best, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("M", "H"), [(2, 3), (3, 4), (5, 3), (8, 3)])
def test_algorithm_1_is_never_better(lam, M, H):
    d = 0.85 ** np.arange(60)
    closed = spectral_loss(solve_closed(d, M, H, lam, np.random.RandomState(0)).factors, d, lam)
    for seed in range(2):
        swept = solve_sweeps(d, M, H, lam, np.random.RandomState(seed), max_iter=300, tol=1e-12)
        assert closed <= swept.loss_curve[-1] * (1 + 1e-7)


@pytest.mark.slow
def test_free_descent_finds_nothing_lower(rng):
    """A quasi-Newton method on all entries, from random starts, does not pass the closed form."""
    M, H, lam, d = 4, 2, 0.8, 0.8 ** np.arange(10)
    closed = spectral_loss(solve_closed(d, M, H, lam, rng).factors, d, lam)

    def objective(w):
        W = w.reshape(M, H, d.size)
        return spectral_loss(W * np.sqrt(d), d, lam), modular_gradient(W, np.diag(d), lam).ravel()

    for _ in range(5):
        start = random_factors(d, M, H, rng) / np.sqrt(d)
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
        assert closed <= found.fun * (1 + 1e-9)


def test_closed_form_is_a_critical_point(rng):
    d = 0.9 ** np.arange(30)
    F = solve_closed(d, 6, 4, 0.95, rng).factors
    k = F.shape[2]
    gradient = modular_gradient(F / np.sqrt(d[:k]), np.diag(d[:k]), 0.95)
    assert np.abs(gradient).max() < 1e-9


def test_seeds_give_different_modules_of_equal_loss():
    d = 0.9 ** np.arange(50)
    first, second = (solve_closed(d, 6, 3, 0.9, np.random.RandomState(seed)).factors for seed in (0, 1))
    assert np.abs(first - second).max() > 0.01
    assert spectral_loss(first, d, 0.9) == pytest.approx(spectral_loss(second, d, 0.9), rel=1e-9)


def test_no_diversity_is_kernel_pca_in_every_module(rng):
    d = 0.9 ** np.arange(20)
    F = solve_closed(d, 3, 4, 0.0, rng).factors
    expected = np.eye(4, 12) * np.sqrt(d[:12])
    np.testing.assert_allclose(F, np.broadcast_to(expected, (3, 4, 12)))


def test_full_diversity_preserves_the_top_directions_together(rng):
    d = 0.9 ** np.arange(20)
    F = solve_closed(d, 3, 4, 1.0, rng).factors.reshape(12, 12)
    np.testing.assert_allclose(F.T @ F / 3, np.diag(d[:12]), atol=1e-9)


def test_allocation_sums_to_all_dimensions(rng):
    solution = solve_closed(0.9 ** np.arange(50), 5, 4, 0.9, rng)
    expected = waterfill(0.9 ** np.arange(20), 5, 4, 0.9).copies
    assert expected.sum() == pytest.approx(20)
    np.testing.assert_allclose(solution.allocation, expected, atol=1e-5)


def test_rounding_of_the_spectrum_does_not_choose_another_frame(rng):
    d = 1 - 0.02 * np.arange(12)
    first = solve_closed(d, 4, 3, 0.9, np.random.RandomState(0)).factors
    for _ in range(5):
        noise = 1 + 1e-13 * rng.standard_normal(12)
        np.testing.assert_allclose(
            solve_closed(d * noise, 4, 3, 0.9, np.random.RandomState(0)).factors, first, atol=1e-6
        )


def test_empty_spectrum_gives_empty_modules(rng):
    assert solve_closed(np.zeros(0), 3, 2, 0.5, rng).factors.shape == (3, 2, 0)


@pytest.mark.parametrize("lam", [0.3, 0.9, 0.999])
def test_one_group_attains_the_bound_of_one_dimension(lam, rng):
    M = 6
    d = np.sort(rng.uniform(0.1, 1, size=M))[::-1]
    solution = group_solution(d[None], M, lam)
    assert solution.copies.sum() == pytest.approx(M)
    assert solution.loss[0] == pytest.approx(bound_of(d, waterfill(d, M, 1, lam), M, lam))


def test_every_item_is_dealt_once_and_groups_have_room(rng):
    groups = deal(rng.uniform(size=17), 4, 5)
    assert sorted(j for group in groups for j in group) == list(range(17))
    assert max(map(len, groups)) <= 5


def test_balancing_brings_sums_together(rng):
    weights = rng.uniform(size=60)
    start = deal(weights, 4, 20)
    target = weights.sum() / 4
    spread = [
        np.abs([weights[g].sum() - target for g in groups]).max()
        for groups in (start, balance(start, weights, target, 20))
    ]
    assert spread[1] < 0.1 * spread[0]


def test_refining_never_raises_the_loss(rng):
    M, lam, d = 3, 0.9, np.sort(rng.uniform(size=9))[::-1]
    start = deal(d, 3, M)
    better = refine(start, d, M, lam)
    assert grouped_loss(better, d, M, lam) <= grouped_loss(start, d, M, lam) + 1e-15
    assert sorted(j for group in better for j in group) == list(range(9))


@pytest.mark.parametrize("lam", [0.2, 0.6, 0.95])
def test_after_refining_no_single_exchange_lowers_the_loss(lam, rng):
    M, d = 4, np.sort(rng.exponential(size=10))[::-1]
    groups = refine(deal(np.ones(10), 3, M), d, M, lam)
    reached = grouped_loss(groups, d, M, lam)
    for other in every_exchange(groups, M):
        assert grouped_loss(other, d, M, lam) >= reached - 1e-12


def every_exchange(groups, M):
    """All groupings one exchange (or one move) away."""
    for a, b in itertools.permutations(range(len(groups)), 2):
        for i, j in itertools.product([None, *groups[a]], [None, *groups[b]]):
            changed = [list(group) for group in groups]
            changed[a] = [x for x in groups[a] if x != i] + ([] if j is None else [j])
            changed[b] = [x for x in groups[b] if x != j] + ([] if i is None else [i])
            if max(map(len, changed)) <= M:
                yield changed


def test_padding_sorts_and_fills():
    np.testing.assert_array_equal(pad([[2, 0], [1]], np.array([5.0, 4.0, 3.0]), 3), [[5, 3, 0], [4, 0, 0]])


SEPARATED = {
    "slow": 1 / np.arange(1, 401) ** 1.2,
    "fast": np.exp(-np.arange(60) / 8),
    "uniform": np.sort(np.random.RandomState(0).rand(400))[::-1],
    "nearly singular": np.sort(np.random.RandomState(4).rand(400))[::-1],
}


@pytest.mark.parametrize("shape", [(3, 2), (5, 8), (10, 10), (15, 3)])
@pytest.mark.parametrize("spectrum", SEPARATED)
@pytest.mark.parametrize("lam", [0.5, 0.9, 0.99, 1.0])
def test_modules_follow_small_changes_of_the_spectrum(spectrum, shape, lam):
    d = SEPARATED[spectrum]
    before = solve_closed(d, *shape, lam, np.random.RandomState(0)).factors
    for seed in (1, 2):
        moved = np.sort(d * (1 + 1e-8 * np.random.RandomState(seed).standard_normal(d.size)))[::-1]
        after = solve_closed(moved, *shape, lam, np.random.RandomState(0)).factors
        assert np.abs(after - before).max() <= 1e-4 * np.abs(before).max()
