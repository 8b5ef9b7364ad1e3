"""What networks, and what is made of them, refuse, and what a user cannot break by accident."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs

import polyfold as pf
from polyfold.exceptions import DegenerateDataWarning

X, _ = make_blobs(120, n_features=5, centers=3, random_state=0)


def small(**options):
    plain = {"n_classes": 3, "n_clusterings": 20, "feature_fraction": 0.5, "random_state": 0}
    return pf.MultilayerBootstrapNetwork(**{**plain, **options})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "foo"),
        ("metric", "auto"),
        ("metric", "precomputed"),
        ("feature_fraction", 0),
        ("feature_fraction", 2),
        ("feature_fraction", "auto"),
        ("n_clusterings", 0),
        ("n_clusterings", 1.5),
        ("n_clusterings", "auto"),
        ("decay", 0),
        ("decay", 2),
        ("n_classes", 0),
        ("n_classes", 1000),
        ("first_layer", 0),
        ("first_layer", -0.5),
        ("layer", 9),
        ("layer", "x"),
    ],
)
def test_the_kernel_of_a_network_checks_its_parameters(name, value):
    options = {"n_classes": 3, "n_clusterings": 20, name: value}
    for rows in (X, sp.csr_array(X)):
        with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
            pf.KernelEmbedding(2, kernel=pf.kernels.SharedCenters(**options)).fit(rows)


def test_layers_of_a_kernel_may_be_listed():
    kernel = pf.kernels.SharedCenters(first_layer=[60, 20], n_classes=3, n_clusterings=20).resolve(X)
    assert kernel.encoder_.sizes == [60, 20]


def test_codes_of_the_training_points_cannot_be_written_to():
    network = small().fit(X)
    with pytest.raises(ValueError, match="read-only"):
        network.codes(layer=0)[:] = 0
    network.codes(X, layer=0)[:] = 0


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_entries_whose_squares_are_zero_are_refused(layout):
    with pytest.raises(ValueError, match="magnitudes >= 1e-150"):
        small().fit(layout(X * 1e-170))
    assert np.array_equal(small().fit(layout(X * 1e-140)).codes(), small().fit(layout(X)).codes())


def test_labels_are_those_of_predict_where_means_coincide():
    places = np.repeat(np.random.RandomState(0).randn(4, 3), 30, 0)
    with pytest.warns(match="."):
        model = pf.BootstrapClustering(6, network=small(), random_state=0).fit(places)
    assert np.array_equal(model.predict(places), model.labels_)


def test_reliability_is_that_of_the_last_layer():
    network = small(n_clusterings="auto").fit(X)
    assert network.at_layer(-1).reliability_ == network.reliability_
    assert np.isnan(network.at_layer(0).reliability_)


def test_copies_come_after_the_point_itself():
    copies = np.repeat(X[:20], 10, 0)
    graph = pf.BootstrapNeighborsTransformer(3, network=small()).fit_transform(copies)
    assert np.array_equal(graph.indices.reshape(200, 4)[:, 0], np.arange(200))


@pytest.mark.parametrize(("mode", "most"), [("distance", 119), ("connectivity", 120)])
def test_the_most_neighbours_are_told_as_the_user_counts_them(mode, most):
    model = pf.BootstrapNeighborsTransformer(most, mode=mode, network=small())
    assert model.fit_transform(X).shape == (120, 120)
    with pytest.raises(ValueError, match=f"<= {most}, got 121"):
        model.set_params(n_neighbors=121).fit_transform(X)


def test_a_failed_fit_transform_leaves_the_old_index():
    index = pf.BootstrapNeighborsTransformer(30, network=small()).fit(X)
    with pytest.raises(ValueError, match="n_neighbors"):
        index.fit_transform(X[:20])
    assert index.n_samples_fit_ == 120


@pytest.mark.parametrize("given", ["x", pf.BootstrapClustering()])
def test_what_is_no_network_is_named(given):
    for estimator in (pf.BootstrapClustering, pf.BootstrapMap, pf.BootstrapNeighborsTransformer):
        with pytest.raises(TypeError, match="network must be a MultilayerBootstrapNetwork"):
            estimator(network=given).fit(X)


@pytest.mark.parametrize("given", ["x", pf.KernelEmbedding(2)])
def test_what_has_no_modules_is_named(given):
    with pytest.raises(TypeError, match="representation must have modules"):
        pf.ModularNeighbors(given).fit(X)


@pytest.mark.parametrize("layer", ["x", True, 1.5])
def test_a_layer_that_cannot_be_is_refused_before_the_work(layer):
    with pytest.raises(ValueError, match="layer must be an integer or 'auto'"):
        pf.BootstrapClustering(layer=layer, network=small()).fit(X)


def test_constant_rows_are_one_group():
    with pytest.warns(DegenerateDataWarning):
        model = pf.BootstrapClustering(network=small(), random_state=0).fit(np.ones((40, 3)))
    assert model.n_clusters_ == 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (pf.BootstrapClustering, {"n_clusters": 4}),
        (pf.BootstrapMap, {"layout": "spectral"}),
        (pf.BootstrapNeighborsTransformer, {}),
    ],
)
def test_one_seed_is_enough_where_the_network_has_none(kind, options):
    X = make_blobs(60, n_features=5, centers=4, cluster_std=4.0, random_state=0)[0]
    network = small().set_params(random_state=None)
    codes = [kind(network=network, random_state=seed, **options).fit(X).network_.codes(X) for seed in (0, 0, 1)]
    assert np.array_equal(codes[0], codes[1])
    assert not np.array_equal(codes[0], codes[2])
    assert network.random_state is None


@pytest.mark.parametrize("rows", [np.zeros((30, 20)), np.eye(1, 30).repeat(40, 0) * np.arange(40)[:, None]])
def test_sparse_rows_with_hardly_a_word_are_fitted(rows):
    network = pf.MultilayerBootstrapNetwork(2, n_classes=2, n_clusterings=20, feature_fraction=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        assert np.isfinite(network.fit(sp.csr_array(rows)).embedding_).all()


def test_dense_and_sparse_text_have_the_same_codes_but_for_ties():
    rng = np.random.default_rng(3)
    X = rng.random((200, 400)) * (rng.random((200, 400)) < 0.02)
    network = pf.MultilayerBootstrapNetwork(2, n_clusterings=50, feature_fraction=0.5, random_state=0)
    dense, sparse = (clone(network).fit(rows) for rows in (X, sp.csr_array(X)))
    assert dense.metric_ == sparse.metric_ == "cosine"
    np.testing.assert_array_equal(dense.codes(layer=0), sparse.codes(layer=0))
    np.testing.assert_allclose(dense.transform(X), dense.embedding_, atol=1e-12)


@pytest.mark.parametrize("estimator", [pf.BootstrapMap(layout="spectral"), pf.BootstrapNeighborsTransformer(5)])
def test_streams_are_read_whole_where_every_row_is_shown(estimator, tmp_path):
    blocks, whole = (clone(estimator).set_params(random_state=0).fit_transform(rows) for rows in ([X[:50], X[50:]], X))
    np.testing.assert_array_equal(*(Z if isinstance(Z, np.ndarray) else Z.toarray() for Z in (blocks, whole)))
    with pytest.raises(TypeError, match="open it by numpy.load"):
        clone(estimator).fit(tmp_path)
