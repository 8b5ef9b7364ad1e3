import importlib.util

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, SpectralClustering
from sklearn.metrics import adjusted_rand_score, homogeneity_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import polyfold as pf
from polyfold.ensembles._module_search import ModuleSearch

FAISS = pytest.mark.skipif(importlib.util.find_spec("faiss") is None, reason="needs the extra faiss")
ENGINES = ["sklearn", pytest.param("faiss", marks=FAISS)]
NUMBERS = np.repeat(np.arange(3), 30)


def new_index(engine="sklearn", **parameters):
    parameters = {"n_neighbors": 4, **parameters}
    return pf.ModularNeighbors(pf.ModularKernelPCA(5, 3, diversity=0.99, random_state=0), engine=engine, **parameters)


def composite(index):
    """A search in all modules side by side, in the unit of the index."""
    Z = index._search.modules
    Z = Z.reshape(len(Z), -1) / Z.shape[1] ** 0.5
    return NearestNeighbors(n_neighbors=4, algorithm="brute").fit(Z), Z


@pytest.fixture
def groups(blobs):
    """The blobs, pulled apart."""
    return blobs + 8.0 * np.eye(3, 5)[NUMBERS]


@pytest.mark.parametrize("engine", ENGINES)
def test_training_points_are_not_their_own_neighbours(engine, blobs):
    index = new_index(engine).fit(blobs)
    distances, indices = index.kneighbors(expand=90)
    expected = composite(index)[0].kneighbors()
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0], atol=1e-6)


def test_copies_are_neighbours_of_each_other_and_not_of_themselves(blobs):
    index = new_index(n_neighbors=2).fit(np.repeat(blobs, 3, axis=0))
    distances, indices = index.kneighbors()
    own = np.arange(270)
    np.testing.assert_array_equal(
        np.sort(np.column_stack([indices, own]), axis=1), own.reshape(-1, 3).repeat(3, axis=0)
    )
    np.testing.assert_allclose(distances, 0, atol=1e-6)


def test_all_others_can_be_asked_for_and_no_more(blobs):
    index = new_index().fit(blobs)
    assert index.kneighbors(n_neighbors=89, return_distance=False).shape == (90, 89)
    with pytest.raises(ValueError, match=r"n_neighbors must be .* <= 89, got 90; a row has no more other rows"):
        index.kneighbors(n_neighbors=90)


@pytest.mark.parametrize("X", [None, "rows"])
@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_the_graph_holds_the_neighbours(X, mode, blobs):
    index = new_index().fit(blobs)
    rows = None if X is None else blobs[:7]
    distances, indices = index.kneighbors(rows)
    graph = index.kneighbors_graph(rows, mode=mode)
    assert graph.shape == (len(indices), 90)
    np.testing.assert_array_equal(graph.indices.reshape(indices.shape), indices)
    expected = distances if mode == "distance" else np.ones_like(distances)
    np.testing.assert_array_equal(graph.data.reshape(indices.shape), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("X", [None, "rows"])
def test_all_points_within_a_radius_are_found_whatever_the_engine(engine, X, blobs):
    index = new_index(engine).fit(blobs)
    searched, Z = composite(index)
    radius = float(np.median(searched.kneighbors()[0]))
    rows, expected = (
        (None, searched.radius_neighbors(radius=radius))
        if X is None
        else (
            blobs[:7],
            searched.radius_neighbors(Z[:7], radius=radius),
        )
    )
    distances, indices = index.radius_neighbors(rows, radius, sort_results=True)
    assert len(indices) == len(expected[1])
    for i, found in enumerate(indices):
        order = np.argsort(expected[0][i])
        np.testing.assert_array_equal(found, expected[1][i][order])
        np.testing.assert_allclose(distances[i], expected[0][i][order], atol=1e-6)


def test_a_radius_of_nothing_finds_copies_only(blobs):
    found = new_index().fit(np.vstack([blobs, blobs[:1]])).radius_neighbors(radius=1e-9, return_distance=False)
    assert [list(f) for f in found] == [[90], *[[]] * 89, [0]]


def test_a_radius_of_everything_finds_all_others(blobs):
    found = new_index().fit(blobs).radius_neighbors(radius=1e3, return_distance=False)
    assert found.shape == (90,)
    np.testing.assert_array_equal(found[1], np.delete(np.arange(90), 1))


@pytest.mark.parametrize(("radius", "offset"), [(100.0, 0.0), (1.0, 0.0), (1.0, 1e6)])
def test_rows_within_a_radius_are_those_of_the_definition(rng, radius, offset):
    Z = offset + rng.standard_normal((700, 3, 2))
    distances, indices = ModuleSearch(Z, "sklearn").within(Z[:5], radius, np.arange(5))
    expected = np.sqrt(((Z[:5, None] - Z) ** 2).sum(axis=3).mean(axis=2))
    expected[np.arange(5), np.arange(5)] = np.inf
    for query, found in enumerate(indices):
        np.testing.assert_array_equal(found, np.flatnonzero(expected[query] <= radius))
        np.testing.assert_allclose(distances[query], expected[query, found])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda index: index.radius_neighbors(), TypeError, "radius must be a number >= 0, got None; it has the scale"),
        (lambda index: index.radius_neighbors(radius=-1.0), ValueError, "radius must be a number >= 0, got -1.0"),
        (lambda index: index.kneighbors_graph(mode="weights"), ValueError, "mode must be one of 'connectivity'"),
    ],
)
def test_bad_arguments_are_named(call, error, message, blobs):
    with pytest.raises(error, match=message):
        call(new_index().fit(blobs))


def graph_of(groups, n_neighbors):
    return new_index(n_neighbors=n_neighbors).fit(groups).kneighbors_graph(mode="distance")


class TestConsumers:
    """Estimators that take a neighbour graph accept ours."""

    def test_dbscan(self, groups):
        graph = graph_of(groups, 6)
        labels = DBSCAN(eps=2 * float(np.median(graph.data)), min_samples=3, metric="precomputed").fit_predict(graph)
        kept = labels >= 0
        assert kept.mean() > 0.8
        assert homogeneity_score(NUMBERS[kept], labels[kept]) == 1

    def test_hdbscan_of_the_symmetric_graph(self, groups):
        graph = graph_of(groups, 45)
        labels = HDBSCAN(metric="precomputed", copy=True).fit_predict(graph.maximum(graph.T))
        kept = labels >= 0
        assert kept.mean() > 0.8
        assert adjusted_rand_score(NUMBERS[kept], labels[kept]) > 0.9

    def test_spectral_clustering(self, groups):
        model = SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=40, random_state=0)
        assert adjusted_rand_score(NUMBERS, model.fit_predict(graph_of(groups, 45))) == 1


def test_umap_runs_on_the_lists(groups):
    umap = pytest.importorskip("umap")
    distances, indices = new_index(n_neighbors=9).fit(groups).kneighbors()
    # It counts a point as its own first neighbour.
    lists = (np.column_stack([np.arange(90), indices]), np.column_stack([np.zeros(90), distances]))
    model = umap.UMAP(n_neighbors=10, precomputed_knn=lists, n_epochs=30, init="random", random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="knn_search_index"):
        Z = model.fit_transform(groups)
    assert KNeighborsClassifier(3).fit(Z[::2], NUMBERS[::2]).score(Z[1::2], NUMBERS[1::2]) == 1


def test_open_tsne_runs_on_the_lists(groups):
    opentsne = pytest.importorskip("openTSNE")
    distances, indices = new_index(n_neighbors=15).fit(groups).kneighbors()
    lists = opentsne.nearest_neighbors.PrecomputedNeighbors(indices, distances)
    affinities = opentsne.affinity.PerplexityBasedNN(knn_index=lists, perplexity=5)
    Z = opentsne.TSNE(n_iter=100, random_state=0).fit(affinities=affinities, initialization="spectral")
    assert KNeighborsClassifier(3).fit(Z[::2], NUMBERS[::2]).score(Z[1::2], NUMBERS[1::2]) == 1
