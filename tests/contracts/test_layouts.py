"""The result depends on the values, not on how they lie in memory."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from tests.catalog import ENTRIES, ONE_EACH, entries
from tests.contracts.answers import answers, assert_all, assert_same, documented_warnings, fitted
from tests.contracts.samples import counts, ranks_of_distances

pytestmark = pytest.mark.slow

# Whole numbers are exact in float32, so what differs is arithmetic: 2⁻²³ per operation, some hundreds of them.
SINGLE = 1e-3


def rows_of(entry):
    """Whole numbers in the form that the entry takes."""
    X = counts()
    return {"rows": X, "kernel": X @ X.T, "distances": ranks_of_distances()}[entry.takes]


def result(entry, X):
    """Answers of a model fitted to `X`, about `X`."""
    with documented_warnings():
        return answers(fitted(entry, X), X)


@cache
def reference(name):
    entry = next(e for e in ENTRIES if e.name == name)
    return result(entry, np.ascontiguousarray(rows_of(entry), dtype=np.float64))


def strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def reversed_strides(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def unaligned(X):
    """Doubles that do not start at a multiple of eight bytes."""
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    out = buffer[1:].view(np.float64).reshape(X.shape)
    out[...] = X
    return out


DENSE = {
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": reversed_strides,
    "read_only": read_only,
    "unaligned": unaligned,
    "big_endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "int64": lambda X: X.astype(np.int64),
    "int32_fortran": lambda X: np.asfortranarray(X.astype(np.int32)),
    "uint16": lambda X: X.astype(np.uint16),
}
# Validation does not copy these, so every kernel and solver is tried with them; the others once for each class.
KEPT = ["fortran", "strided"]


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_dense_layouts_give_one_result(entry):
    def check(layout):
        # Another memory order may add up in another order: last digits, and what eigenvectors make of them.
        assert_same(result(entry, DENSE[layout](rows_of(entry))), reference(entry.name), entry.precision)

    assert_all(DENSE if entry in ONE_EACH else KEPT, check)


@pytest.mark.parametrize("entry", entries("uint8", only=[e for e in ENTRIES if e.takes == "rows"]), ids=repr)
def test_bytes_give_the_result_of_numbers(entry):
    assert_same(result(entry, rows_of(entry).astype(np.uint8)), reference(entry.name), entry.precision)


@pytest.mark.parametrize("entry", entries("single"), ids=repr)
def test_single_precision_stays_and_is_right_to_its_digits(entry):
    for order in "CF":
        found = result(entry, np.array(rows_of(entry), dtype=np.float32, order=order))
        assert_same(found, reference(entry.name), SINGLE)
        assert "coordinates" not in found or found["coordinates"].dtype == np.float32


@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_memory_maps_give_the_result_of_arrays(entry, tmp_path):
    np.save(tmp_path / "rows.npy", rows_of(entry))
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert_same(result(entry, X), reference(entry.name), entry.precision)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("entry", ONE_EACH, ids=repr)
def test_frames_give_the_result_of_arrays(entry, library):
    module = pytest.importorskip(library)
    X = rows_of(entry)
    frame = module.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    with documented_warnings():
        model = fitted(entry, frame)
        found = answers(model, frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert_same(found, reference(entry.name), entry.precision)


def sparse_rows(entry):
    """CSR of the rows; distances keep their zeros, because a missing distance is an unknown one."""
    X = rows_of(entry)
    return explicit_zeros(sp.csr_matrix(X)) if entry.takes == "distances" else sp.csr_matrix(X)


def duplicates(csr):
    """Return CSR in which every entry stands twice, with halves that add up."""
    coo = csr.tocoo()
    rows, columns = np.tile(coo.row, 2), np.tile(coo.col, 2)
    order = np.argsort(rows, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=csr.shape[0]))])
    return sp.csr_matrix((np.tile(coo.data / 2, 2)[order], columns[order], pointers), shape=csr.shape)


def unsorted(csr):
    csr = csr.copy()
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        csr.indices[start:stop] = csr.indices[start:stop][::-1]
        csr.data[start:stop] = csr.data[start:stop][::-1]
    csr.has_sorted_indices = False
    return csr


def explicit_zeros(csr):
    X = csr.toarray()
    full = sp.csr_matrix(np.where(X == 0, 1.0, X))
    full.data[X.ravel() == 0] = 0.0
    return full


def long_indices(csr):
    csr = csr.copy()
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_matrix": sp.coo_matrix,
    "csr_array": sp.csr_array,
    "coo_array": sp.coo_array,
    "csc_array": sp.csc_array,
    "bsr_array": sp.bsr_array,
    "lil_array": sp.lil_array,
    "dok_matrix": sp.dok_matrix,
    "dia_matrix": sp.dia_matrix,
    "int64": lambda csr: csr.astype(np.int64),
    "duplicates": duplicates,
    "unsorted": unsorted,
    "explicit_zeros": explicit_zeros,
    "long_indices": long_indices,
}


@pytest.mark.parametrize("entry", entries("sparse"), ids=repr)
def test_sparse_layouts_give_the_dense_result(entry):
    expected = reference(entry.name)
    if "sparse_values" in entry.exempt:
        expected = result(entry, sparse_rows(entry))

    def check(layout):
        assert_same(result(entry, SPARSE[layout](sparse_rows(entry))), expected, entry.precision)

    # Diagonals do not store zeros, and a missing distance is an unknown one.
    layouts = SPARSE if entry in ONE_EACH else ["csr_matrix", "unsorted"]
    assert_all([layout for layout in layouts if layout != "dia_matrix" or entry.takes != "distances"], check)


@pytest.mark.parametrize("entry", entries("sparse", "single"), ids=repr)
def test_sparse_single_precision_stays_and_is_right_to_its_digits(entry):
    single = result(entry, sparse_rows(entry).astype(np.float32))
    assert_same(single, result(entry, sparse_rows(entry)), SINGLE)
    assert "coordinates" not in single or single["coordinates"].dtype == np.float32


@pytest.mark.parametrize("entry", ENTRIES, ids=repr)
def test_tags_say_whether_sparse_rows_are_taken(entry):
    assert entry.estimator.__sklearn_tags__().input_tags.sparse == ("sparse" not in entry.exempt)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "sparse" in e.exempt], ids=repr)
def test_sparse_rows_are_refused_in_words_where_they_are_not_taken(entry):
    with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
        fitted(entry, sp.csr_matrix(rows_of(entry)))


def test_the_sample_is_generic():
    """Whole numbers tie easily; neighbours must not depend on how a tie is broken."""
    X = counts()
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    for row in squared:
        assert (np.diff(np.sort(row)[:14]) > 0).all()
    assert 0.15 < np.mean(X == 0) < 0.6
    assert np.linalg.matrix_rank(X - X.mean(axis=0)) == X.shape[1]
