"""Whatever builds a graph of neighbours accepts one: a matrix, or a transformer that gives it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

import polyfold as pf
from tests.catalog import ENTRIES, GRAPH
from tests.contracts.answers import answers, assert_same, documented_warnings
from tests.contracts.samples import sheet

MOST = 35  # neighbours that cover what any of them asks for
PRINCIPLES = (pf.KernelEmbedding, pf.NonRedundantEmbedding, pf.ModularKernelPCA)


def on_kernel(make, kernel):
    options = {"n_components": 2, "kernel": kernel, "random_state": 0}
    return make(**options) if make is not pf.ModularKernelPCA else make(2, **options)


@pytest.mark.parametrize("name", sorted(GRAPH))
@pytest.mark.parametrize("make", PRINCIPLES)
def test_graph_kernels_take_graphs(make, name):
    X = np.array(sheet())
    given = (kneighbors_graph(X, MOST, mode="distance"), KNeighborsTransformer(n_neighbors=MOST))
    # Of a graph, as many neighbours are taken as otherwise; transforms look as far as it goes.
    with documented_warnings():
        own = answers(on_kernel(make, clone(GRAPH[name])).fit(X), X)
        for neighbors in given:
            kernel = clone(GRAPH[name]).set_params(neighbors=neighbors)
            assert_same(answers(on_kernel(make, kernel).fit(X), X), own, 1e-6)


@pytest.mark.parametrize("name", ["laplacian_eigenmaps", "isomap", "diffusion"])
@pytest.mark.parametrize("make", PRINCIPLES)
def test_distances_give_the_result_of_rows(make, name):
    X, new = np.array(sheet()), sheet(41)[36:]
    kernel = clone(GRAPH[name]).set_params(neighbors="precomputed")
    with documented_warnings():
        own = on_kernel(make, clone(GRAPH[name])).fit(X)
        of_distances = on_kernel(make, kernel).fit(cdist(X, X))
        for rows in (X, new):
            assert_same(answers(of_distances, cdist(rows, X)), answers(own, rows), 1e-6)


@pytest.mark.parametrize("network_of", ["MultilayerBootstrapNetwork", "BootstrapClustering", "BootstrapMap"])
def test_networks_take_graphs(network_of):
    X = np.array(sheet())
    graph = kneighbors_graph(X, MOST, mode="distance")
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    wrap = {
        "MultilayerBootstrapNetwork": lambda network: network,
        "BootstrapClustering": lambda network: pf.BootstrapClustering(3, network=network, random_state=0),
        "BootstrapMap": lambda network: pf.BootstrapMap(network=network, layout="spectral"),
    }[network_of]
    with documented_warnings():
        for changes, rows in (
            ({"neighbors": graph}, X),
            ({"neighbors": KNeighborsTransformer(n_neighbors=MOST)}, X),
            ({"metric": "precomputed"}, graph),
        ):
            assert wrap(clone(network).set_params(**changes)).fit_transform(rows).shape[0] == len(X)


def test_a_graph_of_other_rows_is_refused():
    X = np.array(sheet())
    model = on_kernel(pf.KernelEmbedding, clone(GRAPH["isomap"]).set_params(neighbors=kneighbors_graph(X[:20], 5)))
    with pytest.raises(ValueError, match=r"neighbors must be a graph of the 36 rows of X, .* got shape \(20, 20\)"):
        model.fit(X)


def test_new_points_and_graphs_are_told_apart():
    X = np.array(sheet())
    kernel = clone(GRAPH["laplacian_eigenmaps"]).set_params(neighbors=kneighbors_graph(X, 12, mode="distance"))
    model = on_kernel(pf.KernelEmbedding, kernel).fit(X)
    with pytest.raises(ValueError, match="X must hold training rows"):
        model.transform(X + 1.0)
    with pytest.raises(ValueError, match="n_neighbors must be <= 12"):
        on_kernel(pf.KernelEmbedding, clone(kernel).set_params(n_neighbors=13)).fit(X)


def test_the_network_is_a_notion_of_near_for_every_principle():
    X = np.array(sheet())
    near = pf.BootstrapNeighborsTransformer(
        15, network=pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    )
    with documented_warnings():
        for make in PRINCIPLES:
            model = on_kernel(make, clone(GRAPH["laplacian_eigenmaps"]).set_params(neighbors=near)).fit(X)
            assert np.isfinite(model.transform(X + 0.01)).all()


def test_the_catalogue_has_graph_kernels():
    assert {f"KernelEmbedding-{name}" for name in GRAPH} <= {entry.name for entry in ENTRIES}
