"""Maps of a network's neighbours: groups stay together, new points join them, and missing packages are named."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

import polyfold as pf
from polyfold.estimators import _layouts as layouts
from polyfold.exceptions import MissingExtraError

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
    assert fitted.embedding_.shape == (160, 2)
    assert accuracy(fitted.embedding_, Y, fitted.embedding_, Y) > 0.95
    assert accuracy(fitted.embedding_, Y, fitted.transform(NEW), Y[::7]) > 0.95
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-10)


def test_a_seed_decides_the_map_whatever_the_number_of_threads(fitted):
    if fitted.layout == "umap":
        pytest.skip("compiled once more for every process; its seed is umap-learn's own promise")
    again = clone(fitted).set_params(n_jobs=2).fit_transform(X)
    np.testing.assert_array_equal(again, fitted.embedding_)


def test_far_groups_of_a_graph_that_falls_apart_are_kept_apart():
    far = X + 1000 * Y[:, None]
    model = pf.BootstrapMap(network=clone(NETWORK).set_params(n_classes=30), layout="spectral").fit(far)
    assert accuracy(model.embedding_, Y, model.transform(far + 0.01), Y) > 0.95


def test_duplicates_have_the_same_coordinates():
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'polyfold[map]'")
    Z = new_map("tsne").fit_transform(np.vstack([X[:40], X[:40]]))
    np.testing.assert_array_equal(Z[:40], Z[40:])


def test_blocks_and_arrays_give_the_same_map(fitted):
    if fitted.layout == "spectral":
        np.testing.assert_array_equal(clone(fitted).fit([X[:90], X[90:]]).embedding_, fitted.embedding_)
    np.testing.assert_allclose(fitted.transform([NEW[:10], NEW[10:]]), fitted.transform(NEW), atol=1e-10)


def test_sparse_rows_and_cosine():
    rows = sp.csr_array(np.abs(X))
    network = clone(NETWORK).set_params(metric="cosine")
    model = pf.BootstrapMap(network=network, layout="spectral", random_state=0).fit(rows)
    assert np.isfinite(model.transform(rows[:5])).all()


@pytest.mark.parametrize("layout", ["umap", "tsne"])
def test_a_missing_package_is_named_with_the_way_out(layout, monkeypatch):
    monkeypatch.setitem(layouts.PACKAGES, layout, "a_package_that_is_not_there")
    with pytest.raises(MissingExtraError, match=r'pip install .*"umap-learn>=[\d.]+", or pass layout=.spectral'):
        new_map(layout).fit(X)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layout": "trimap"}, "layout must be one of"),
        ({"layout": "tsne", "n_components": 3}, "n_components must be <= 2 with layout='tsne', got 3"),
        ({"n_components": 0}, "n_components must be"),
    ],
)
def test_bad_parameters_are_told_and_leave_nothing(changes, words):
    model = new_map("spectral").set_params(**changes)
    with pytest.raises(ValueError, match=words):
        model.fit(X)
    assert not hasattr(model, "embedding_")
