"""All rows, or a sample of them, for fits that need their rows at once."""

from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._typing import Matrix, Rows, Table
from polyfold.sources._budget import budget
from polyfold.sources._opening import as_source, in_memory, is_stream
from polyfold.sources._picking import pick_rows
from polyfold.sources._source import Source

# Rows that stand for all others.
LANDMARKS = 50_000
_LOOK = 64


def all_or_some(X: Rows, *, few: bool = False, seed: int = 0) -> tuple[Table, NDArray | None]:
    """Return the rows of `X` in memory, or a sample of them and its numbers, ascending, where there are very many.

    Parameters
    ----------
    X : object
        Rows in any container of `as_source`.
    few : bool, default=False
        Whether to take a sample of more than `LANDMARKS` rows in any case. Otherwise those of streams that do not fit
        the memory budget are sampled, and those of a cluster: nobody need have room for them all there.
    seed : int, default=0
        Of the sample, which is the same rows in every container.

    Returns
    -------
    rows : array, CSR matrix or table
        With the names of the columns, where they have some.
    numbers : ndarray or None
        None where all rows are there.
    """
    source = as_source(X)
    n = source.n_rows
    if n <= LANDMARKS or not (few or (is_stream(X) and not _has_room(source))):
        return in_memory(X if source.is_array else source), None
    numbers = np.sort(np.random.RandomState(seed).choice(n, LANDMARKS, replace=False))
    if not is_stream(X):
        return cast(Matrix, X)[numbers], numbers
    return source.named(pick_rows(source, numbers)), numbers


def _has_room(source: Source) -> bool:
    if source.is_lazy:
        return False
    few = source.head(_LOOK)
    row_bytes = 12 * few.nnz / few.shape[0] if sp.issparse(few) else source.row_bytes
    return row_bytes * source.n_rows <= budget()
