import numpy as np
import pytest

from polyfold.nonredundant._smoother import gaussian_block, gaussian_factor


@pytest.mark.parametrize("p", [1, 3])
def test_factor_reproduces_the_kernel_within_the_trace_tolerance(p):
    F = np.random.RandomState(0).randn(300, p)
    factor, Z = gaussian_factor(F, 0.7, tol=1e-3, max_rank=300, rng=np.random.RandomState(1))
    error = gaussian_block(F, F, 0.7) - Z @ Z.T
    assert np.trace(error) <= 1.01e-3 * len(F)
    assert np.linalg.eigvalsh(error)[0] > -1e-8
    assert Z.shape[1] < 250
    assert factor.trace_error <= 1e-3


def test_rows_of_training_points_equal_the_factor():
    F = np.random.RandomState(0).randn(300, 2)
    factor, Z = gaussian_factor(F, 0.5, tol=1e-3, max_rank=300, rng=np.random.RandomState(1))
    np.testing.assert_allclose(factor.rows(F), Z, atol=1e-6)


def test_rank_limit_is_kept_and_its_error_reported():
    F = np.random.RandomState(0).randn(400, 3)
    factor, Z = gaussian_factor(F, 0.1, tol=1e-3, max_rank=40, rng=np.random.RandomState(1))
    assert Z.shape == (400, 40)
    assert factor.trace_error > 0.5


def test_duplicates_are_factored_once():
    F = np.repeat(np.random.RandomState(0).randn(5, 2), 60, axis=0)
    _, Z = gaussian_factor(F, 0.3, tol=1e-6, max_rank=300, rng=np.random.RandomState(1))
    assert Z.shape[1] <= 5
    np.testing.assert_allclose(Z @ Z.T, gaussian_block(F, F, 0.3), atol=1e-6)
