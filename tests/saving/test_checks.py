"""Forged indices are refused on load."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsTransformer,
)
from sklearn.preprocessing import OneHotEncoder

import polyfold as pf
from polyfold.exceptions import ModelFileError
from polyfold.saving._checks import _check_specs
from tests.saving.forging import parsed

X = np.random.RandomState(0).standard_normal((40, 5))


def network(**options):
    settings = {"n_classes": 3, "n_clusterings": 10, "n_jobs": 1, "random_state": 0, **options}
    return pf.MultilayerBootstrapNetwork(2, **settings)


def refused(model, path):
    pf.save(model, path)
    with pytest.raises(ModelFileError):
        pf.load(path)
    return True


FORGERIES = {
    "rows": lambda encoder: encoder.specs[0][3].rows.__setitem__(0, 40),
    "negative rows": lambda encoder: encoder.specs[0][3].rows.__setitem__(0, -1),
    "features": lambda encoder: encoder.specs[0][3].features.__setitem__(0, 10**6),
    "clusterings below": lambda encoder: encoder.specs[1][2].features.__setitem__(0, 10),
    "codes": lambda encoder: encoder.codes[0].__setitem__((0, 0), 250),
    "fewer codes": lambda encoder: encoder.codes.__setitem__(0, encoder.codes[0][:-1]),
    "fewer rows": lambda encoder: encoder.codes.__setitem__(0, encoder.codes[0][:, :-1]),
    "signed codes": lambda encoder: encoder.codes.__setitem__(0, encoder.codes[0].astype(np.int64)),
    "flat codes": lambda encoder: encoder.codes.__setitem__(0, encoder.codes[0].ravel()),
    "codes in a list": lambda encoder: encoder.codes.__setitem__(0, list(encoder.codes[0])),
    "sizes": lambda encoder: encoder.sizes.__setitem__(0, encoder.sizes[0] + 1),
    "no layers": lambda encoder: encoder.sizes.clear(),
    "replicates": lambda encoder: vars(encoder).update(n_replicates=3),
    "other search": lambda encoder: vars(encoder).update(first=encoder.specs[0][0]),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("given", [X, sp.csr_array(np.where(X > 0, X, 0))], ids=["dense", "sparse"])
def test_forged_indices_of_networks_are_refused(given, name, tmp_path):
    model = network().fit(given)
    pf.save(model, tmp_path / "sound")
    pf.load(tmp_path / "sound")
    FORGERIES[name](model.encoder_)
    assert refused(model, tmp_path / "forged")


def test_rows_that_are_not_finite_are_refused(tmp_path):
    dense, sparse = network().fit(X), network().fit(sp.csr_array(X))
    dense.encoder_.first.X[0, 0] = np.nan
    sparse.encoder_.first.X.data[0] = np.inf
    assert refused(dense, tmp_path / "m")
    assert refused(sparse, tmp_path / "m")


def test_principal_directions_are_checked(tmp_path):
    model = network().fit(X)
    bound = model.encoder_.first.bound
    for basis in (np.ones((4, 2)), np.full((5, 2), np.nan), np.ones((6, 2))):
        vars(bound)["basis"] = basis
        assert refused(model, tmp_path / "m")
    vars(bound)["basis"] = np.eye(5)[:, :2]
    pf.save(model, tmp_path / "m")
    pf.load(tmp_path / "m")


def test_neighbour_lists_are_checked(tmp_path):
    model = network(neighbors=5).fit(X)
    for given in (np.full((40, 3), 40, dtype=np.int32), np.zeros((39, 3), dtype=np.int32), np.zeros((40, 3))):
        model.encoder_.first.find.given = given
        assert refused(model, tmp_path / "m")


@pytest.mark.parametrize("change", [{"n_centers": 10**6}, {"n_centers": 0}, {"components": np.zeros((7, 2))}])
def test_components_of_another_size_are_refused_when_they_are_used(change, tmp_path):
    model = network().fit(X)
    for name, value in change.items():
        object.__setattr__(model.output_, name, value)
    pf.save(model, tmp_path / "m")
    with pytest.raises((ModelFileError, ValueError)):
        pf.load(tmp_path / "m").transform(X)


def test_rows_with_fewer_columns_than_the_training_rows_are_refused():
    model = network().fit(X)
    model.n_features_in_ = 2
    with pytest.raises(IndexError, match="the model is damaged, or the rows have another number of columns"):
        model.transform(np.repeat(X[:, :2], 2, axis=0))


def forged(model, path, change):
    pf.save(model, path)
    content = parsed(path.read_bytes())
    change(content)
    path.write_bytes(content.packed())
    with pytest.raises(ModelFileError):
        pf.load(path)
    return True


@pytest.mark.parametrize("place", [-1, 625, 10**6])
def test_random_states_beyond_their_numbers_are_refused(place, tmp_path):
    def change(content):
        key = content.lines.index("pos")
        (line,) = [line for line in content.lines if isinstance(line, list) and line[0] == "dict" and key in line[1::2]]
        content.lines[line[line[1:].index(key) + 2]] = place

    assert forged(network(random_state=np.random.RandomState(0)).fit(X), tmp_path / "m", change)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_sparse_matrices_of_other_arrays_than_lists_are_refused(which, tmp_path):
    def change(content):
        line = next(line for line in content.lines if isinstance(line, list) and str(line[0]).startswith("csr"))
        array = content.lines[line[2 + which]]
        array[2] = [1, *array[2]]

    assert forged(network().fit(sp.csr_array(np.where(X > 0, X, 0))), tmp_path / "m", change)


def test_matrices_of_metrics_have_the_size_of_the_rows(tmp_path):
    model = NearestNeighbors(metric="mahalanobis", metric_params={"VI": np.eye(X.shape[1])}, algorithm="brute").fit(X)
    pf.save(model, tmp_path / "m")
    pf.load(tmp_path / "m")
    for params in ({"VI": np.eye(1)}, {"Y_norm_squared": np.ones(1)}):
        model.effective_metric_params_ = params
        assert refused(model, tmp_path / "m")


def test_masks_hide_no_numbers(tmp_path):
    model = KNeighborsClassifier().fit(X, np.arange(len(X)) % 4)
    model._y = np.ma.MaskedArray(np.where(model._y == 3, 10**9, model._y), model._y == 3)
    pf.save(model, tmp_path / "m")
    assert np.asarray(pf.load(tmp_path / "m")._y).max() < 4


def test_arrays_of_arrays_are_refused(tmp_path):
    model = network().fit(X)
    model.extra = np.empty(1, dtype=object)
    model.extra[0] = np.zeros(2)
    with pytest.raises(TypeError, match="an array of arrays is not a plain array"):
        pf.save(model, tmp_path / "m")

    def change(content):
        content.lines.insert(1, ["objects", [1], 0])
        content.lines[0] = ["objects", [0]]

    assert forged(network().fit(X), tmp_path / "m", change)


@pytest.mark.parametrize("kind", [KNeighborsClassifier, RadiusNeighborsClassifier])
def test_lists_of_classes_belong_to_several_outputs(kind, tmp_path):
    model = kind().fit(X, np.arange(len(X)) % 4)
    model.classes_ = [model.classes_]
    assert refused(model, tmp_path / "m")
    y = np.column_stack([np.arange(len(X)) % 2, np.arange(len(X)) % 3])
    pf.save(kind().fit(X, y), tmp_path / "m")
    pf.load(tmp_path / "m")


def test_sparse_matrices_with_places_outside_are_refused(tmp_path):
    for place in (-1, 20, 10**6):
        model = network().fit(sp.csr_array(np.where(X > 0, X, 0)))
        model.extra = sp.csr_array(np.eye(20))
        model.extra.indices[3] = place
        assert refused(model, tmp_path / "m")


def test_clusterings_that_share_their_rows_are_checked_once(tmp_path):
    """Thousands of references to one large array would be joined to gigabytes."""
    rows = np.zeros(10**6, dtype=np.int32)
    specs = [pf.bootstrap.ClusteringSpec(rows, rows[:1])] * 1000
    tracemalloc.start()
    try:
        _check_specs(specs, len(rows), 1, 1)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


COMPARED = [  # with new rows, by compiled code
    KNeighborsTransformer(algorithm="brute"),
    NearestNeighbors(algorithm="brute"),
    KNeighborsClassifier(algorithm="brute"),
    KNeighborsRegressor(),
    RadiusNeighborsClassifier(10.0),
    KMeans(3, n_init=1, random_state=0),
    MiniBatchKMeans(3, n_init=1, random_state=0),
]


@pytest.mark.parametrize("estimator", COMPARED, ids=lambda estimator: type(estimator).__name__)
def test_rows_that_do_not_fit_new_rows_are_refused(estimator, tmp_path):
    name = "cluster_centers_" if hasattr(estimator, "n_clusters") else "_fit_X"
    for forged in ({"n_features_in_": 200_000}, {name: np.empty((0, 5))}, {name: X[:, :4]}, {name: X[0]}, {name: 3}):
        model = clone(estimator).fit(X, np.arange(40) % 2)
        vars(model).update(forged)
        assert refused(model, tmp_path / "m")
    model = clone(estimator).fit(X, np.arange(40) % 2)
    pf.save(model, tmp_path / "m")
    pf.load(tmp_path / "m")


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
@pytest.mark.parametrize("kind", [KNeighborsTransformer, RadiusNeighborsTransformer, NearestNeighbors])
def test_search_trees_of_other_rows_are_refused(kind, algorithm, tmp_path):
    def few(model):
        model._fit_X, model.n_samples_fit_ = X[:10], 10

    def none(model):
        del model._fit_X

    def other(model):
        model._tree = clone(model).fit(X)

    for forge in (few, none, other):
        model = kind(algorithm=algorithm).fit(X)
        pf.save(model, tmp_path / "m")
        pf.load(tmp_path / "m")
        forge(model)
        assert refused(model, tmp_path / "m")


def test_counts_of_other_clusters_are_refused(tmp_path):
    model = MiniBatchKMeans(3, n_init=1, random_state=0).fit(X)
    model._counts = model._counts[:1]
    assert refused(model, tmp_path / "m")


def test_distances_to_other_rows_are_refused(tmp_path):
    model = KNeighborsTransformer(metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0]))
    pf.save(model, tmp_path / "m")
    pf.load(tmp_path / "m")
    model._fit_X, model.n_samples_fit_ = model._fit_X[:10], 10
    assert refused(model, tmp_path / "m")


@pytest.mark.parametrize("y", [np.arange(40) % 2, np.column_stack([np.arange(40) % 2, np.arange(40) % 3])])
def test_labels_of_neighbours_are_checked(y, tmp_path):
    model = KNeighborsClassifier().fit(X, y)
    pf.save(model, tmp_path / "m")
    np.testing.assert_array_equal(pf.load(tmp_path / "m").predict(X), model.predict(X))
    for label in (-1, 3, 10**9):
        model._y = y.copy()
        model._y.flat[1] = label
        assert refused(model, tmp_path / "m")
    model._y = y[:-1]
    assert refused(model, tmp_path / "m")


@pytest.mark.parametrize("column", [-1, 4, 10**8, "x"])
def test_columns_of_words_are_checked(column, tmp_path):
    model = CountVectorizer().fit(["one two", "three four"])
    model.vocabulary_["two"] = column
    assert refused(model, tmp_path / "m")


def test_searches_without_rows_are_refused(tmp_path):
    model = pf.NonRedundantEmbedding(2, random_state=0).fit(X)
    model._fitted_operator.near.search.nearest._fit_X = np.empty((0, 5))
    assert refused(model, tmp_path / "m")


def test_the_number_of_columns_is_that_of_the_arrays(tmp_path):
    model = pf.NonRedundantEmbedding(2, random_state=0).fit(X)
    model.n_components_ = 10**12
    pf.save(model, tmp_path / "m")
    assert pf.load(tmp_path / "m").transform(X).shape == (40, 2)


def test_arrays_without_entries_are_no_longer_than_the_file(tmp_path):
    model = pf.ModularNeighbors(pf.ModularKernelPCA(2, 2, random_state=0)).fit(X)

    def change(content):
        line = next(line for line in content.lines if isinstance(line, list) and line[:1] == ["array"])
        line[2] = [2**28, 0]

    assert forged(model, tmp_path / "m", change)


@pytest.mark.parametrize("count", [0, -1, 10**6, 1.5, None])
def test_threads_are_counted(count, tmp_path):
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    model._n_threads = count
    assert refused(model, tmp_path / "m")


ENCODERS = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary"),
    OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(min_frequency=3, drop="first"),
]
COLUMN_FORGERIES = {
    "fewer columns": lambda model: model._n_features_outs.__setitem__(1, 1),
    "more columns": lambda model: model._n_features_outs.__setitem__(0, 10**9),
    "one list of columns less": lambda model: model._n_features_outs.pop(),
    "more categories": lambda model: model.categories_.__setitem__(1, np.arange(100.0)),
    "other order": lambda model: model.categories_.__setitem__(1, model.categories_[1][::-1]),
    "dropped": lambda model: vars(model).update(_drop_idx_after_grouping=np.array([10**6, None], dtype=object)),
    "rare": lambda model: vars(model).update(
        _infrequent_enabled=True,
        _default_to_infrequent_mappings=[None] * len(model.categories_),
        _infrequent_indices=[np.array([3 * 10**8])] * len(model.categories_),
    ),
    "grouped": lambda model: vars(model).update(
        _infrequent_enabled=True, _default_to_infrequent_mappings=[np.full(len(c), 9) for c in model.categories_]
    ),
}


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_columns_of_categories_are_checked(encoder, tmp_path):
    rows = np.column_stack([np.arange(40) % 2, np.repeat([0, 1, 2, 3, 4], [20, 10, 7, 2, 1])]).astype(float)
    for given in (rows, rows.astype(int).astype(str), rows.astype(object)):
        model = clone(encoder).fit(given)
        pf.save(model, tmp_path / "m")
        same = pf.load(tmp_path / "m")
        np.testing.assert_array_equal(same.transform(given).toarray(), model.transform(given).toarray())
    for change in COLUMN_FORGERIES.values():
        model = clone(encoder).fit(rows)
        change(model)
        assert refused(model, tmp_path / "m")
