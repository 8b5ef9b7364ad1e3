import pickle

import numpy as np
import pytest

from polyfold.neighbors import Links, nearest_rows
from polyfold.neighbors._linking import link
from tests.oracles import links as oracle


def cloud(n, d=20, seed=0):
    rng = np.random.RandomState(seed)
    return np.tanh(rng.standard_normal((n, 5)) @ np.random.RandomState(7).standard_normal((5, d)))


def exact(Q, X, k, hidden=None):
    distances = ((Q[:, None] - X) ** 2).sum(axis=2)
    if hidden is not None:
        distances[np.arange(len(Q)), hidden] = np.inf
    return np.argsort(distances, axis=1)[:, :k]


def recall(found, truth):
    return np.mean([np.isin(a, b).mean() for a, b in zip(truth, found, strict=True)])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_links_are_those_of_the_slow_construction(dtype):
    # Bytes of few columns: sums are exact whatever their order, and no two distances of a point are the same.
    rows = np.random.RandomState(0).randint(0, 256, (300, 32)).astype(dtype)
    order = np.random.RandomState(1).permutation(300).astype(np.int32)
    links = np.full((300, 6), -1, dtype=np.int32)
    link(rows, order, order[:10].copy(), rows[order[:10]], 8, links)
    expected = oracle.link(rows, order, 10, 8, 6)
    assert any(len(row) == 6 for row in expected)
    assert [row[row >= 0].tolist() for row in links] == expected


@pytest.mark.parametrize("detail", [0.0, 0.1])
def test_a_wide_walk_finds_the_nearest(detail):
    X, Q = cloud(1500), cloud(100, seed=1)
    links = Links(X, detail=detail)
    assert links.rows.dtype == (np.uint8 if detail else np.float32)
    assert recall(links.query(Q, 30), exact(Q, X, 10)) > 0.99
    own = np.arange(0, 1500, 15)
    found = links.query(X[own], 30, hidden=own)
    assert not np.any(found == own[:, None])
    assert recall(found, exact(X[own], X, 10, own)) > 0.99


def test_rows_are_bytes_only_where_these_tell_neighbours_apart():
    X = cloud(400)
    step = np.ptp(X, axis=0).max() / 255
    assert Links(X, detail=2.01 * step).rows.dtype == np.uint8
    assert Links(X, detail=1.99 * step).rows.dtype == np.float32
    X[0] = 1e6  # a step is now beyond all other differences
    assert Links(X, detail=2.01 * step).rows.dtype == np.float32
    assert Links(np.ones((50, 3)), detail=1.0).rows.dtype == np.float32


@pytest.mark.parametrize("far", [1e30, np.finfo(float).max])
def test_queries_beyond_single_precision_find_nothing(far):
    links = Links(cloud(400), detail=0.1)
    Q = cloud(3)
    Q[1] = far
    np.testing.assert_array_equal(links.query(Q, 5)[:, 0] < 0, [False, True, False])


def test_links_that_lead_nowhere_are_refused():
    links = Links(cloud(400), detail=0.1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(links)).links, links.links)
    links.links[7, 0] = 400
    with pytest.raises(ValueError, match="links must lead from row to row of 400 rows"):
        pickle.loads(pickle.dumps(links))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("origin", "unit"), [(0.0, 1.0), (100.0, 1.0), (0.0, 1e-30), (0.0, 1e30)])
def test_the_nearest_of_all_rows_are_found_in_one_pass(dtype, origin, unit):
    X = ((cloud(9000) + origin) * unit).astype(dtype)
    Q = X[::300]
    found = nearest_rows(Q, X, 12)
    np.testing.assert_array_equal(found[:, 0], np.arange(0, 9000, 300))
    scaled = X.astype(np.float64) / unit
    assert recall(found, exact(scaled[::300], scaled, 10)) == 1
