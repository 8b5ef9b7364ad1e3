"""What a block of rows must be: finite and in range, said with the rows it is about."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from polyfold._typing import Matrix, SparseMatrix, SupportsArray
from polyfold._validation import check_range


def check_block(block: Matrix, start: int) -> None:
    """Raise if a block that begins at row `start` is not finite, or too large to be squared."""
    values = block.data if sp.issparse(block) else block
    if values.dtype.kind != "f":
        return
    # A sum is finite where all values are, and quicker than looking at each.
    with np.errstate(all="ignore"):
        total = float(np.sum(values, dtype=values.dtype))
    if not np.isfinite(total) and not np.isfinite(values).all():
        row = start + _first_bad_row(block)
        raise ValueError(
            f"X must be finite, got NaN or infinity in row {row}, of the block of rows {start} to "
            f"{start + block.shape[0] - 1}; drop or impute such rows."
        )
    check_range(block, f"rows {start} to {start + block.shape[0] - 1} of X")


def _first_bad_row(block: Matrix) -> int:
    if sp.issparse(block):
        entry = int(np.flatnonzero(~np.isfinite(block.data))[0])
        return int(np.searchsorted(block.indptr, entry, side="right")) - 1
    return int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])


def as_block(rows: SupportsArray | SparseMatrix, dtype: np.dtype | None = None) -> Matrix:
    """Return rows as an array or CSR matrix: `dtype`, or single precision where they have it, else double."""
    rows = sp.csr_array(rows) if sp.issparse(rows) else np.asarray(rows)
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got blocks of {rows.dtype}.")
    if dtype == np.uint8 and rows.dtype != np.uint8:
        raise ValueError(f"blocks of X must hold bytes, as the first one, got {rows.dtype}; make them of one type.")
    return rows.astype(float_type(rows.dtype) if dtype is None else dtype, copy=False)


def float_type(dtype: DTypeLike) -> np.dtype:
    """Return the type in which numbers of a type are worked with."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)
