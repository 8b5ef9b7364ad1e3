"""Operators: their energy, bounds of their eigenvalues, points at the same place."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from polyfold import MultilayerBootstrapNetwork
from polyfold.kernels import DiffusionMaps, Gaussian, LaplacianEigenmaps, Precomputed, SharedCenters
from polyfold.kernels._isomap import LandmarkScaling
from polyfold.kernels._operator import Operator, largest_eigenvalue
from polyfold.kernels._registry import takes_precomputed
from polyfold.kernels._walks import intrinsic_dimension
from polyfold.spectra import spectrum_from_operator


@pytest.mark.parametrize("n", [5, 32, 33, 80])
def test_largest_eigenvalues_are_rounded_up(n, rng):
    A = rng.standard_normal((n, n))
    largest = np.linalg.eigvalsh(A @ A.T)[-1]
    assert largest <= largest_eigenvalue(sp.csr_array(A @ A.T)) <= 1.001 * largest


def test_energy_is_the_sum_of_squared_eigenvalues_outside_the_span(rng):
    factor = rng.standard_normal((30, 4))
    Q = np.linalg.qr(rng.standard_normal((30, 2)))[0]
    P = np.eye(30) - Q @ Q.T
    expected = np.sum(np.linalg.eigvalsh(P @ factor @ factor.T @ P) ** 2)
    operator = Operator(extend=None, weights=np.ones(30), factor=factor)
    assert operator.energy(Q) == pytest.approx(expected)


def test_given_distances_have_duplicates_as_rows_do(rng):
    X = rng.standard_normal((40, 3))
    X = np.vstack([X, X[:5], X[:5]])
    of_rows, of_distances = LaplacianEigenmaps(6), LaplacianEigenmaps(6, neighbors="precomputed")
    expected = of_rows.operator_on(X)
    found = of_distances.operator_on(cdist(X, X))
    np.testing.assert_array_equal(found.row_points, expected.row_points)
    np.testing.assert_allclose(found.dense(), expected.dense(), atol=1e-6)


@pytest.mark.parametrize(("dtype", "accepted", "refused"), [("f4", 1e-5, 1e-3), ("f8", 1e-8, 1e-6)])
def test_negative_eigenvalues_of_given_kernels_follow_the_precision(dtype, accepted, refused):
    kernel = Precomputed()
    kernel.check_spectrum(-accepted, 1.0, np.dtype(dtype))
    with pytest.raises(ValueError, match="must be positive semi-definite"):
        kernel.check_spectrum(-refused, 1.0, np.dtype(dtype))


def test_kernels_of_pairs_are_recognised():
    assert takes_precomputed("precomputed")
    assert takes_precomputed(Precomputed())
    assert not takes_precomputed("rbf")
    assert not takes_precomputed(Gaussian())


def test_landmark_scaling_reproduces_distances(rng):
    X = rng.standard_normal((25, 3))
    squared = cdist(X, X) ** 2
    Z = LandmarkScaling.of(squared).project(-0.5 * squared)
    np.testing.assert_allclose(cdist(Z, Z), cdist(X, X), atol=1e-8)


def test_the_network_of_the_kernel_has_the_defaults_of_the_estimator():
    ours, theirs = (inspect.signature(cls).parameters for cls in (SharedCenters, MultilayerBootstrapNetwork))
    for name in ("n_classes", "first_layer", "decay"):
        assert ours[name].default == theirs[name].default


def test_new_points_beside_training_points_have_their_coordinates():
    X = np.random.RandomState(0).rand(150, 2) * [3, 1]
    new = X + 1e-4 * np.random.RandomState(1).standard_normal(X.shape)
    spectrum = spectrum_from_operator(DiffusionMaps(12).operator_on(X), 4)
    before, after = spectrum.coordinates(X), spectrum.coordinates(new)
    slopes = (before * after).sum(axis=0) / (before**2).sum(axis=0)
    np.testing.assert_allclose(slopes, 1, atol=0.02)  # one step too many gives 0.96


def test_intrinsic_dimensions_need_three_neighbours(rng):
    plane = np.sort(cdist(*[rng.uniform(size=(800, 2))] * 2), axis=1)[:, 1:11]
    assert intrinsic_dimension(plane[:, :2]) == 1.0
    assert intrinsic_dimension(plane) == pytest.approx(2, abs=0.5)
