"""Some rows of a source for work that needs them at once, and answers for all the others, block by block."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polyfold._typing import Matrix
from polyfold.sources._source import Source, stack_rows

Item = TypeVar("Item")
# Bytes of a block that is only looked through.
LOOK_BYTES = 8_000_000
# Rows that are answered at a time, and their bytes: enough for what a block costs whatever its size, little for memory.
ANSWER_ROWS, ANSWER_BYTES = 2**14, 64_000_000


def pick_rows(source: Source, numbers: NDArray) -> Matrix:
    """Return the rows of some ascending numbers, after one pass in which all rows are checked."""
    rows = max(64, LOOK_BYTES // source.row_bytes)
    return stack_rows(source.reduce(partial(_pick, numbers), _joined, rows, what="blocks looked through"))


def answer_others(
    source: Source, function: Callable[[Matrix], tuple[NDArray, ...]], known: NDArray, answers: tuple[NDArray, ...]
) -> tuple[NDArray, ...]:
    """Return what `function` says of every row, in memory, where that of some is known.

    Parameters
    ----------
    source : Source
    function : callable
        Of a block of rows: arrays with a row for each. It must be such that a worker of Dask can be sent it.
    known : ndarray of shape (m,)
        Ascending numbers of the rows that need not be asked.
    answers : tuple of arrays of m rows
        What is known of them; the others are of the same types.
    """
    rows = min(ANSWER_ROWS, max(64, ANSWER_BYTES // source.row_bytes))
    found = source.reduce(partial(_answer, function, known), _joined, rows, what="blocks of other rows")
    others = np.ones(source.n_rows, dtype=bool)
    others[known] = False
    filled = []
    for number, given in enumerate(answers):
        out = np.empty((source.n_rows, *given.shape[1:]), dtype=given.dtype)
        out[known] = given
        out[others] = np.concatenate([given[:0], *(part[number] for part in found)])
        filled.append(out)
    return tuple(filled)


def _pick(numbers: NDArray, start: int, block: Matrix) -> list[Matrix]:
    wanted = _within(numbers, start, block)
    return [block[wanted]] if len(wanted) else []


def _answer(
    function: Callable[[Matrix], tuple[NDArray, ...]], known: NDArray, start: int, block: Matrix
) -> list[tuple[NDArray, ...]]:
    others = np.setdiff1d(np.arange(block.shape[0]), _within(known, start, block), assume_unique=True)
    return [function(block[others])] if len(others) else []


def _within(numbers: NDArray, start: int, block: Matrix) -> NDArray:
    first, last = np.searchsorted(numbers, [start, start + block.shape[0]])
    return numbers[first:last] - start


def _joined(total: list[Item], part: list[Item]) -> list[Item]:
    total.extend(part)
    return total
