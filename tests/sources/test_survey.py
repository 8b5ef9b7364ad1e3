"""One pass tells number, mean and variance of the rows, and brings those that are wanted."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyfold.sources import as_source, survey
from tests.sources.containers import Reread


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_those_of_all_rows_wherever_they_are(rng, offset, dtype):
    X = (rng.standard_normal((20000, 30)) * 100 + offset).astype(dtype)
    found = survey(as_source(Reread(X, [7, 9000])))
    assert found.shape == X.shape
    np.testing.assert_allclose(found.mean, X.mean(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-5)
    np.testing.assert_allclose(found.total_variance, X.var(axis=0, dtype=np.float64).sum(), rtol=1e-5)


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_no_variance_at_all(value, dtype):
    X = np.full((30000, 40), value, dtype=dtype)
    assert survey(X).total_variance == 0
    np.testing.assert_array_equal(survey(X).mean, X[0].astype(np.float64))


def test_sparse_rows_have_the_same_moments():
    X = sp.random_array((5000, 200), density=0.05, rng=0).tocsr()
    np.testing.assert_allclose(survey(X).mean, survey(X.toarray()).mean, atol=1e-12)
    np.testing.assert_allclose(survey(X).total_variance, survey(X.toarray()).total_variance)
    assert survey(X).is_sparse


def test_wanted_rows_come_with_the_same_pass(rng):
    X = Reread(rng.standard_normal((40000, 20)), [5, 17000])
    source = as_source(X)
    assert source.n_rows == 40000
    before = X.passes
    wanted = np.array([0, 4, 5, 16999, 17000, 39999])
    np.testing.assert_array_equal(survey(source, wanted).rows, X.X[wanted])
    assert X.passes == before + 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named_with_its_block(rng, bad):
    X = rng.standard_normal((40000, 20))
    X[31234, 3] = bad
    with pytest.raises(ValueError, match="X must be finite, got NaN or infinity in row 31234, of the block of rows"):
        survey(as_source([X[:100], X[100:]]))


def test_a_sparse_row_that_is_not_finite_is_named(rng):
    X = sp.random_array((100, 9), density=0.3, rng=0).tolil()
    X[61, 4] = np.nan
    with pytest.raises(ValueError, match="in row 61"):
        survey(as_source([X.tocsr()[:50], X.tocsr()[50:]]))


def test_values_whose_squares_overflow_are_named():
    X = np.ones((300, 2), np.float32)
    X[250] = 1e30
    with pytest.raises(ValueError, match="rows 0 to 299 of X must have magnitudes"):
        survey(as_source([X]))
