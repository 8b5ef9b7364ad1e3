"""The network's neighbours: scikit-learn's conventions, and every consumer of a neighbour graph."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import polyfold as pf
from polyfold.bootstrap import shared_centers

X, Y = make_blobs(160, n_features=6, centers=3, cluster_std=1.5, random_state=1)
NEW = X[::7] + 0.05


@pytest.fixture(scope="module")
def network():
    return pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=40, feature_fraction=0.5, random_state=0).fit(X)


@pytest.fixture(scope="module")
def near():
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=40, feature_fraction=0.5, random_state=0)
    return pf.BootstrapNeighborsTransformer(12, network=network).fit(X)


@pytest.fixture(scope="module")
def wide(near):
    """More neighbours than a group has points, so that the graph is connected."""
    return clone(near).set_params(n_neighbors=60).fit(X)


@pytest.fixture(scope="module")
def graph(near):
    """Distances to the 12 nearest and to oneself, (160, 160)."""
    return clone(near).fit_transform(X)


def distances_of(network, layers):
    """All distances, from the codes."""
    return np.mean([1 - shared_centers(c, c) / len(c) for c in (network.codes(layer=i).T for i in layers)], axis=0)


@pytest.mark.parametrize("layer", [0, -1, "auto"])
def test_distances_are_shares_of_differing_codes(network, layer):
    layers = range(len(network.layer_sizes_)) if layer == "auto" else [layer]
    D = distances_of(network, layers)
    distances, indices = network.kneighbors(n_neighbors=7, layer=layer)
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), atol=1e-12)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :7], atol=1e-12)


def test_conventions_of_scikit_learn(network):
    own = network.kneighbors(n_neighbors=5, return_distance=False)
    assert not (own == np.arange(len(X))[:, None]).any()
    distances, indices = network.kneighbors(X, 6)
    assert (distances[:, 0] == 0).all()
    np.testing.assert_array_equal(indices[:, 0], np.arange(len(X)))
    np.testing.assert_array_equal(indices[:, 1:], own)
    assert network.kneighbors()[1].shape == (160, 15)


def test_graphs_hold_what_the_lists_do(network):
    distances, indices = network.kneighbors(NEW, 4)
    graph = network.kneighbors_graph(NEW, 4, "distance")
    ones = network.kneighbors_graph(NEW, 4)
    for found in (graph, ones):
        assert found.shape == (len(NEW), 160)
        np.testing.assert_array_equal(found.indices.reshape(-1, 4), indices)
    np.testing.assert_array_equal(graph.data.reshape(-1, 4), distances)
    assert (ones.data == 1).all()


def test_new_points_find_their_originals(network):
    assert (network.kneighbors(NEW, 3, return_distance=False) == np.arange(0, 160, 7)[:, None]).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda network: network.kneighbors(n_neighbors=160),
            "n_neighbors must be an integer .* <= 159, got 160",
        ),
        (lambda network: network.kneighbors(n_neighbors=0), "n_neighbors must be"),
        (lambda network: network.kneighbors(layer=9), "layer must be an integer"),
        (lambda network: network.kneighbors(layer="best"), "layer must be one of 'auto', got 'best'"),
        (lambda network: network.kneighbors_graph(mode="weights"), "mode must be one of"),
    ],
)
def test_bad_questions_are_answered_with_the_rule(network, call, words):
    with pytest.raises(ValueError, match=words):
        call(network)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_the_transformer_is_like_that_of_scikit_learn(near, mode):
    ours, theirs = clone(near).set_params(mode=mode), KNeighborsTransformer(n_neighbors=12, mode=mode)
    for model in (ours, theirs):
        fitted = model.fit_transform(X)
        assert abs(fitted - model.transform(X)).max() == 0
        assert (np.diff(fitted.indptr) == 12 + (mode == "distance")).all()
        assert model.transform(NEW).shape == (len(NEW), 160)
        assert model.kneighbors_graph().shape == (160, 160)
        assert (np.diff(model.kneighbors_graph(NEW, 3).indptr) == 3).all()
        assert model.kneighbors(n_neighbors=4)[0].shape == (160, 4)
        assert model.n_samples_fit_ == len(model.get_feature_names_out()) == 160
        assert isinstance(model.effective_metric_, str)
    assert mode == "connectivity" or fitted.diagonal().max() == 0


def test_a_fit_that_asks_for_too_many_fails_at_once(near):
    with pytest.raises(ValueError, match="n_neighbors must be"):
        clone(near).set_params(n_neighbors=160).fit(X)


# Consumers, each by the way its own documentation names.


def agrees(labels):
    return adjusted_rand_score(Y, labels) > 0.9


def test_spectral_clustering(wide):
    graph = clone(wide).fit_transform(X)
    ones = wide.kneighbors_graph()
    both = 0.5 * (ones + ones.T)
    assert agrees(SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(both))
    given = SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=60, random_state=0)
    assert agrees(given.fit_predict(graph))


def test_dbscan(graph):
    assert agrees(DBSCAN(eps=0.7, min_samples=5, metric="precomputed").fit_predict(graph))


def test_hdbscan(wide):
    graph = clone(wide).fit_transform(X)
    model = HDBSCAN(min_cluster_size=20, min_samples=5, metric="precomputed", copy=True)
    assert agrees(model.fit_predict(graph.maximum(graph.T)))


def test_isomap(wide):
    model = make_pipeline(clone(wide), Isomap(n_neighbors=55, metric="precomputed"))
    Z = model.fit_transform(X)
    assert KNeighborsClassifier(5).fit(Z, Y).score(Z, Y) > 0.95
    assert model.transform(NEW).shape == (len(NEW), 2)


def test_k_neighbors_classifier(near):
    model = make_pipeline(clone(near), KNeighborsClassifier(12, metric="precomputed")).fit(X, Y)
    assert model.score(NEW, Y[::7]) > 0.95


def test_umap_takes_lists_and_graphs(near):
    umap = pytest.importorskip("umap", reason="umap-learn is not installed: pip install 'polyfold[map]'")
    distances, indices = near.kneighbors(X, 12)
    options = {"n_neighbors": 12, "n_epochs": 50, "random_state": 0, "n_jobs": 1}
    lists = (indices.astype(np.int32), distances.astype(np.float32))
    graph = clone(near).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP says that new points would need a search index of its own
        by_lists = umap.UMAP(precomputed_knn=lists, **options).fit_transform(X)
        by_graph = umap.UMAP(metric="precomputed", **options).fit_transform(graph.maximum(graph.T))
    for Z in (by_lists, by_graph):
        assert KNeighborsClassifier(5).fit(Z, Y).score(Z, Y) > 0.95


def test_opentsne(near):
    openTSNE = pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    distances, indices = near.kneighbors(n_neighbors=30)
    index = openTSNE.nearest_neighbors.PrecomputedNeighbors(indices, distances)
    affinities = openTSNE.affinity.PerplexityBasedNN(knn_index=index, perplexity=10)
    start = openTSNE.initialization.rescale(near.network_.embedding_)
    Z = openTSNE.TSNE(n_iter=150, early_exaggeration_iter=50, negative_gradient_method="bh", random_state=0).fit(
        affinities=affinities, initialization=start
    )
    assert KNeighborsClassifier(5).fit(Z, Y).score(Z, Y) > 0.95


def test_leiden(near):
    leidenalg = pytest.importorskip("leidenalg", reason="leidenalg is not installed: pip install leidenalg")
    igraph = pytest.importorskip("igraph")
    ends = near.kneighbors_graph().nonzero()
    graph = igraph.Graph(n=160, edges=list(zip(*ends, strict=True))).simplify()
    found = leidenalg.find_partition(graph, leidenalg.RBConfigurationVertexPartition, resolution_parameter=0.2, seed=0)
    assert agrees(found.membership)
