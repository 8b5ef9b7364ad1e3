import numpy as np
import pytest

from polyfold.bootstrap import _cut, fit_cut, shared_centers


@pytest.fixture(params=["whole", "by steps"])
def atol(request, monkeypatch):
    """How exact coordinates are, of a matrix that is solved whole or of a subspace that converges."""
    monkeypatch.setattr(_cut, "DENSE_POINTS", 1000 if request.param == "whole" else 0)
    return 1e-8 if request.param == "whole" else 2e-2


def grouped_codes(n, n_clusterings, n_centers, seed=0):
    """Codes of three groups, of which every one keeps mostly to centres of its own."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    own = rng.integers(0, n_centers // 3, (n_clusterings, n)) + n_centers // 3 * y
    anywhere = rng.integers(0, n_centers, (n_clusterings, n))
    return np.where(rng.random((n_clusterings, n)) < 0.9, own, anywhere).astype(np.uint8), y


def literal_coordinates(codes, count):
    """Eigenvectors of d^-1/2 S d^-1/2, times the roots of the eigenvalues, rows of norm one [Ng2002]."""
    S = shared_centers(codes, codes) / len(codes)
    roots = np.sqrt(S.sum(axis=1))
    values, vectors = np.linalg.eigh(S / np.outer(roots, roots))
    Z = vectors[:, ::-1][:, :count] * np.sqrt(values[::-1][:count])
    return values[::-1][:count], Z / np.linalg.norm(Z, axis=1, keepdims=True)


def test_coordinates_are_those_of_the_literal_walk(atol):
    codes, _ = grouped_codes(400, 40, 12)
    cut = fit_cut(codes, 12, 3, seed=0)
    values, expected = literal_coordinates(codes, 3)
    np.testing.assert_allclose(cut.eigenvalues, values, rtol=1e-3)
    # Signs are free, so inner products are compared.
    Z = cut.transform(codes)
    np.testing.assert_allclose(Z @ Z[:20].T, expected @ expected[:20].T, atol=atol)


def test_rows_have_norm_one_and_groups_of_unequal_size_are_apart():
    codes, y = grouped_codes(300, 40, 12)
    Z = fit_cut(codes, 12, 3, seed=0).transform(codes)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    means = np.array([Z[y == group].mean(axis=0) for group in range(3)])
    assert ((Z @ means.T).argmax(axis=1) == y).all()


def test_points_without_a_difference_are_one_point():
    cut = fit_cut(np.zeros((10, 30), dtype=np.uint8), 4, 3, seed=0)
    Z = cut.transform(np.zeros((10, 30), dtype=np.uint8))
    np.testing.assert_allclose(Z, Z[:1].repeat(30, axis=0), atol=1e-7)
    assert np.isfinite(Z).all()
