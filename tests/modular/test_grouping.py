import itertools

import numpy as np
import pytest

from polyfold.modular import bound_of, waterfill
from polyfold.modular._grouping import balance, deal, group_solution, grouped_loss, pad, refine


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
