import copy
import pickle

import numpy as np
import pytest

from polyfold.bootstrap import choose_bottom, fit_network
from polyfold.bootstrap._draws import draw
from polyfold.bootstrap._matching import match
from polyfold.bootstrap._prepared import Prepared
from polyfold.bootstrap._shared import Members, SharedCodes, prefers_shared

OPTIONS = {"n_clusterings": 70, "feature_fraction": 0.5, "seed": 5}


def rows(n, dtype, seed=0, d=20):
    rng = np.random.default_rng(seed)
    X = 128 + 20 * rng.standard_normal((n, 4)) @ np.random.default_rng(9).standard_normal((4, d))
    return np.clip(X + 3 * rng.standard_normal((n, d)), 0, 255).astype(dtype)


def fitted(X, neighbors="exact", metric="euclidean", reconstruction=0.0, sizes=(120, 60, 30, 8)):
    options = {"n_centers": sizes[0], "reconstruction": reconstruction, "seed": 0}
    bottom = choose_bottom(X, metric=metric, neighbors=neighbors, **options)
    return fit_network(X, bottom, list(sizes), reconstruction=reconstruction, **OPTIONS)


def test_members_are_the_centers_of_every_clustering():
    options = {"n_rows": 30, "n_centers": 11, "n_features": 4, "fraction": 0.5, "reconstruction": 0.0}
    draws = [draw((0, 0, v), **options) for v in range(5)]
    members = Members.of(draws, 30)
    for j in range(30):
        mine = slice(members.starts[j], members.starts[j + 1])
        found = [tuple(entry) for entry in members.entries[mine].tolist()]
        expected = [(v, int(np.flatnonzero(d.rows == j)[0])) for v, d in enumerate(draws) if j in d.rows]
        assert found == expected


@pytest.mark.parametrize(("n_below", "k_below", "k"), [(70, 300, 150), (64, 9, 5), (130, 2, 1), (3, 400, 90)])
def test_all_clusterings_at_once_are_each_of_them(n_below, k_below, k):
    rng = np.random.default_rng(k)
    codes = np.minimum(rng.geometric(min(0.9, 3 / k_below), (n_below, 400)) - 1, k_below - 1).astype(np.uint16)
    # Codes that no training point has, and points that agree with no centre.
    new = rng.integers(0, k_below, (n_below, 50)).astype(np.uint16)
    options = {"n_rows": 400, "n_centers": k, "n_features": n_below, "fraction": 0.5, "reconstruction": 0.0}
    draws = [draw((1, 0, v), **options) for v in range(90)]
    points = np.concatenate([codes, new], axis=1)
    got = SharedCodes.of(codes, k_below, draws).match(points)
    for v, d in enumerate(draws):
        np.testing.assert_array_equal(got[v], match(points, d.chosen, codes[d.chosen[:, None], d.rows], k_below))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("neighbors", ["exact", 4, 1])
def test_few_points_have_the_codes_of_the_batch(dtype, neighbors):
    X, new = rows(300, dtype), rows(200, dtype, seed=1)
    new[:100] = X[:100]
    net = fitted(X, neighbors)
    for level in (0, 3):
        batch = net.encode(new, level)
        for part in (slice(0, 1), slice(150, 151), slice(96, 104), slice(0, 60)):
            np.testing.assert_array_equal(net.encode(new[part], level), batch[:, part])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("neighbors", ["exact", 4])
def test_few_points_of_another_type_have_the_codes_of_the_batch(dtype, neighbors):
    X, new = rows(300, dtype), rows(100, np.float64, seed=1) + 0.3
    net = fitted(X, neighbors)
    np.testing.assert_array_equal(net.encode(new[:3], 3), net.encode(new, 3)[:, :3])


@pytest.mark.parametrize(("metric", "reconstruction"), [("cosine", 0.0), ("linear", 0.0), ("euclidean", 0.4)])
def test_where_there_is_no_short_way_few_points_take_the_long_one(metric, reconstruction):
    X, new = rows(300, np.float64), rows(100, np.float64, seed=1)
    net = fitted(X, metric=metric, reconstruction=reconstruction)
    np.testing.assert_array_equal(net.encode(new[:3], 3), net.encode(new, 3)[:, :3])


@pytest.mark.parametrize("factor", [2.0**-200, 1.0, 2.0**200])
def test_equal_and_nearly_equal_centers_are_told_apart_as_in_the_batch(factor):
    X = np.round(rows(300, np.float64) / 64) * factor
    X[150:] = X[:150] + factor * 1e-13
    net = fitted(X)
    np.testing.assert_array_equal(net.encode(X[:6], 0), net.codes[0][:, :6])


def test_what_is_prepared_for_few_points_is_not_stored():
    X = rows(300, np.uint8)
    net = fitted(X)
    stored = len(pickle.dumps(net))
    codes = net.encode(X[:2], 3)
    assert isinstance(net._prepared, Prepared)
    assert len(pickle.dumps(net)) == stored
    for other in (pickle.loads(pickle.dumps(net)), copy.copy(net), copy.deepcopy(net)):
        assert not hasattr(other, "_prepared")
        np.testing.assert_array_equal(other.encode(X[:2], 3), codes)


def test_the_policy_follows_centers_and_clusterings():
    assert prefers_shared(60_000, 60_000, 100, 4000, 8000)
    assert prefers_shared(60_000, 60_000, 50, 468, 937)
    assert not prefers_shared(60_000, 60_000, 50, 100, 200)
    assert not prefers_shared(60_000, 60_000, 400, 15, 31)
    assert not prefers_shared(5000, 600_000, 50, 468, 937)  # the lists alone would cost more
    assert not prefers_shared(1797, 1797, 50, 449, 898)  # nor is a few rows' worth of work worth another kernel


def test_a_layer_fitted_at_once_is_the_layer_fitted_one_by_one(monkeypatch):
    X = rows(300, np.uint8)
    one_by_one = fitted(X)
    monkeypatch.setattr("polyfold.bootstrap._network.prefers_shared", lambda *a: True)
    for codes, expected in zip(fitted(X).codes, one_by_one.codes, strict=True):
        np.testing.assert_array_equal(codes, expected)
        assert codes.dtype == expected.dtype
