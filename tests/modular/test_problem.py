import numpy as np
import pytest

from polyfold.modular import bound_of, waterfill


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
