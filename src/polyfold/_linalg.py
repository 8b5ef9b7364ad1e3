"""Numeric guards: eigenpairs that move together, stable roots, row blocks, distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms, safe_sparse_dot, svd_flip

__all__ = [
    "eigh_descending",
    "fix_signs",
    "inverse_square_root",
    "row_blocks",
    "shifted_products",
]

BLOCK_BYTES = 16_000_000  # large enough that sums of Gram blocks cost little, small enough for any machine


def row_blocks(n_rows: int, width: int, itemsize: int = 8) -> Iterator[slice]:
    """Slices over rows such that one block of `width` columns fits BLOCK_BYTES."""
    step = max(64, BLOCK_BYTES // max(1, width * itemsize))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


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


def inverse_square_root(K: NDArray, *, cut: float) -> NDArray:
    """Columns A with A A' = pinv(K), leaving out eigenvalues below `cut` times the largest."""
    A = _triangular_root(K, cut)
    if A is not None:
        return A
    d, U = eigh_descending(K)
    keep = d > cut * max(d[0], 0.0)
    return U[:, keep] / np.sqrt(d[keep])


def _triangular_root(K: NDArray, cut: float) -> NDArray | None:
    """Inverse of the Cholesky factor where no eigenvalue can be below the cut: half the work of eigenvectors."""
    L, info = scipy.linalg.lapack.dpotrf(K, lower=1, clean=1)
    if info != 0:
        return None
    # In the 1-norm the condition number of a symmetric matrix is never below that of its eigenvalues.
    reciprocal, _ = scipy.linalg.lapack.dpocon(L, np.abs(K).sum(axis=0).max(), uplo="L")
    if reciprocal <= cut:
        return None
    inverse, _ = scipy.linalg.lapack.dtrtri(L, lower=1)
    return inverse.T


def shifted_products(X: NDArray, Y: NDArray, scale: float) -> NDArray:
    """Return -scale * ‖x - y‖² for all pairs, from one matrix product and never above zero.

    Dense rows are moved so that `Y` is centred: distances do not change, but data far from the origin
    no longer lose their digits to cancellation.
    """
    if not hasattr(X, "tocsr") and not hasattr(Y, "tocsr"):
        origin = Y.mean(axis=0)
        X, Y = X - origin, Y - origin
    out = safe_sparse_dot(X, Y.T * (2 * scale), dense_output=True)
    out -= scale * row_norms(X, squared=True)[:, None]
    out -= scale * row_norms(Y, squared=True)
    return np.minimum(out, 0, out=out)
