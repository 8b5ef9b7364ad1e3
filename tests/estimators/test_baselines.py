import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError

import polyfold as pf
from polyfold.baselines import BootstrapKernelPCA, MonolithicKernelPCA, PartitionKernelPCA, RandomKernelPCA
from polyfold.kernels import Gaussian
from tests.oracles.modular import centred

RAW = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
TOO_FEW = "ignore:n_components=.* is more than the:polyfold.exceptions.DegenerateDataWarning"


@pytest.mark.filterwarnings(TOO_FEW)
@pytest.mark.parametrize("data", RAW)
def test_monolithic_coordinates_reproduce_the_kernel_at_full_rank(data):
    X = RAW[data]().data
    Z = MonolithicKernelPCA(len(X), random_state=0).fit_transform(X)
    kernel = Gaussian().resolve(X)
    np.testing.assert_allclose(Z @ Z.T, centred(kernel(X, X)), atol=1e-6)


@pytest.mark.filterwarnings(TOO_FEW)
@pytest.mark.parametrize("data", RAW)
@pytest.mark.parametrize("estimator", [BootstrapKernelPCA, RandomKernelPCA, MonolithicKernelPCA])
def test_default_coordinates_are_no_longer_than_the_points(estimator, data):
    """A point of a centred Gaussian kernel has length at most √2, and so has the mean of a sample."""
    X = RAW[data]().data
    assert np.abs(estimator(random_state=0).fit(X).transform(X)).max() < 2 * np.sqrt(2)


@pytest.mark.parametrize("estimator", [PartitionKernelPCA, RandomKernelPCA, BootstrapKernelPCA, MonolithicKernelPCA])
def test_after_an_interrupted_first_fit_the_model_is_not_fitted(estimator, blobs, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    model = estimator(n_modules=2, n_components=2)
    monkeypatch.setattr(estimator, "_store_maps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs)
    for use in (model.transform, model.transform_modules):
        with pytest.raises(NotFittedError):
            use(blobs)


def test_partition_deals_the_monolithic_columns(blobs):
    parts = PartitionKernelPCA(3, 2, random_state=0).fit_transform(blobs)
    whole = MonolithicKernelPCA(6, random_state=0).fit_transform(blobs)
    match = np.abs(parts.T @ whole) / (np.linalg.norm(parts, axis=0)[:, None] * np.linalg.norm(whole, axis=0))
    np.testing.assert_allclose(np.sort(match.ravel())[-6:], 1)


@pytest.mark.parametrize("settings", [{"n_components": 6}, {"n_modules": 3, "n_components": 2}])
def test_monolithic_is_one_piece(settings, blobs):
    model = MonolithicKernelPCA(**settings, random_state=0).fit(blobs)
    assert model.transform_modules(blobs).shape == (1, 90, 6)
    np.testing.assert_allclose(model.transform(blobs), pf.KernelEmbedding(6).fit_transform(blobs), atol=1e-10)


def test_random_projections_preserve_distances_on_average(blobs):
    Z = RandomKernelPCA(50, 20, random_state=0).fit(blobs)
    C = Z.spectrum_.coordinates(blobs)
    share = np.mean(Z.transform(blobs) ** 2) / np.mean(C**2)
    assert share == pytest.approx(1, rel=0.1)


def test_bootstrap_modules_differ_a_little(blobs):
    modules = BootstrapKernelPCA(4, 2, random_state=0).fit(blobs).transform_modules(blobs)
    assert pf.metrics.module_correlation(modules) > 0.95
    assert np.abs(modules[0] - modules[1]).max() > 1e-3
    assert not hasattr(BootstrapKernelPCA(), "partial_fit")
