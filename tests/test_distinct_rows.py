import numpy as np
import pytest
import scipy.sparse as sp

from polyfold._linalg import distinct_rows

FORMS = [np.array, np.asfortranarray, sp.csr_array, sp.csc_matrix]


def by_bytes(X):
    """First rows and their numbers by a dictionary of tuples."""
    seen, first, inverse = {}, [], []
    for i, row in enumerate(map(tuple, X.tolist())):
        if row not in seen:
            seen[row] = len(first)
            first.append(i)
        inverse.append(seen[row])
    return np.array(first), np.array(inverse)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_copies_are_found(form, dtype, rng):
    X = rng.randint(0, 3, (400, 5)).astype(dtype)
    first, inverse = distinct_rows(form(X))
    expected = by_bytes(X)
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(inverse, expected[1])


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_all_differ_give_none(form, rng):
    assert distinct_rows(form(rng.standard_normal((300, 4)))) is None


@pytest.mark.parametrize("form", FORMS)
def test_negative_zero_is_zero(form):
    first, inverse = distinct_rows(form(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]])))
    np.testing.assert_array_equal(first, [0, 2])
    np.testing.assert_array_equal(inverse, [0, 0, 1])


def test_stored_zeros_and_duplicate_entries_do_not_matter():
    X = sp.csr_array((np.array([1.0, 1.0, 2.0, 0.0]), [1, 1, 1, 0], [0, 2, 4]), shape=(2, 3))
    np.testing.assert_array_equal(distinct_rows(X)[1], [0, 0])
    assert X.nnz == 4
