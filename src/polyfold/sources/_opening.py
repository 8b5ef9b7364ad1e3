"""Choose the source for a container: the only module that inspects the type of `X`."""

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from polyfold._typing import Matrix, Rows, SparseMatrix, SupportsArray, Table
from polyfold._validation import check_container, check_rows
from polyfold.sources._containers import ArraySource, BlockSource, ParquetSource, SlicedSource
from polyfold.sources._source import Source

# Attributes of arrays and tables in memory, which are not iterables of blocks.
ARRAY_LIKE = ("__array__", "__array_interface__", "__dataframe__", "__arrow_c_stream__", "shape", "dtype")


def as_source(X: Rows, *, columns: Iterable[str] | None = None) -> Source:
    """Return rows in any container as a source of blocks.

    Parameters
    ----------
    X : object
        An array or CSR matrix, ``numpy.memmap``, zarr array, HDF5 data set, ``pyarrow.dataset``, Dask array or data
        frame, or any iterable of blocks that can be iterated again.
    columns : iterable of str, default=None
        Columns of a parquet data set or Dask data frame; None takes all.

    Returns
    -------
    source : Source

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.sources import as_source
    >>> as_source([np.zeros((3, 2)), np.ones((4, 2))]).shape
    (7, 2)
    """
    if isinstance(X, Source):
        return X
    _check_opened(X)
    package = _package(X)
    if package == "dask":
        from polyfold.sources._dask import DaskSource

        return DaskSource(X, columns)
    if _is_dataset(X):
        return ParquetSource(X, columns)
    if columns is not None:
        raise ValueError("columns needs a pyarrow dataset or a Dask data frame; slice other containers.")
    if package in ("zarr", "h5py"):
        return SlicedSource(X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return ArraySource(X)
    return BlockSource(_again(X)) if is_stream(X) else ArraySource(np.asarray(X))


def is_stream(X: object) -> bool:
    """Whether `X` is read block by block: it is not an array or a table in memory."""
    _check_opened(X)
    if isinstance(X, Source | np.memmap) or _package(X) == "dask" or _is_dataset(X):
        return True
    if _package(X) in ("zarr", "h5py"):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and (sp.issparse(X[0]) or (hasattr(X[0], "__array__") and len(np.shape(X[0])) == 2))
    if isinstance(X, bytes | dict | set | type) or not hasattr(X, "__iter__"):
        return False
    return not any(hasattr(X, name) for name in ARRAY_LIKE)


def _check_opened(X: object) -> None:
    """Raise if `X` is the path of a container, or holds several arrays."""
    check_container(X)
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X must be rows or an opened container, got the path {str(X)!r}; open it by numpy.load(path, "
            "mmap_mode='r'), zarr.open_array(path) or pyarrow.dataset.dataset(path), and pass that."
        )
    if _package(X) in ("zarr", "h5py") and not hasattr(X, "shape"):
        raise TypeError(f"X must be one array, got a {type(X).__name__} of {_package(X)}; pass one of its arrays.")
    if _package(X) == "pyarrow" and type(X).__name__ in ("ParquetFile", "ParquetDataset"):
        raise TypeError(f"X must be a data set, got a {type(X).__name__}; pass pyarrow.dataset.dataset(path).")


def trusted(X: Matrix | Source) -> Source:
    """Return checked rows of an algorithm as a source; a source is returned as it is."""
    return X if isinstance(X, Source) else ArraySource(X, is_checked=True)


def in_memory(X: Rows) -> Table:
    """Return all rows at once: streams are read, memory-mapped files stay as they are."""
    if not is_stream(X) or isinstance(X, np.memmap):
        return X
    source = as_source(X).in_bytes()
    return source.named(source.whole())


def check_stream(estimator: BaseEstimator, X: Rows, *, reset: bool, minimum: int = 1) -> Source:
    """Return the source of `X` after checking its width, names and number of rows; the pass checks the values."""
    source = as_source(X)
    few = np.zeros((min(source.n_rows, minimum), source.n_features), dtype=source.dtype)
    check_rows(estimator, source.named(few), reset=reset, minimum=minimum)
    return source


def _again(X: Rows) -> Iterable[SupportsArray | SparseMatrix]:
    if isinstance(X, Iterator):
        raise TypeError(
            f"X must be an iterable of blocks that can be iterated again, got {type(X).__name__}, which ends; pass a "
            "list of blocks, or an object whose __iter__ starts from the beginning."
        )
    return cast(Iterable[SupportsArray | SparseMatrix], X)


def _package(X: object) -> str:
    return type(X).__module__.partition(".")[0]


def _is_dataset(X: object) -> bool:
    return _package(X) == "pyarrow" and all(hasattr(X, name) for name in ("to_batches", "count_rows", "schema"))
