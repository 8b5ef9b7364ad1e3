import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from polyfold import MultilayerBootstrapNetwork
from polyfold.bootstrap import shared_centers
from polyfold.exceptions import DegenerateDataWarning


def small(**options):
    return MultilayerBootstrapNetwork(
        **{"n_classes": 3, "n_clusterings": 40, "feature_fraction": 0.5, "random_state": 0, **options}
    )


@pytest.fixture
def blobs():
    X, y = make_blobs(240, n_features=12, centers=3, cluster_std=2.0, random_state=1)
    return X, y


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


def test_a_share_of_centres_counts_copies_once(blobs):
    X, _ = blobs
    copies = np.repeat(X, 3, axis=0)
    assert small().fit(copies).layer_sizes_[0] == 120
    assert small().fit(sp.csr_array(copies)).layer_sizes_[0] == 120
    assert small(first_layer=200).fit(copies).layer_sizes_[0] == 200


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
    assert small().fit(X.astype(np.float32)).at_layer(1).embedding_.dtype == np.float32


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame], ids=["dense", "sparse", "frame"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_rows_overwritten_after_the_fit_do_not_matter(blobs, dtype, form):
    X = np.clip(blobs[0] * 8 + 128, 0, 255).astype(dtype)
    given = form(X.copy())
    network = small().fit(given)
    if sp.issparse(given):
        given.data[:] = 1
    elif isinstance(given, pd.DataFrame):
        given.loc[:, :] = dtype(1)
    else:
        given[:] = 1
    np.testing.assert_allclose(network.transform(X), network.embedding_, atol=1e-5)


def test_a_file_mapped_for_reading_is_not_copied(blobs, tmp_path):
    np.save(tmp_path / "rows.npy", blobs[0])
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.may_share_memory(small().fit(mapped).encoder_.first.X, mapped)


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
    given = small(neighbors=graph, feature_fraction=0.5).fit(X)
    searched = small(neighbors=KNeighborsTransformer(n_neighbors=60), feature_fraction=0.5).fit(X)
    np.testing.assert_array_equal(given.embedding_, searched.embedding_)
    np.testing.assert_allclose(searched.transform(X), searched.embedding_, atol=1e-12)
    assert 0 <= given.assignment_error_ < 0.1
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


@pytest.mark.parametrize("form", ["graph", "distances"])
def test_a_precomputed_graph_is_split_by_rows_and_columns(blobs, form):
    X, y = blobs
    D = kneighbors_graph(X, 60, mode="distance") if form == "graph" else pairwise_distances(X)
    model = make_pipeline(clone(small(metric="precomputed", n_clusterings=100)), KNeighborsClassifier())
    assert cross_val_score(model, D, y, cv=3).min() > 0.9


def test_a_graph_made_in_the_pipeline_is_split_by_rows(blobs):
    X, y = blobs
    graph = KNeighborsTransformer(n_neighbors=60)
    model = make_pipeline(graph, small(metric="precomputed", n_clusterings=100), KNeighborsClassifier())
    assert cross_val_score(model, X, y, cv=3).min() > 0.9


@pytest.mark.parametrize("n", [3, 4, 7])
def test_a_few_rows_are_enough(blobs, n):
    network = small().fit(blobs[0][:n])
    assert network.explained_variance_[0] > 0
    np.testing.assert_allclose(network.transform(blobs[0][:n]), network.embedding_, atol=1e-12)


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


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder of a whole fit, its rows, and what came out."""
    X, _ = make_blobs(40, n_features=4, centers=3, random_state=1)
    folder = tmp_path_factory.mktemp("finished")
    return folder, X, tiny().fit(X, checkpoint=folder).embedding_


def tiny(**options):
    return small(**{"n_clusterings": 8, "n_classes": 2, "feature_fraction": 0.5, **options})


def resumed_or_refused(X, expected, folder, damaged):
    """Whether the fit went on, and rightly; a refusal must name the file and the way out."""
    try:
        found = tiny().fit(X, checkpoint=folder).embedding_
    except ValueError as error:
        if str(damaged) not in str(error) or "; " not in str(error):
            raise
        return False
    np.testing.assert_array_equal(found, expected)
    return True


@pytest.mark.parametrize("name", ["state.json", "layer-00.npz", "layer-01.npz"])
def test_a_flipped_byte_is_seen_or_harmless(finished, tmp_path, name):
    source, X, expected = finished
    folder = shutil.copytree(source, tmp_path / "copy")
    content = (source / name).read_bytes()
    positions = np.random.RandomState(0).choice(len(content), min(10, len(content)), replace=False)
    refused = 0
    for position in positions:
        for bit in (0, 6):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            (folder / name).write_bytes(damaged)
            refused += not resumed_or_refused(X, expected, folder, folder / name)
    assert refused > len(positions)


@pytest.mark.parametrize("name", ["state.json", "layer-00.npz"])
@pytest.mark.parametrize("content", [b"", b"half", b"[]", b"{}", b"3", b"\xff\xfe", b'{"digest": 1}', None])
def test_truncated_and_foreign_files_are_refused(finished, tmp_path, name, content):
    source, X, expected = finished
    folder = shutil.copytree(source, tmp_path / "copy")
    half = (source / name).read_bytes()[:-40]
    (folder / name).write_bytes(half if content is None else content)
    assert not resumed_or_refused(X, expected, folder, folder / name)


def test_layers_without_their_state_are_refused(finished, tmp_path):
    source, X, _ = finished
    folder = shutil.copytree(source, tmp_path / "copy")
    (folder / "state.json").unlink()
    with pytest.raises(ValueError, match=r"state\.json.* does not exist next to layer-00.npz; pass another folder or"):
        tiny(random_state=1).fit(X, checkpoint=folder)


def test_layers_of_another_fit_are_refused(finished, tmp_path):
    source, X, _ = finished
    tiny(random_state=1).fit(X, checkpoint=tmp_path / "other")
    shutil.copy(source / "layer-00.npz", tmp_path / "other")
    with pytest.raises(ValueError, match=r"layer-00\.npz.*damaged.*; delete it"):
        tiny(random_state=1).fit(X, checkpoint=tmp_path / "other")


def test_lost_layers_are_computed_again(finished, tmp_path):
    source, X, expected = finished
    for lost in source.glob("layer-*"):
        folder = shutil.copytree(source, tmp_path / lost.stem)
        (folder / lost.name).unlink()
        assert resumed_or_refused(X, expected, folder, lost)
        assert (folder / lost.name).exists()


def test_numbers_of_numpy_and_of_python_are_the_same_fit(finished):
    folder, X, expected = finished
    network = tiny(n_clusterings=np.int64(8), feature_fraction=np.float64(0.5), random_state=np.int64(0))
    np.testing.assert_array_equal(network.fit(X, checkpoint=folder).embedding_, expected)


def test_numbers_of_numpy_are_written(finished, tmp_path):
    _, X, _ = finished
    network = tiny(n_clusterings=np.int64(8), first_layer=np.int32(20), neighbors=np.int64(5))
    assert network.fit(X, checkpoint=tmp_path).layer_sizes_ == tiny(first_layer=20).fit(X).layer_sizes_


def test_a_graph_of_neighbours_belongs_to_the_fit(finished, tmp_path):
    _, X, _ = finished
    near, nearer = (kneighbors_graph(X, k, mode="distance") for k in (30, 20))
    tiny(neighbors=near).fit(X, checkpoint=tmp_path)
    tiny(neighbors=near.copy()).fit(X, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="differs in neighbors"):
        tiny(neighbors=nearer).fit(X, checkpoint=tmp_path)


@pytest.mark.parametrize("use", ["transform", "codes", "at_layer"])
def test_a_failed_first_fit_leaves_an_unfitted_network(blobs, monkeypatch, use):
    X, _ = blobs
    network = small()
    monkeypatch.setattr("polyfold.estimators._bootstrap.fit_output", None)
    with pytest.raises(TypeError):
        network.fit(X)
    with pytest.raises(NotFittedError):
        getattr(network, use)(0 if use == "at_layer" else X)
    with pytest.raises(NotFittedError):
        check_is_fitted(network)


def test_a_failed_refit_leaves_the_network_that_was_there(blobs, monkeypatch):
    X, _ = blobs
    network = small().fit(X)
    expected = network.transform(X)
    monkeypatch.setattr("polyfold.estimators._bootstrap.fit_output", None)
    with pytest.raises(TypeError):
        network.fit(pd.DataFrame(X[:, :5]))
    np.testing.assert_array_equal(network.transform(X), expected)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "linear"])
def test_values_whose_squares_overflow_are_refused(blobs, form, metric):
    X = blobs[0].copy()
    network = small(metric=metric).fit(form(X))
    X[3, 2] = 1e200
    for method in (clone(network).fit, network.transform):
        with pytest.raises(ValueError, match="X must have magnitudes <= .*, got 1e\\+200; remove outliers"):
            method(form(X))


@pytest.mark.parametrize("scale", [1e-25, 1e25])
@pytest.mark.parametrize("neighbors", ["exact", "graph"])
def test_units_do_not_matter(blobs, scale, neighbors):
    X, _ = blobs
    expected = small(neighbors=neighbors).fit(X).codes()
    assert np.mean(small(neighbors=neighbors).fit(X * scale).codes() == expected) > 0.99


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
        ({"neighbors": "graph", "metric": "linear"}, "'exact' or 'auto' with metric='linear'"),
        ({"n_components": 0}, "n_components must be an integer >= 1"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
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
