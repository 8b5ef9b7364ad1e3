import numpy as np
import pytest

from polyfold.bootstrap._rows import first_equal, nearest_directly
from polyfold.bootstrap._screen import nearest, nearest_linear
from polyfold.neighbors import Screen, principal_screen


def brute_force(points, centers):
    points, centers = points.astype(np.float64), centers.astype(np.float64)
    return np.array([((centers - x) ** 2).sum(axis=1).argmin() for x in points])


def images(rng, n, d, dtype):
    """Correlated rows: few directions carry most of the variance, as in images."""
    rows = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) + 0.3 * rng.standard_normal((n, d))
    if dtype == np.uint8:
        return np.clip(128 + 30 * rows, 0, 255).astype(np.uint8)
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 60, 150])
@pytest.mark.parametrize("seed", range(4))
def test_nearest_is_brute_force(dtype, d, seed):
    rng = np.random.default_rng(seed)
    X = images(rng, 400, d, dtype)
    screen = principal_screen(X, unit=False, seed=0)
    features = np.sort(rng.choice(d, (d + 1) // 2, replace=False))
    rows = rng.choice(400, 130, replace=False)
    P = np.ascontiguousarray(X[:, features])
    expected = brute_force(P, P[rows])
    np.testing.assert_array_equal(nearest(P, P[rows], screen.restrict(features)), expected)
    np.testing.assert_array_equal(nearest_directly(P, P[rows]), expected)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_nearest_survives_extreme_scales(scale):
    rng = np.random.default_rng(0)
    X = images(rng, 200, 150, np.float64) * scale
    screen = principal_screen(X, unit=False, seed=0)
    features = np.arange(0, 150, 2)
    P = np.ascontiguousarray(X[:, features])
    np.testing.assert_array_equal(nearest(P, P[:60], screen.restrict(features)), brute_force(P / scale, P[:60] / scale))


def test_nearest_survives_an_offset_far_from_zero():
    rng = np.random.default_rng(0)
    X = images(rng, 200, 150, np.float64) + 1e6
    features = np.arange(0, 150, 2)
    P = np.ascontiguousarray(X[:, features])
    screen = principal_screen(X, unit=False, seed=0).restrict(features)
    np.testing.assert_array_equal(nearest(P, P[:60], screen), brute_force(P, P[:60]))


def test_a_poor_basis_costs_time_but_not_exactness():
    rng = np.random.default_rng(0)
    X = images(rng, 300, 100, np.float32)
    screen = Screen(np.zeros(100), np.linalg.qr(rng.standard_normal((100, 2)))[0])
    np.testing.assert_array_equal(nearest(X, X[:90], screen), brute_force(X, X[:90]))


def test_equal_centers_tie_to_the_first():
    X = np.repeat(images(np.random.default_rng(0), 20, 100, np.float32), 3, axis=0)
    screen = principal_screen(X, unit=False, seed=0)
    np.testing.assert_array_equal(nearest(X, X, screen), np.arange(60) // 3 * 3)
    np.testing.assert_array_equal(first_equal(X), np.arange(60) // 3 * 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_linear_search_maximises_the_inner_product(dtype):
    rng = np.random.default_rng(0)
    X = images(rng, 200, 90, dtype)
    expected = np.argmax(X.astype(np.float64) @ X[:70].astype(np.float64).T, axis=1)
    np.testing.assert_array_equal(nearest_linear(X, X[:70]), expected)


def test_first_equal_sees_negative_zero():
    np.testing.assert_array_equal(first_equal(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]])), [0, 0, 2])
