import numpy as np
import pytest
from numpy.testing import assert_allclose

from polyfold.nonredundant import Settings
from polyfold.nonredundant._sequence import Judge, _is_too_fine, evenest, mostly_news


def too_fine(F, alpha):
    return _is_too_fine(F, alpha, Settings())


@pytest.fixture
def square():
    return np.random.RandomState(0).uniform(-1, 1, (2000, 2))


def test_a_function_of_the_earlier_coordinate_is_no_news(square):
    assert Judge.of(square[:, :1], 0)(np.cos(9 * square[:, :1]))[0, 0] < 0.01


def test_another_direction_is_all_news(square):
    assert 0.9 < Judge.of(square[:, :1], 0)(square[:, 1:])[0, 0] < 1.2


def test_news_does_not_depend_on_units(square):
    judge = Judge.of(square[:, :1], 0)
    assert_allclose(judge(1e-9 * square[:, 1:] + 3), judge(square[:, 1:]), rtol=1e-5)


def test_harmonics_are_told_from_news_that_costs_the_same(square):
    x, y = square.T
    news, harmonic = np.sin(np.pi * y / 2), np.cos(3 * np.pi * x)
    mixed = np.column_stack([news + harmonic, news - harmonic])
    kept = mixed @ mostly_news(Judge.of(square[:, :1], 0)(mixed))
    assert kept.shape[1] == 1
    assert abs(np.corrcoef(kept[:, 0], news)[0, 1]) > 0.98


def test_of_functions_of_the_earlier_coordinate_nothing_is_left(square):
    waves = np.column_stack([np.cos(k * square[:, 0]) for k in (2, 4, 6)])
    assert mostly_news(Judge.of(square[:, :1], 0)(waves)).shape == (3, 0)


def test_a_smoother_of_single_points_is_too_fine_and_a_wide_one_is_not(square):
    assert not too_fine(square, 0.5)
    assert too_fine(square, 0.02)


def test_few_points_allow_few_functions(square):
    assert too_fine(square[:50], 0.4)
    assert not too_fine(square, 0.4)


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
