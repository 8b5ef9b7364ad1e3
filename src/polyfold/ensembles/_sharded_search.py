"""Search on a cluster: the rule of one machine, in one or two questions to the cells of `Cells`.

Every cell gives the nearest of its rows in the modules it has; the nearest of all are the candidates that one machine
would have found. Where modules are spread, cells are then asked how far the candidates of others are in their own. Sums
over modules rank them. Cells that do not answer in time are left out: rows of a lost shard are not found, and rows with
a lost module are ranked by the mean over the others.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.ensembles._cells import Cells
from polyfold.ensembles._coverage import Coverage, SearchResult
from polyfold.ensembles._effort import Effort
from polyfold.ensembles._module_search import Modules, plan
from polyfold.ensembles._shards import Group

# Modules of queries, and their own numbers where they are rows of the index; None for modules that have not come.
Blocks = Iterable[tuple[NDArray | None, NDArray | None]]
MOMENT = 0.02
# Bytes of the modules of queries, and of candidates, that are asked at a time.
QUERY_BYTES, CANDIDATE_BYTES = 4_000_000, 16_000_000
# Share of the time that candidates are waited for where there is a second question.
FIRST_SHARE = 0.7


class ShardedSearch:
    """A search with the interface of `ModuleSearch` among rows on a cluster.

    Parameters
    ----------
    cells : Cells
    shape : tuple of int
        Modules, and dimensions of each.
    dtype : dtype
        Of the modules.
    is_tuned : bool, default=False
        Whether every cell has been tuned to a recall, and answers by itself.
    """

    def __init__(self, cells: Cells, shape: tuple[int, int], dtype: Any, is_tuned: bool = False):
        self.cells, self.shape, self.dtype, self.is_tuned = cells, shape, dtype, is_tuned
        self.engine = cells.engine

    def effort(self) -> Effort:
        """Return what the cells have chosen for a recall: the largest of all, and the mean of what they reach."""
        efforts, weights = self.cells.efforts, np.diff(self.cells.bounds)
        recall = float(np.average([each.recall for each in efforts], weights=weights))
        error = float(np.average([each.error**2 for each in efforts], weights=weights) / len(weights)) ** 0.5
        return Effort(max(each.modules for each in efforts), max(each.expand for each in efforts), recall, error)

    def training(self, deadline: float | None) -> Iterator[tuple[NDArray | None, NDArray]]:
        """Yield modules of the rows themselves and their numbers, never of two shards together.

        Shards that do not answer are asked once more after all others; None stands for those that still do not.
        """
        end, groups, waiting = _end(deadline), len(self.cells.groups), deque(self._own_blocks())
        late: set[int] = set()
        while waiting:
            shard, first, last = waiting.popleft()
            numbers = range(shard * groups, (shard + 1) * groups)
            # Half of the time is for the answers.
            left = None if end is None else _left(end) / (2 * (len(waiting) + 1))
            found, errors = self.cells.ask("take", dict.fromkeys(numbers, (first, last)), left)
            if errors and first not in late:
                late.add(first)
                waiting.append((shard, first, last))
                continue
            modules = None if errors else np.concatenate([found[number] for number in numbers], axis=1)
            yield modules, np.arange(first, last)

    def _own_blocks(self) -> Iterator[tuple[int, int, int]]:
        """Yield shard, first and last row of the blocks in which rows of the index are asked for."""
        for shard, (start, end) in enumerate(pairwise(self.cells.bounds.tolist())):
            for first in range(start, end, self._rows(1)):
                yield shard, first, min(end, first + self._rows(1))

    def search(self, blocks: Blocks, k: int, *, deadline: float | None = None, **options: Any) -> SearchResult:
        """Return the neighbours of queries that come block by block, with the options of `query`."""

        def answer(queries: NDArray, own: NDArray | None, seconds: float | None) -> Any:
            return self.query(queries, k, own=own, deadline=seconds, **options)

        def nothing(own: NDArray) -> Any:
            shape = len(own), k
            return np.full(shape, np.inf), np.full(shape, -1), self._without(own, self.ranking(options.get("modules")))

        squared, indices, coverage = self._by_blocks(blocks, deadline, answer, nothing)
        return SearchResult(np.sqrt(squared), indices, coverage)

    def within_blocks(self, blocks: Blocks, radius: float, deadline: float | None) -> tuple[Any, ...]:
        """Return what `within` does of queries that come block by block."""

        def answer(queries: NDArray, own: NDArray | None, seconds: float | None) -> Any:
            return self.within(queries, radius, own, seconds)

        def nothing(own: NDArray) -> Any:
            empty = np.empty(0), np.empty(0, dtype=np.int64)
            return np.zeros(len(own), dtype=np.int64), *empty, self._without(own, np.arange(self.shape[0]))

        return self._by_blocks(blocks, deadline, answer, nothing)

    def _by_blocks(
        self,
        blocks: Blocks,
        deadline: float | None,
        answer: Callable[[NDArray, NDArray | None, float | None], Any],
        nothing: Callable[[NDArray], Any],
    ) -> tuple[Any, ...]:
        """Answer block by block, in the order of the rows; those of the index itself within one deadline."""
        end, parts, asked = _end(deadline), [], False
        for queries, own in blocks:
            seconds = deadline if own is None or end is None else _left(end)
            asked |= queries is not None
            found = nothing(own) if queries is None and own is not None else answer(queries, own, seconds)  # type: ignore[arg-type]
            parts.append((0 if own is None else own[0], found))
        if not asked:
            raise_without({}, {0: TimeoutError(f"no answer within {deadline:.3g} s")})
        found = [part for _, part in sorted(parts, key=itemgetter(0))]
        *arrays, coverages = zip(*found, strict=True)
        return *map(np.concatenate, arrays), reduce(and_, coverages)

    def _without(self, own: NDArray, modules: NDArray) -> Coverage:
        """Return the coverage of rows whose shard has not given them: nothing of it has answered."""
        shard, groups = int(np.searchsorted(self.cells.bounds, own[0], side="right")) - 1, len(self.cells.groups)
        return self.covered(range(shard * groups, (shard + 1) * groups), modules)

    def query(
        self,
        Q: NDArray,
        k: int,
        *,
        modules: Modules = None,
        expand: int | None = None,
        own: NDArray | None = None,
        deadline: float | None = None,
    ) -> tuple[NDArray, NDArray, Coverage]:
        """Return mean squared distances and rows, (n, k), and what has answered within the deadline."""
        parts, coverage, end = [], None, _end(deadline)
        starts = range(0, len(Q), self._rows(expand or k))
        for number, start in enumerate(starts):
            rows = slice(start, start + starts.step)
            left = None if end is None else _left(end) / (len(starts) - number)
            block = _Block(self, Q[rows], k, None if own is None else own[rows], left)
            *found, answered = block.nearest(modules, expand)
            parts.append(found)
            coverage = answered if coverage is None else coverage & answered
        distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        return distances, indices, coverage or self.covered({}, self.ranking(modules))

    def within(
        self, Q: NDArray, radius: float, own: NDArray | None, deadline: float | None
    ) -> tuple[NDArray, NDArray, NDArray, Coverage]:
        """Return counts, distances and rows of all within a radius, and what has answered."""
        if len(self.cells.groups) > 1:
            raise ValueError(
                f"a search within a radius needs all modules of a row in one place, got {len(self.cells.groups)} groups"
                " of them on the cluster; fit with module_groups=1."
            )
        asked = dict.fromkeys(range(len(self.cells)), (Q, radius, own))
        found, errors = self.cells.ask("near", asked, deadline)
        raise_without(found, errors)
        parts = [found[number] for number in sorted(found)]
        counts = np.array([part[0] for part in parts])  # (shards, n)
        # All of a query's rows together: shards are in the order of their rows.
        order = np.argsort(np.concatenate([np.repeat(np.arange(len(Q)), count) for count in counts]), kind="stable")
        distances, indices = (np.concatenate([part[i] for part in parts])[order] for i in (1, 2))
        return counts.sum(axis=0), distances, indices, self.covered(errors, np.arange(self.shape[0]))

    def ranking(self, modules: Modules) -> NDArray:
        """Return the modules that rank."""
        return plan(modules, self.shape[0], None)[1]

    def _rows(self, width: int) -> int:
        """Return how many queries are asked at a time."""
        M, H = self.shape
        return max(1, min(QUERY_BYTES // (M * H * np.dtype(self.dtype).itemsize), CANDIDATE_BYTES // (24 * M * width)))

    def covered(self, missing: Iterable[int], modules: NDArray) -> Coverage:
        """Return what has answered if some cells have not."""
        answered = np.ones((len(self.cells.bounds) - 1, len(modules)), dtype=bool)
        for number in missing:
            answered[self.cells.shard(number), np.isin(modules, self.cells.members(number))] = False
        return Coverage(answered, modules, self.cells.bounds)


class _Block:
    """Some queries, and what has answered them so far."""

    def __init__(self, search: ShardedSearch, Q: NDArray, k: int, own: NDArray | None, seconds: float | None):
        self._search, self._cells, self._Q, self._k, self._own = search, search.cells, Q, k, own
        self._seconds, self._begin = seconds, time.monotonic()
        self._missing: set[int] = set()
        self._needed: list[int] = []  # cells that have modules to be asked

    def nearest(self, modules: Modules, expand: int | None) -> tuple[NDArray, NDArray, Coverage]:
        """Return mean squared distances and rows, (n, k), and what has answered."""
        groups, ranking = plan(modules, self._search.shape[0], 1 if self._search.is_tuned else None)
        self._needed = [n for n in range(len(self._cells)) if np.isin(ranking, self._cells.members(n)).any()]
        if self._search.is_tuned and isinstance(groups, int):
            found = self._by_shards(modules, expand)
        else:
            found = self._by_cells(groups, ranking, expand)
        return *found, self._search.covered(self._missing, ranking)

    def _by_shards(self, modules: Any, expand: int | None) -> tuple[NDArray, NDArray]:
        """Merge what every shard's own search finds."""
        asked = (self._Q, self._k, modules, expand, self._own)
        found = self._ask("nearest", dict.fromkeys(self._needed, asked), 1.0)
        return first_of([found[number] for number in sorted(found)], self._k)

    def _by_cells(self, groups: Any, ranking: NDArray, expand: int | None) -> tuple[NDArray, NDArray]:
        """Rank the candidates that one machine would have by the mean over the modules that answer for them."""
        spare, k = int(self._own is not None), self._k
        if isinstance(groups, int):
            count, groups = spare + max(k, groups * (expand or k)), [tuple(range(groups))]
        else:
            count = spare + max(k, expand or k)
        modules = {n: [int(m) for m in ranking if m in self._cells.members(n)] for n in self._needed}
        found = self._scanned(groups, count, modules)
        pairs = _Pairs.of(found, groups, count, self._cells.bounds[-1])
        self._ask_rest(pairs, found, modules)
        return pairs.nearest(len(self._Q), k, self._own)

    def _scanned(self, groups: list[Group], count: int, modules: dict[int, list[int]]) -> dict[int, dict[Group, Any]]:
        """Return by cells and groups of modules what `scan` gives."""
        own = {n: [g for g in groups if set(g) <= set(self._cells.members(n))] for n in self._needed}
        if left := next((group for group in groups if not any(group in each for each in own.values())), None):
            raise ValueError(
                f"modules must be <= {len(self._cells.members(0))}, those that a worker has, to be scanned as one, got "
                f"{len(left)}; name them by a list, or fit with module_groups=1."
            )
        asked = {n: (self._Q, each, count, modules[n]) for n, each in own.items() if each}
        found = self._ask("scan", asked, FIRST_SHARE if len(self._cells.groups) > 1 else 1.0)
        return {n: dict(zip(own[n], found[n], strict=True)) for n in sorted(found)}

    def _ask_rest(self, pairs: "_Pairs", found: dict[int, Any], modules: dict[int, list[int]]) -> None:
        """Ask cells for the pairs that they have not found themselves."""
        asked, places = {}, {}
        for number in [n for n in self._needed if n not in self._missing]:
            known = pairs.add_known(found.get(number, {}), len(modules[number]))
            shard = self._cells.shard(number)
            places[number] = np.flatnonzero(pairs.within(*self._cells.bounds[shard : shard + 2]) & ~known)
            if len(places[number]):
                here = pairs.queries[places[number]], pairs.rows[places[number]]
                asked[number] = (self._Q, modules[number], *here)
        if asked:
            for number, sums in sorted(self._ask("rank", asked, 1.0, is_first=False).items()):
                pairs.add(places[number], sums, len(modules[number]))

    def _ask(self, method: str, asked: dict[int, Any], share: float, is_first: bool = True) -> dict[int, Any]:
        seconds = self._seconds
        if seconds is not None:
            seconds = max(0.01, share * seconds - (time.monotonic() - self._begin))
        found, errors = self._cells.ask(method, asked, seconds)
        if is_first:
            raise_without(found, errors)
        self._missing.update(errors)
        return found


@dataclass
class _Pairs:
    """Queries and their candidates, in the order of both: sums of squared distances, and over how many modules."""

    queries: NDArray
    rows: NDArray
    n_rows: int
    total: NDArray
    count: NDArray

    @classmethod
    def of(cls, found: dict[int, dict[Group, Any]], groups: list[Group], count: int, n_rows: int) -> "_Pairs":
        """Take the nearest of all cells in every group."""
        best = []
        for group in groups:
            parts = [each[group][:2] for each in found.values() if group in each]
            if parts:
                best.append(first_of(parts, count)[1])
        rows = np.concatenate(best, axis=1)
        keys = np.unique((np.arange(len(rows))[:, None] * n_rows + rows)[rows >= 0])
        return cls(*np.divmod(keys, n_rows), n_rows, np.zeros(len(keys)), np.zeros(len(keys)))

    def within(self, first: int, last: int) -> NDArray:
        """Return which rows are in a range."""
        return (self.rows >= first) & (self.rows < last)

    def add_known(self, found: dict[Group, Any], n_modules: int) -> NDArray:
        """Add what a cell has said of its own candidates, and return which pairs these are."""
        known, sums = np.zeros(len(self.rows), dtype=bool), np.zeros(len(self.rows))
        keys = self.queries * self.n_rows + self.rows
        for _, rows, values in found.values():
            wanted = (np.arange(len(rows))[:, None] * self.n_rows + rows).ravel()
            places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
            there = keys[places] == wanted
            known[places[there]], sums[places[there]] = True, values.ravel()[there]
        self.add(np.flatnonzero(known), sums[known], n_modules)
        return known

    def add(self, places: NDArray, sums: NDArray, n_modules: int) -> None:
        """Add sums of some pairs over so many modules."""
        self.total[places] += sums
        self.count[places] += n_modules

    def nearest(self, n: int, k: int, own: NDArray | None) -> tuple[NDArray, NDArray]:
        """Return mean squared distances and rows of the k nearest of n queries, never the own one: (n, k)."""
        use = self.count > 0 if own is None else (self.count > 0) & (self.rows != own[self.queries])
        queries, rows, mean = self.queries[use], self.rows[use], self.total[use] / self.count[use]
        order = np.lexsort((rows, mean, queries))
        sizes = np.bincount(queries, minlength=n)
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        first = order[place < k]
        distances, indices = np.full((n, k), np.inf), np.full((n, k), -1, dtype=np.int64)
        distances[queries[first], place[place < k]], indices[queries[first], place[place < k]] = (
            mean[first],
            rows[first],
        )
        return distances, indices


def _end(deadline: float | None) -> float | None:
    return None if deadline is None else time.monotonic() + deadline


def _left(end: float) -> float:
    """Seconds that are left, and a moment where none are: what has come can still be fetched."""
    return max(MOMENT, end - time.monotonic())


def raise_without(found: dict[int, Any], errors: dict[int, BaseException]) -> None:
    """Raise where nobody has answered."""
    if found or not errors:
        return
    error = next(iter(errors.values()))
    if isinstance(error, TimeoutError):
        raise TimeoutError(
            f"some worker must answer within the deadline, got {error} from any; raise deadline, or see whether the "
            "workers run."
        ) from error
    raise error


def first_of(parts: list[tuple[NDArray, NDArray]], count: int) -> tuple[NDArray, NDArray]:
    """Return the nearest of several lists (n, c), by distance, then row: (n, count); -1 at infinity where too few."""
    distances, indices = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    if distances.shape[1] < count:
        more = ((0, 0), (0, count - distances.shape[1]))
        distances, indices = np.pad(distances, more, constant_values=np.inf), np.pad(indices, more, constant_values=-1)
    order = np.lexsort((indices, distances), axis=1)[:, :count]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)
