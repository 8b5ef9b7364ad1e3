import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import polyfold as pf
from polyfold.exceptions import GraphWarning
from polyfold.neighbors import _search as module
from polyfold.neighbors import find_neighbors
from polyfold.neighbors._search import sampled_recall


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.standard_normal((700, 6)).astype(np.float32)


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_recall_is_the_fraction_of_true_neighbours(X, form, monkeypatch):
    monkeypatch.setattr(module, "block_rows", lambda width: 90)
    indices = find_neighbors(X, 12).indices
    assert sampled_recall(form(X), indices[:, :8]) == 1
    # The 4 nearest and 4 that are too far: half of the true 8.
    assert sampled_recall(form(X), np.hstack([indices[:, :4], indices[:, 8:]])) == pytest.approx(0.5)


def test_any_of_several_rows_at_the_same_distance_is_a_neighbour():
    # Every inner point of a grid has four neighbours at distance 1; two of them are wanted.
    X = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2) * 0.1
    near = find_neighbors(X, 4)
    other = np.where(near.distances[:, 3:] < 0.1001, near.indices[:, 2:4], near.indices[:, :2])
    assert np.any(other != near.indices[:, :2])
    assert sampled_recall(X, other) == 1


def test_duplicate_rows_are_ties(X, rng):
    X = np.repeat(X[:100], 7, axis=0)
    first = np.arange(700) // 7 * 7
    duplicates = first[:, None] + np.stack([rng.permutation(7) for _ in range(700)])
    others = duplicates[duplicates != np.arange(700)[:, None]].reshape(700, 6)[:, :3]
    assert sampled_recall(X, others) == 1


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_faiss_has_a_recall_of_one_on_ties_in_single_precision(rng, size):
    pytest.importorskip("faiss")
    # Tight groups: their distances have few digits in single precision.
    X = np.repeat(rng.standard_normal((20, 8)), 6, axis=0) + size * rng.randint(0, 2, (120, 8))
    assert find_neighbors(X, 5, engine="faiss").recall == 1


def test_a_low_recall_is_reported_with_a_warning(X, monkeypatch):
    class Wrong(module.Exact):
        def query(self, X, k):
            return np.zeros((len(X), k)), np.tile(np.arange(k), (len(X), 1))

    monkeypatch.setitem(module.SEARCHES, "faiss", Wrong)
    with pytest.warns(GraphWarning, match="The 'faiss' search found .% of the true neighbours of 256 sampled rows"):
        assert find_neighbors(X, 5, engine="faiss").recall < 0.1


def test_exact_search_has_a_recall_of_one_and_given_graphs_have_none(X):
    assert find_neighbors(X, 5).recall == 1
    assert np.isnan(find_neighbors(X, 5, engine=KNeighborsTransformer(n_neighbors=5)).recall)


@pytest.mark.parametrize("kind", ["duplicates", "ties"])
def test_right_neighbours_of_networks_count_whatever_is_equally_near(kind):
    rng = np.random.RandomState(0)
    X = np.repeat(rng.standard_normal((200, 5)), 4, axis=0) if kind == "duplicates" else rng.randint(0, 3, (800, 6))
    network = pf.MultilayerBootstrapNetwork(2, n_classes=5, n_clusterings=10, neighbors="graph", random_state=0)
    assert network.fit(X.astype(np.float64)).neighbor_recall_ == 1.0
