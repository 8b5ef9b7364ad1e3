"""Networks of layers and replicates, against the literal network."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsTransformer

from polyfold._policy import MAX_REPLICATES, REPLICATE_CLUSTERINGS
from polyfold._progress import watched
from polyfold._threads import using_threads
from polyfold.bootstrap import fit_encoder, fit_replicates, make_first_layer
from polyfold.bootstrap._encoder import _sample_pairs, reliability
from tests.oracles.bootstrap import network as literal_network

SEEDS = np.random.SeedSequence(5)
OPTIONS = {"n_clusterings": 12, "feature_fraction": 0.5, "seeds": SEEDS}


def data(n=90, d=20, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, d)) + 0.2 * rng.standard_normal((n, d))
    return np.clip(128 + 20 * X, 0, 255).astype(dtype) if dtype == np.uint8 else X.astype(dtype)


def first_of(X, metric="euclidean", neighbors="exact", k=40):
    return make_first_layer(X, metric=metric, neighbors=neighbors, n_centers=k, seeds=SEEDS)


def fit(X, sizes, metric="euclidean", neighbors="exact", n_jobs=1, **changes):
    first = first_of(X, metric, neighbors, sizes[0])
    with using_threads(n_jobs):
        return fit_encoder(first.prepare(X), first, sizes, **(OPTIONS | changes))


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "linear"])
def test_codes_are_those_of_the_literal_network(dtype, metric):
    X = data(dtype=dtype)
    net = fit(X, [40, 20, 8], metric)
    for got, expected in zip(net.codes, literal_network(X, net.specs, net.sizes, metric), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_codes_of_two_bytes_are_those_of_the_literal_network():
    X = data(700, 6)
    net = fit(X, [300, 270, 8], n_clusterings=5)
    for got, expected in zip(net.codes, literal_network(X, net.specs, net.sizes), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("neighbors", ["exact", 10])
def test_training_rows_keep_their_codes_and_threads_do_not_matter(neighbors):
    X = data()
    one, two = (fit(X, [40, 20, 8], neighbors=neighbors, n_jobs=jobs) for jobs in (1, 2))
    for layer in range(3):
        np.testing.assert_array_equal(one.codes[layer], two.codes[layer])
        with using_threads(2):
            np.testing.assert_array_equal(one.encode(X, layer), one.codes[layer])
        np.testing.assert_array_equal(one.encode(X[:1], layer), one.codes[layer][:, :1])


def test_sparse_and_dense_rows_give_the_same_codes():
    X = data() * (data(seed=1) > 0)
    np.testing.assert_array_equal(fit(X, [40, 20]).codes[-1], fit(sp.csr_array(X), [40, 20]).codes[-1])


def test_a_stored_network_encodes_as_before():
    X = data()
    net = fit(X, [40, 20], neighbors=5)
    net.encode(X, 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(net)).encode(X, 1), net.codes[1])


def test_progress_names_the_layer():
    seen = []
    watcher = SimpleNamespace(update=lambda fit: seen.append(str(fit)), close=lambda fit, finished: None)
    with watched("fit", watchers=[watcher]):
        fit(data(), [40, 8])
    assert any("layer 2/2" in text for text in seen)


def test_a_graph_is_refused_if_it_has_no_meaning():
    with pytest.raises(ValueError, match="'exact' or 'auto' with metric='linear'"):
        first_of(data(), "linear", "graph")
    with pytest.raises(ValueError, match="'exact' or 'auto' with sparse data"):
        first_of(sp.csr_array(data()), "cosine", "graph")


@pytest.mark.parametrize("neighbors", ["exact", 3])
@pytest.mark.parametrize("size", [1e39, 1e100])
def test_a_far_row_gets_codes(neighbors, size):
    X = data(400, 90)
    net = fit(X, [40, 20], neighbors=neighbors)
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
    plain, scaled = (fit(form(Z), [40, 20], metric) for Z in (X, X * factor))
    np.testing.assert_array_equal(scaled.codes[1], plain.codes[1])


@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
def test_candidates_do_not_depend_on_the_scale(factor):
    X = data(400, 90)
    plain, scaled = (fit(Z, [40], neighbors=3) for Z in (X, X * factor))
    np.testing.assert_array_equal(scaled.codes, plain.codes)
    assert scaled.neighbor_recall == plain.neighbor_recall


def test_a_transformer_whose_graph_has_other_columns_is_refused():
    class Wrong(KNeighborsTransformer):
        def transform(self, X):
            graph = super().transform(X)
            return graph if len(X) == 90 else sp.csr_array((np.ones(len(X)), (range(len(X)), [500] * len(X))))

    net = fit(data(), [40], neighbors=Wrong(n_neighbors=30))
    with pytest.raises(ValueError, match=r"neighbors must be a graph of shape \(5, 90\), .* got \(5, 501\)"):
        net.encode(data()[:5] + 0.1, 0)


@pytest.fixture(scope="module")
def replicated():
    X, _ = make_blobs(120, n_features=6, centers=3, cluster_std=3.0, random_state=0)
    return X, fit_replicates(X, first_of(X), [40, 20, 10], feature_fraction=0.5, seeds=SEEDS)


def test_replicates_are_independent_networks(replicated):
    X, (net, _) = replicated
    V, sizes = REPLICATE_CLUSTERINGS, [40, 20, 10]
    second = fit_encoder(X, first_of(X), sizes, n_clusterings=V, feature_fraction=0.5, seeds=SEEDS, replicate=1)
    for joined, alone in zip(net.codes, second.codes, strict=True):
        np.testing.assert_array_equal(joined[V : 2 * V], alone)
        assert not np.array_equal(joined[:V], alone)


def test_clusterings_above_see_half_of_those_below_whatever_the_fraction_of_features():
    X = data()
    for fraction in (0.2, 0.8):
        net = fit(X, [40, 20], feature_fraction=fraction)
        assert {len(spec.features) for spec in net.specs[0]} == {int(fraction * 20)}
        assert {len(spec.features) for spec in net.specs[1]} == {6}


def test_replicates_encode_their_training_rows_alike(replicated):
    X, (net, _) = replicated
    for level in range(3):
        np.testing.assert_array_equal(net.encode(X, level), net.codes[level])


def test_the_number_is_within_its_bounds(replicated):
    _, (net, reliabilities) = replicated
    assert net.n_replicates in (2, MAX_REPLICATES)
    assert list(reliabilities) == list(range(2, net.n_replicates + 1, 2))
    assert all(0.5 < value <= 1.0 for value in reliabilities.values())


def test_more_replicates_than_reliability_needs_can_be_fitted():
    X, _ = make_blobs(60, n_features=6, centers=3, cluster_std=0.01, random_state=0)
    options = {"feature_fraction": 0.5, "seeds": SEEDS}
    fewer, more = (fit_replicates(X, first_of(X), [20, 10], fewest=fewest, **options) for fewest in (2, 4))
    assert (fewer[0].n_replicates, more[0].n_replicates) == (2, 4)
    assert fewer[1][2] == more[1][2]


@pytest.mark.parametrize("count", [2, 4, 8])
def test_reliability_is_the_squared_correlation_with_the_truth(count):
    rng = np.random.default_rng(count)
    truth = rng.standard_normal(20_000)
    similarities = truth + 1.5 * rng.standard_normal((count, 20_000))
    value = reliability(similarities)
    expected = np.corrcoef(similarities.mean(axis=0), truth)[0, 1] ** 2
    assert abs(value - expected) < 0.02
    # A correlation has no scale.
    assert np.isclose(reliability(similarities * np.geomspace(1, 10, count)[:, None]), value)


def test_constant_similarities_are_reliable():
    assert reliability(np.ones((3, 10))) == 1.0


@pytest.mark.parametrize("n", [2, 3, 50])
def test_pairs_are_of_different_rows(n):
    first, second = _sample_pairs(n, np.random.default_rng(0))
    assert (first != second).all()
    assert set(first.tolist()) == set(second.tolist()) == set(range(n))
