"""Rows that are read block by block, wherever they are.

A `Source` has a shape, a type and three ways to be used: `blocks` one after the other, `reduce` to sums, `map` to as
many rows of results. Sums are taken over row ranges that depend on the work alone, so that the container, its own
chunks, the memory at hand and the number of threads change the speed and never the result.
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

# Bytes read at a time: more does not make reading faster.
READ_BYTES = 32_000_000


class Source(ABC):
    """Rows of numbers in any container, checked when they are first read.

    Subclasses set the attributes and add `read`.
    """

    n_features: int
    dtype: np.dtype
    stored: np.dtype | None = None  # what the container holds, where that is known and no float
    names: tuple[str, ...] | None = None  # of the columns
    is_checked: bool = False  # whether all rows are known to be finite
    is_array: bool = False  # whether all rows can be had at once at no cost
    is_lazy: bool = False  # whether `map` gives lazy arrays: those of Dask

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows; counting them may take a pass."""

    @abstractmethod
    def read(self, rows: int) -> Iterator[Matrix]:
        """Yield pieces in their order, of about `rows` rows or as the container has them, in `dtype`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    def blocks(self, rows: int) -> Iterator[tuple[int, Matrix]]:
        """Yield the number of the first row and the block, for blocks of exactly `rows` rows, except the last."""
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
            Of the number of a block's first row and its rows; it runs side by side for several blocks.
        merge : callable
            Of what came out so far, which it may change, and of the next block.
        rows : int
            In a block: a number that depends on the work alone.
        what : str, default="blocks"
            What progress calls them.
        memory : int, default=0
            Bytes that one block's work takes: fewer threads where more would leave the budget.
        """
        apply = function if self.is_checked else functools.partial(checked, function)
        jobs = max(1, min(n_threads(), budget() // max(1, memory)))
        total = -(-self.n_rows // rows)  # before the first block: counting may be a pass of its own
        parts = threaded(lambda item: apply(*item), self.blocks(rows), jobs)
        result = functools.reduce(merge, track(parts, what, total=total))
        self.is_checked = True
        return result

    def map(self, function: Callable[[Any], Result], rows: int, out: tuple[Any, ...] | None = None) -> Result:
        """Return ``function(block)`` of all blocks, below one another, or write it into `out` as it comes.

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
        """Return the same rows, as bytes where the container holds bytes, for work that computes with them."""
        if self.stored != np.uint8:
            return self
        other = object.__new__(type(self))
        vars(other).update(vars(self))  # all of it, which is more than what is sent to workers
        other.dtype = np.dtype(np.uint8)
        return other

    def head(self, rows: int) -> Matrix:
        """Return the first rows, at most so many."""
        start, block = next(iter(self.blocks(rows)))
        check_block(block, start)
        return block

    def whole(self) -> Matrix:
        """Return all rows in memory, for work that cannot be done in blocks."""
        parts = []
        for start, block in self.blocks(rows_within(1 / 8, self.row_bytes, READ_BYTES)):
            check_block(block, start)
            parts.append(block)
        return stack_rows(parts)

    def named(self, block: Matrix) -> Table:
        """Return a block with the names of its columns, if they have names and pandas is installed."""
        if self.names is None or sp.issparse(block) or find_spec("pandas") is None:
            return block
        return import_extra("pandas", "cli").DataFrame(block, columns=list(self.names), copy=False)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return max(1, self.n_features) * self.dtype.itemsize


def checked(function: Callable[[int, Matrix], Part], start: int, block: Matrix) -> Part:
    """Apply a function to a block that is finite."""
    check_block(block, start)
    return function(start, block)


def regrouped(pieces: Iterable[Matrix], rows: int) -> Iterator[tuple[int, Matrix]]:
    """Cut and join pieces so that every block but the last has exactly `rows` rows; views where nothing is joined."""
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
    """Return rows below one another, CSR where some are sparse."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


def add_up(total: tuple[NDArray, ...], part: tuple[NDArray, ...]) -> tuple[NDArray, ...]:
    """Add arrays to those so far, in their place."""
    for into, array in zip(total, part, strict=True):
        into += array
    return total


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
