"""One pass over rows: their number, mean and total variance, and copies of some rows."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import mean_variance_axis

from polyfold._typing import Matrix, SparseMatrix
from polyfold._validation import SMALLEST, check_largest
from polyfold.sources._opening import trusted
from polyfold.sources._source import Source, stack_rows

# Bytes of a block in double precision: small enough for the cache.
BLOCK_BYTES = 4_000_000


@dataclass
class Survey:
    """Statistics of rows that the choice of a feature map needs.

    Blocks are centred at their own means before they are merged, so that a large common offset costs no digits.
    """

    n_rows: int
    mean: NDArray  # (D,) in double precision
    squares: float  # sum of the squared distances from the mean
    is_sparse: bool
    kept: list[Matrix] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.mean.size

    @property
    def total_variance(self) -> float:
        """Sum of the variances of the columns."""
        return self.squares / self.n_rows

    @property
    def rows(self) -> Matrix:
        """The kept rows."""
        return stack_rows(self.kept)


def survey(X: Matrix | Source | Survey, keep: NDArray | None = None) -> Survey:
    """Read all rows once, and keep the rows with the ascending numbers `keep`; a survey is returned as it is."""
    if isinstance(X, Survey):
        return X
    source: Source = trusted(X)
    rows = max(64, BLOCK_BYTES // (8 * max(1, source.n_features)))
    wanted = np.empty(0, dtype=np.int64) if keep is None else keep
    found = source.reduce(partial(_survey_block, wanted), _merge, rows, what="blocks surveyed")
    if found.total_variance < SMALLEST**2:
        check_largest(float(np.abs(found.mean).max(initial=0.0)))
    return found


def _survey_block(wanted: NDArray, start: int, block: Matrix) -> Survey:
    mean, squares = _sparse_moments(block) if sp.issparse(block) else _dense_moments(block)
    first, last = np.searchsorted(wanted, [start, start + block.shape[0]])
    kept = [block[wanted[first:last] - start]] if last > first else []
    return Survey(block.shape[0], mean, squares, bool(sp.issparse(block)), kept)


def _dense_moments(block: NDArray) -> tuple[NDArray, float]:
    # In double precision: squares of small numbers underflow in single, and large offsets cost digits.
    moved = np.subtract(block, block[0], dtype=np.float64)  # equal rows are exact zeros
    shift = moved.mean(axis=0)
    moved -= shift
    return block[0] + shift, float(row_norms(moved, squared=True).sum())


def _sparse_moments(block: SparseMatrix) -> tuple[NDArray, float]:
    mean, variance = mean_variance_axis(block.astype(np.float64), axis=0)
    return mean, float(variance.sum()) * block.shape[0]


def _merge(total: Survey, part: Survey) -> Survey:
    n = total.n_rows + part.n_rows
    step = part.mean - total.mean
    squares = total.squares + part.squares + float(step @ step) * total.n_rows * part.n_rows / n
    mean = total.mean + step * (part.n_rows / n)
    return Survey(n, mean, squares, total.is_sparse or part.is_sparse, [*total.kept, *part.kept])
