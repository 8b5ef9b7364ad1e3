"""Smoothers of few and of many points, of one function and of hundreds."""

import numpy as np

import polyfold as pf
from polyfold.nonredundant import _sequence
from polyfold.nonredundant._smoother import gaussian_block, gaussian_factor, predictable_functions


def functions(F, bandwidth):
    return predictable_functions(F, bandwidth, np.ones(len(F)), rng=np.random.RandomState(0))


def test_a_narrow_kernel_is_factored_by_hundreds_of_landmarks():
    F = np.random.RandomState(0).rand(600, 2) * 50
    factor, Z = gaussian_factor(F, 0.3, tol=1e-8, max_rank=600, rng=np.random.RandomState(0))
    assert Z.shape[1] > 450
    np.testing.assert_allclose(Z @ Z.T, gaussian_block(F, F, 0.3), atol=1e-4)
    np.testing.assert_allclose(factor.rows(F), Z, atol=1e-6)


def test_many_points_have_as_many_functions_as_few():
    F = np.random.RandomState(0).standard_normal((2100, 1))
    few, many = functions(F[:1500], 0.5), functions(F, 0.5)
    assert abs(few.rank - many.rank) <= 1
    assert many.rank > 3


def test_a_very_wide_smoother_sees_the_mean_alone():
    F = np.random.RandomState(0).standard_normal((200, 1))
    found = functions(F, 1e3)
    assert found.rank == 1
    np.testing.assert_allclose(found.values, found.values[0, 0], rtol=1e-4)


def test_functions_of_few_points_are_orthonormal_in_double_precision():
    found = functions(np.random.RandomState(0).standard_normal((300, 5)), 1.0)
    np.testing.assert_allclose(found.values.T @ found.values, np.eye(found.rank), atol=1e-8)


def test_a_wide_smoother_has_few_landmarks():
    F = np.random.RandomState(0).standard_normal((200, 1))
    assert len(functions(F, 0.5).factor.landmarks) < 100


def test_smoothers_that_see_more_than_the_root_of_n_functions_end_the_search(monkeypatch):
    tried, find = [], _sequence.next_coordinate
    monkeypatch.setattr(_sequence, "next_coordinate", lambda *given: tried.append(find(*given)) or tried[-1])
    X = np.random.RandomState(0).rand(60, 2) * [3, 1]
    pf.NonRedundantEmbedding(2, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    ranks = [step.rank for step in tried]
    assert max(ranks) > np.sqrt(60)
    assert sum(rank > np.sqrt(60) for rank in ranks) == 1
