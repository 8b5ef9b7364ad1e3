"""Bagging autoencoders."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from polyfold.baselines import BaggingAutoencoder


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:300]


def test_every_module_is_pca_of_its_own_sample(digits):
    model = BaggingAutoencoder(3, 4, random_state=0).fit(digits)
    rng = np.random.RandomState(0)
    for part in model.reconstruct_modules(digits):
        sample = digits[np.sort(rng.randint(300, size=300))]
        pca = PCA(4).fit(sample)
        np.testing.assert_allclose(part, pca.inverse_transform(pca.transform(digits)), atol=1e-8)


def test_ensemble_reconstruction_is_the_mean(digits):
    model = BaggingAutoencoder(3, 4, random_state=0).fit(digits)
    mean = model.reconstruct_modules(digits).mean(axis=0)
    np.testing.assert_allclose(model.inverse_transform(model.transform(digits)), mean, atol=1e-9)


def test_samples_differ_between_modules_and_seeds(digits):
    model, other = (BaggingAutoencoder(2, 4, random_state=seed).fit(digits) for seed in (0, 1))
    assert not np.allclose(model.encoders_[0], model.encoders_[1])
    assert not np.allclose(model.encoders_, other.encoders_)
    again = BaggingAutoencoder(2, 4, random_state=0).fit(digits)
    np.testing.assert_array_equal(again.encoders_, model.encoders_)


def test_sparse_and_dense_agree(digits):
    dense = BaggingAutoencoder(2, 4, random_state=0).fit(digits)
    thin = BaggingAutoencoder(2, 4, random_state=0).fit(sparse.csr_matrix(digits))
    np.testing.assert_allclose(thin.transform(digits), dense.transform(digits), atol=1e-7)


def test_bad_parameters_are_named(digits):
    with pytest.raises(ValueError, match="n_components must be an integer >= 1"):
        BaggingAutoencoder(2, 0).fit(digits)
