"""What workers do: keep some modules of some rows, a cell, and answer for them.

Rows are called by their numbers among all rows, modules by theirs among all modules.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._running import using_threads
from polyfold.ensembles._effort import Effort
from polyfold.ensembles._module_search import ModuleSearch
from polyfold.ensembles._rerank import paired, within
from polyfold.sources import stack_rows

# Numbers of modules that are scanned as one.
Group = tuple[int, ...]


class Cell:
    """Modules (n, m, H) of the rows from `start` on; `members` are the numbers of the modules."""

    def __init__(self, modules: NDArray, start: int, members: Group, search: ModuleSearch):
        self.start, self.members, self.search = start, members, search
        # What a first query would wait for: indices, compiled code.
        search.query(modules[:1], 1)

    def local(self, modules: Any) -> Group:
        """Return the places of modules in this cell."""
        return tuple(self.members.index(m) for m in modules)

    def own(self, own: NDArray | None) -> NDArray | None:
        """Return numbers of rows, all of one shard, as those of this cell; None where they are another's."""
        here = own is not None and self.start <= own[0] < self.start + len(self.search.modules)
        return own - self.start if own is not None and here else None


def make_modules(function: Callable[[int, Any], NDArray], start: int, chunks: list[Any]) -> NDArray:
    """Return the modules (n, M, H) of the rows of some chunks that follow one another."""
    parts = []
    with using_threads(1):
        for chunk in chunks:
            parts.append(function(start, chunk))
            start += len(chunk)
    return stack_rows(parts)


def make_cell(modules: NDArray, start: int, members: Group, engine: str, wanted: tuple[int, float] | None) -> Cell:
    """Keep some modules of rows, and tune the search where a recall of so many neighbours is wanted."""
    with using_threads(1):
        kept = modules if len(members) == modules.shape[1] else np.ascontiguousarray(modules[:, list(members)])
        search = ModuleSearch(kept, engine)
        if wanted is not None:
            search.tune(*wanted)
        return Cell(kept, start, members, search)


def effort(cell: Cell) -> Effort | None:
    """Return what was chosen for a wanted recall."""
    return cell.search.effort


def scan(cell: Cell, Q: NDArray, groups: list[Group], count: int) -> list[tuple[NDArray, NDArray]]:
    """Return squared distances and rows, (n, count) each, of the candidates of every group of modules."""
    queries, found = Q[:, list(cell.members)], []
    with using_threads(1):
        for group in groups:
            squared, indices = cell.search.candidates(cell.local(group), queries, count)
            found.append((squared, indices + cell.start))
    return found


def rank(cell: Cell, Q: NDArray, modules: list[int], queries: NDArray, rows: NDArray) -> NDArray:
    """Return the squared distances of pairs of queries and rows, summed over the modules: (pairs,)."""
    with using_threads(1):
        there = np.array(cell.local(modules))
        return paired(Q[:, list(cell.members)], cell.search.modules, there, queries, rows - cell.start)


def nearest(
    cell: Cell, Q: NDArray, k: int, modules: int | None, expand: int | None, own: NDArray | None
) -> tuple[NDArray, NDArray]:
    """Return mean squared distances and rows of the neighbours that the cell's own search finds: (n, k) or fewer."""
    n, hidden = len(cell.search.modules), cell.own(own)
    with using_threads(1):
        # Of all of its rows one may be the query's own.
        k_here = min(k, n if hidden is None else n - 1)
        if k_here == 0:
            return np.empty((len(Q), 0)), np.empty((len(Q), 0), dtype=np.int64)
        squared, indices = cell.search.query(Q, k_here, modules=modules, expand=expand, own=hidden)
    return squared, indices + cell.start


def near(cell: Cell, Q: NDArray, radius: float, own: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
    """Return counts, distances and rows of all within a radius."""
    with using_threads(1):
        counts, distances, indices = within(Q, cell.search.modules, radius, cell.own(own))
    return counts, distances, indices + cell.start


def take(cell: Cell, first: int, last: int) -> NDArray:
    """Return the modules of some of its rows."""
    return cell.search.modules[first - cell.start : last - cell.start]


def hold(value: Any) -> Any:
    """Return what tasks share: a task of its own, which can be done again where its worker is lost."""
    return value
