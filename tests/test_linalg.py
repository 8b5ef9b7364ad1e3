"""Squared distances: right wherever the points are and whatever their unit."""

import numpy as np
import pytest

from polyfold._linalg import squared_distances


def literal(A, B):
    return ((A[:, None] - B) ** 2).sum(axis=2)


@pytest.fixture(name="rows")
def two_sets(rng):
    return rng.standard_normal((7, 3)), rng.standard_normal((9, 3))


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e8])
def test_distances_do_not_depend_on_the_origin(rows, offset):
    A, B = (X + offset for X in rows)
    np.testing.assert_allclose(squared_distances(A, B), literal(A, B), rtol=1e-12)


@pytest.mark.parametrize("power", [-500, -200, 200, 500])
def test_distances_scale_exactly(rows, power):
    far = squared_distances(*(X * 2.0**power for X in rows))
    np.testing.assert_array_equal(np.ldexp(far, -2 * power), squared_distances(*rows))


def test_float32_stays_and_keeps_its_range(rows):
    A, B = (X.astype(np.float32) for X in rows)
    d2 = squared_distances(A * np.float32(2.0**60), B * np.float32(2.0**60))
    assert d2.dtype == np.float32
    np.testing.assert_allclose(np.ldexp(d2.astype(float), -120), literal(A, B), rtol=1e-5)


def test_integers_do_not_wrap():
    A = np.array([[250], [3]], dtype=np.uint8)
    assert squared_distances(A, A).tolist() == [[0, 247**2], [247**2, 0]]


def test_distances_beyond_the_range_are_infinite_and_never_negative():
    A = np.array([[-1e200], [1e200], [1e200]])
    assert squared_distances(A, A)[0].tolist() == [0, np.inf, np.inf]
    assert (squared_distances(A, A) >= 0).all()


def test_equal_rows_and_constant_columns_add_nothing(rng):
    x = rng.standard_normal((20, 1))
    with_constant = np.hstack([x, np.full((20, 1), 0.1)])
    np.testing.assert_allclose(squared_distances(with_constant, with_constant), squared_distances(x, x), atol=1e-14)
    assert not squared_distances(np.full((5, 2), 0.1), np.full((6, 2), 0.1)).any()
