import numpy as np
import pytest

from polyfold.bootstrap._draws import chosen_count, decaying_sizes, draw


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (2500, [2500, 1250, 625, 312, 156, 78, 39, 19]),
        (8000, [8000, 4000, 2000, 1000, 500, 250, 125, 62, 31, 15]),
        (12, [12]),
    ],
)
def test_sizes_are_those_of_the_paper(first, expected):
    assert decaying_sizes(first, 0.5, 10) == expected


def test_a_decay_of_one_still_ends():
    assert decaying_sizes(6, 1.0, 2) == [6, 5, 4, 3]


def test_shares_are_rounded_down_to_at_least_one():
    assert [chosen_count(0.5, total) for total in (1, 2, 3, 5, 13)] == [1, 1, 1, 2, 6]
    assert chosen_count(0.29, 100) == 29


def test_draws_are_distinct_and_follow_the_seed():
    options = {"n_rows": 50, "n_centers": 20, "n_features": 9, "fraction": 0.5, "reconstruction": 0.4}
    one, same, other = (draw((7, 0, v), **options) for v in (3, 3, 4))
    assert len(set(one.rows)) == 20
    assert len(set(one.chosen)) == 4
    assert len(set(one.shifted)) == 1
    np.testing.assert_array_equal(one.rows, same.rows)
    assert not np.array_equal(one.rows, other.rows)


def test_centers_come_in_random_order():
    rows = draw((0,), n_rows=100, n_centers=60, n_features=4, fraction=1.0, reconstruction=0.0).rows
    assert not np.array_equal(rows, np.sort(rows))
