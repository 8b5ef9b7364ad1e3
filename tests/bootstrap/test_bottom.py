import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.bootstrap._bottom import DenseBottom, PrecomputedBottom, SparseBottom
from polyfold.bootstrap._draws import Draw, draw
from polyfold.neighbors import principal_screen, sorted_lists, with_own_zeros
from tests.oracles.bootstrap import nearest_centers, shift, similarity

METRICS = ["euclidean", "cosine", "linear"]
TYPES = [np.uint8, np.float32, np.float64]


def make(rng, n, d, dtype):
    rows = np.abs(rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))) + 0.2 * rng.random((n, d))
    return (20 * rows).astype(dtype) if dtype == np.uint8 else rows.astype(dtype)


def a_draw(seed, n, k, d, reconstruction=0.0):
    return draw((seed,), n_rows=n, n_centers=k, n_features=d, fraction=0.5, reconstruction=reconstruction)


def dense(X, metric, n_candidates=0, n_neighbors=0):
    return DenseBottom(X, metric, principal_screen(X, unit=metric == "cosine", seed=0), n_candidates, n_neighbors)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("own", [True, False])
def test_exact_assignment_is_brute_force(metric, dtype, own):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = make(rng, 120, 140, dtype)
        d = a_draw(seed, 120, 40, 140)
        expected = nearest_centers(X[:, d.chosen], X[d.rows][:, d.chosen], metric)
        np.testing.assert_array_equal(dense(X, metric).assign(X, d, None, own=own), expected)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("m", [30, 200])
@pytest.mark.parametrize("negative", [False, True])
def test_centres_without_a_word_have_the_cosine_zero(own, m, negative):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 80)) - 0.5 * negative) * (rng.random((200, 80)) < 0.03)
    d = a_draw(0, 200, 60, 80)
    rows = X if own else X[:m]
    assert (~X[d.rows][:, d.chosen].any(axis=1)).sum() > 5
    points, centers = rows[:, d.chosen], X[d.rows][:, d.chosen]
    found = dense(X, "cosine").assign(rows, d, None, own=own)
    np.testing.assert_array_equal(
        SparseBottom(sp.csr_array(X), "cosine").assign(sp.csr_array(rows), d, None, own=own), found
    )
    # Rows of one word lie on one line, where rounding decides in the literal version.
    best = nearest_centers(points, centers, "cosine")
    cosines = [
        [similarity(x, centers[i], "cosine") for x, i in zip(points, which, strict=True)] for which in (found, best)
    ]
    np.testing.assert_allclose(*cosines, atol=1e-12)
    apart = np.array(cosines[1]) <= 0
    assert apart.any()
    np.testing.assert_array_equal(found[apart], best[apart])


def test_repeated_rows_are_assigned_as_brute_force_does():
    rng = np.random.default_rng(0)
    X = np.repeat(make(rng, 20, 10, np.uint8), 4, axis=0)
    d = a_draw(1, 80, 50, 10)
    expected = nearest_centers(X[:, d.chosen], X[d.rows][:, d.chosen])
    np.testing.assert_array_equal(dense(X, "euclidean").assign(X, d, None, own=True), expected)


def test_shifted_centers_follow_the_oracle():
    X = make(np.random.default_rng(0), 100, 30, np.float64)
    d = a_draw(0, 100, 30, 30, reconstruction=0.5)
    expected = nearest_centers(X[:, d.chosen], shift(X[d.rows][:, d.chosen], d.shifted))
    np.testing.assert_array_equal(dense(X, "euclidean").assign(X, d, None, own=True), expected)
    got = SparseBottom(sp.csr_array(X), "euclidean").assign(sp.csr_array(X), d, None, own=True)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("metric", METRICS)
def test_shifted_centers_are_the_same_for_dense_and_sparse_rows(metric):
    X = make(np.random.default_rng(0), 100, 30, np.float64)
    d = a_draw(0, 100, 30, 30, reconstruction=0.5)
    expected = SparseBottom(sp.csr_array(X), metric).assign(sp.csr_array(X), d, None, own=True)
    np.testing.assert_array_equal(dense(X, metric).assign(X, d, None, own=True), expected)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("own", [True, False])
def test_sparse_assignment_is_brute_force(metric, own):
    rng = np.random.default_rng(0)
    X = make(rng, 150, 60, np.float64) * (rng.random((150, 60)) < 0.2)
    d = a_draw(0, 150, 50, 60)
    sparse = sp.csr_array(X)
    got = SparseBottom(sparse, metric).assign(sparse, d, None, own=own)
    np.testing.assert_array_equal(got, nearest_centers(X[:, d.chosen], X[d.rows][:, d.chosen], metric))


@pytest.mark.parametrize("own", [True, False])
def test_parallel_sparse_rows_tie_to_the_first(own):
    rng = np.random.default_rng(0)
    base = rng.random((10, 12)) * (rng.random((10, 12)) < 0.5)
    X = sp.csr_array(np.vstack([base, 3 * base, 0 * base, base / 7]))
    d = Draw(rng.permutation(40)[:30].astype(np.int32), np.arange(12, dtype=np.int32), np.zeros(0, np.int32))
    got = SparseBottom(X, "cosine").assign(X, d, None, own=own)
    dense = X.toarray()
    kinds = [np.flatnonzero([np.allclose(_unit(dense[r]), _unit(x)) for r in d.rows]) for x in dense]
    expected = [hits[0] if x.any() and len(hits) else 0 for hits, x in zip(kinds, dense, strict=True)]
    known = [bool(len(hits)) for hits in kinds]
    np.testing.assert_array_equal(got[known], np.array(expected)[known])


def _unit(x):
    return x / (np.linalg.norm(x) or 1.0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_all_neighbors_as_candidates_are_exact(metric):
    X = make(np.random.default_rng(0), 200, 140, np.float32)
    d = a_draw(0, 200, 60, 140)
    bottom = dense(X, metric, n_candidates=200, n_neighbors=199)
    lists = bottom.neighbors(X, own=True, n_jobs=1)
    np.testing.assert_array_equal(bottom.assign(X, d, lists, own=True), dense(X, metric).assign(X, d, None, own=True))


def test_few_candidates_err_seldom_and_points_without_any_are_searched():
    X = make(np.random.default_rng(0), 600, 140, np.uint8)
    d = a_draw(0, 600, 100, 140)
    exact = dense(X, "euclidean").assign(X, d, None, own=True)
    bottom = dense(X, "euclidean", n_candidates=20, n_neighbors=120)
    near = bottom.assign(X, d, bottom.neighbors(X, own=True, n_jobs=1), own=True)
    assert np.mean(near != exact) < 0.02
    none = np.full((600, 1), -1, dtype=np.int32)
    np.testing.assert_array_equal(bottom.assign(X, d, none, own=True), exact)


def test_training_rows_asked_for_again_keep_their_codes():
    X = make(np.random.default_rng(0), 600, 140, np.float32)
    d = a_draw(0, 600, 100, 140)
    bottom = dense(X, "euclidean", n_candidates=5, n_neighbors=30)
    old = bottom.assign(X, d, bottom.neighbors(X, own=True, n_jobs=1), own=True)
    new = bottom.assign(X, d, bottom.neighbors(X, own=False, n_jobs=1), own=False)
    np.testing.assert_array_equal(old, new)


def test_bytes_fitted_and_floats_asked_agree():
    X = make(np.random.default_rng(0), 100, 90, np.uint8)
    d = a_draw(0, 100, 30, 90)
    bottom = dense(X, "euclidean")
    np.testing.assert_array_equal(
        bottom.assign(X.astype(np.float64), d, None, own=False), bottom.assign(X, d, None, own=True)
    )
    half = X.astype(np.float64) + 0.4
    expected = nearest_centers(half[:, d.chosen], X[d.rows][:, d.chosen])
    np.testing.assert_array_equal(bottom.assign(half, d, None, own=False), expected)


def test_a_full_distance_matrix_gives_the_euclidean_centers():
    X = np.random.default_rng(0).standard_normal((60, 3))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    d = draw((0,), n_rows=60, n_centers=20, n_features=3, fraction=1.0, reconstruction=0.0)
    lists = sorted_lists(distances, drop_self=False)
    got = PrecomputedBottom(lists).assign(lists, d, lists, own=True)
    np.testing.assert_array_equal(got, nearest_centers(X, X[d.rows]))


def test_centers_spread_along_a_graph_and_new_points_inherit():
    # A chain 0 - 1 - 2 - 3 - 4 and the pair 5 - 6; the only centre is 0.
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)]
    graph = np.zeros((7, 7))
    for a, b in edges:
        graph[a, b] = graph[b, a] = 1.0
    lists = sorted_lists(with_own_zeros(sp.csr_array(graph)), drop_self=False)
    d = Draw(np.array([6, 0], np.int32), np.arange(1, dtype=np.int32), np.zeros(0, np.int32))
    np.testing.assert_array_equal(PrecomputedBottom(lists).assign(lists, d, None, own=True), [1, 1, 1, 1, 1, 0, 0])
    new = np.array([[3, -1], [5, 0], [-1, -1]], dtype=np.int32)
    np.testing.assert_array_equal(PrecomputedBottom(lists).assign(new, d, None, own=False), [1, 1, 0])
