"""Rows in any container, read block by block.

A `Source` has a shape, a type and three methods: `blocks` yields blocks of rows, `reduce` sums over them, `map` gives a
row of results for every row. Sums run over row ranges that depend on the work alone, so the container, the memory and
the number of threads change the speed, not the result. Dask is the exception: it sums within chunks, so the last digits
depend on the chunks.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from polyfold._progress import track
from polyfold._threads import n_threads, threaded
from polyfold._typing import Matrix, SparseMatrix, SupportsArray, Table
from polyfold._validation import check_range, import_extra
from polyfold.sources._budget import budget, rows_within

Part = TypeVar("Part")
Result = TypeVar("Result")

# Bytes read at a time: more do not make reading faster.
READ_BYTES = 32_000_000


class Source(ABC):
    """Read rows of numbers from any container, and check them once.

    Subclasses set the attributes and define `read`.
    """

    n_features: int
    dtype: np.dtype
    stored: np.dtype | None = None  # type in the container, if it is known
    names: tuple[str, ...] | None = None  # of the columns
    is_checked: bool = False  # whether all rows were checked to be finite
    is_array: bool = False  # whether all rows are in one array
    is_lazy: bool = False  # whether `map` returns lazy arrays of Dask

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows; counting them may take a pass."""

    @abstractmethod
    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield consecutive pieces of about `rows` rows, or as the container stores them, in `dtype`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    def blocks(self, rows: int) -> Iterator[tuple[int, Matrix]]:
        """Yield the number of the first row and the block; all blocks but the last have exactly `rows` rows."""
        pieces = self.read(rows_within(1 / 8, self.row_bytes, READ_BYTES))
        return regrouped(pieces, rows)

    def reduce(
        self,
        function: Callable[[int, Matrix], Part],
        merge: Callable[[Part, Part], Part],
        rows: int,
        *,
        what: str = "blocks",
        memory: int = 0,
    ) -> Part:
        """Return ``function(start, block)`` of all blocks of `rows` rows, merged in their order.

        Parameters
        ----------
        function : callable
            Takes the number of a block's first row, and the block; several blocks are processed in parallel.
        merge : callable
            Takes the result so far, which it may change, and the result of the next block.
        rows : int
            Rows of a block; must depend on the work alone.
        what : str, default="blocks"
            Name of the blocks in the progress.
        memory : int, default=0
            Bytes that the work on one block takes; limits the number of threads to the memory budget.
        """
        apply = function if self.is_checked else functools.partial(checked, function)
        jobs = max(1, min(n_threads(), budget() // max(1, memory)))
        total = -(-self.n_rows // rows)  # before the first block: counting may be a pass of its own
        parts = threaded(lambda item: apply(*item), self.blocks(rows), jobs)
        result = functools.reduce(merge, track(parts, what, total=total))
        self.is_checked = True
        return result

    def map(self, function: Callable[[Any], Result], rows: int, out: tuple[Any, ...] | None = None) -> Result:
        """Return ``function(block)`` of all blocks, concatenated, or write the results into `out` one by one.

        `function` returns an array with a row for every row of the block, or a tuple of such arrays.
        """
        single, filled, n = False, out, self.n_rows
        for start, block in self.blocks(rows):
            if not self.is_checked:
                check_block(block, start)
            parts: Any = function(self.named(block))
            single = not isinstance(parts, tuple)
            parts = (parts,) if single else parts
            if filled is None:
                filled = tuple(np.empty((n, *part.shape[1:]), dtype=part.dtype) for part in parts)
            for target, part in zip(filled, parts, strict=True):
                target[start : start + len(part)] = part
        return cast(Result, filled[0] if single and filled is not None else filled)

    def in_bytes(self) -> "Source":
        """Return the same rows, as bytes if the container holds bytes, for algorithms that compute with bytes."""
        if self.stored != np.uint8:
            return self
        other = object.__new__(type(self))
        vars(other).update(vars(self))  # not copy(): `__getstate__` is for workers and leaves attributes out
        other.dtype = np.dtype(np.uint8)
        return other

    def head(self, rows: int) -> Matrix:
        """Return the first rows, at most `rows`."""
        start, block = next(iter(self.blocks(rows)))
        check_block(block, start)
        return block

    def whole(self) -> Matrix:
        """Return all rows in memory."""
        parts = []
        for start, block in self.blocks(rows_within(1 / 8, self.row_bytes, READ_BYTES)):
            check_block(block, start)
            parts.append(block)
        return stack_rows(parts)

    def named(self, block: Matrix) -> Table:
        """Return a block with the names of its columns, if they have names and pandas is installed."""
        return block if self.names is None else with_names(block, self.names)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return max(1, self.n_features) * self.dtype.itemsize


def with_names(block: Matrix, names: Iterable[str]) -> Table:
    """Return a block with names of its columns if it is dense and pandas is installed."""
    if sp.issparse(block) or find_spec("pandas") is None:
        return block
    return import_extra("pandas", "cli").DataFrame(block, columns=list(names), copy=False)


def checked(function: Callable[[int, Matrix], Part], start: int, block: Matrix) -> Part:
    """Check a block, and apply a function to it."""
    check_block(block, start)
    return function(start, block)


def regrouped(pieces: Iterable[Matrix], rows: int) -> Iterator[tuple[int, Matrix]]:
    """Cut and join pieces so that every block but the last has exactly `rows` rows; views if nothing is joined."""
    start, waiting, held = 0, [], 0
    for piece in pieces:
        offset = 0
        while held + piece.shape[0] - offset >= rows:
            end = offset + rows - held
            yield start, stack_rows([*waiting, piece[offset:end]])
            start, offset, waiting, held = start + rows, end, [], 0
        if offset < piece.shape[0]:
            waiting.append(piece[offset:])
            held += piece.shape[0] - offset
    if held:
        yield start, stack_rows(waiting)


def stack_rows(parts: Sequence[Matrix]) -> Matrix:
    """Concatenate rows; the result is CSR if any part is sparse."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


def add_up(total: tuple[NDArray, ...], part: tuple[NDArray, ...]) -> tuple[NDArray, ...]:
    """Add arrays to the totals in place."""
    for into, array in zip(total, part, strict=True):
        into += array
    return total


def check_block(block: Matrix, start: int) -> None:
    """Raise if a block that begins at row `start` is not finite, or too large to be squared."""
    values = block.data if sp.issparse(block) else block
    if values.dtype.kind != "f":
        return
    # The sum is finite if all values are, and faster than checking each of them.
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


def as_block(rows: SupportsArray | SparseMatrix, dtype: np.dtype | None = None, *, copy: bool = False) -> Matrix:
    """Return rows as an array or CSR matrix of type `dtype`; by default single precision stays, the rest is double."""
    rows = sp.csr_array(rows) if sp.issparse(rows) else np.asarray(rows)
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got blocks of {rows.dtype}.")
    if dtype == np.uint8 and rows.dtype != np.uint8:
        raise ValueError(f"blocks of X must hold bytes, as the first one, got {rows.dtype}; make them of one type.")
    return rows.astype(float_type(rows.dtype) if dtype is None else dtype, copy=copy)


def float_type(dtype: DTypeLike) -> np.dtype:
    """Return the type of computations with numbers of a type: single precision stays, the rest is double."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)
