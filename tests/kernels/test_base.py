import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from polyfold.kernels import Gaussian, KernelColumns, Laplacian, Polynomial, fourier_features


def psi(features, X):
    A = features.metric()
    return features.transform(X) if A is None else features.transform(X) @ A


def test_all_points_as_landmarks_give_the_kernel_back(blobs):
    features = KernelColumns(Gaussian(0.1).resolve(blobs), blobs)
    P = psi(features, blobs)
    np.testing.assert_allclose(P @ P.T, rbf_kernel(blobs, gamma=0.1), atol=1e-8)


def test_nystroem_is_that_of_scikit_learn(blobs):
    reference = Nystroem(gamma=0.1, n_components=20, random_state=0).fit(blobs)
    features = KernelColumns(Gaussian(0.1).resolve(blobs), reference.components_)
    P, S = psi(features, blobs), reference.transform(blobs)
    np.testing.assert_allclose(P @ P.T, S @ S.T, atol=1e-7)


def test_repeated_landmarks_are_harmless(blobs):
    features = KernelColumns(Gaussian(0.1).resolve(blobs), np.repeat(blobs[:10], 2, axis=0))
    once = KernelColumns(Gaussian(0.1).resolve(blobs), blobs[:10])
    P, S = psi(features, blobs), psi(once, blobs)
    np.testing.assert_allclose(P @ P.T, S @ S.T, atol=1e-6)


@pytest.mark.parametrize(("kernel", "exact"), [(Gaussian(0.1), rbf_kernel), (Laplacian(0.1), laplacian_kernel)])
def test_fourier_features_converge_to_the_kernel(kernel, exact, blobs, rng):
    errors = []
    for rank in (500, 20000):
        P = psi(fourier_features(kernel.resolve(blobs), 5, rank, rng), blobs)
        errors.append(np.abs(P @ P.T - exact(blobs, gamma=0.1)).mean())
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 0.01


def test_fourier_needs_a_shift_invariant_kernel(blobs, rng):
    with pytest.raises(ValueError, match=r"feature_map='fourier' needs a shift-invariant kernel.*Polynomial"):
        fourier_features(Polynomial().resolve(blobs), 5, 10, rng)
