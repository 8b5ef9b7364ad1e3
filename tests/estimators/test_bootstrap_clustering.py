import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from polyfold import BootstrapClustering, MultilayerBootstrapNetwork
from polyfold.exceptions import DegenerateDataWarning, GuessWarning, ScaleWarning

SMALL = MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)


def test_default_network_follows_the_number_of_clusters():
    X, y = make_blobs(150, n_features=6, centers=5, random_state=0)
    clustering = BootstrapClustering(5, random_state=0, n_jobs=2).fit(X)
    assert adjusted_rand_score(y, clustering.labels_) == 1.0
    assert clustering.network_.layer_sizes_[-1] >= 7.5
    np.testing.assert_array_equal(clustering.predict(X), clustering.labels_)
    assert clustering.transform(X).shape == (150, 6)  # a tenth more than clusters, rounded


def test_digits_that_k_means_mixes_up_are_told_apart():
    X, y = load_digits(n_class=6, return_X_y=True)
    X, y = X[:500].astype(np.uint8), y[:500]
    network = MultilayerBootstrapNetwork(6, n_classes=6, n_clusterings=100, random_state=0)
    score = normalized_mutual_info_score(y, BootstrapClustering(6, network=network, random_state=0).fit(X).labels_)
    assert score > 0.03 + normalized_mutual_info_score(y, KMeans(6, n_init=10, random_state=0).fit(X).labels_)


def test_the_number_of_clear_groups_is_found():
    X, y = make_blobs(300, n_features=10, centers=6, random_state=3)
    network = MultilayerBootstrapNetwork(20, n_clusterings=100, random_state=0)
    clustering = BootstrapClustering(network=network, random_state=0).fit(X)
    assert clustering.n_clusters_ == 6
    assert adjusted_rand_score(y, clustering.labels_) == 1.0


@pytest.mark.parametrize(
    ("n_clusters", "error", "message"),
    [
        (31, ValueError, "n_clusters must be <= n_samples=30, got 31"),
        ("many", ValueError, "n_clusters must be an integer >= 1, None or 'auto', got 'many'"),
        (0, ValueError, "n_clusters must be an integer >= 1"),
        (2.5, TypeError, "n_clusters must be an integer >= 1"),
    ],
)
def test_bad_numbers_are_named(n_clusters, error, message):
    with pytest.raises(error, match=message):
        BootstrapClustering(n_clusters).fit(np.random.default_rng(0).standard_normal((30, 3)))


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GuessWarning")  # of three rows, two groups are a guess
@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_few_rows_are_clustered_by_default(n):
    X, y = make_blobs(n, n_features=4, centers=2, random_state=0)
    clustering = BootstrapClustering(random_state=0).fit(X)
    assert adjusted_rand_score(y, clustering.labels_) == 1.0
    assert clustering.labels_.shape == (n,)


@pytest.mark.parametrize("n", [12, 50])
def test_equal_rows_are_one_cluster_and_one_warning_says_so(n):
    with pytest.warns(DegenerateDataWarning) as caught:
        assert BootstrapClustering(random_state=0).fit(np.ones((n, 3))).n_clusters_ == 1
    assert len(caught) == 1


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist])
@pytest.mark.parametrize("network", [None, SMALL])
def test_too_many_clusters_for_the_rows_are_named_as_clusters(network, form):
    X = form(np.random.default_rng(0).standard_normal((5, 3)))
    with pytest.raises(ValueError, match="n_clusters must be <= n_samples=5, got 6; lower it, or"):
        BootstrapClustering(6, network=network).fit(X)


def test_jobs_are_checked_with_any_network():
    with pytest.raises(ValueError, match="n_jobs must be"):
        BootstrapClustering(3, network=SMALL, n_jobs=0).fit(np.eye(9))


def test_a_failed_first_fit_leaves_an_unfitted_clustering(monkeypatch):
    clustering = BootstrapClustering(2, network=SMALL)
    monkeypatch.setattr("polyfold.estimators._tree_clustering.fit_tree", None)
    with pytest.raises(TypeError):
        clustering.fit(np.eye(9))
    with pytest.raises(NotFittedError):
        clustering.predict(np.eye(9))


def test_a_precomputed_network_is_split_by_rows_and_columns():
    X, y = make_blobs(150, n_features=6, centers=3, random_state=0)
    network = clone(SMALL).set_params(metric="precomputed", n_clusterings=200)
    clustering = BootstrapClustering(3, network=network, random_state=0)
    assert get_tags(clone(clustering)).input_tags.pairwise
    assert not get_tags(BootstrapClustering(3)).input_tags.pairwise
    scores = cross_val_score(clustering, pairwise_distances(X), y, cv=3, scoring="adjusted_rand_score")
    assert scores.min() > 0.9


def test_names_of_an_earlier_fit_are_forgotten():
    X = np.random.default_rng(0).standard_normal((20, 3))
    clustering = BootstrapClustering(2, network=SMALL).fit(pd.DataFrame(X, columns=list("abc")))
    assert list(clustering.feature_names_in_) == ["a", "b", "c"]
    assert not hasattr(clustering.fit(X), "feature_names_in_")


def test_small_groups_are_found_beside_large_ones():
    X, y = make_blobs([200, 200, 12], n_features=8, random_state=2)
    assert adjusted_rand_score(y, BootstrapClustering(3, random_state=0).fit(X).labels_) > 0.95


def test_the_layer_is_the_deepest_that_agrees_and_can_be_given():
    X, _ = make_blobs(200, n_features=8, centers=3, random_state=0)
    clustering = BootstrapClustering(3, random_state=0).fit(X)
    assert set(clustering.layer_scores_) == set(range(len(clustering.network_.layer_sizes_)))
    assert clustering.layer_ == len(clustering.network_.layer_sizes_) - 1
    given = BootstrapClustering(3, layer=0, random_state=0).fit(X)
    assert (given.layer_, given.layer_scores_) == (0, {})
    np.testing.assert_array_equal(given.predict(X), given.labels_)


def test_one_network_without_replicates_is_read_at_its_last_layer():
    X, _ = make_blobs(100, n_features=8, centers=3, random_state=0)
    clustering = BootstrapClustering(3, network=SMALL, random_state=0).fit(X)
    assert clustering.layer_ == len(clustering.network_.layer_sizes_) - 1


def test_clusters_of_noise_are_called_a_guess():
    X = np.random.default_rng(0).standard_normal((200, 6))
    with pytest.warns(GuessWarning, match="two halves of the rows agree on less than half of the information"):
        clustering = BootstrapClustering(random_state=0).fit(X)
    assert clustering.n_clusters_ in clustering.level_scores_
    assert max(clustering.level_information_.values()) <= 0


def test_clear_groups_are_not_a_guess():
    for seed in range(3):
        X, _ = make_blobs(600, n_features=5, centers=2 + seed, cluster_std=0.5, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", GuessWarning)
            assert BootstrapClustering(random_state=0).fit(X).n_clusters_ == 2 + seed


@pytest.mark.parametrize("n_features", [2, 3])
def test_groups_that_differ_in_all_of_few_columns_are_found(n_features):
    centers = 100 * np.vstack([np.zeros(n_features), np.eye(n_features)])
    y = np.repeat(np.arange(len(centers)), 50)
    X = centers[y] + np.random.default_rng(0).standard_normal((len(y), n_features))
    assert adjusted_rand_score(y, BootstrapClustering(len(centers), random_state=0).fit(X).labels_) == 1.0


def test_no_number_beyond_the_distinct_points_is_tried(recwarn):
    X = np.repeat(np.eye(3), 40, axis=0)
    clustering = BootstrapClustering(random_state=0).fit(X)
    assert clustering.n_clusters_ == 3
    assert clustering.level_scores_ == {3: 1.0}
    assert not recwarn.list


def test_levels_are_nested_and_labels_are_one_of_them():
    X, y = make_blobs(400, n_features=6, centers=5, random_state=0)
    # A tree of 200 rows may cut off a few rows of one blob, so the median of three seeds counts.
    fitted = [BootstrapClustering(random_state=seed).fit(X) for seed in range(3)]
    assert np.median([clustering.n_clusters_ for clustering in fitted]) == 5
    assert np.median([clustering.level_scores_.get(5, 0.0) for clustering in fitted]) > 0.9
    clustering = next(clustering for clustering in fitted if clustering.n_clusters_ == 5)
    assert adjusted_rand_score(y, clustering.labels_) == 1.0
    assert list(clustering.level_scores_) == sorted(clustering.level_scores_)
    for number, labels in zip(clustering.level_scores_, clustering.levels_, strict=True):
        assert len(set(labels)) == number
        np.testing.assert_array_equal(labels, clustering.labels_at(number))
        np.testing.assert_array_equal(labels, clustering.predict(X, n_clusters=number))
    for coarse, fine in itertools.pairwise(clustering.levels_):
        assert len(set(zip(coarse, fine, strict=True))) == len(set(fine))


def test_halves_of_a_sample_may_have_fewer_layers(monkeypatch):
    monkeypatch.setattr("polyfold.estimators._bootstrap_clustering.SEARCH_ROWS", 60)
    X, _ = make_blobs(600, n_features=6, centers=3, random_state=0)
    for layer in (0, 3, -1):
        clustering = BootstrapClustering(3, network=SMALL, layer=layer, random_state=0).fit(X)
        assert clustering.level_scores_[3] > 0.8


def test_the_tree_lists_every_cluster_with_its_parent():
    X, _ = make_blobs(150, n_features=6, centers=3, random_state=0)
    table = BootstrapClustering(3, random_state=0).fit(X).tree_
    frame = pd.DataFrame(table)
    assert list(frame) == ["parent", "child", "size", "stability"]
    children = frame.groupby("parent")["size"].sum()
    inner = frame.set_index("child")["size"]
    assert all(inner[parent] == size for parent, size in children.items() if parent in inner.index)
    assert frame["stability"].between(0, 1).all()


def test_a_given_number_is_a_level_and_the_tree_has_others():
    X, _ = make_blobs(300, n_features=6, centers=4, random_state=0)
    clustering = BootstrapClustering(7, random_state=0).fit(X)
    assert 7 in clustering.level_scores_
    assert len(set(clustering.labels_)) == 7
    assert len(set(clustering.labels_at(2))) == 2
    with pytest.raises(ValueError, match="the number of small clusters that the tree was built from"):
        clustering.labels_at(301)
    with pytest.raises(ValueError, match="n_clusters must be an integer >= 1"):
        clustering.predict(X, n_clusters=0)


@pytest.mark.parametrize("coarse", [np.round, lambda X: np.repeat(X[::10], 10, axis=0)], ids=["rounded", "copied"])
def test_groups_of_copies_are_found(coarse):
    """With half of the rows as centres, every place of copies would be its own centre."""
    X, y = (coarse(part) for part in make_blobs(600, n_features=2, centers=4, cluster_std=0.8, random_state=3))
    assert adjusted_rand_score(y, BootstrapClustering(4, random_state=0).fit(X).labels_) > 0.95


def test_columns_in_other_units_are_named_once():
    X, _ = make_blobs(100, n_features=5, centers=3, random_state=0)
    X[:, 2] *= 100
    with pytest.warns(ScaleWarning, match=r"of its 5 columns \(2\).*StandardScaler") as caught:
        BootstrapClustering(3, random_state=0).fit(X)
    assert sum(issubclass(w.category, ScaleWarning) for w in caught) == 1
    frame = pd.DataFrame(X, columns=["a", "b", "income", "d", "e"])
    with pytest.warns(ScaleWarning, match=r"\(income\)"):
        MultilayerBootstrapNetwork(random_state=0).fit(frame)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_text_is_compared_by_angles(form):
    rng = np.random.default_rng(0)
    topics = rng.random((3, 400)) * (rng.random((3, 400)) < 0.05)
    y = np.repeat(np.arange(3), 40)
    counts = rng.poisson(3 * topics[y]).astype(np.float64)
    clustering = BootstrapClustering(3, random_state=0).fit(form(counts))
    assert clustering.network_.metric_ == "cosine"
    assert adjusted_rand_score(y, clustering.labels_) > 0.9


def test_dense_rows_are_compared_by_distances():
    X, _ = make_blobs(60, n_features=4, random_state=0)
    assert MultilayerBootstrapNetwork(n_classes=3, random_state=0).fit(X).metric_ == "euclidean"


def test_the_network_says_what_was_chosen_and_how_sure_it_is():
    X, _ = make_blobs(150, n_features=10, centers=3, random_state=0)
    network = MultilayerBootstrapNetwork(n_classes=3, random_state=0).fit(X)
    assert network.n_clusterings_ in (200, 400)
    assert network.feature_fraction_ in network.feature_fraction_scores_
    assert 0.9 < network.reliability_ <= 1.0
    given = MultilayerBootstrapNetwork(n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0).fit(X)
    assert np.isnan(given.reliability_)
    assert given.feature_fraction_scores_ == {}


def test_a_fit_of_replicates_continues_from_its_checkpoint(tmp_path, monkeypatch):
    X, _ = make_blobs(80, n_features=6, centers=3, random_state=0)
    network = MultilayerBootstrapNetwork(n_classes=3, feature_fraction=0.5, random_state=0)
    expected = clone(network).fit(X).embedding_
    with monkeypatch.context() as patch:
        patch.setattr("polyfold.bootstrap._encoder.join", None)
        with pytest.raises(TypeError):
            network.fit(X, checkpoint=tmp_path)
    assert len(list(tmp_path.glob("replicate-*/layer-*.npz"))) >= 4
    np.testing.assert_array_equal(network.fit(X, checkpoint=tmp_path).embedding_, expected)


@pytest.mark.parametrize(("places", "n_clusters"), [(3, 5), (6, 10), (2, 4)])
def test_fewer_places_than_clusters_are_told_once(places, n_clusters):
    X = np.repeat(np.random.default_rng(0).normal(size=(places, 6)), 25, axis=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        clustering = BootstrapClustering(n_clusters, random_state=0).fit(X)
    assert [w.category for w in told] == [DegenerateDataWarning]
    assert f"only {places} distinct points" in str(told[0].message)
    assert clustering.n_clusters_ == places
    assert adjusted_rand_score(np.arange(len(X)) // 25, clustering.labels_) == 1.0
    np.testing.assert_array_equal(clustering.predict(X), clustering.labels_)
