"""What workers do: keep some modules of some rows, a cell, and answer for them.

Rows are called by their numbers among all rows, modules by theirs among all modules.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._threads import using_threads
from polyfold.ensembles._effort import Effort
from polyfold.ensembles._module_search import ModuleSearch
from polyfold.ensembles._rerank import paired, within
from polyfold.sources import stack_rows

# Numbers of modules that are scanned as one.
Group = tuple[int, ...]


def make_modules(function: Callable[[int, Any], NDArray], start: int, chunks: list[Any]) -> NDArray:
    """Return the modules (n, M, H) of the rows of some chunks that follow one another."""
    parts = []
    with using_threads(1):
        for chunk in chunks:
            parts.append(function(start, chunk))
            start += len(chunk)
    return stack_rows(parts)


class Cell:
    """Modules of rows, as an actor of Dask: it answers beside the tasks of its worker, whatever these are busy with.

    Parameters
    ----------
    modules : ndarray of shape (n, M, H)
    start : int
        Number of the first row.
    members : tuple of int
        Modules to keep.
    engine : str
    wanted : tuple of int and float, optional
        Neighbours, and the recall that the search is to be tuned to.
    """

    def __init__(self, modules: NDArray, start: int, members: Group, engine: str, wanted: tuple[int, float] | None):
        self.start, self.members, self.threads = start, members, _threads_here()
        kept = modules if len(members) == modules.shape[1] else np.ascontiguousarray(modules[:, list(members)])
        with using_threads(self.threads):
            self.search = ModuleSearch(kept, engine)
            if wanted is not None:
                self.search.tune(*wanted)
            # What a first query would wait for: indices, compiled code.
            self.search.query(kept[:1], 1)
            self.scan(np.repeat(kept[:1, :1], max(members) + 1, axis=1), [members[:1]], 1, list(members))

    def scan(
        self, Q: NDArray, groups: list[Group], count: int, modules: list[int]
    ) -> list[tuple[NDArray, NDArray, NDArray]]:
        """Return the candidates of every group of modules: squared distances in it, rows, and sums over `modules`.

        Each of shape (n, count), or less where there are fewer rows.
        """
        queries, there, found = Q[:, list(self.members)], np.array(self._local(modules)), []
        with using_threads(self.threads):
            for group in groups:
                squared, rows = self.search.candidates(self._local(group), queries, count)
                pairs = np.repeat(np.arange(len(Q)), rows.shape[1]), rows.ravel()
                sums = paired(queries, self.search.modules, there, *pairs).reshape(rows.shape)
                found.append((squared, rows + self.start, sums))
        return found

    def rank(self, Q: NDArray, modules: list[int], queries: NDArray, rows: NDArray) -> NDArray:
        """Return the squared distances of pairs of queries and rows, summed over the modules: (pairs,)."""
        there = np.array(self._local(modules))
        with using_threads(self.threads):
            return paired(Q[:, list(self.members)], self.search.modules, there, queries, rows - self.start)

    def nearest(
        self, Q: NDArray, k: int, modules: int | None, expand: int | None, own: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Return mean squared distances and rows of the neighbours that its own search finds: (n, k), or fewer."""
        hidden = self._own(own)
        # Of all of its rows one may be the query's own.
        k = min(k, len(self.search.modules) - (hidden is not None))
        if k == 0:
            return np.empty((len(Q), 0)), np.empty((len(Q), 0), dtype=np.int64)
        with using_threads(self.threads):
            squared, rows = self.search.query(Q, k, modules=modules, expand=expand, own=hidden)
        return squared, rows + self.start

    def near(self, Q: NDArray, radius: float, own: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
        """Return counts, distances and rows of all within a radius."""
        with using_threads(self.threads):
            counts, distances, rows = within(Q, self.search.modules, radius, self._own(own))
        return counts, distances, rows + self.start

    def take(self, first: int, last: int) -> NDArray:
        """Return the modules of some of its rows."""
        return self.search.modules[first - self.start : last - self.start]

    def effort(self) -> Effort | None:
        """Return what was chosen for a wanted recall."""
        return self.search.effort

    def _local(self, modules: Iterable[int]) -> Group:
        """Places of modules in this cell."""
        return tuple(self.members.index(m) for m in modules)

    def _own(self, own: NDArray | None) -> NDArray | None:
        """Numbers of rows, all of one shard, as those of this cell; None where they are another's."""
        if own is None or not self.start <= own[0] < self.start + len(self.search.modules):
            return None
        return own - self.start


def _threads_here() -> int:
    """Threads of the worker that this is called on."""
    return sys.modules["distributed"].get_worker().state.nthreads
