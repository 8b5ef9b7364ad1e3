from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

from polyfold._progress import job
from polyfold.bootstrap import choose_bottom, fit_network
from polyfold.bootstrap._choose import is_affordable, list_length
from tests.oracles.bootstrap import network as literal_network

OPTIONS = {"n_clusterings": 12, "feature_fraction": 0.5, "reconstruction": 0.0, "seed": 5}


def data(n=90, d=20, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, d)) + 0.2 * rng.standard_normal((n, d))
    return np.clip(128 + 20 * X, 0, 255).astype(dtype) if dtype == np.uint8 else X.astype(dtype)


def bottom_of(X, metric="euclidean", neighbors="exact", k=40):
    return choose_bottom(X, metric=metric, neighbors=neighbors, n_centers=k, reconstruction=0.0, seed=0)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "linear"])
def test_codes_are_those_of_the_literal_network(dtype, metric):
    X = data(dtype=dtype)
    net = fit_network(X, bottom_of(X, metric), [40, 20, 8], **OPTIONS)
    for got, expected in zip(net.codes, literal_network(X, net.draws, net.sizes, metric), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("neighbors", ["exact", 10])
def test_training_points_keep_their_codes_and_threads_do_not_matter(neighbors):
    X = data()
    one, two = (fit_network(X, bottom_of(X, neighbors=neighbors), [40, 20, 8], n_jobs=j, **OPTIONS) for j in (1, 2))
    for layer in range(3):
        np.testing.assert_array_equal(one.codes[layer], two.codes[layer])
        np.testing.assert_array_equal(one.encode(X, layer, n_jobs=2), one.codes[layer])


def test_sparse_and_dense_rows_give_the_same_codes():
    X = data() * (data(seed=1) > 0)
    dense = fit_network(X, bottom_of(X), [40, 20], **OPTIONS)
    sparse = fit_network(sp.csr_array(X), bottom_of(sp.csr_array(X)), [40, 20], **OPTIONS)
    np.testing.assert_array_equal(dense.codes[-1], sparse.codes[-1])


def test_exact_mode_reports_no_error_and_the_graph_its_own():
    X = data(400, 150)
    assert fit_network(X, bottom_of(X), [40], **OPTIONS).disagreement == 0.0
    approximate = fit_network(X, bottom_of(X, neighbors=2), [40], **{**OPTIONS, "n_clusterings": 40})
    exact = fit_network(X, bottom_of(X), [40], **{**OPTIONS, "n_clusterings": 40})
    truth = np.mean(approximate.codes[0] != exact.codes[0])
    assert truth > 0
    assert abs(approximate.disagreement - truth) < 4 * np.sqrt(truth / 800)
    assert 0 < approximate.recall <= 1


def test_progress_names_the_layer():
    X, seen = data(), []
    watcher = SimpleNamespace(update=lambda job: seen.append(job.doing), close=lambda job: None)
    with job("fit", [watcher]):
        fit_network(X, bottom_of(X), [40, 8], **OPTIONS)
    assert "layer 2/2, clusterings 12/12" in seen


def test_auto_is_exact_until_it_costs_too_much():
    assert is_affordable(5000, 2500)
    assert not is_affordable(60_000, 8000)
    assert list_length(60_000, 8000, 20) == 150
    assert list_length(10, 5, 20) == 9


@pytest.mark.parametrize("metric", ["linear"])
def test_a_graph_is_refused_where_it_has_no_meaning(metric):
    with pytest.raises(ValueError, match="'exact' or 'auto' with metric='linear'"):
        bottom_of(data(), metric, "graph")
    with pytest.raises(ValueError, match="'exact' or 'auto' with sparse data"):
        bottom_of(sp.csr_array(data()), "cosine", "graph")


@pytest.mark.parametrize("neighbors", ["exact", "graph", 3])
@pytest.mark.parametrize("size", [1e39, 1e100])
def test_a_far_point_gets_codes(neighbors, size):
    X = data(400, 90)
    net = fit_network(X, bottom_of(X, neighbors=neighbors), [40, 20], **OPTIONS)
    far = np.zeros((3, 90))
    far[0] = size
    far[1, 5] = -size
    far[2] = X[3]
    codes = net.encode(far, 1)
    assert codes.max() < 20
    np.testing.assert_array_equal(codes[:, 2], net.codes[1][:, 3])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "linear"])
@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_codes_do_not_depend_on_the_scale(metric, factor, form):
    X = data() * (data(seed=1) > 0)
    plain, scaled = (fit_network(form(Z), bottom_of(form(Z), metric), [40, 20], **OPTIONS) for Z in (X, X * factor))
    np.testing.assert_array_equal(scaled.codes, plain.codes)


@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
def test_graph_candidates_do_not_depend_on_the_scale(factor):
    X = data(400, 90)
    plain, scaled = (fit_network(Z, bottom_of(Z, neighbors=3), [40], **OPTIONS) for Z in (X, X * factor))
    np.testing.assert_array_equal(scaled.codes, plain.codes)
    assert scaled.recall == plain.recall


def test_a_transformer_whose_graph_has_other_columns_is_refused():
    class Wrong(KNeighborsTransformer):
        def transform(self, X):
            graph = super().transform(X)
            return graph if len(X) == 90 else sp.csr_array((np.ones(len(X)), (range(len(X)), [500] * len(X))))

    net = fit_network(data(), bottom_of(data(), neighbors=Wrong(n_neighbors=30)), [40], **OPTIONS)
    with pytest.raises(ValueError, match=r"neighbors must be a graph of shape \(5, 90\), .* got \(5, 501\)"):
        net.encode(data()[:5] + 0.1, 0)
