import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyfold import MultilayerBootstrapNetwork
from polyfold.bootstrap import shared_centers
from polyfold.exceptions import DegenerateDataWarning


def small(**options):
    return MultilayerBootstrapNetwork(**{"n_classes": 3, "n_clusterings": 40, "random_state": 0, **options})


@pytest.fixture
def blobs():
    X, y = make_blobs(240, n_features=12, centers=3, cluster_std=2.0, random_state=1)
    return X, y


@parametrize_with_checks([MultilayerBootstrapNetwork(n_clusterings=20)])
def test_scikit_learn_contract(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("needs SCIPY_ARRAY_API; arrays other than numpy's are not supported")
    check(estimator)


def test_groups_are_far_apart_in_the_output(blobs):
    X, y = blobs
    Z = small().fit_transform(X)
    within = max(np.linalg.norm(Z[y == c] - Z[y == c].mean(axis=0), axis=1).mean() for c in range(3))
    centers = np.array([Z[y == c].mean(axis=0) for c in range(3)])
    assert pairwise_distances(centers)[np.triu_indices(3, 1)].min() > 3 * within


def test_layer_sizes_from_fraction_count_and_list(blobs):
    X, _ = blobs
    assert small().fit(X).layer_sizes_ == [120, 60, 30, 15, 7]
    assert small(first_layer=64, decay=0.25).fit(X).layer_sizes_ == [64, 16]
    assert small(first_layer=[50, 20, 9]).fit(X).layer_sizes_ == [50, 20, 9]


def test_new_points_land_where_training_points_do(blobs):
    X, _ = blobs
    for neighbors in ("exact", "graph", 5):
        network = small(neighbors=neighbors).fit(X)
        np.testing.assert_allclose(network.transform(X), network.embedding_, atol=1e-12)
        np.testing.assert_array_equal(network.transform(X[:3]), network.transform(X)[:3])


def test_the_output_is_the_centred_similarity(blobs):
    X, _ = blobs
    network = small(n_components=239).fit(X)
    codes = network.codes().T
    K = shared_centers(codes, codes) / 40
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    np.testing.assert_allclose(network.embedding_ @ network.embedding_.T, K, atol=1e-8)


def test_codes_of_every_layer(blobs):
    X, _ = blobs
    network = small().fit(X)
    for layer, size in enumerate(network.layer_sizes_):
        codes = network.codes(X, layer)
        assert codes.shape == (240, 40)
        assert codes.max() < size
        np.testing.assert_array_equal(codes, network.codes(layer=layer))
    np.testing.assert_array_equal(network.codes(X), network.codes(X, -1))
    with pytest.raises(ValueError, match="layer must be an integer >= -5 and < 5, got 5"):
        network.codes(X, 5)


def test_every_layer_can_be_looked_at(blobs):
    X, _ = blobs
    network = small().fit(X)
    halfway = network.at_layer(1)
    assert halfway.layer_sizes_ == [120, 60]
    assert network.layer_sizes_ == [120, 60, 30, 15, 7]
    np.testing.assert_allclose(halfway.transform(X), halfway.embedding_, atol=1e-12)
    np.testing.assert_allclose(network.at_layer(-1).embedding_, network.embedding_)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_training_rows_are_not_copied(blobs, dtype):
    X = np.clip(blobs[0] * 8 + 128, 0, 255).astype(dtype)
    network = small().fit(X)
    assert np.shares_memory(network.network_.bottom.X, X)


def test_types_agree_on_the_same_numbers(blobs):
    X = np.clip(blobs[0] * 8 + 128, 0, 255).astype(np.uint8)
    networks = [small().fit(X.astype(t)) for t in (np.uint8, np.float32, np.float64)]
    assert [n.embedding_.dtype for n in networks] == [np.float64, np.float32, np.float64]
    for other in networks[1:]:
        np.testing.assert_array_equal(networks[0].codes(), other.codes())
        np.testing.assert_allclose(networks[0].embedding_, other.embedding_, atol=1e-6)


def test_seeds_threads_and_pickles(blobs):
    X, _ = blobs
    network = small().fit(X)
    np.testing.assert_array_equal(network.embedding_, small(n_jobs=2).fit(X).embedding_)
    assert not np.allclose(network.embedding_, small(random_state=1).fit(X).embedding_)
    restored = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(restored.transform(X), network.transform(X))
    np.testing.assert_array_equal(clone(network).fit(X).embedding_, network.embedding_)


def test_sparse_rows_and_cosine_with_empty_documents():
    rng = np.random.default_rng(0)
    topics = rng.random((3, 50)) * (rng.random((3, 50)) < 0.3)
    y = np.repeat(np.arange(3), 40)
    counts = rng.poisson(2 * topics[y]).astype(np.float64)
    counts[[5, 60]] = 0
    network = small(metric="cosine", n_components=3)
    dense, sparse = network.fit(counts).embedding_, clone(network).fit(sp.csr_matrix(counts))
    assert np.all(np.isfinite(sparse.embedding_))
    np.testing.assert_array_equal(sparse.embedding_[5], sparse.embedding_[60])
    np.testing.assert_allclose(sparse.transform(counts), sparse.embedding_, atol=1e-12)
    centers = np.array([dense[y == c].mean(axis=0) for c in range(3)])
    assert np.mean(pairwise_distances(dense, centers).argmin(axis=1) == y) > 0.9


def test_graphs_from_elsewhere(blobs):
    X, _ = blobs
    graph = kneighbors_graph(X, 60, mode="distance")
    given = small(neighbors=graph).fit(X)
    searched = small(neighbors=KNeighborsTransformer(n_neighbors=60)).fit(X)
    np.testing.assert_array_equal(given.embedding_, searched.embedding_)
    np.testing.assert_allclose(searched.transform(X), searched.embedding_, atol=1e-12)
    assert 0 <= given.disagreement_ < 0.1
    with pytest.raises(ValueError, match=r"graph of shape \(240, 240\), one row per sample, got \(200, 240\)"):
        small(neighbors=graph[:200]).fit(X)


def test_a_precomputed_graph_is_all_that_is_needed(blobs):
    X, y = blobs
    graph = kneighbors_graph(X, 30, mode="distance")
    network = small(metric="precomputed").fit(graph)
    Z = network.embedding_
    centers = np.array([Z[y == c].mean(axis=0) for c in range(3)])
    assert np.mean(pairwise_distances(Z, centers).argmin(axis=1) == y) > 0.95
    assert network.transform(graph[:5]).shape == (5, 2)
    with pytest.raises(ValueError, match="square graph"):
        small(metric="precomputed").fit(graph[:50])


def test_names_and_frames(blobs):
    frame = pd.DataFrame(blobs[0], columns=[f"f{i}" for i in range(12)])
    network = small().set_output(transform="pandas").fit(frame)
    assert list(network.transform(frame).columns) == ["multilayerbootstrapnetwork0", "multilayerbootstrapnetwork1"]
    assert list(network.feature_names_in_) == list(frame.columns)


def test_a_fit_is_taken_up_from_its_folder(blobs, tmp_path):
    X, _ = blobs
    expected = small().fit(X).embedding_
    np.testing.assert_array_equal(small().fit_transform(X, checkpoint=tmp_path), expected)
    (tmp_path / "layer-04.npz").unlink()
    np.testing.assert_array_equal(small().fit(X, checkpoint=tmp_path).embedding_, expected)
    with pytest.raises(ValueError, match="differs in seed"):
        small(random_state=1).fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="differs in data"):
        small().fit(X + 1, checkpoint=tmp_path)


def test_without_a_seed_the_folder_remembers_its_own(blobs, tmp_path):
    X, _ = blobs
    first = small(random_state=None).fit(X, checkpoint=tmp_path).embedding_
    np.testing.assert_array_equal(small(random_state=None).fit(X, checkpoint=tmp_path).embedding_, first)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
@pytest.mark.parametrize("neighbors", ["exact", "graph"])
def test_units_do_not_matter(blobs, scale, neighbors):
    X, _ = blobs
    expected = small(neighbors=neighbors).fit(X).codes()
    assert np.mean(small(neighbors=neighbors).fit(X * scale).codes() == expected) > 0.99


def test_reconstruction_changes_the_centers(blobs):
    X, _ = blobs
    network = small(reconstruction=0.3).fit(X)
    assert not np.array_equal(network.codes(), small().fit(X).codes())
    np.testing.assert_allclose(network.transform(X), network.embedding_, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_layer": 240}, "every sample would be its own centre"),
        ({"first_layer": 1.0}, "every sample would be its own centre"),
        ({"first_layer": 0.0}, "first_layer must be a number > 0"),
        ({"first_layer": [20, 30]}, "list of falling numbers"),
        ({"first_layer": [20, 20]}, "list of falling numbers"),
        ({"first_layer": []}, "list of falling numbers"),
        ({"n_classes": 241}, "n_classes must be <= n_samples=240, got 241"),
        ({"decay": 0}, "decay must be a number > 0"),
        ({"feature_fraction": 1.5}, "feature_fraction must be a number > 0 and <= 1"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"neighbors": "nearly"}, "neighbors must be 'auto', 'exact', 'graph'"),
        ({"neighbors": "graph", "reconstruction": 0.1}, "'exact' or 'auto' with reconstruction > 0"),
        ({"n_components": 0}, "n_components must be an integer >= 1"),
    ],
)
def test_bad_parameters_are_named(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(blobs[0])


def test_equal_rows_warn_and_give_zeros():
    with pytest.warns(DegenerateDataWarning, match="every sample has the same codes"):
        network = small().fit(np.ones((30, 4)))
    np.testing.assert_array_equal(network.embedding_, 0)


def test_repeated_rows_share_their_output(blobs):
    X = np.repeat(blobs[0][:60], 3, axis=0)
    Z = small().fit(X).embedding_
    np.testing.assert_array_equal(Z[::3], Z[1::3])
