import numpy as np
import pytest
from sklearn.manifold import spectral_embedding

from polyfold.kernels import LaplacianEigenmaps, intrinsic_dimension
from polyfold.neighbors import find_neighbors
from polyfold.spectra import spectrum_from_operator
from tests.oracles.manifold import self_tuned_affinity


@pytest.fixture(name="X")
def strip():
    return np.random.RandomState(0).rand(150, 2) * [3, 1]


def test_cost_is_the_normalised_laplacian(X):
    A = self_tuned_affinity(X, 10, 7)
    d = A.sum(axis=1)
    cost = np.eye(150) - A / np.sqrt(d[:, None] * d[None, :])
    operator = LaplacianEigenmaps(10, step_time="unit").operator_on(X)
    np.testing.assert_allclose(operator.cost.toarray(), cost, atol=1e-10)


def test_step_times_are_squared_scales(X):
    A = self_tuned_affinity(X, 10, 7)
    operator = LaplacianEigenmaps(10, step_time="length").operator_on(X)
    sigma = find_neighbors(X, 10).distances[:, 6]
    ratio = operator.weights / (A.sum(axis=1) * sigma**2)
    np.testing.assert_allclose(ratio, ratio[0])
    root = np.sqrt(operator.weights)
    np.testing.assert_allclose(
        operator.cost.toarray() * root[:, None] * root[None, :], np.diag(A.sum(axis=1)) - A, atol=1e-10
    )


def test_plain_embedding_is_scikit_learns(X):
    operator = LaplacianEigenmaps(10, step_time="unit").operator_on(X)
    ours = spectrum_from_operator(operator, 3).coordinates(X)
    theirs = spectral_embedding(self_tuned_affinity(X, 10, 7), n_components=3, random_state=0)
    for i in range(3):
        assert abs(np.corrcoef(ours[:, i], theirs[:, i])[0, 1]) > 1 - 1e-6


def test_eigenfunctions_extend_to_new_points(X):
    functions = spectrum_from_operator(LaplacianEigenmaps(10).operator_on(X), 2)
    new = np.random.RandomState(1).uniform(0.1, 0.9, (60, 2)) * [3, 1]
    first = functions.coordinates(new)[:, 0]
    assert abs(np.corrcoef(first, np.cos(np.pi * new[:, 0] / 3))[0, 1]) > 0.98


def test_binary_weights_count_neighbours(X):
    operator = LaplacianEigenmaps(10, weights="binary", step_time="unit").operator_on(X)
    assert operator.weights.min() >= 10
    np.testing.assert_allclose(operator.weights, np.round(operator.weights))


def test_pace_is_even_in_few_dimensions_only():
    rng = np.random.RandomState(0)
    flat = rng.rand(400, 2) ** 2
    assert np.ptp(LaplacianEigenmaps().operator_on(flat).extend(flat).times) > 0.5
    wide = rng.randn(400, 20)
    assert np.ptp(LaplacianEigenmaps().operator_on(wide).extend(wide).times) == 0


@pytest.mark.parametrize("m", [1, 2, 4])
def test_intrinsic_dimension(m):
    X = np.random.RandomState(0).rand(1500, m)
    assert intrinsic_dimension(find_neighbors(X, 10).distances) == pytest.approx(m, rel=0.25)


@pytest.mark.parametrize("parameter", [{"weights": "cosine"}, {"step_time": "long"}])
def test_wrong_parameters_are_named(X, parameter):
    with pytest.raises(ValueError, match=next(iter(parameter))):
        LaplacianEigenmaps(5, **parameter).operator_on(X)


def test_distances_that_are_not_square_are_refused(rng):
    with pytest.raises(ValueError, match=r"needs square distances \(n, n\), got shape \(10, 5\)"):
        LaplacianEigenmaps(3, neighbors="precomputed").operator_on(rng.random((10, 5)))
