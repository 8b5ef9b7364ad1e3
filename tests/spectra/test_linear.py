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


ROUTES = {"features": (300, 40), "samples": (40, 300), "lanczos": (120, 90)}


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    if request.param == "lanczos":
        monkeypatch.setattr(_linear, "MAX_GRAM", 50)
    shape = ROUTES[request.param]
    assert _linear.choose_route(*shape, 3) == request.param
    X = np.random.default_rng(0).normal(size=shape) * 0.8 ** np.arange(shape[1])
    return np.ldexp(np.round(np.ldexp(X, 20)), -20)  # leaves room for an offset without rounding


def top(X):
    return linear_spectrum(X, 3, np.random.RandomState(0))


def test_no_route_depends_on_the_origin(route):
    near, far = top(route), top(route + 2.0**20)
    assert far.trace == pytest.approx(near.trace, rel=1e-9)
    np.testing.assert_allclose(far.eigenvalues[:3], near.eigenvalues[:3], rtol=1e-8)
    assert far.rank == near.rank
    np.testing.assert_allclose(far.readout[:, :3], near.readout[:, :3], atol=1e-6)
    np.testing.assert_allclose(far.shift - 2.0**20, near.shift, atol=1e-9)


@pytest.mark.parametrize("power", [-200, 200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_no_route_depends_on_the_scale(route, form, power):
    plain, scaled = top(form(route)), top(form(np.ldexp(route, power)))
    assert scaled.rank == plain.rank
    np.testing.assert_allclose(np.ldexp(scaled.eigenvalues, -2 * power), plain.eigenvalues, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.readout[:, :3], plain.readout[:, :3], atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e8 / 3, 1e-200])
def test_constant_data_have_no_directions(route, form, value):
    assert top(form(np.full(route.shape, value))).rank == 0


def test_directions_that_do_not_exist_are_not_reported(route):
    left = np.random.default_rng(1).normal(size=(len(route), 2))
    assert top(left @ route[:2] + 5).rank == 2


def test_a_spectrum_knows_what_it_left_out(route):
    found = top(route)
    _, _, energy = svd(route)
    assert found.trace == pytest.approx(energy)
    assert found.rank == 3 or found.eigenvalues.sum() == pytest.approx(energy)


def test_repeated_entries_of_a_sparse_matrix_are_summed(route):
    X = sparse.csr_matrix(route)
    doubled = sparse.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    assert not doubled.has_canonical_format
    assert top(doubled).trace == pytest.approx(top(X).trace)
    np.testing.assert_allclose(top(doubled).eigenvalues[:3], top(X).eigenvalues[:3])


def test_single_precision_rows_are_summed_in_double(route):
    single = route.astype(np.float32)
    for form in (np.asarray, sparse.csr_matrix):
        found, expected = top(form(single)), top(form(single.astype(np.float64)))
        np.testing.assert_allclose(found.eigenvalues[:3], expected.eigenvalues[:3], rtol=1e-9)
