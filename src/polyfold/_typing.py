"""Types that the public signatures share."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class SupportsArray(Protocol):
    """An array or table that NumPy can convert: ndarray, memmap, data frame, zarr, HDF5 or Dask array."""

    def __array__(self) -> Any:
        """Return the values as an ndarray."""
        ...


class SupportsBlocks(Protocol):
    """Rows that are read in blocks: a :class:`polyfold.sources.Source`."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def blocks(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Yield the index of the first row of each block and the block."""
        ...


class SupportsBatches(Protocol):
    """A data set of files: ``pyarrow.dataset.Dataset``."""

    def count_rows(self) -> int:
        """Return the number of rows."""
        ...

    def to_batches(self) -> Iterator[Any]:
        """Yield batches of rows."""
        ...


# Sparse arrays and the older sparse matrices of SciPy, in any format.
SparseMatrix: TypeAlias = sp.sparray | sp.spmatrix
# Validated rows: an ndarray or a CSR matrix.
Matrix: TypeAlias = NDArray[Any] | SparseMatrix
# Rows in memory that a user may pass.
Table: TypeAlias = SupportsArray | Sequence[Sequence[float]] | SparseMatrix
# Rows that `fit` accepts: those in memory, sources, data sets, or an iterable of blocks that can be iterated again.
Rows: TypeAlias = Table | SupportsBlocks | SupportsBatches | Iterable[SupportsArray | SparseMatrix]
# A seed, a generator that every fit advances, or None for a different result every time.
RandomState: TypeAlias = int | np.random.RandomState | None
# The name of a neighbour search, a scikit-learn transformer that returns a graph, or the graph of distances itself.
Neighbors: TypeAlias = str | BaseEstimator | SparseMatrix
# Real numbers in single or double precision.
FloatArray: TypeAlias = NDArray[np.floating]
# Indices, counts or class numbers.
IntArray: TypeAlias = NDArray[np.integer]
