"""Every search finds what the literal definition finds: `assign(rows) -> codes`."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.bootstrap import ClusteringSpec, CodeSearch, child_stream, make_first_layer
from polyfold.bootstrap._candidate_search import GraphSearch
from polyfold.bootstrap._dense_search import nearest
from polyfold.bootstrap._sampling import sample_clusterings
from polyfold.neighbors import sorted_lists, with_own_zeros
from tests.oracles.bootstrap import nearest_centers, one_of_k, similarity, upper_layer

SEEDS = np.random.SeedSequence(0)
METRICS = ["euclidean", "cosine", "linear"]


def make(rng, n, d, dtype):
    """Correlated rows: few directions carry most of the variance, as in images."""
    rows = np.abs(rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))) + 0.2 * rng.random((n, d))
    return (20 * rows).astype(dtype) if dtype == np.uint8 else rows.astype(dtype)


def some_specs(count, n, k, d, fraction=0.5):
    options = {"n_rows": n, "n_centers": k, "n_features": d, "fraction": fraction}
    return sample_clusterings(count, seeds=child_stream(SEEDS, "sampling"), **options)


def search_of(X, specs, metric="euclidean", neighbors="exact"):
    search = make_first_layer(X, metric=metric, neighbors=neighbors, n_centers=len(specs[0].rows), seeds=SEEDS)
    search.specs = specs
    return search


def assign(search, rows):
    return search.assign(search.prepare(rows))


def literal(rows, X, specs, metric="euclidean"):
    return [nearest_centers(rows[:, s.features], X[s.rows][:, s.features], metric) for s in specs]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("d", [9, 140])
def test_dense_search_is_brute_force(rng, metric, dtype, d):
    X = make(np.random.default_rng(d), 120, d, dtype)
    specs = some_specs(3, 120, 40, d)
    search = search_of(X, specs, metric)
    expected = literal(X, X, specs, metric)
    np.testing.assert_array_equal(assign(search, X), expected)
    for part in (slice(0, 1), slice(3, 10), slice(0, 30)):
        np.testing.assert_array_equal(assign(search, X[part]), np.array(expected)[:, part])


def test_decimal_rows_tie_alike_one_by_one_and_together():
    """Distances of decimal fractions tie except for rounding, which must not depend on the batch."""
    X = np.random.default_rng(0).integers(0, 8, (150, 4)) / 10
    search = search_of(X, some_specs(20, 150, 74, 4))
    whole = assign(search, X)
    np.testing.assert_array_equal(np.hstack([assign(search, X[i : i + 1]) for i in range(150)]), whole)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_dense_search_survives_extreme_scales(scale):
    X = make(np.random.default_rng(0), 120, 90, np.float64)
    specs = some_specs(2, 120, 40, 90)
    expected = assign(search_of(X, specs), X)
    np.testing.assert_array_equal(assign(search_of(X * scale, specs), X * scale), expected)


def test_an_outlier_row_leaves_the_bound_tight(monkeypatch):
    X = make(np.random.default_rng(0), 300, 90, np.float64)
    X[7] = 1e12
    search = search_of(X, some_specs(1, 300, 100, 90))
    assert np.abs(search.bound.mean).max() < 1e3
    np.testing.assert_array_equal(assign(search, X), literal(X, X, search.specs))


def test_the_bound_never_excludes_the_nearest():
    rng = np.random.default_rng(0)
    X = make(rng, 300, 100, np.float32)
    bound = search_of(X, some_specs(1, 300, 9, 100)).bound.restrict(np.arange(100))
    for _ in range(3):
        points, centers = (rng.permutation(X)[:80] for _ in range(2))
        np.testing.assert_array_equal(nearest(points, centers, bound), nearest_centers(points, centers))


@pytest.mark.parametrize("neighbors", ["exact", "graph"])
def test_duplicate_rows_take_the_first_of_equal_centres(neighbors):
    X = np.repeat(make(np.random.default_rng(0), 20, 10, np.uint8), 4, axis=0)
    specs = some_specs(3, 80, 50, 10)
    np.testing.assert_array_equal(assign(search_of(X, specs, neighbors=neighbors), X), literal(X, X, specs))


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("m", [30, 200])
def test_rows_without_a_word_have_the_cosine_zero_dense_and_sparse(m, negative):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 80)) - 0.5 * negative) * (rng.random((200, 80)) < 0.03)
    (spec,) = specs = some_specs(1, 200, 60, 80)
    points, centers = X[:m, spec.features], X[spec.rows][:, spec.features]
    assert (~centers.any(axis=1)).sum() > 5
    (found,) = assign(search_of(X, specs, "cosine"), X[:m])
    sparse = sp.csr_array(X)
    np.testing.assert_array_equal(assign(search_of(sparse, specs, "cosine"), sparse[:m])[0], found)
    # Rows of one word lie on one line, where rounding decides in the literal version.
    best = nearest_centers(points, centers, "cosine")
    cosines = [[similarity(x, centers[i], "cosine") for x, i in zip(points, w, strict=True)] for w in (found, best)]
    np.testing.assert_allclose(*cosines, atol=1e-12)
    apart = np.array(cosines[1]) <= 0
    assert apart.any()
    np.testing.assert_array_equal(found[apart], best[apart])


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_search_is_brute_force(metric):
    rng = np.random.default_rng(0)
    X = make(rng, 150, 60, np.float64) * (rng.random((150, 60)) < 0.2)
    specs, sparse = some_specs(2, 150, 50, 60), sp.csr_array(X)
    expected = literal(X, X, specs, metric)
    np.testing.assert_array_equal(assign(search_of(sparse, specs, metric), sparse), expected)
    np.testing.assert_array_equal(assign(search_of(X, specs, metric), X), expected)


def test_parallel_sparse_rows_tie_to_the_first():
    rng = np.random.default_rng(0)
    base = rng.random((10, 12)) * (rng.random((10, 12)) < 0.5)
    X = np.vstack([base, 3 * base, 0 * base, base / 7])
    spec = ClusteringSpec(rng.permutation(40)[:30].astype(np.int32), np.arange(12, dtype=np.int32))
    (found,) = assign(search_of(sp.csr_array(X), [spec], "cosine"), sp.csr_array(X))
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    for x, code in zip(unit, found, strict=True):
        same = np.flatnonzero(np.isclose(unit[spec.rows], x).all(axis=1))
        assert code == (same[0] if x.any() and len(same) else code if x.any() else 0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_all_rows_as_candidates_are_exact(metric, dtype):
    X = make(np.random.default_rng(0), 200, 140, dtype)
    specs = some_specs(3, 200, 60, 140)
    np.testing.assert_array_equal(assign(search_of(X, specs, metric, 200), X), literal(X, X, specs, metric))


def test_few_candidates_err_rarely_and_the_error_is_estimated():
    X = make(np.random.default_rng(0), 600, 140, np.uint8)
    specs = some_specs(20, 600, 100, 140)
    search = search_of(X, specs, neighbors=4)
    rows = search.prepare(X)
    codes = search.assign(rows)
    error = np.mean(codes != literal(X, X, specs))
    assert 0 < error < 0.1
    quality = search.quality(codes, rows=rows, seeds=SEEDS)
    assert abs(quality["assignment_error"] - error) < 4 * np.sqrt(error / 2000)
    assert 0.3 < quality["neighbor_recall"] <= 1


def test_rows_without_a_listed_centre_are_searched():
    X = make(np.random.default_rng(0), 300, 20, np.float64)
    specs = some_specs(4, 300, 9, 20)
    lists = sp.csr_array((np.ones(300), (np.arange(300), np.roll(np.arange(300), 1))), shape=(300, 300))
    codes = assign(search_of(X, specs, neighbors=lists), X)
    unlisted = [i for i in range(300) if not {i, (i - 1) % 300} & set(specs[0].rows)]
    np.testing.assert_array_equal(codes[0, unlisted], literal(X, X, specs)[0][unlisted])


def test_candidates_of_single_rows_are_those_of_all_rows():
    X = make(np.random.default_rng(0), 400, 140, np.float32)
    search = search_of(X, some_specs(5, 400, 100, 140), neighbors=5)
    whole = assign(search, X)
    for i in range(0, 400, 37):
        np.testing.assert_array_equal(assign(search, X[i : i + 1])[:, 0], whole[:, i])


def test_bytes_fitted_and_floats_asked_agree():
    X = make(np.random.default_rng(0), 100, 90, np.uint8)
    specs = some_specs(2, 100, 30, 90)
    search = search_of(X, specs)
    np.testing.assert_array_equal(assign(search, X.astype(np.float64)), assign(search, X))
    half = X.astype(np.float64) + 0.4
    for part in (half, half[:3]):
        np.testing.assert_array_equal(assign(search, part), literal(part, X, specs))


def test_a_full_distance_matrix_gives_the_euclidean_centers():
    X = np.random.default_rng(0).standard_normal((60, 3))
    lists = sorted_lists(np.linalg.norm(X[:, None] - X, axis=2), drop_self=False)
    specs = some_specs(2, 60, 20, 3, fraction=1.0)
    np.testing.assert_array_equal(GraphSearch(lists, specs).assign(lists), literal(X, X, specs))


def test_centers_spread_along_a_graph_and_new_rows_inherit():
    # A chain 0 - 1 - 2 - 3 - 4 and the pair 5 - 6; the centres are 6 and 0.
    graph = np.zeros((7, 7))
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6)]:
        graph[a, b] = graph[b, a] = 1.0
    lists = sorted_lists(with_own_zeros(sp.csr_array(graph)), drop_self=False)
    spec = ClusteringSpec(np.array([6, 0], np.int32), np.arange(1, dtype=np.int32))
    np.testing.assert_array_equal(GraphSearch(lists, [spec]).assign(lists), [[1, 1, 1, 1, 1, 0, 0]])
    new = np.array([[3, -1], [5, 0], [-1, -1]], dtype=np.int32)
    np.testing.assert_array_equal(GraphSearch(lists, [spec]).assign(new), [[1, 1, 0]])


@pytest.mark.parametrize("n_codes", [7, 300, 70_000])
@pytest.mark.parametrize("V", [6, 70, 300])
def test_code_search_counts_shared_codes(n_codes, V):
    rng = np.random.default_rng(V)
    values = rng.choice(n_codes, 5)  # few values, so that codes are shared
    dtype = np.uint8 if n_codes < 256 else np.uint16 if n_codes < 2**16 else np.uint32
    codes = values[rng.integers(0, 5, (V, 80))].astype(dtype)
    specs = some_specs(V if V < 100 else 4, 80, 30, V)
    found = CodeSearch(codes, n_codes, specs).assign(codes.T)
    H = one_of_k(np.searchsorted(np.sort(values), codes), 5)
    np.testing.assert_array_equal(found, [upper_layer(H, 5, s.rows, s.features) for s in specs])
    np.testing.assert_array_equal(CodeSearch(codes, n_codes, specs).assign(codes.T[3:4])[:, 0], found[:, 3])
