import numpy as np
import pytest

from polyfold.bootstrap import _output, fit_spectral_readout, shared_centers
from polyfold.clustering import fit_tree

SEEDS = np.random.SeedSequence(0)


@pytest.fixture(params=["whole", "by steps"])
def atol(request, monkeypatch):
    """How exact coordinates are, of a matrix that is solved whole or of a subspace that converges."""
    monkeypatch.setattr(_output, "DENSE_ROWS", 1000 if request.param == "whole" else 0)
    return 1e-8 if request.param == "whole" else 2e-2


def grouped_codes(n, n_clusterings, n_centers, seed=0):
    """Codes of three groups, each of which keeps mostly to centres of its own."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    own = rng.integers(0, n_centers // 3, (n_clusterings, n)) + n_centers // 3 * y
    anywhere = rng.integers(0, n_centers, (n_clusterings, n))
    return np.where(rng.random((n_clusterings, n)) < 0.9, own, anywhere).astype(np.uint8), y


def test_coordinates_are_those_of_the_literal_walk(atol):
    """Eigenvectors of d^-1/2 S d^-1/2, times the eigenvalues, rows of norm one [Ng2002]."""
    codes, _ = grouped_codes(400, 40, 12)
    readout = fit_spectral_readout(codes, 12, 3, seeds=SEEDS)
    S = shared_centers(codes, codes) / len(codes)
    roots = np.sqrt(S.sum(axis=1))
    values, vectors = np.linalg.eigh(S / np.outer(roots, roots))
    values, expected = values[::-1][:3], vectors[:, ::-1][:, :3] * values[::-1][:3]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(readout.eigenvalues, values, rtol=1e-3)
    # Signs are free, so inner products are compared.
    Z = readout.transform(codes)
    np.testing.assert_allclose(Z @ Z[:20].T, expected @ expected[:20].T, atol=atol)


def test_groups_of_unequal_size_are_found():
    codes, y = grouped_codes(300, 40, 12)
    Z = fit_spectral_readout(codes, 12, 3, seeds=SEEDS).transform(codes)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    tree = fit_tree(Z, 3, seeds=SEEDS)
    leaves = tree.assign(Z)
    labels = tree.cut(3)[leaves]
    assert [len(set(labels[y == group])) for group in range(3)] == [1, 1, 1]


def test_equal_rows_are_one_point():
    codes = np.zeros((10, 30), dtype=np.uint8)
    Z = fit_spectral_readout(codes, 4, 3, seeds=SEEDS).transform(codes)
    np.testing.assert_allclose(Z, Z[:1].repeat(30, axis=0), atol=1e-7)
