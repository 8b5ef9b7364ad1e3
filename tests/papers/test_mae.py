"""What the experiments of the autoencoder paper compute besides the library."""

import numpy as np
import pytest

from papers.mae.descent import bounds, gradient
from papers.mae.toy import _by_one_line, _one_against_others
from papers.mae.votes import _chosen


def loss(X, A, B, lam):
    outputs = X @ B.transpose(0, 2, 1) @ A.transpose(0, 2, 1)
    spread = outputs - outputs.mean(axis=0)
    return (np.sum((outputs - X) ** 2) - lam * np.sum(spread**2)) / (len(X) * len(A))


def test_the_gradient_over_points_is_the_slope_of_the_loss():
    rng = np.random.default_rng(0)
    X, A, B = rng.standard_normal((20, 4)), rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 2, 4))
    for part, slope in enumerate(gradient(X, A, B, 0.7)):
        step = 1e-6 * rng.standard_normal(slope.shape)
        ahead, behind = [A, B], [A, B]
        ahead[part], behind[part] = ahead[part] + step, behind[part] - step
        rise = loss(X, *ahead, 0.7) - loss(X, *behind, 0.7)
        assert rise == pytest.approx(2 * np.sum(slope * step), rel=1e-5)


def test_opposite_modules_have_no_lowest_loss_above_one():
    found = [bounds(None, diversity=1.1, scale=s, features=3, rows=50, seed=0) for s in (1.0, 10.0, 100.0)]
    assert found[2]["loss"] < found[1]["loss"] < 0 < found[1]["reconstruction error"] < found[2]["reconstruction error"]
    assert bounds(None, diversity=1.0, scale=100.0, features=3, rows=50, seed=0)["loss"] > 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_threshold_tells_an_outer_class_apart_and_a_middle_one_not(sign):
    code, y = sign * np.arange(30.0), np.repeat([0, 1, 2], 10)
    assert [_one_against_others(code, y == k) for k in range(3)] == [1.0, pytest.approx(2 / 3), 1.0]


def test_one_projection_decides_where_classes_are_parallel_stripes():
    lattice = np.random.default_rng(0).uniform(size=(500, 2))
    stripes, corner = (lattice[:, 0] > 0.5).astype(int), np.all(lattice > 0.5, axis=1).astype(int)
    direction = np.array([1.0, 0.0])
    assert _by_one_line(lattice, stripes, direction) > 0.99 > _by_one_line(lattice, corner, direction)


def test_diversity_is_chosen_by_the_other_folds():
    curve = {0.0: [1.0, 9.0, 9.0], 0.5: [5.0, 2.0, 2.0]}
    assert _chosen(curve) == [5.0, 2.0, 2.0]
    assert _chosen({0.0: [], 0.5: []}) == []
