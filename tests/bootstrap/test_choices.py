"""Which training rows are compared with a row, which search is used, and which settings are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import polyfold as pf
from polyfold.bootstrap import layers_for, make_first_layer
from polyfold.bootstrap._sampling import check_layer
from tests.bootstrap.test_searches import assign, literal, make, search_of, some_specs


def test_rows_with_fewer_neighbours_than_others_have_no_further_candidates():
    X = make(np.random.default_rng(0), 30, 6, np.float64)
    # Row i has i % 3 + 1 neighbours, and none of them is row 0.
    pairs = [(i, 1 + (i + step) % 29) for i in range(30) for step in range(i % 3 + 1)]
    graph = sp.csr_array((np.arange(1.0, len(pairs) + 1), tuple(zip(*pairs, strict=True))), shape=(30, 30))
    search = search_of(X, some_specs(2, 30, 9, 6), neighbors=graph)
    lists = search.prepare(X).lists
    for i, row in enumerate(lists):
        given = {j for k, j in pairs if k == i}
        assert set(row[row >= 0]) == given | {i}
        assert (row < 0).sum() == lists.shape[1] - 1 - len(given - {i})


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_candidates_by_the_cosine_do_not_depend_on_lengths(metric):
    X = make(np.random.default_rng(0), 120, 8, np.float64)
    longer = X * np.random.default_rng(1).uniform(1, 100, (120, 1))
    lists = [
        np.sort(search_of(rows, some_specs(2, 120, 20, 8), metric, neighbors=5).prepare(rows).lists, axis=1)
        for rows in (X, longer)
    ]
    assert np.array_equal(*lists) == (metric == "cosine")


@pytest.mark.parametrize(
    ("metric", "make_rows", "few", "many"),
    [
        ("euclidean", np.asarray, "DenseSearch", "CandidateSearch"),
        ("linear", np.asarray, "DenseSearch", "DenseSearch"),
        ("euclidean", sp.csr_array, "SparseSearch", "SparseSearch"),
    ],
)
def test_large_dense_data_are_searched_by_candidates(metric, make_rows, few, many):
    rows = make_rows(np.random.default_rng(0).random((2000, 4)))
    options = {"metric": metric, "neighbors": "auto", "seeds": np.random.SeedSequence(0)}
    # 50 million pairs of rows and centres are compared exactly.
    found = [type(make_first_layer(rows, n_centers=count, **options)).__name__ for count in (25_000, 25_001)]
    assert found == [few, many]


def test_wide_dense_data_are_searched_by_candidates():
    options = {"metric": "euclidean", "neighbors": "auto", "n_centers": 50, "seeds": np.random.SeedSequence(0)}
    rows = [np.random.default_rng(0).random((100, width)) for width in (96, 97)]
    assert [type(make_first_layer(X, **options)).__name__ for X in rows] == ["DenseSearch", "CandidateSearch"]


@pytest.mark.parametrize("width", [20, 200])
def test_samples_are_searched_in_the_same_way(width):
    X = np.random.default_rng(0).random((60, width))
    first = make_first_layer(X, metric="euclidean", neighbors="auto", n_centers=30, seeds=np.random.SeedSequence(0))
    rows, search, sizes = layers_for(first, X[:40], [30, 15])
    assert type(search) is type(first)
    assert (rows.shape, search.X.shape, sizes) == ((40, width), (40, width), [15])


@pytest.mark.parametrize("layer", [0, -1, 3, np.int64(2), "auto"])
def test_numbers_and_auto_are_layers(layer):
    check_layer(layer)


@pytest.mark.parametrize("layer", [True, 1.5, "first", None])
def test_other_values_are_not_layers(layer):
    with pytest.raises(ValueError, match="layer must be an integer or 'auto'"):
        check_layer(layer)


@pytest.mark.parametrize("decay", [0, -0.5, 1.5])
def test_layers_must_shrink_by_a_factor_between_zero_and_one(decay):
    with pytest.raises(ValueError, match="decay must be"):
        pf.MultilayerBootstrapNetwork(2, n_classes=2, decay=decay).fit(np.eye(9))


def test_there_are_at_most_as_many_classes_as_rows():
    rows = np.random.default_rng(0).random((9, 3))
    with pytest.raises(ValueError, match="n_classes must be <= n_samples=9, got 10"):
        pf.MultilayerBootstrapNetwork(2, n_classes=10).fit(rows)
    network = pf.MultilayerBootstrapNetwork(2, n_classes=2, n_clusterings=5, random_state=0).fit(rows)
    assert network.layer_sizes_[0] < 9


def test_candidates_are_the_nearest_rows_also_of_rows_far_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4)) * rng.uniform(0.1, 10, (150, 1))
    lists = search_of(X, some_specs(2, 150, 30, 4), neighbors=3).prepare(X).lists
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_array_equal(lists, np.argsort(distances, axis=1)[:, : lists.shape[1]])


@pytest.mark.parametrize("d", [6, 200])
def test_the_nearest_of_hundreds_of_centres_is_found(d):
    X = np.random.default_rng(d).random((500, d), dtype=np.float32)  # without principal directions, bounds are loose
    specs = some_specs(3, 500, 400, d)
    new = np.random.default_rng(1).random((100, d), dtype=np.float32)
    np.testing.assert_array_equal(assign(search_of(X, specs), new), literal(new, X, specs))


def test_a_first_layer_of_all_rows_is_refused():
    rows = np.random.default_rng(0).random((9, 3))
    with pytest.raises(ValueError, match="first_layer must be < 1, got 1.0"):
        pf.MultilayerBootstrapNetwork(2, n_classes=2, first_layer=1.0).fit(rows)
