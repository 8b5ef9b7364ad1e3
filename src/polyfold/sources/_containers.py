"""One class per kind of container: arrays in memory or mapped, zarr and HDF5, parquet, iterables of blocks."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._typing import Matrix, SparseMatrix, SupportsArray
from polyfold._validation import import_extra
from polyfold.sources._budget import budget
from polyfold.sources._source import Source, as_block, float_type

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

# Rows that are checked at a time.
BLOCK = 4096


class ArraySource(Source):
    """An array or CSR matrix in memory, or an array mapped from a file; blocks are views of it."""

    is_array = True

    def __init__(self, X: Matrix, *, is_checked: bool = False):
        self._X = X if sp.issparse(X) else np.asarray(X)  # a block of a memmap is a plain array
        check_matrix(self._X)
        self.n_features, self.dtype, self.stored = X.shape[1], float_type(X.dtype), np.dtype(X.dtype)
        self.is_checked = is_checked

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield slices."""
        for start in range(0, self.n_rows, rows):
            yield as_block(self._X[start : start + rows], self.dtype)

    def blocks(self, rows: int) -> Iterator[tuple[int, Matrix]]:
        """Yield slices and their first rows."""
        return ((number * rows, block) for number, block in enumerate(self.read(rows)))

    def whole(self) -> Matrix:
        """Return the array, after its blocks were checked."""
        if not self.is_checked:
            self.reduce(lambda start, block: None, lambda total, part: None, BLOCK)
        return as_block(self._X, self.dtype)


class SlicedSource(Source):
    """An array on disk, stored in chunks and read by slices: zarr, HDF5."""

    def __init__(self, X: Any):
        check_matrix(X)
        self._X, self.n_features, self.dtype, self.stored = X, X.shape[1], float_type(X.dtype), np.dtype(X.dtype)
        self._chunk = (getattr(X, "chunks", None) or (1,))[0]
        size = self._chunk * X.shape[1] * np.dtype(X.dtype).itemsize
        if size > budget():
            raise ValueError(
                f"X must have chunks within the memory budget of {budget():.0f} bytes, got {self._chunk} rows of "
                f"{size} bytes; store it in smaller chunks, or raise polyfold.sources.memory_budget."
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._X.shape[0]

    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield slices of whole chunks, so that every chunk is read once."""
        step = max(1, rows // self._chunk) * self._chunk
        for start in range(0, self.n_rows, step):
            yield as_block(self._X[start : start + step], self.dtype)


class ParquetSource(Source):
    """A data set of pyarrow: columns of numbers, or one column of lists of a fixed length."""

    def __init__(self, X: "pyarrow.dataset.Dataset", columns: Iterable[str] | None = None):
        self._X, schema = X, X.schema
        self._columns = list(schema.names if columns is None else columns)
        if unknown := [name for name in self._columns if name not in schema.names]:
            raise ValueError(f"columns must be those of X, got {unknown[0]!r}; it has {', '.join(schema.names)}.")
        types = [schema.field(name).type for name in self._columns]
        self._is_list = len(types) == 1 and hasattr(types[0], "list_size")
        self.n_features = types[0].list_size if self._is_list else len(types)
        self.names = None if self._is_list else tuple(self._columns)
        kinds = [types[0].value_type] if self._is_list else types
        self.dtype = self._type_of(kinds)
        self.stored = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, from the metadata of the files."""
        count = self._X.count_rows()
        if count == 0:
            raise ValueError("X must have rows, got a data set without any.")
        return count

    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield batches, row group by row group, which limits how far pyarrow reads ahead."""
        for scanner in self._scanners(columns=self._columns, batch_size=rows, batch_readahead=1):
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield self._as_rows(batch)

    def _scanners(self, **options: object) -> "Iterator[pyarrow.dataset.Scanner]":
        dataset = import_extra("pyarrow.dataset", "cli")
        if not isinstance(self._X, dataset.FileSystemDataset) or self._X.format.default_extname != "parquet":
            yield self._X.scanner(fragment_readahead=1, **options)
            return
        scan = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        for file in self._X.get_fragments():
            for group in file.split_by_row_group():
                yield group.scanner(schema=self._X.schema, fragment_scan_options=scan, **options)

    def _as_rows(self, batch: "pyarrow.RecordBatch") -> NDArray:
        if self._is_list:
            values = batch.column(0).flatten().to_numpy(zero_copy_only=False)
            if len(values) != batch.num_rows * self.n_features:
                raise ValueError(f"X must have a list in every row, got empty ones in column {self._columns[0]!r}.")
            return as_block(values.reshape(batch.num_rows, self.n_features), self.dtype)
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        return np.stack(columns, axis=1, dtype=self.dtype)

    def _type_of(self, types: "list[pyarrow.DataType]") -> np.dtype:
        """Return double precision unless all columns are single; raise for texts, dates and lists."""
        is_kind = import_extra("pyarrow.types", "cli")
        for name, kind in zip(self._columns, types, strict=False):
            if not (is_kind.is_floating(kind) or is_kind.is_integer(kind) or is_kind.is_boolean(kind)):
                raise ValueError(
                    f"X must have columns of numbers, got {name!r} of type {self._X.schema.field(name).type}; choose "
                    "columns by polyfold.sources.as_source(X, columns=[…])."
                )
        return np.result_type(*(float_type(kind.to_pandas_dtype()) for kind in types))


class BlockSource(Source):
    """Any iterable of blocks that can be iterated again: a list of arrays, an object that opens files in turn."""

    def __init__(self, X: Iterable[SupportsArray | SparseMatrix]):
        self._X = X
        first = next(iter(X), None)
        if first is None:
            raise ValueError("X must have rows, got an iterable without any block.")
        check_matrix(_as_array(first))
        self.names = column_names(first)
        self.n_features, self.stored = _as_array(first).shape[1], _as_array(first).dtype
        # Blocks of a list determine the precision together; other iterables follow their first block.
        kinds = [_as_array(block).dtype for block in X] if isinstance(X, list | tuple) else [self.stored]
        self.dtype = np.result_type(*map(float_type, kinds))
        self.stored = self.stored if len(set(kinds)) == 1 else None

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; counting them takes a pass over all blocks."""
        return sum(_as_array(block).shape[0] for block in self._X)

    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield copies of the blocks: an iterable may fill one buffer again and again."""
        start = 0
        for number, given in enumerate(self._X):
            names = column_names(given)
            if self.names is not None and names is not None and names != self.names:
                raise ValueError(
                    f"blocks of X must have the columns of the first one, {', '.join(self.names[:8])}, in the same "
                    f"order, got {', '.join(names[:8])} in block {number}, which begins at row {start}."
                )
            given = _as_array(given)
            if self.dtype == np.float32 and given.dtype.kind in "fiub" and float_type(given.dtype) != np.float32:
                raise ValueError(
                    f"blocks of X must have the type of the first one, {self.dtype}, got {given.dtype} in block "
                    f"{number}, which begins at row {start}; make them of one type."
                )
            block = as_block(given, self.dtype, copy=True)
            if block.ndim != 2 or block.shape[1] != self.n_features or block.shape[0] == 0:
                raise ValueError(
                    f"blocks of X must have rows and {self.n_features} columns, as the first one, got shape "
                    f"{block.shape} in block {number}, which begins at row {start}."
                )
            yield block
            start += block.shape[0]
        known = self.__dict__.setdefault("n_rows", start)
        if start != known:
            raise ValueError(
                f"X must give the same rows in every pass, got {start} after {known}; pass a list of "
                "blocks, or an object whose __iter__ starts from the beginning."
            )


def check_matrix(X: Matrix) -> None:
    """Raise if an array is not a matrix of numbers."""
    if len(X.shape) != 2:
        raise ValueError(f"X must be a matrix with rows and columns, got shape {tuple(X.shape)}.")
    if np.dtype(X.dtype).kind not in "fiub":
        raise ValueError(f"X must hold numbers, got {X.dtype}.")


def column_names(block: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame; None for arrays, and for names that are not all text."""
    names: tuple[Any, ...] = tuple(getattr(block, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _as_array(block: SupportsArray | SparseMatrix) -> Matrix:
    return block if sp.issparse(block) else np.asarray(block)
