import numpy as np
import pytest

from polyfold.nonredundant import predictable_functions
from tests.oracles.nonredundant import dense_functions


@pytest.fixture(name="F")
def earlier():
    return np.random.RandomState(0).randn(250, 2)


def functions(F, w, bandwidth=0.8):
    return predictable_functions(F, bandwidth, w, np.random.RandomState(0))


def test_low_rank_spans_what_the_dense_smoother_spans(F):
    w = np.random.RandomState(1).uniform(0.5, 2, 250)
    fast, dense = functions(F, w), dense_functions(F, 0.8, w)
    assert abs(fast.rank - dense.rank) <= 1
    top = min(fast.rank, dense.rank) // 2
    root = np.sqrt(w)[:, None]
    wide = np.linalg.qr(root * fast.values)[0]
    assert np.linalg.norm(root * dense.values[:, :top] - wide @ (wide.T @ (root * dense.values[:, :top])), 2) < 0.05


def test_functions_are_orthonormal_in_the_measure(F):
    w = np.random.RandomState(1).uniform(0.5, 2, 250)
    V = functions(F, w).values
    np.testing.assert_allclose(V.T @ (w[:, None] * V), np.eye(V.shape[1]), atol=1e-6)


def test_functions_extend_to_the_same_values(F):
    found = functions(F, np.ones(250))
    np.testing.assert_allclose(found.factor.rows(F) @ found.coefficients, found.values, atol=1e-4)


def test_wider_smoothers_see_fewer_functions(F):
    ranks = [functions(F[:, :1], np.ones(250), h).rank for h in (0.1, 0.3, 1.0)]
    assert ranks[0] > ranks[1] > ranks[2]
