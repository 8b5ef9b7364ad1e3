"""Principal directions: every route gives the singular value decomposition of the centred data."""

import numpy as np
import pytest
from scipy import sparse

from polyfold.spectra import _linear, linear_spectrum, update_linear_spectrum


def svd(X):
    centred = X - X.mean(axis=0)
    _, d, Vt = np.linalg.svd(centred, full_matrices=False)
    keep = d > 1e-9 * d[0]
    return d[keep], Vt[keep], float(np.sum(centred**2))


def assert_same_directions(found, X, k=None):
    d, Vt, energy = svd(X)
    k = len(d) if k is None else k
    np.testing.assert_allclose(np.sqrt(found.eigenvalues[:k]), d[:k], rtol=1e-6)
    overlap = np.abs(np.sum(found.readout[:, :k] * Vt[:k].T, axis=0))
    np.testing.assert_allclose(overlap, 1, atol=1e-6)
    assert found.trace == pytest.approx(energy, rel=1e-6)
    assert found.n_samples == len(X)
    np.testing.assert_allclose(found.shift, X.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.readout.T @ found.readout, np.eye(found.readout.shape[1]), atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (20, 20)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_routes_agree_with_the_svd(shape, form):
    X = np.random.default_rng(0).normal(size=shape) + 3
    X[np.abs(X - 3) < 0.5] = 0
    assert_same_directions(linear_spectrum(form(X), 3, np.random.RandomState(0)), X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_lanczos_finds_the_top_directions(form, monkeypatch):
    monkeypatch.setattr(_linear, "MAX_GRAM", 30)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 40)) * 0.9 ** np.arange(40)) @ np.linalg.qr(rng.normal(size=(40, 40)))[0] + 2
    assert _linear.choose_route(60, 40, 3) == "lanczos"
    assert_same_directions(linear_spectrum(form(X), 3, np.random.RandomState(0)), X, k=3)


def test_chunks_give_the_whole():
    X = np.random.default_rng(0).normal(size=(50, 6)) + 1e3
    found = None
    for part in (X[:10], X[10:13], X[13:]):
        found = update_linear_spectrum(found, part)
    assert_same_directions(found, X)


def test_constant_data_have_no_directions():
    for shape in ((5, 3), (3, 5)):
        assert linear_spectrum(np.ones(shape), 2, np.random.RandomState(0)).rank == 0
