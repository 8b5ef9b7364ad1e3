"""Sizes of layers, random streams and what clusterings are made of."""

import numpy as np
import pytest

from polyfold.bootstrap import child_stream, decaying_sizes, n_selected
from polyfold.bootstrap._sampling import STREAMS, sample_clusterings

SEEDS = np.random.SeedSequence(7)
OPTIONS = {"n_rows": 50, "n_centers": 20, "n_features": 9, "fraction": 0.5}


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


def test_fractions_are_rounded_down_to_at_least_one():
    assert [n_selected(0.5, total) for total in (1, 2, 3, 5, 13)] == [1, 1, 1, 2, 6]
    assert n_selected(0.29, 100) == 29


def test_specs_are_distinct_and_follow_their_stream():
    one, other = sample_clusterings(2, seeds=child_stream(SEEDS, "sampling", 0, 0), **OPTIONS)
    (same,) = sample_clusterings(1, seeds=child_stream(SEEDS, "sampling", 0, 0), **OPTIONS)
    assert len(set(one.rows)) == 20
    assert len(set(one.features)) == 4
    np.testing.assert_array_equal(one.rows, same.rows)
    assert not np.array_equal(one.rows, np.sort(one.rows))
    assert not np.array_equal(one.rows, other.rows)


def test_no_two_parts_of_a_fit_share_a_stream():
    """Lists of integers as seeds did: ``default_rng([5, 0, 0])`` equals ``default_rng(5)``."""
    streams = [SEEDS, *(child_stream(SEEDS, name) for name in STREAMS)]
    streams += [
        child_stream(SEEDS, "sampling", *numbers) for numbers in [(0,), (0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0)]
    ]
    streams += [child_stream(child_stream(SEEDS, "pilot"), "sampling", 0, 0, 0)]
    assert len({tuple(stream.generate_state(4)) for stream in streams}) == len(streams)
