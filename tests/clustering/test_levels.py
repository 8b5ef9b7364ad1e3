import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from polyfold.clustering import (
    LabelledTree,
    cluster_stability,
    fit_tree,
    information,
    select_levels,
    stability_curve,
)

SEEDS = np.random.SeedSequence(0)


def labelled_tree(Z, seed, noise=0.3):
    """Build a tree of other rows, and assign the same ones to it."""
    other = Z + noise * np.random.default_rng(seed).standard_normal(Z.shape)
    tree = fit_tree(other, None, seeds=SEEDS)
    return LabelledTree(tree, tree.assign(Z))


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    return 3 * np.eye(8)[y] + 0.3 * rng.standard_normal((240, 8)), y


@pytest.fixture(scope="module")
def pair(grouped):
    return labelled_tree(grouped[0], 1), labelled_tree(grouped[0], 2)


def test_the_curve_is_the_adjusted_rand_index_of_every_cut(pair):
    left, right = pair
    curve = stability_curve(left, right)
    assert list(curve) == list(range(2, min(left.tree.n_small, right.tree.n_small) + 1))
    for number in (2, 3, 4, 5, 17, 64, 200):
        labels = [each.tree.cut(number)[each.labels] for each in pair]
        assert curve[number] == pytest.approx(adjusted_rand_score(*labels), abs=1e-12)


def test_clear_groups_repeat_and_carry_most_information(pair, grouped):
    left, right = pair
    curve = stability_curve(left, right)
    assert curve[4] == 1.0
    levels = select_levels(curve)
    assert 4 in levels
    assert max(levels, key=lambda number: information(left, right, number)) == 4


def test_information_is_shared_bits_less_those_not_shared(pair):
    """Of many rows, chance is small: information is 2 I - H, within the correction."""
    left, right = pair
    labels = [each.tree.cut(4)[each.labels] for each in pair]
    shared = mutual_info_score(*labels) / np.log(2)
    assert information(left, right, 4) == pytest.approx(2 * shared - 2.0, abs=0.05)  # four equal groups: two bits


def test_noise_repeats_nothing():
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((300, 6))
    trees = [fit_tree(rng.standard_normal((300, 6)), None, seeds=SEEDS) for _ in range(2)]
    left, right = (LabelledTree(tree, tree.assign(queries)) for tree in trees)
    assert max(information(left, right, number) for number in select_levels(stability_curve(left, right))) < 0


def test_finding_nothing_twice_is_not_stability():
    tree = fit_tree(np.eye(3), None, seeds=SEEDS)
    one = LabelledTree(tree, np.zeros(20, dtype=np.int32))
    assert stability_curve(one, one) == {2: 0.0, 3: 0.0}


def test_of_equally_stable_numbers_the_largest_is_a_level():
    assert select_levels({2: 1.0, 3: 1.0, 4: 0.2, 5: 0.1}) == [3, 4]


def test_a_cluster_that_repeats_is_stable(pair, grouped):
    Z, _ = grouped
    tree = fit_tree(Z, None, seeds=SEEDS)
    stability = cluster_stability(tree, tree.assign(Z), list(pair))
    assert stability.shape == (2 * tree.n_small - 1,)
    assert stability[-1] == 1.0
    groups = [number for number, size in enumerate(tree.members() @ tree.sizes) if size == 60]
    assert len(groups) == 4
    assert (stability[groups] == 1.0).all()
    assert stability[: tree.n_small].mean() < 0.6
