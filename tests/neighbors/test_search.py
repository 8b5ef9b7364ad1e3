import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.neighbors import choose_engine, find_neighbors


def brute_force(X, Y, k, *, own=False):
    """Distances and indices by differences in extended precision, ties to the lowest index."""
    X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    distances = np.sqrt(((X[:, None] - Y) ** 2).sum(axis=2))
    if own:
        np.fill_diagonal(distances, np.inf)
    indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, indices, axis=1).astype(np.float64), indices


@pytest.fixture(params=[3, 40], ids=["tree", "brute"])
def X(request, rng):  # noqa: N802
    return rng.standard_normal((150, request.param))


@pytest.fixture
def new(X, rng):
    return X[:20] + 0.3 * rng.standard_normal((20, X.shape[1]))


def assert_same(found, expected, unit=1.0):
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0] / unit, expected[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_exact_search_is_brute_force(X, new, form):
    near = find_neighbors(form(X), 7)
    assert_same((near.distances, near.indices), brute_force(X, X, 7, own=True))
    assert_same(near.query(form(new), 5), brute_force(new, X, 5))
    assert (near.n_samples, near.n_neighbors) == (150, 7)


@pytest.mark.parametrize("offset", [1e3, 1e6, -1e6])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_exact_search_does_not_depend_on_the_origin(X, new, offset, form):
    moved = X + offset
    near = find_neighbors(form(moved), 7)
    assert_same((near.distances, near.indices), brute_force(moved, moved, 7, own=True))
    assert_same(near.query(form(new + offset), 5), brute_force(new + offset, moved, 5))


@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200, 2.0**-900, 2.0**900])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_exact_search_does_not_depend_on_the_scale(X, new, factor, form):
    near, plain = find_neighbors(form(X * factor), 7), find_neighbors(form(X), 7)
    np.testing.assert_array_equal(near.indices, plain.indices)
    np.testing.assert_array_equal(near.distances, factor * plain.distances)
    np.testing.assert_array_equal(near.query(form(new * factor), 5)[1], plain.query(form(new), 5)[1])


@pytest.mark.parametrize("factor", [1e-30, 1.0, 1e30])
def test_single_precision_rows_are_searched_at_any_scale(X, factor):
    rows = (X * factor).astype(np.float32)
    near = find_neighbors(rows, 7)
    np.testing.assert_array_equal(near.indices, brute_force(rows, rows, 7, own=True)[1])


@pytest.mark.parametrize("kind", ["plain", "float32", "tight", "duplicates", "integers", "outlier", "far"])
def test_faiss_does_not_change_the_exact_search(kind, rng, monkeypatch):
    pytest.importorskip("faiss")
    X = rng.standard_normal((300, 24))
    rows = {
        "plain": X,
        "float32": X.astype(np.float32),
        "tight": X[np.arange(300) % 5] + 1e-6 * X,
        "duplicates": X[np.arange(300) % 90],
        "integers": np.round(X),
        "outlier": np.vstack([X, np.full(24, 1e6)]),
        "far": np.vstack([X, np.full(24, 1e60)]),
    }[kind]
    expected = find_neighbors(rows, 7)
    monkeypatch.setattr("polyfold.neighbors._search._FAISS_PRODUCTS", 0)
    near = find_neighbors(rows, 7)
    # Duplicates are ties, of which any may be listed.
    np.testing.assert_array_equal(near.distances, expected.distances)
    if kind != "duplicates":
        np.testing.assert_array_equal(near.indices, expected.indices)
    new = rows[::7] + 1e-3
    np.testing.assert_array_equal(near.query(new, 5)[0], expected.query(new, 5)[0])


def test_clusters_far_apart_are_resolved(X):
    rows = np.concatenate([X[:75], X[75:] + 1e6])
    near = find_neighbors(rows, 7)
    assert_same((near.distances, near.indices), brute_force(rows, rows, 7, own=True))


def test_ties_go_to_the_lowest_index_also_at_the_end_of_a_list():
    line = np.zeros((40, 20))
    line[:, 0] = np.arange(40)
    near = find_neighbors(line, 3)
    np.testing.assert_array_equal(near.indices[2:-2], np.arange(2, 38)[:, None] + [-1, 1, -2])


def test_one_outlier_does_not_blur_the_others(X):
    rows = np.vstack([X, np.full((1, X.shape[1]), 1e30)])
    near = find_neighbors(rows, 7)
    np.testing.assert_array_equal(near.indices[:150], brute_force(X, X, 7, own=True)[1])


def test_a_point_too_far_for_squares_is_refused(X):
    near = find_neighbors(X, 4)
    assert np.all(near.query(np.full((1, X.shape[1]), 1e39), 3)[1] >= 0)
    with pytest.raises(ValueError, match=r"X must lie within 3\.27e\+150 times the typical distance .* drop such rows"):
        near.query(np.full((1, X.shape[1]), 1e200), 3)
    with pytest.raises(ValueError, match="X must lie within"):
        find_neighbors(np.vstack([X, np.full((1, X.shape[1]), 1e300)]), 3)


def test_copies_are_at_zero_and_in_order_of_their_rows(X):
    rows = np.tile(X[:40] + 1e5, (3, 1))
    near = find_neighbors(rows, 2)
    np.testing.assert_array_equal(near.distances, 0)
    copies = np.arange(120).reshape(3, 40)
    for i in (0, 39, 41, 119):
        assert list(near.indices[i]) == sorted(set(copies[:, i % 40]) - {i})


@pytest.mark.parametrize("engine", ["exact", "faiss"])
def test_a_point_is_never_its_own_neighbour(engine):
    pytest.importorskip(engine if engine == "faiss" else "sklearn")
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    near = find_neighbors(rows, 4, engine=engine)
    assert not np.any(near.indices == np.arange(60)[:, None])
    assert np.all((near.indices < 30) == (np.arange(60)[:, None] < 30))
    assert all(len(set(row)) == 4 for row in near.indices)


def test_duplicate_entries_of_sparse_rows_are_summed(X):
    once = sp.csr_array(X * (np.abs(X) > 0.8))
    data, columns = np.repeat(once.data / 2, 2), np.repeat(once.indices, 2)
    twice = sp.csr_array((data, columns, 2 * once.indptr), shape=X.shape)
    np.testing.assert_array_equal(find_neighbors(twice, 5).indices, find_neighbors(once, 5).indices)
    assert twice.nnz == 2 * once.nnz


def test_training_rows_overwritten_afterwards_change_nothing(X, new):
    rows = X.copy()
    near = find_neighbors(rows, 4)
    expected = near.query(new, 3)
    rows[:] = 0
    assert_same(near.query(new, 3), expected)


def test_neighbourhoods_survive_pickling(X, new):
    near = find_neighbors(X, 4)
    again = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(again.query(new, 3), near.query(new, 3))


def test_the_graph_holds_every_neighbour_zeros_too():
    graph = find_neighbors(np.repeat([[0.0], [1.0], [3.0]], 2, axis=0), 2).graph()
    np.testing.assert_array_equal(np.diff(graph.indptr), 2)
    assert graph[0, 1] == 0
    assert graph[[4]].max() == 2


def test_no_more_are_returned_than_there_are(X, new):
    assert find_neighbors(X, 4).query(new, 1000)[1].shape == (20, 150)


@pytest.mark.parametrize(
    ("shape", "options", "there", "chosen"),
    [
        ((600_000, 3), {}, ("faiss", "pynndescent"), "exact"),
        ((20_000, 784), {}, ("faiss", "pynndescent"), "exact"),
        ((20_001, 784), {}, ("faiss", "pynndescent"), "faiss"),
        ((20_000, 784), {}, ("pynndescent",), "exact"),
        ((20_001, 784), {}, ("pynndescent",), "pynndescent"),
        ((60_001, 784), {}, (), "exact"),
        ((20_000, 784), {"sparse": True}, ("faiss", "pynndescent"), "exact"),
        ((20_001, 784), {"sparse": True}, ("faiss", "pynndescent"), "pynndescent"),
        ((100, 5), {"approximate": False}, ("faiss",), "flat"),
        ((100, 5), {"approximate": False}, (), "exact"),
        ((100, 5), {"approximate": False, "sparse": True}, ("faiss",), "exact"),
    ],
)
def test_auto_is_approximate_only_where_exact_search_is_slow(shape, options, there, chosen, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if name in there else None)
    assert choose_engine(*shape, **options) == chosen


def test_auto_uses_what_choose_engine_says(X, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr("polyfold.neighbors._search.EXACT_ROWS", 100)
    monkeypatch.setattr("polyfold.neighbors._search._TREE_COLUMNS", 2)
    assert type(find_neighbors(X, 3).search).__name__ == "_Faiss"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 150}, "n_neighbors must be an integer >= 1 and <= 149, got 150; X has 150 samples"),
        ({"n_neighbors": 3, "engine": "annoy"}, "neighbors must be one of 'auto', 'exact', .* got 'annoy'"),
    ],
)
def test_bad_arguments_are_named(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        find_neighbors(X, **arguments)


def test_stored_zeros_of_sparse_rows_change_nothing():
    rng = np.random.RandomState(0)
    rows = np.where(rng.rand(60, 6) < 0.5, rng.rand(60, 6), 0)
    without = sp.csr_array(rows)
    stored = sp.csr_array((rows.ravel(), np.tile(np.arange(6), 60), np.arange(61) * 6), shape=rows.shape)
    found, expected = (find_neighbors(given, 5, engine="exact") for given in (stored, without))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
