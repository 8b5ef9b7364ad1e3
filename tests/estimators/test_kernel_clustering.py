import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

import polyfold as pf
from polyfold.estimators._kernel_clustering import KernelRepresentation
from polyfold.kernels import DiffusionMaps, GraphKernel, LaplacianEigenmaps, feature_operator
from polyfold.neighbors._search import Exact


def unit_rows_of_groups(n=400, groups=8, width=32, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % groups
    X = rng.standard_normal((groups, width))[y] + noise * np.sqrt(width) * rng.standard_normal((n, width))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("kernel", ["laplacian_eigenmaps", "diffusion"])
def test_groups_of_any_shape_are_found(kernel):
    X, y = make_circles(400, factor=0.4, noise=0.04, random_state=0)
    model = pf.KernelClustering(2, kernel=kernel, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_unconnected_groups_are_clusters_without_a_warning(recwarn):
    X, y = make_blobs(240, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    model = pf.KernelClustering(3, kernel=LaplacianEigenmaps(5), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    new, y_new = make_blobs(60, centers=[[0, 0], [50, 0], [0, 50]], random_state=1)
    assert adjusted_rand_score(y_new, model.predict(new)) == 1.0
    assert not recwarn.list


def test_rows_of_unit_length_take_diffusion_maps_and_others_the_network():
    X, y = unit_rows_of_groups()
    model = pf.KernelClustering(8, random_state=0).fit(X)
    assert isinstance(model.kernel_, DiffusionMaps)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert isinstance(pf.KernelClustering(8, random_state=0).fit(X.astype(np.float16)).kernel_, DiffusionMaps)
    assert isinstance(pf.KernelClustering(8, random_state=0).fit(sp.csr_array(X)).kernel_, DiffusionMaps)
    assert pf.KernelClustering(8, random_state=0).fit(2 * X).kernel_ == "bootstrap_network"


@pytest.mark.parametrize("form", [np.float16, np.float32, np.int8])
def test_small_types_are_taken_as_they_are(form):
    X, y = unit_rows_of_groups()
    X = (127 * X / np.abs(X).max()).astype(np.int8) if form is np.int8 else X.astype(form)
    assert adjusted_rand_score(y, pf.KernelClustering(8, random_state=0).fit(X).labels_) > 0.99
    assert adjusted_rand_score(y, pf.BootstrapClustering(8, random_state=0).fit(X).labels_) > 0.99


def test_the_number_of_clear_groups_is_found():
    X, y = unit_rows_of_groups()
    model = pf.KernelClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 8
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.level_scores_[8] == 1.0
    for number, labels in zip(model.level_scores_, model.levels_, strict=True):
        np.testing.assert_array_equal(labels, model.labels_at(number))
        np.testing.assert_array_equal(labels, model.predict(X, n_clusters=number))


def test_a_precomputed_kernel_is_clustered_and_predicts():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    K = rbf_kernel(X, gamma=20)
    model = pf.KernelClustering(2, kernel="precomputed", random_state=0).fit(K)
    other = pf.KernelClustering(2, kernel=pf.kernels.Gaussian(20), random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, other.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(K), model.labels_)


def test_blocks_and_arrays_give_the_same_clusters():
    X, _ = unit_rows_of_groups()
    model = pf.KernelClustering(8, kernel="rbf", random_state=0).fit(X)
    streamed = clone(model).fit([X[:150], X[150:]])
    assert adjusted_rand_score(model.labels_, streamed.labels_) == 1.0
    np.testing.assert_array_equal(model.predict([X[:100], X[100:]]), model.labels_)


def duplicated(X):
    return X[np.arange(len(X)) % 150]


def nearly_duplicated(X):
    """Rows that differ by less than the search resolves."""
    X = X.copy()
    X[1:60:2] = X[:60:2]
    X[1:60:2, 0] = np.nextafter(X[:60:2, 0], 1)
    return X


def unconnected(X):
    return X + 5 * (np.arange(len(X)) % 3 == 0)[:, None]


@pytest.mark.parametrize("form", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("change", [np.copy, duplicated, nearly_duplicated, unconnected])
@pytest.mark.parametrize("kernel", ["diffusion", "lle", "rbf"])
def test_training_rows_have_the_labels_and_coordinates_of_the_fit(kernel, change, form):
    X = form(change(unit_rows_of_groups(200)[0]))
    model = pf.KernelClustering(6, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert model.embedding_.dtype == (np.float32 if form is np.float32 else np.float64)


@pytest.mark.parametrize("engine", ["faiss", "pynndescent"])
def test_training_rows_have_the_labels_of_the_fit_with_approximate_search(engine):
    pytest.importorskip(engine)
    X, _ = unit_rows_of_groups(300)
    kernel = DiffusionMaps(10, neighbors=engine)
    model = pf.KernelClustering(6, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_neighbours_are_searched_once(monkeypatch):
    X, _ = unit_rows_of_groups(400)
    rows, query = [], Exact.query
    monkeypatch.setattr(Exact, "query", lambda search, X, k: rows.append(len(X)) or query(search, X, k))
    KernelRepresentation(DiffusionMaps(10)).fit(duplicated(X), 6, np.random.SeedSequence(0))
    assert rows == [150]


def test_the_network_as_a_kernel_is_the_other_clusterer():
    X, _ = make_blobs(200, n_features=6, centers=4, random_state=0)
    one = pf.KernelClustering(kernel="bootstrap_network", random_state=0).fit(X)
    two = pf.BootstrapClustering(random_state=0).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.level_scores_ == two.level_scores_
    assert isinstance(one.model_, pf.MultilayerBootstrapNetwork)
    assert isinstance(two.network_, pf.MultilayerBootstrapNetwork)


@pytest.mark.parametrize("kernel", ["auto", "diffusion"])
def test_the_number_of_threads_changes_nothing(kernel):
    X, _ = unit_rows_of_groups(n=300)
    one, two = (pf.KernelClustering(kernel=kernel, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.level_scores_ == two.level_scores_


def test_few_distinct_rows_of_unit_length_are_clustered_by_the_network(rng):
    rows = rng.standard_normal((10, 4))
    X = np.repeat(rows / np.linalg.norm(rows, axis=1, keepdims=True), 30, axis=0)
    clustering = pf.KernelClustering(random_state=0).fit(X)
    assert clustering.kernel_ == "bootstrap_network"
    np.testing.assert_array_equal(clustering.labels_, np.repeat(clustering.labels_[::30], 30))


@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_named_columns_give_no_warning(rng, kernel):
    pd = pytest.importorskip("pandas")
    rows = rng.standard_normal((100, 4))
    X = pd.DataFrame(rows / np.linalg.norm(rows, axis=1, keepdims=True), columns=list("abcd"))
    clustering = pf.KernelClustering(3, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_array_equal(clustering.predict(X), clustering.labels_)
    assert list(clustering.feature_names_in_) == list("abcd")


def test_messages_about_the_rows_name_the_estimator():
    with pytest.raises(ValueError, match="KernelClustering does not accept missing values"):
        pf.KernelClustering(3).fit([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]])


class Neighborless(GraphKernel):
    """A user's kernel: an operator without a neighbour graph."""

    def operator_on(self, X):
        return feature_operator(X, lambda new: new)


def test_a_graph_kernel_needs_no_neighbour_graph():
    X, y = make_blobs(120, n_features=6, centers=3, random_state=0)
    model = pf.KernelClustering(3, kernel=Neighborless(), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_checkpoints_are_for_networks_only(tmp_path):
    X, _ = make_blobs(60, n_features=6, centers=3, random_state=0)
    with pytest.raises(ValueError, match="checkpoint needs kernel='bootstrap_network', got kernel='diffusion'"):
        pf.KernelClustering(3, kernel="diffusion", random_state=0).fit(X, checkpoint=tmp_path)
    model = pf.KernelClustering(3, kernel="bootstrap_network", random_state=0).fit(X, checkpoint=tmp_path)
    assert any(tmp_path.iterdir())
    assert len(model.labels_) == 60
