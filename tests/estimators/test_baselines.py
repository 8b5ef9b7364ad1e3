import numpy as np
import pytest

import polyfold as pf
from polyfold.baselines import BootstrapKernelPCA, MonolithicKernelPCA, PartitionKernelPCA, RandomKernelPCA


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
