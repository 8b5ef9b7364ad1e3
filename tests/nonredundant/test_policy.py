import numpy as np
import pytest
from numpy.testing import assert_allclose

from polyfold.nonredundant._policy import Judge, evenest, too_fine, widest


@pytest.fixture
def square():
    return np.random.RandomState(0).uniform(-1, 1, (2000, 2))


def test_a_function_of_the_earlier_coordinate_is_no_news(square):
    share, error = Judge.of(square[:, :1], 0)(np.cos(9 * square[:, 0]))
    assert share < 0.01
    assert 0 < error < 0.01


def test_another_direction_is_all_news(square):
    share, error = Judge.of(square[:, :1], 0)(square[:, 1])
    assert share + 3 * error > 1
    assert error < 0.1


def test_the_error_of_the_share_is_that_of_repeated_draws():
    rng = np.random.RandomState(0)
    draws = []
    for _ in range(40):
        x, e = rng.standard_normal((2, 300))
        draws.append(Judge.of(x[:, None], 0)(x + e))
    shares, errors = np.array(draws).T
    assert 0.5 < errors.mean() / shares.std() < 2


def test_harmonics_are_told_from_news_that_costs_the_same(square):
    x, y = square.T
    news, harmonic = np.sin(np.pi * y / 2), np.cos(3 * np.pi * x)
    mixed = np.column_stack([news + harmonic, news - harmonic])
    kept = mixed @ Judge.of(square[:, :1], 0).news_directions(mixed / mixed.std(axis=0))
    assert kept.shape[1] == 1
    assert abs(np.corrcoef(kept[:, 0], news)[0, 1]) > 0.98


def test_the_cheapest_news_is_taken():
    # A harmonic: cheap and known. A direction: three times as dear and new.
    assert widest([1.0, 3.0, 3.5], [0.01, 0.9, 1.0], [0.001, 0.05, 0.05]) == 1


def test_a_wider_smoother_within_the_error_is_preferred():
    assert widest([1.0, 1.05], [0.9, 1.0], [0.05, 0.1]) == 0
    assert widest([1.0, 1.05], [0.9, 1.0], [0.001, 0.001]) == 1


def test_news_beyond_all_of_the_variance_buys_nothing():
    assert widest([1.0, 1.2], [1.0, 1.6], [0.0, 0.0]) == 0


def test_no_news_at_all_keeps_the_widest():
    assert widest([1.0, 1.0], [0.0, 0.0], [0.0, 0.0]) == 0


def test_a_smoother_of_single_points_is_too_fine_and_a_wide_one_is_not(square):
    assert not too_fine(square, 0.5, 0.03, 0)
    assert too_fine(square, 0.02, 0.03, 0)


def test_few_points_allow_few_functions(square):
    assert too_fine(square[:50], 0.3, 0.03, 0)
    assert not too_fine(square, 0.3, 0.03, 0)


def test_the_evenest_combination_has_the_same_size_everywhere():
    x, y = np.random.RandomState(0).uniform(0, 1, (2, 3000))
    waves = [np.cos(np.pi * y), np.cos(np.pi * y) * np.cos(np.pi * x) * np.sqrt(2)]
    turned = np.linalg.qr(np.column_stack(waves) @ [[0.6, 0.8], [-0.8, 0.6]])[0]
    V = np.column_stack([np.cos(k * np.pi * x) for k in range(4)])
    f = turned @ evenest(turned, V, np.ones(3000))
    assert abs(np.corrcoef(f, waves[0])[0, 1]) > 0.99


def test_the_evenest_combination_is_a_unit_vector_and_no_other_is_more_even():
    rng = np.random.RandomState(0)
    G = np.linalg.qr(rng.standard_normal((200, 4)))[0]
    V = rng.standard_normal((200, 12))

    def unevenness(c):
        return np.sum((V.T @ (G @ c) ** 2 - V.mean(axis=0)) ** 2)

    c = evenest(G, V, np.ones(200))
    assert_allclose(np.linalg.norm(c), 1)
    others = rng.standard_normal((2000, 4))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert unevenness(c) <= min(unevenness(other) for other in others) * 1.001


def test_one_direction_has_no_choice():
    assert_allclose(evenest(np.ones((5, 1)), np.ones((5, 2)), np.ones(5)), [1.0])
