import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from polyfold import KernelEmbedding, ModularKernelPCA, MultilayerBootstrapNetwork
from polyfold.kernels import SharedCenters, as_kernel


@pytest.fixture
def iris():
    return load_iris().data


def test_the_kernel_is_the_share_of_equal_codes(iris):
    X = iris
    kernel = SharedCenters(n_classes=3, n_clusterings=40, random_state=0).resolve(X)
    codes = (
        MultilayerBootstrapNetwork(n_classes=3, n_clusterings=40, feature_fraction=0.5, random_state=0).fit(X).codes()
    )
    K = kernel(X, X)
    np.testing.assert_allclose(K, (codes[:, None] == codes).mean(axis=2))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_array_equal(kernel(X[:5], X[10:20]), K[:5, 10:20])


def test_changed_rows_are_not_mistaken_for_remembered_ones(iris):
    X = iris
    kernel = SharedCenters(n_classes=3, n_clusterings=40).resolve(X)
    Y = X[:10].copy()
    before = kernel(X[:3], Y)
    Y[:] = X[100:110]
    np.testing.assert_array_equal(kernel(X[:3], Y), kernel(X[:3], X[100:110]))
    assert not np.array_equal(before, kernel(X[:3], Y))


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_training_rows_overwritten_after_the_fit_change_nothing(form, iris):
    X = form(iris)
    kernel = SharedCenters(n_classes=3, n_clusterings=40).resolve(X)
    points = form(iris[::7] + 0.05)
    before = kernel(points, form(iris))
    (X.data if sp.issparse(X) else X)[:] = 1.0
    np.testing.assert_array_equal(kernel(points, form(iris)), before)


def test_landmarks_are_encoded_once(iris, monkeypatch):
    kernel = SharedCenters(n_classes=3, n_clusterings=40).resolve(iris)
    features, asked = kernel.columns(iris[::10]), []
    encode = type(kernel.encoder_).encode
    monkeypatch.setattr(
        type(kernel.encoder_), "encode", lambda self, X, *a, **k: asked.append(len(X)) or encode(self, X, *a, **k)
    )
    np.testing.assert_array_equal(features.transform(iris[:7]), kernel(iris[:7], iris[::10]))
    assert asked == [7, 7, 15]


def test_rows_of_another_width_are_refused(iris):
    kernel = SharedCenters(n_classes=3, n_clusterings=40).resolve(iris)
    with pytest.raises(ValueError, match="X must have the 4 columns of the training rows, got 3"):
        kernel(iris[:, :3], iris)


def test_dense_and_sparse_rows_have_the_same_codes(iris):
    kernel = SharedCenters(n_classes=3, n_clusterings=40).resolve(iris)
    np.testing.assert_array_equal(kernel(sp.csr_array(iris[:5]), iris), kernel(iris[:5], iris))


def test_it_has_a_name():
    assert isinstance(as_kernel("shared_centers"), SharedCenters)


def test_layers_can_be_chosen_and_data_are_needed(iris):
    X = iris
    fine, coarse = (SharedCenters(layer, n_classes=3, n_clusterings=40).resolve(X)(X, X) for layer in (0, -1))
    assert fine.mean() < coarse.mean()
    with pytest.raises(ValueError, match="call resolve"):
        SharedCenters()(X, X)


def test_other_solvers_run_on_it(iris):
    X = iris
    kernel = SharedCenters(n_classes=3, n_clusterings=40)
    embedding = KernelEmbedding(2, kernel=kernel, feature_map="exact", random_state=0).fit(X)
    network = MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=40, feature_fraction=0.5, random_state=0).fit(X)
    Z = embedding.transform(X)
    np.testing.assert_allclose(Z @ Z.T, network.embedding_ @ network.embedding_.T, atol=1e-6)
    modules = ModularKernelPCA(3, 2, kernel=kernel, rank=50, random_state=0).fit(X)
    assert modules.transform(X).shape == (150, 6)
