import pickle
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, kneighbors_graph

from polyfold.exceptions import MissingExtraError
from polyfold.neighbors import find_neighbors, make_search, sorted_lists
from tests.neighbors.test_search import brute_force

needs_faiss = pytest.mark.skipif("not __import__('importlib').util.find_spec('faiss')")


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.standard_normal((300, 12))


@pytest.fixture
def truth(X):
    return brute_force(X, X, 8, own=True)[1]


@pytest.fixture
def instant_pynndescent(monkeypatch):
    """The interface of pynndescent on an exact search: compiling the real one takes longer than all tests."""

    class NNDescent:
        def __init__(self, X, n_neighbors, random_state, n_jobs):
            assert X.dtype == np.float32
            self.nearest = NearestNeighbors().fit(X)

        def prepare(self):
            pass

        def query(self, X, k):
            distances, indices = self.nearest.kneighbors(X, n_neighbors=k)
            # What it does not find it marks so.
            distances[0, -1], indices[0, -1] = np.inf, -1
            return indices, distances.astype(np.float32)

    monkeypatch.setitem(sys.modules, "pynndescent", types.SimpleNamespace(NNDescent=NNDescent))


@pytest.mark.parametrize("engine", [pytest.param("faiss", marks=needs_faiss), "pynndescent"])
@pytest.mark.parametrize("offset", [0, 1e6])
@pytest.mark.parametrize("factor", [1e-30, 1.0, 1e18, 2.0**-200, 2.0**200])
@pytest.mark.usefixtures("instant_pynndescent")
def test_engines_find_what_exact_search_finds_wherever_the_data_are(X, truth, engine, offset, factor):
    near = find_neighbors((X + offset) * factor, 8, engine=engine)
    assert np.mean(near.indices == truth) > 0.97
    expected = np.linalg.norm(X[:, None] - X[truth], axis=2)
    found = np.linalg.norm(X[:, None] - X[near.indices], axis=2)
    np.testing.assert_allclose(near.distances / factor, found, rtol=1e-4)
    np.testing.assert_allclose(found, expected, rtol=0.5)
    distances, indices = near.query((X[:5] + 1e-3 + offset) * factor, 3)
    np.testing.assert_array_equal(indices[:, 0], np.arange(5))
    np.testing.assert_allclose(distances[:, 0] / factor, 1e-3 * np.sqrt(12), rtol=1e-2)


@needs_faiss
@pytest.mark.parametrize("engine", ["faiss", "flat"])
def test_every_index_is_a_row_even_among_copies(engine, rng):
    X = np.repeat(rng.standard_normal((3, 12)), 400, axis=0)
    distances, indices = make_search(engine, X).query(X, 30)
    assert np.all((indices >= 0) & (indices < 1200))
    assert np.all(np.isfinite(distances))


@needs_faiss
@pytest.mark.parametrize("size", [1e20, 1e39, 1e100])
def test_points_too_far_for_single_precision_are_searched_exactly(X, size):
    far = np.zeros((2, 12))
    far[0, 3] = size
    far[1] = X[7]
    _, indices = find_neighbors(X, 4, engine="faiss").query(far, 3)
    # So far out all training points are equally near in double precision; any of them will do.
    assert np.all((indices[0] >= 0) & (indices[0] < 300))
    assert indices[1, 0] == 7


@needs_faiss
@pytest.mark.parametrize("engine", ["faiss", "flat"])
def test_faiss_indices_survive_pickling(X, engine):
    search = make_search(engine, X)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.query(X[:5], 3), search.query(X[:5], 3))


@pytest.mark.usefixtures("instant_pynndescent")
def test_an_index_of_pynndescent_is_built_when_it_is_used(X):
    search = make_search("pynndescent", X)
    again = pickle.loads(pickle.dumps(search))
    assert "index" not in vars(again)
    np.testing.assert_array_equal(again.query(X[:5], 3), search.query(X[:5], 3))


@needs_faiss
def test_training_rows_without_a_place_in_single_precision_are_refused(X):
    with pytest.raises(ValueError, match="within 4e.16 times their typical .*use the exact engine"):
        find_neighbors(np.vstack([X, np.full((1, 12), 1e40)]), 4, engine="faiss")


@needs_faiss
def test_faiss_refuses_sparse_rows(X):
    with pytest.raises(ValueError, match="FAISS engine needs dense rows, got a sparse matrix; use the exact engine"):
        find_neighbors(sp.csr_array(X), 4, engine="faiss")


@pytest.mark.parametrize("name", ["faiss", "pynndescent"])
def test_a_missing_library_names_its_own_extra(X, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf'; run: pip install "{name}[a-z-]*>=[\d.]+"$'):
        find_neighbors(X, 4, engine=name)


class GraphOnly(BaseEstimator):
    """A transformer without `kneighbors`; its graph may or may not count a point as its own neighbour."""

    def __init__(self, include_self=True):
        self.include_self = include_self

    def fit(self, X, y=None):
        self.rows_ = X
        return self

    def transform(self, X):
        graph = KNeighborsTransformer(n_neighbors=8).fit(self.rows_).transform(X)
        if not self.include_self and X.shape == self.rows_.shape:
            graph = kneighbors_graph(X, 8, mode="distance", include_self=False)
        return graph


@pytest.mark.parametrize("transformer", [KNeighborsTransformer(), GraphOnly(), GraphOnly(include_self=False)])
def test_any_transformer_supplies_the_neighbours(X, truth, transformer):
    near = find_neighbors(X, 8, engine=transformer)
    np.testing.assert_array_equal(near.indices, truth)
    np.testing.assert_array_equal(near.query(X[:4] + 1e-3, 5)[1][:, 0], np.arange(4))


def full(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        sp.csr_array,
        sp.csr_matrix,
        sp.coo_array,
        lambda D: KNeighborsTransformer(n_neighbors=8, metric="precomputed").fit_transform(D),
    ],
)
def test_given_distances_are_read_with_or_without_oneself(X, truth, form):
    near = find_neighbors(form(full(X)), 8, engine="precomputed")
    np.testing.assert_array_equal(near.indices, truth)
    new = np.linalg.norm((X[:4] + 1e-3)[:, None] - X, axis=2)
    np.testing.assert_array_equal(near.query(new, 5)[1], near.query(sp.csr_array(new), 5)[1])
    np.testing.assert_array_equal(near.query(new, 5)[1], brute_force(X[:4] + 1e-3, X, 5)[1])


def test_stored_zeros_are_neighbours_at_no_distance():
    graph = sp.csr_array((np.array([0.0, 2.0, 0.0, 1.0, 1.0, 2.0]), [1, 2, 0, 2, 1, 0], [0, 2, 4, 6]), shape=(3, 3))
    near = find_neighbors(graph, 2, engine="precomputed")
    np.testing.assert_array_equal(near.indices, [[1, 2], [0, 2], [1, 0]])
    np.testing.assert_array_equal(near.distances, [[0, 2], [0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda X: full(X)[:, :9], r"needs square distances \(n, n\), got shape \(300, 9\)"),
        (lambda X: -full(X), "distances must be >= 0, got -.*; pass distances, not similarities"),
        (lambda X: kneighbors_graph(X, 3, mode="distance"), "must hold at least 8 neighbours of every row, got 3"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(X, given, message):
    with pytest.raises(ValueError, match=message):
        find_neighbors(given(X), 8, engine="precomputed")


def test_new_distances_must_be_to_the_training_points(X):
    near = find_neighbors(full(X), 8, engine="precomputed")
    with pytest.raises(ValueError, match="X must hold distances to 300 training points, got 7 columns"):
        near.query(np.ones((2, 7)), 3)


def test_lists_are_sorted_without_oneself_and_padded(rng):
    X = rng.standard_normal((30, 2))
    graph = kneighbors_graph(X, 5, mode="distance", include_self=True)
    lists = sorted_lists(graph, drop_self=True)
    np.testing.assert_array_equal(lists, np.argsort(full(X), axis=1)[:, 1:5])
    uneven = sp.csr_array(np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(sorted_lists(uneven, drop_self=True), [[2, 1], [-1, -1], [0, -1]])
