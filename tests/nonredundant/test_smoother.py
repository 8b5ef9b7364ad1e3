import numpy as np
import pytest

from polyfold.nonredundant import predictable_functions, smoother_matrix
from tests.oracles.nonredundant import smoothing_matrix


@pytest.fixture(name="F")
def earlier():
    return np.random.RandomState(0).randn(250, 2)


def functions(F, w, **options):
    return predictable_functions(F, 0.8, w, rng=np.random.RandomState(0), **options)


def test_smoother_matrix_is_the_papers(F):
    np.testing.assert_allclose(smoother_matrix(F, 0.8, np.ones(250)), smoothing_matrix(F, 0.8), atol=1e-12)


@pytest.mark.parametrize("smoother", ["nadaraya_watson", "locally_linear"])
def test_low_rank_spans_what_the_dense_smoother_spans(F, smoother):
    w = np.random.RandomState(1).uniform(0.5, 2, 250)
    fast, dense = functions(F, w, smoother=smoother), functions(F, w, smoother=smoother, dense=True)
    assert abs(fast.rank - dense.rank) <= 1
    top = min(fast.rank, dense.rank) // 2
    root = np.sqrt(w)[:, None]
    wide = np.linalg.qr(root * fast.values)[0]
    assert np.linalg.norm(root * dense.values[:, :top] - wide @ (wide.T @ (root * dense.values[:, :top])), 2) < 0.05


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("smoother", ["nadaraya_watson", "locally_linear"])
def test_functions_are_orthonormal_in_the_measure(F, smoother, dense):
    w = np.random.RandomState(1).uniform(0.5, 2, 250)
    V = functions(F, w, smoother=smoother, dense=dense).values
    np.testing.assert_allclose(V.T @ (w[:, None] * V), np.eye(V.shape[1]), atol=1e-6)


@pytest.mark.parametrize("smoother", ["nadaraya_watson", "locally_linear"])
def test_functions_extend_to_the_same_values(F, smoother):
    found = functions(F, np.ones(250), smoother=smoother)
    np.testing.assert_allclose(found.features(F) @ found.coefficients, found.values, atol=1e-4)


def test_locally_linear_smoother_reproduces_lines(F):
    P = smoother_matrix(F, 0.8, np.ones(250), linear=True)
    line = 2 + F @ [1.0, -3.0]
    np.testing.assert_allclose(P @ line, line, atol=1e-3)


def test_wider_smoothers_see_fewer_functions(F):
    ranks = [
        predictable_functions(F[:, :1], h, np.ones(250), rng=np.random.RandomState(0)).rank for h in (0.1, 0.3, 1.0)
    ]
    assert ranks[0] > ranks[1] > ranks[2]
