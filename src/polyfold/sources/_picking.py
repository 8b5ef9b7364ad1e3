"""All rows of a source or a sample of them in memory, and results for the other rows block by block."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._typing import Matrix, Rows, Table
from polyfold._validation import own_rows
from polyfold.sources._budget import budget
from polyfold.sources._opening import as_source, in_memory, is_stream
from polyfold.sources._source import Source, stack_rows

Item = TypeVar("Item")
# Rows of a sample that represents all rows.
LANDMARKS = 50_000
# Rows from which the size of sparse rows is estimated.
_LOOK = 64
# Bytes of a block from which rows are picked.
LOOK_BYTES = 8_000_000
# Rows and bytes of a block of other rows: large enough that the overhead of a block is small.
REST_ROWS, REST_BYTES = 2**14, 64_000_000


def pick_rows(source: Source, numbers: NDArray) -> Matrix:
    """Return the rows with the given ascending numbers; the pass checks all rows."""
    rows = max(64, LOOK_BYTES // source.row_bytes)
    return stack_rows(source.reduce(partial(_pick, numbers), _joined, rows, what="blocks read"))


def transform_rest(source: Source, function: Callable[[Matrix], NDArray], known: NDArray, results: NDArray) -> NDArray:
    """Return the results of `function` for all rows, given those of some rows.

    Parameters
    ----------
    source : Source
    function : callable
        Takes a block of rows and returns an array with a row for each. It must be possible to pickle it.
    known : ndarray of shape (m,)
        Ascending numbers of the rows whose results are given.
    results : ndarray of m rows
        The results of these rows.
    """
    rows = min(REST_ROWS, max(64, REST_BYTES // source.row_bytes))
    found = source.reduce(partial(_apply_to_others, function, known), _joined, rows, what="blocks of other rows")
    others = np.ones(source.n_rows, dtype=bool)
    others[known] = False
    out = np.empty((source.n_rows, *results.shape[1:]), dtype=results.dtype)
    out[known], out[others] = results, np.concatenate([results[:0], *found])
    return out


def _pick(numbers: NDArray, start: int, block: Matrix) -> list[Matrix]:
    wanted = _within(numbers, start, block)
    return [block[wanted]] if len(wanted) else []


def _apply_to_others(function: Callable[[Matrix], NDArray], known: NDArray, start: int, block: Matrix) -> list[NDArray]:
    others = np.setdiff1d(np.arange(block.shape[0]), _within(known, start, block), assume_unique=True)
    return [function(block[others])] if len(others) else []


def _within(numbers: NDArray, start: int, block: Matrix) -> NDArray:
    first, last = np.searchsorted(numbers, [start, start + block.shape[0]])
    return numbers[first:last] - start


def _joined(total: list[Item], part: list[Item]) -> list[Item]:
    total.extend(part)
    return total


def all_or_some(X: Rows, *, few: bool = False, seed: int = 0) -> tuple[Table, NDArray | None]:
    """Return the rows of `X` in memory, or a sample and its ascending row numbers if there are too many.

    Parameters
    ----------
    X : object
        Rows in any container of `as_source`.
    few : bool, default=False
        Whether to sample any data of more than `LANDMARKS` rows. Otherwise only streams are sampled that do not fit
        the memory budget, or whose rows are on a cluster.
    seed : int, default=0
        Seed of the sample, which does not depend on the container.

    Returns
    -------
    rows : array, CSR matrix or table
        With the names of the columns, if they have names.
    numbers : ndarray or None
        None if all rows are returned.
    """
    source = as_source(X)
    n = source.n_rows
    if n <= LANDMARKS or not (few or (is_stream(X) and not _has_room(source))):
        return in_memory(X if source.is_array else source), None
    numbers = np.sort(np.random.RandomState(seed).choice(n, LANDMARKS, replace=False))
    if not is_stream(X):
        return cast(Matrix, X)[numbers], numbers
    return source.named(pick_rows(source, numbers)), numbers


def rows_to_fit(
    X: Rows, validate: Callable[[Rows], Matrix], *, few: bool = False, fixed: bool = False, seed: int = 0
) -> tuple[Matrix, NDArray | None]:
    """Return checked rows that are not shared with the caller: those of `X`, or a sample and its row numbers.

    `few` and `seed` are those of `all_or_some`. If the rows are `fixed`, all of them are returned.
    """
    if not is_stream(X):
        rows, numbers = all_or_some(validate(X), few=few and not fixed, seed=seed)
        return own_rows(cast(Matrix, rows), X), numbers
    given, numbers = (in_memory(X), None) if fixed else all_or_some(X, few=few, seed=seed)
    return own_rows(validate(given), given), numbers


def _has_room(source: Source) -> bool:
    if source.is_lazy:
        return False
    few = source.head(_LOOK)
    row_bytes = 12 * few.nnz / few.shape[0] if sp.issparse(few) else source.row_bytes
    return row_bytes * source.n_rows <= budget()
