"""Duplicate rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._linalg import row_blocks
from polyfold._validation import sum_duplicates


def distinct_rows(X: Any) -> tuple[NDArray, NDArray] | None:
    """Find duplicate rows of `X`; 0.0 and -0.0 are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)

    Returns
    -------
    first : ndarray of shape (m,)
        The first row of each set of equal rows, ascending.
    inverse : ndarray of shape (n,)
        For every row, the position in `first` of the row that it equals. None is returned instead of both if all rows
        differ.

    Notes
    -----
    O(n d) time and one number per row: rows are compared by a 64-bit hash, and rows of equal hash in full.
    """
    X = _canonical(X)
    # Different rows have equal hashes once in 2⁶⁴ pairs; then another hash function is tried.
    for seed in range(8):
        _, first, inverse = np.unique(_hashes(X, seed), return_index=True, return_inverse=True)
        if len(first) == X.shape[0]:
            return None
        if _equal_rows(X, np.arange(X.shape[0]), X, first[inverse]).all():
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            return first[order], rank[inverse]
    raise AssertionError("eight hashes cannot all collide")


def n_distinct(X: Any) -> int:
    """Count the different rows."""
    duplicates = distinct_rows(X)
    return X.shape[0] if duplicates is None else len(duplicates[0])


def _canonical(X: Any) -> Any:
    """Sparse rows without duplicate entries or stored zeros, sorted by column; dense rows unchanged."""
    if not sp.issparse(X):
        return np.asarray(X)
    X = sum_duplicates(sp.csr_array(X))
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return X


def _bits(values: NDArray) -> NDArray:
    """Integers that are equal if and only if the values are."""
    if values.dtype.kind != "f":
        return values.astype(np.uint64)
    # Adding zero turns -0.0, which has other bits, into 0.0.
    bits = (values + values.dtype.type(0)).view(f"u{values.itemsize}").astype(np.uint64)
    # The low bits of small integers in doubles are zero, and multiplication moves bits only upwards.
    return bits ^ (bits >> np.uint64(32))


def _hashes(X: Any, seed: int) -> NDArray:
    """Sum of the bits of every row, weighted by column, modulo 2⁶⁴: (n,) uint64."""
    weights = np.random.default_rng([seed, X.shape[1]]).integers(1, 2**63, size=X.shape[1], dtype=np.uint64) | 1
    if sp.issparse(X):
        sums = np.concatenate([[np.uint64(0)], np.cumsum(_bits(X.data) * weights[X.indices], dtype=np.uint64)])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    out = np.empty(len(X), dtype=np.uint64)
    for rows in row_blocks(*X.shape):
        out[rows] = _bits(X[rows]) @ weights
    return out


def _equal_rows(A: Any, i: NDArray, B: Any, j: NDArray) -> NDArray:
    """Whether row ``i[t]`` of `A` equals row ``j[t]`` of `B`, for every t."""
    if sp.issparse(A):
        return _equal_sparse_rows(A[i], B[j])
    same = np.ones(len(i), dtype=bool)
    # A row equals itself; only pairs of different rows are compared.
    others = np.flatnonzero(i != j) if A is B else np.arange(len(i))
    for block in row_blocks(len(others), A.shape[1]):
        t = others[block]
        same[t] = (_bits(A[i[t]]) == _bits(B[j[t]])).all(axis=1)
    return same


def _equal_sparse_rows(A: Any, B: Any) -> NDArray:
    same = np.diff(A.indptr) == np.diff(B.indptr)
    A, B = A[same], B[same]
    differs = (A.indices != B.indices) | (_bits(A.data) != _bits(B.data))
    owners = np.repeat(np.flatnonzero(same), np.diff(A.indptr))
    same[owners[differs]] = False
    return same
