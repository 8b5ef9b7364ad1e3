import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from polyfold import BootstrapClustering, MultilayerBootstrapNetwork

SMALL = MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, random_state=0)


def test_default_network_follows_the_number_of_clusters():
    X, y = make_blobs(150, n_features=6, centers=5, random_state=0)
    clustering = BootstrapClustering(5, random_state=0, n_jobs=2).fit(X)
    assert adjusted_rand_score(y, clustering.labels_) == 1.0
    assert clustering.network_.n_components == 5
    assert clustering.network_.layer_sizes_[-1] >= 7.5
    np.testing.assert_array_equal(clustering.predict(X), clustering.labels_)
    assert clustering.transform(X).shape == (150, 5)


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


def test_the_best_of_many_runs_is_kept():
    X = np.random.default_rng(0).standard_normal((120, 5))
    one, many = (BootstrapClustering(6, network=SMALL, n_init=n, random_state=0).fit(X) for n in (1, 30))
    assert many.inertia_ <= one.inertia_


@pytest.mark.parametrize(
    ("n_clusters", "error", "message"),
    [
        (31, ValueError, "n_clusters must be <= n_samples=30, got 31"),
        ("many", ValueError, "n_clusters must be an integer >= 1 or 'auto', got 'many'"),
        (0, ValueError, "n_clusters must be an integer >= 1"),
        (2.5, TypeError, "n_clusters must be an integer >= 1"),
    ],
)
def test_bad_numbers_are_named(n_clusters, error, message):
    with pytest.raises(error, match=message):
        BootstrapClustering(n_clusters).fit(np.random.default_rng(0).standard_normal((30, 3)))


@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_few_rows_are_clustered_by_default(n):
    X, y = make_blobs(n, n_features=4, centers=2, random_state=0)
    clustering = BootstrapClustering(random_state=0).fit(X)
    assert adjusted_rand_score(y, clustering.labels_) == 1.0
    assert clustering.labels_.shape == (n,)


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.DegenerateDataWarning")
def test_equal_rows_are_one_cluster():
    assert BootstrapClustering(random_state=0).fit(np.ones((12, 3))).n_clusters_ == 1


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
    monkeypatch.setattr("polyfold.estimators._bootstrap_clustering.KMeans", None)
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
