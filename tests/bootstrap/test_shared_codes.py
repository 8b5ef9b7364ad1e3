"""Neighbours by shared codes: what counting every pair gives, ties included."""

import numpy as np
import pytest

from polyfold._threads import using_threads
from polyfold.bootstrap import nearest_by_codes, shared_centers

SIZES = [300, 40, 8]


@pytest.fixture
def codes(rng):
    """Codes of 400 points in three layers of 30 clusterings, in groups, so that neighbours exist."""
    groups = rng.randint(12, size=400)
    layers = []
    for size in SIZES:
        typical = rng.randint(size, size=(30, 12))
        layer = np.where(rng.rand(30, 400) < 0.6, typical[:, groups], rng.randint(size, size=(30, 400)))
        layers.append(layer.astype(np.uint16 if size > 256 else np.uint8))
    return layers


def by_definition(points, training, k, layers, own):
    """Agreements and indices, by sorting all pairs."""
    every = [shared_centers(p, t).astype(np.int64) for p, t in zip(points, training, strict=True)]
    ranks, ties = sum(every[layer] for layer in layers), sum(every)
    if own:
        np.fill_diagonal(ranks, -1)
    columns = np.broadcast_to(np.arange(ranks.shape[1]), ranks.shape)
    order = np.lexsort((columns, -ties, -ranks), axis=1)[:, :k]
    return np.take_along_axis(ranks, order, axis=1), order


@pytest.mark.parametrize("layers", [[0], [1], [2], [0, 1, 2]])
@pytest.mark.parametrize("own", [True, False])
def test_all_pairs_are_counted_and_ties_broken_by_all_layers(codes, layers, own):
    points = codes if own else [layer[:, 40:107] for layer in codes]
    found = nearest_by_codes(points, codes, SIZES, 9, layers=layers, own=own)
    for value, expected in zip(found, by_definition(points, codes, 9, layers, own), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_more_clusterings_than_a_byte_counts(rng):
    codes = [rng.randint(5, size=(600, 70)).astype(np.uint8), np.zeros((600, 70), dtype=np.uint8)]
    found = nearest_by_codes(codes, codes, [5, 1], 6, layers=[0], own=True)
    for value, expected in zip(found, by_definition(codes, codes, 6, [0], True), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("layers", [[2], [0, 1, 2]])
@pytest.mark.parametrize("own", [True, False])
def test_candidates_hold_nearly_all_neighbours(codes, layers, own):
    agreements, indices = nearest_by_codes(codes, codes, SIZES, 9, layers=layers, own=own, exact=False)
    expected, known = by_definition(codes, codes, 9, layers, own)
    recall = np.mean([np.isin(row, truth).mean() for row, truth in zip(indices, known, strict=True)])
    assert recall > 0.95
    assert all(len(set(row)) == 9 for row in indices)
    assert (agreements <= expected).all()
    if own:
        assert not (indices == np.arange(400)[:, None]).any()


def test_threads_do_not_change_a_bit(codes):
    for exact in (True, False):
        results = []
        for n_jobs in (1, 2):
            with using_threads(n_jobs):
                results.append(nearest_by_codes(codes, codes, SIZES, 9, layers=[2], own=True, exact=exact))
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b)
