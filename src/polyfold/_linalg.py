"""Numeric guards: eigenpairs that move together, stable roots, row blocks, distances."""

import itertools
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot, svd_flip

from polyfold._typing import Matrix

BLOCK_BYTES = 16_000_000  # large enough that sums of Gram blocks cost little, small enough for any machine


def block_rows(width: int, itemsize: int = 8) -> int:
    """Return how many rows of `width` columns fit BLOCK_BYTES."""
    return max(64, BLOCK_BYTES // max(1, width * itemsize))


def row_blocks(n_rows: int, width: int, itemsize: int = 8) -> Iterator[slice]:
    """Slices over rows such that one block of `width` columns fits BLOCK_BYTES."""
    step = block_rows(width, itemsize)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def sample_rows(
    n: int, most: int, rng: np.random.Generator | np.random.RandomState | np.random.SeedSequence
) -> NDArray:
    """Return the numbers of at most `most` of n rows, drawn without replacement, ascending."""
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(rng) if isinstance(rng, np.random.SeedSequence) else rng
    return np.sort(rng.choice(n, most, replace=False))


def as_dense(X: Matrix) -> NDArray:
    """Return `X` as an array, dense if it was sparse."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def fix_signs(U: NDArray) -> NDArray:
    """Make the entry of largest magnitude of every column positive, so results do not depend on LAPACK."""
    return svd_flip(U, None)[0]


def eigh_descending(K: NDArray, k: int | None = None) -> tuple[NDArray, NDArray]:
    """Top `k` (default all) eigenpairs of a symmetric matrix, largest first, signs fixed."""
    n = K.shape[0]
    # LAPACK's divide and conquer is the fastest way to all pairs, its bisection to a small part of them.
    subset = None if k is None or k > 0.3 * n else (n - k, n - 1)
    driver = "evd" if subset is None else "evr"
    d, U = scipy.linalg.eigh(K, subset_by_index=subset, driver=driver, check_finite=False)
    d, U = d[::-1][:k], U[:, ::-1][:, :k]
    return d, fix_signs(U)


def inverse_square_root(K: NDArray, *, cut: float) -> tuple[NDArray, float, float]:
    """Columns A with A A' = pinv(K), leaving out eigenvalues below `cut` times the largest, and bounds of those."""
    A = _triangular_root(K, cut)
    if A is not None:
        return A, 0.0, float(np.trace(K))
    d, U = eigh_descending(K)
    keep = d > cut * max(d[0], 0.0)
    return U[:, keep] / np.sqrt(d[keep]), float(d[-1]), float(d[0])


def _triangular_root(K: NDArray, cut: float) -> NDArray | None:
    """Inverse of the Cholesky factor if no eigenvalue can be below the cut: half the work of eigenvectors."""
    L, info = scipy.linalg.lapack.dpotrf(K, lower=1, clean=1)
    if info != 0:
        return None
    # In the 1-norm the condition number of a symmetric matrix is never below that of its eigenvalues.
    reciprocal, _ = scipy.linalg.lapack.dpocon(L, np.abs(K).sum(axis=0).max(), uplo="L")
    if reciprocal <= cut:
        return None
    inverse, _ = scipy.linalg.lapack.dtrtri(L, lower=1)
    return inverse.T


def inner_products(X: Matrix, Y: Matrix) -> NDArray:
    """Return x·y for all pairs of rows, dense or sparse, in the precision of `X`."""
    return safe_sparse_dot(X, Y.astype(X.dtype, copy=False).T, dense_output=True)


def shifted_products(X: NDArray, Y: NDArray, scale: float) -> NDArray:
    """Return -scale * ‖x - y‖² for all pairs, from one matrix product and never above zero.

    Dense rows are moved so that `Y` is centred: distances do not change, but data far from the origin
    no longer lose their digits to cancellation. Rows are scaled before anything is squared: no square leaves the range.
    """
    unit = np.float64(scale) ** 0.5  # rounded to the type of the rows after the product, not before
    if sp.issparse(X) or sp.issparse(Y):
        X, Y = ((rows * unit).astype(rows.dtype, copy=False) for rows in (X, Y))
    else:
        origin = Y.mean(axis=0)
        X, Y = X - origin, Y - origin
        for rows in (X, Y):
            np.multiply(rows, unit, out=rows, casting="same_kind")
    out = inner_products(X, Y * 2)
    out -= row_norms(X, squared=True)[:, None]
    out -= row_norms(Y, squared=True)
    return np.minimum(out, 0, out=out)


def squared_distances(A: NDArray, B: NDArray) -> NDArray:
    """Return ‖a - b‖² for all pairs of dense rows, from one matrix product and never below zero.

    Rows are moved so that `B` is centred and, if their squares would leave the range of the type, scaled by a power
    of two. So neither the origin nor the scale of the data costs digits. A constant column adds exactly nothing.
    """
    A, B = (X if X.dtype in (np.float32, np.float64) else X.astype(np.float64) for X in (A, B))
    _, exponent = np.frexp(max(np.abs(A).max(initial=0), np.abs(B).max(initial=0)))
    # A fourth of the exponents: squares, their sums and their last digits stay within the range of numbers.
    unit = B.dtype.type(1 if abs(exponent) <= np.finfo(B.dtype).maxexp // 4 else 2.0 ** (int(exponent) - 1))
    origin = B[0] / unit
    origin = origin + np.mean(B / unit - origin, axis=0, dtype=np.float64).astype(B.dtype)
    A, B = A / unit - origin, B / unit - origin
    out = A @ (-2 * B.T)
    out += row_norms(A, squared=True)[:, None]
    out += row_norms(B, squared=True)
    np.maximum(out, 0, out=out)
    if unit != 1:
        with np.errstate(over="ignore", under="ignore"):  # a square beyond the range is infinite, one below it zero
            out *= unit
            out *= unit
    return out


def row_norms_safe(rows: NDArray) -> NDArray:
    """Euclidean norms of dense rows, (n,), finite if the rows are."""
    squares = np.einsum("ij,ij->i", rows, rows)
    if np.all(np.isfinite(squares)) and not np.any(squares < np.finfo(np.float64).tiny):
        return np.sqrt(squares)
    size = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(size > 0, size, 1.0)[:, None]
    return size * np.sqrt(np.einsum("ij,ij->i", unit, unit))


def are_unit_rows(rows: NDArray) -> bool:
    """Whether all dense rows have length one, up to the rounding of half precision."""
    return bool(np.all(np.abs(row_norms_safe(rows.astype(np.float64)) - 1.0) < np.finfo(np.float16).eps))


def unit_rows(rows: Any) -> Any:
    """Rows, dense or CSR, divided by their norms, in double precision; zero rows stay zero."""
    rows = rows.astype(np.float64)
    if sp.issparse(rows):
        sizes = abs(rows).max(axis=1).toarray().ravel()
        return normalize(sp.diags_array(1.0 / np.where(sizes > 0, sizes, 1.0)) @ rows)
    norms = row_norms_safe(rows)
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def distinct_rows(X: Any) -> tuple[NDArray, NDArray] | None:
    """Find the duplicates among the rows of `X`; 0.0 and -0.0 are equal.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)

    Returns
    -------
    first : ndarray of shape (m,)
        The first of each set of equal rows, ascending.
    inverse : ndarray of shape (n,)
        For every row, which of those it equals. None is returned instead of both if all rows differ.

    Notes
    -----
    O(n d) time and one digest of 16 bytes per row.
    """
    numbers: dict[bytes, int] = {}
    inverse = np.array([numbers.setdefault(digest, len(numbers)) for digest in _row_digests(X)])
    if len(numbers) == X.shape[0]:
        return None
    return np.unique(inverse, return_index=True)[1], inverse


def n_distinct(X: Any) -> int:
    """Count the distinct rows."""
    copies = distinct_rows(X)
    return X.shape[0] if copies is None else len(copies[0])


def _row_digests(X: Any) -> Iterator[bytes]:
    """Yield a digest of every row; equal rows have equal digests."""
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        for start, end in itertools.pairwise(X.indptr):
            yield blake2b(X.indices[start:end].tobytes() + X.data[start:end].tobytes(), digest_size=16).digest()
        return
    for rows in row_blocks(*X.shape):
        # Adding zero turns -0.0, equal to 0.0 but of other bytes, into 0.0.
        yield from (blake2b(row, digest_size=16).digest() for row in np.ascontiguousarray(X[rows] + X.dtype.type(0)))
