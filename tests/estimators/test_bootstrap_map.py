"""Maps of a network's neighbours: groups stay together, new points join them, and missing packages are named."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import polyfold as pf
from polyfold.estimators import _layouts as layouts
from polyfold.exceptions import MissingExtraError, ScaleWarning

X, Y = make_blobs(160, n_features=6, centers=3, cluster_std=1.5, random_state=1)
NEW = X[::7] + 0.05
NETWORK = pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=40, feature_fraction=0.5, random_state=0)


def new_map(layout, **changes):
    return pf.BootstrapMap(network=NETWORK, layout=layout, random_state=0, **changes)


def accuracy(Z, labels, Z_new, new_labels):
    return KNeighborsClassifier(5).fit(Z, labels).score(Z_new, new_labels)


@pytest.fixture(scope="module", params=["spectral", "tsne", "umap"])
def fitted(request):
    package = layouts.PACKAGES.get(request.param)
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'polyfold[map]'")
    return new_map(request.param).fit(X)


def test_groups_lie_together_and_new_points_join_them(fitted):
    assert fitted.layout_ == fitted.layout
    assert fitted.embedding_.shape == (160, 2)
    assert accuracy(fitted.embedding_, Y, fitted.embedding_, Y) > 0.95
    assert accuracy(fitted.embedding_, Y, fitted.transform(NEW), Y[::7]) > 0.95
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-10)


def test_a_seed_decides_the_map_whatever_the_number_of_threads(fitted):
    if fitted.layout == "umap":
        pytest.skip("compiled once more for every process; its seed is umap-learn's own promise")
    again = clone(fitted).set_params(n_jobs=2).fit_transform(X)
    np.testing.assert_array_equal(again, fitted.embedding_)


def test_the_layout_starts_from_the_eigenmaps(monkeypatch):
    """Without a step, t-SNE leaves points where eigenmaps put them."""
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    monkeypatch.setattr(layouts, "EARLY", 0)
    monkeypatch.setattr(layouts, "FEW", replace(layouts.FEW, late=0))
    start, Z = (new_map(layout).fit_transform(X) for layout in ("spectral", "tsne"))
    for column in range(2):
        assert np.corrcoef(start[:, column], Z[:, column])[0, 1] > 0.999


def test_affinities_are_the_mean_over_perplexities(monkeypatch):
    """Each perplexity sees three times as many of the nearest, the smaller one no more."""
    tsne = pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    distances, indices = NearestNeighbors(n_neighbors=30).fit(X).kneighbors()
    near = layouts.Lists(distances, indices)
    monkeypatch.setattr(layouts, "FEW", replace(layouts.FEW, perplexities=(4, 10)))
    assert layouts.count_neighbors("tsne", len(X)) == 30
    both = layouts._affinities(tsne, near)
    alone = [layouts._perplexity_affinities(tsne, near.first(3 * p), p) for p in (4, 10)]
    np.testing.assert_allclose(both.toarray(), (alone[0] + alone[1]).toarray() / 2, atol=1e-15)


def test_the_network_counts_more_where_few_columns_hold_the_variance():
    uneven = X * [100, 1, 1, 1, 1, 1]
    assert new_map("spectral").fit(X).input_share_ == 0.95
    with pytest.warns(ScaleWarning):
        assert new_map("spectral").fit(uneven).input_share_ == 0.7
    with pytest.warns(ScaleWarning):
        assert new_map("spectral", input_share=0.2).fit(sp.csr_array(uneven)).input_share_ == 0.2
    with pytest.warns(ScaleWarning):
        assert new_map("spectral").fit(sp.csr_array(uneven)).input_share_ == 0.7


def test_rows_without_neighbours_of_their_own_have_no_share():
    graph = clone(NETWORK).set_params(metric="precomputed")
    assert pf.BootstrapMap(network=graph, layout="spectral").fit(pairwise_distances(X)).input_share_ == 0


def test_late_steps_count_affinities_as_often_as_the_descent_says(monkeypatch):
    """Affinities that count more draw neighbours together."""
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    widths = []
    for exaggeration in (1.0, 3.0):
        monkeypatch.setattr(layouts, "FEW", replace(layouts.FEW, exaggeration=exaggeration))
        widths.append(np.ptp(new_map("tsne").fit_transform(X), axis=0).max())
    assert widths[1] < 0.8 * widths[0]


def test_far_groups_of_a_graph_that_falls_apart_are_kept_apart():
    far = X + 1000 * Y[:, None]
    model = pf.BootstrapMap(network=clone(NETWORK).set_params(n_classes=30), layout="spectral").fit(far)
    assert accuracy(model.embedding_, Y, model.transform(far + 0.01), Y) > 0.95


@pytest.mark.parametrize("unit", [2.0**100, 2.0**-100])
def test_maps_do_not_depend_on_the_unit(unit):
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    np.testing.assert_array_equal(new_map("tsne").fit_transform(unit * X), new_map("tsne").fit_transform(X))


def test_copies_have_one_place():
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    Z = new_map("tsne").fit_transform(np.vstack([X[:40], X[:40]]))
    np.testing.assert_array_equal(Z[:40], Z[40:])


def test_sparse_rows_and_cosine():
    rows = sp.csr_array(np.abs(X))
    network = clone(NETWORK).set_params(metric="cosine")
    for layout in ["spectral", *(["tsne"] if layouts.find_spec("openTSNE") else [])]:
        model = pf.BootstrapMap(network=network, layout=layout, random_state=0).fit(rows)
        assert np.isfinite(model.transform(rows[:5])).all()


@pytest.mark.parametrize("layout", ["umap", "tsne"])
def test_a_missing_package_is_named_with_the_way_out(layout, monkeypatch):
    monkeypatch.setitem(layouts.PACKAGES, layout, "a_package_that_is_not_there")
    with pytest.raises(MissingExtraError, match=r'pip install .*"umap-learn>=[\d.]+", or pass layout=.spectral'):
        new_map(layout).fit(X)


def test_auto_takes_the_best_that_is_installed(monkeypatch):
    there = {"openTSNE": True, "umap": True}
    monkeypatch.setattr(layouts, "find_spec", lambda name: there[name])
    assert layouts.choose_layout("auto", 1000, 2) == "tsne"
    assert layouts.choose_layout("auto", 10**6, 2) == "umap"
    assert layouts.choose_layout("auto", 1000, 3) == "umap"
    there["openTSNE"] = False
    assert layouts.choose_layout("auto", 1000, 2) == "umap"
    there["umap"] = False
    assert layouts.choose_layout("auto", 1000, 2) == "spectral"
    there["openTSNE"] = True
    assert layouts.choose_layout("auto", 1000, 3) == "spectral"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layout": "trimap"}, "layout must be one of"),
        ({"layout": "tsne", "n_components": 3}, "n_components must be <= 2 with layout='tsne', got 3"),
        ({"n_components": 0}, "n_components must be"),
        ({"input_share": 1.5}, "input_share must be"),
        ({"layer": 99}, "layer must be"),
    ],
)
def test_bad_parameters_are_told_and_leave_nothing(changes, words):
    model = new_map("spectral").set_params(**changes)
    with pytest.raises(ValueError, match=words):
        model.fit(X)
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray])
def test_empty_texts_are_neighbours_of_nobody(make):
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    own = np.arange(150) // 50 == y[:, None]
    rows = np.vstack([rng.poisson(0.05, (200, 150)) * own + rng.poisson(0.005, (200, 150)), np.zeros((5, 150))])
    fitted = pf.BootstrapMap(
        network=clone(NETWORK).set_params(metric="cosine"), layout="tsne", input_share=1.0, random_state=0
    ).fit(make(rows))
    near = fitted._graphs(fitted._near(10))[0].indices
    words = np.flatnonzero(rows[:200].any(axis=1))
    assert np.isin(near[words], np.flatnonzero(~rows.any(axis=1))).mean() < 0.05
