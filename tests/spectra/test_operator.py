import pickle

import numpy as np
import pytest

import polyfold as pf
from polyfold.kernels import (
    Extension,
    LaplacianEigenmaps,
    Operator,
    TangentAlignment,
    feature_operator,
)
from polyfold.spectra import spectrum_from_operator

GRAPH = ["laplacian_eigenmaps", "lle", "hessian_lle", "ltsa", "isomap", "diffusion"]


@pytest.fixture(name="X")
def sheet():
    t = np.random.RandomState(0).rand(600, 2) * [3, 1]
    return np.column_stack([t, 0.3 * np.sin(3 * t[:, 0])])


def same_up_to_sign(A, B, tolerance):
    for a, b in zip(A.T, B.T, strict=True):
        assert min(np.abs(a - b).max(), np.abs(a + b).max()) < tolerance * np.abs(b).max()


def matrix_operator(A):
    """The linear kernel of the rows of A, as a matrix."""
    return Operator(
        lambda X: Extension.of_kernel(lambda F: X @ (A.T @ F), len(X)), np.ones(len(A)), matrix=A @ A.T, has_units=True
    )


def test_plain_operators_are_centred():
    A = np.random.RandomState(0).randn(80, 4) + 3
    spectrum = spectrum_from_operator(matrix_operator(A), 4)
    centred = A - A.mean(axis=0)
    np.testing.assert_allclose(spectrum.eigenvalues, np.linalg.svd(centred)[1] ** 2)
    Z = spectrum.coordinates(A)
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-8)


def test_factors_give_what_their_matrix_gives():
    A = np.random.RandomState(0).randn(700, 4)
    low = spectrum_from_operator(feature_operator(A, lambda X: X), 4)
    full = spectrum_from_operator(matrix_operator(A), 4)
    np.testing.assert_allclose(low.eigenvalues, full.eigenvalues)
    assert low.energy == pytest.approx(full.energy)
    same_up_to_sign(low.coordinates(A[:20]), full.coordinates(A[:20]), 1e-6)


@pytest.mark.parametrize("kernel", [LaplacianEigenmaps(10), TangentAlignment(12)])
def test_sparse_solvers_agree_with_dense(X, kernel):
    operator = kernel.operator_on(X)
    d, G = np.linalg.eigh(operator.matrix.toarray())
    spectrum = spectrum_from_operator(operator, 3)
    np.testing.assert_allclose(spectrum.eigenvalues, d[::-1][1:4], rtol=1e-9)
    f = G[:, ::-1][:, 1:4] / np.sqrt(operator.weights / operator.weights.mean())[:, None]
    same_up_to_sign(spectrum.coordinates(X) / np.sqrt(spectrum.eigenvalues), f, 1e-3)


def test_energy_counts_all_eigenvalues_but_the_trivial():
    X = np.random.RandomState(0).rand(120, 2)
    operator = LaplacianEigenmaps(8).operator_on(X)
    d = np.linalg.eigvalsh(operator.matrix.toarray())
    spectrum = spectrum_from_operator(operator, 2)
    assert spectrum.energy == pytest.approx(np.sum(d[:-1] ** 2), rel=1e-6)


@pytest.mark.parametrize("kernel", GRAPH)
def test_plain_embedding_takes_new_points(X, kernel):
    model = pf.KernelEmbedding(2, kernel=kernel).fit(X[:500])
    Z, new = model.transform(X[:500]), pickle.loads(pickle.dumps(model)).transform(X[500:])
    nearest = np.linalg.norm(X[500:, None] - X[None, :500], axis=2).argmin(axis=1)
    assert np.all(np.std(new - Z[nearest], axis=0) < 0.3 * np.std(Z, axis=0))


@pytest.mark.parametrize("kernel", GRAPH)
def test_every_graph_kernel_has_modules(X, kernel):
    model = pf.ModularKernelPCA(3, 2, kernel=kernel, random_state=0).fit(X)
    assert model.transform_modules(X[:10] + 1e-3).shape == (3, 10, 2)
    assert model.loss_ >= model.loss_bound_ - 1e-9 * abs(model.loss_)
