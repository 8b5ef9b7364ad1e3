import numpy as np
import pytest

from polyfold._threads import using_threads
from polyfold.bootstrap import _output
from polyfold.bootstrap._output import fit_output
from tests.oracles.bootstrap import principal_coordinates


def clustered_codes(rng, n_clusterings, n, k):
    classes = rng.integers(0, 4, n)
    prototypes = rng.integers(0, k, (n_clusterings, 4))
    codes = prototypes[:, classes]
    noise = rng.random(codes.shape) < 0.3
    return np.where(noise, rng.integers(0, k, codes.shape), codes).astype(np.uint8)


@pytest.mark.parametrize("dense", [True, False])
def test_output_is_the_pca_of_one_of_k_vectors(dense, monkeypatch):
    monkeypatch.setattr(_output, "DENSE_ROWS", 1000 if dense else 0)
    codes = clustered_codes(np.random.default_rng(0), 20, 300, 7)
    output = fit_output(codes, 7, 3, seed=0)
    got, expected = output.transform(codes), principal_coordinates(codes, 7, 3)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(got.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(output.variance, got.var(axis=0), rtol=1e-6)


def test_threads_do_not_change_a_digit(monkeypatch):
    monkeypatch.setattr(_output, "DENSE_ROWS", 0)
    codes = clustered_codes(np.random.default_rng(0), 20, 5000, 7)
    coordinates = []
    for n_jobs in (1, 2):
        with using_threads(n_jobs):
            coordinates.append(fit_output(codes, 7, 3, seed=0).transform(codes))
    np.testing.assert_array_equal(*coordinates)


def test_directions_that_do_not_exist_are_zero():
    codes = np.zeros((5, 30), dtype=np.uint8)
    output = fit_output(codes, 4, 2, seed=0)
    np.testing.assert_array_equal(output.transform(codes), np.zeros((30, 2)))
    np.testing.assert_array_equal(output.variance, 0)


def test_more_components_than_points():
    codes = clustered_codes(np.random.default_rng(0), 5, 4, 3)
    got = fit_output(codes, 3, 6, seed=0).transform(codes)
    assert got.shape == (4, 6)
    np.testing.assert_allclose(got[:, 4:], 0, atol=1e-7)
