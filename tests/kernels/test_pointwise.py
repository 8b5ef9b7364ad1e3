import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import (
    CallableKernel,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    as_kernel,
    mean_distance_gamma,
)

CASES = [
    (Gaussian(gamma=0.3), lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3)),
    (Laplacian(gamma=0.3), lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.3)),
    (Linear(), pairwise.linear_kernel),
    (Polynomial(degree=2, gamma=0.5, coef0=2.0), lambda X, Y: pairwise.polynomial_kernel(X, Y, 2, 0.5, 2.0)),
    (Cosine(), pairwise.cosine_similarity),
    (CallableKernel(pairwise.rbf_kernel), pairwise.rbf_kernel),
]


@pytest.mark.parametrize(("kernel", "expected"), CASES, ids=lambda case: type(case).__name__)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_values_are_those_of_scikit_learn(kernel, expected, form, rng):
    X, Y = rng.standard_normal((6, 4)), rng.standard_normal((5, 4))
    values = kernel.resolve(X)(form(X), form(Y))
    np.testing.assert_allclose(values, expected(X, Y), atol=1e-12)


@pytest.mark.parametrize("kernel", [case[0] for case in CASES[:-1]], ids=lambda k: type(k).__name__)
def test_single_precision_stays(kernel, rng):
    X = rng.standard_normal((6, 4)).astype(np.float32)
    assert kernel.resolve(X)(X, X).dtype == np.float32


def test_gamma_is_one_over_the_mean_squared_distance(rng):
    X = rng.standard_normal((40, 3))
    pairs = pairwise.euclidean_distances(X, squared=True)
    assert mean_distance_gamma(X) == pytest.approx(1 / pairs.mean())
    assert mean_distance_gamma(sp.csr_matrix(X)) == pytest.approx(1 / pairs.mean())


def test_gamma_of_constant_data_warns():
    with pytest.warns(DegenerateDataWarning, match=r"gamma=1\.0"):
        assert mean_distance_gamma(np.ones((5, 2))) == 1.0


def test_data_far_from_the_origin_keep_their_digits(rng):
    X = rng.standard_normal((20, 3))
    far = (X + 1e4).astype(np.float32)
    np.testing.assert_allclose(
        Gaussian(0.5).resolve(far)(far, far), pairwise.rbf_kernel(far.astype(float), gamma=0.5), atol=1e-5
    )


@pytest.mark.parametrize("gamma", [0, -1.0])
def test_gamma_must_be_positive(gamma):
    with pytest.raises(ValueError, match=r"gamma must be a number > 0, got"):
        Gaussian(gamma=gamma).resolve(np.eye(3))


def test_callable_of_wrong_shape_is_told(rng):
    kernel = CallableKernel(lambda X, Y: np.ones(3)).resolve(np.eye(3))
    with pytest.raises(ValueError, match=r"kernel must return an array of shape \(n, m\)=\(3, 3\), got \(3,\)"):
        kernel(np.eye(3), np.eye(3))


def test_unknown_kernel_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"kernel must be one of 'rbf'.*got 'gaussion'"):
        as_kernel("gaussion")


def test_cosine_of_an_empty_row_is_zero():
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(Cosine()(X, X), [[0, 0], [0, 1]])
