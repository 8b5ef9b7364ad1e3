"""Search among rows on a Dask cluster (extra ``dask``): one task per partition of rows, and a tree of merges.

Partitions are the chunks of the rows, persisted as `ModuleSearch` objects. Dask recomputes those of lost workers. Every
partition returns its nearest candidates in each group of modules. The nearest of all partitions are the candidates
that one machine finds, so the neighbours are the same.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyfold._threads import using_threads
from polyfold.ensembles._module_search import (
    Candidates,
    Modules,
    ModuleSearch,
    SearchPlan,
    make_probe_plan,
    make_search_plan,
    rank_candidates,
)
from polyfold.ensembles._recall_tuning import SearchBudget, probe_rows, tune
from polyfold.sources import answering, merge_tree

# Bytes of queries, and of candidates from one partition, that are searched at a time.
QUERY_BYTES, CANDIDATE_BYTES = 4_000_000, 16_000_000

# From the number of queries, their row numbers if they are training rows, and merged candidates to arrays.
Finish = Callable[[int, NDArray | None, Candidates | None], tuple[NDArray, NDArray]]


class Partition(NamedTuple):
    """Some consecutive rows, from number `start` on."""

    start: int
    search: ModuleSearch

    def shape(self) -> tuple[tuple[int, ...], np.dtype]:
        """Return the shape of the modules of a row, and their type."""
        return self.search.modules.shape[1:], self.search.modules.dtype

    def rows(self, numbers: NDArray) -> NDArray:
        """Return the modules (s, M, H) of some rows."""
        return self.search.rows(numbers - self.start)

    def candidates(self, plan: SearchPlan, Q: NDArray) -> Candidates:
        """Return the candidates of queries (n, M, H) among these rows."""
        with using_threads(1):
            candidates = self.search.candidates(Q, plan)
        return [(squared, rows + self.start, totals) for squared, rows, totals in candidates]


class _Queries(NamedTuple):
    """A block of queries: a task with their modules (n, M, H), and their row numbers if they are training rows."""

    task: Any
    n: int
    exclude: NDArray | None


class DaskSearch:
    """Search with the interface of `ModuleSearch` among rows on a cluster.

    Parameters
    ----------
    client : distributed.Client
    source : DaskSource
    function : callable
        Takes the number of the first row of a chunk, and the chunk; returns its modules (n, M, H).
    engine : {"sklearn", "faiss", "hnsw"}
    """

    def __init__(self, client: Any, source: Any, function: Callable[[int, Any], NDArray], engine: str):
        self.client, self.engine = client, engine
        self.budget: SearchBudget | None = None
        self.probes = probe_rows(source.n_rows)
        with answering(client):
            chunks = source.parts()
            self._bounds = np.array([start for start, _, _ in chunks] + [source.n_rows])
            shared = _value((function, self.probes, engine))
            self._partitions = client.persist([_task(_partition, shared, start, chunk) for start, _, chunk in chunks])
            futures = client.compute([_task(Partition.shape, each) for each in self._partitions])
            try:
                shapes = client.gather(futures)
            except BaseException:  # an interrupt, too: nothing stays on the workers
                if client.status == "running":
                    client.cancel([*self._partitions, *futures])
                raise
        (M, H), self.dtype = shapes[0]
        self.shape = source.n_rows, M, H

    def __reduce__(self) -> Any:
        raise TypeError(
            "An index on a cluster cannot be copied or saved, because its rows are on the workers. Save its "
            "representation_, load it elsewhere, and fit FrozenEstimator(representation) to the rows there."
        )

    def tune(self, k: int, recall: float) -> None:
        """Choose the cheapest budget for a wanted recall of k neighbours."""
        self.budget = tune(self, k, recall)

    def rows(self, numbers: NDArray) -> NDArray:
        """Return the modules (s, M, H) of some rows, given in ascending order."""
        splits = np.split(numbers, np.searchsorted(numbers, self._bounds[1:-1]))
        taken = zip(self._partitions, splits, strict=True)
        return np.concatenate(self._gather([_task(Partition.rows, each, rows) for each, rows in taken if len(rows)]))

    def probe(self, Q: NDArray, g: int, count: int, *, graph: bool) -> tuple[NDArray, NDArray]:
        """Return squared distances over all modules and indices of candidates, as `Tunable` describes."""
        plan = make_probe_plan(g, count, self.shape[1], graph=graph)
        return self._answer(_Queries(_value(Q), len(Q), None), plan, _only_group)[0]

    def query(
        self, Q: NDArray, k: int, *, modules: Modules = None, expand: int | None = None, exclude: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """Return mean squared distances and indices of neighbours, (n, k), for rows that fit one task."""
        plan = make_search_plan(modules, k, expand, self.shape[1], self.budget, is_training=exclude is not None)
        return self._answer(_Queries(_value(Q), len(Q), exclude), plan, partial(_ranked, plan, k))[0]

    def query_blocks(
        self, blocks: Iterable[NDArray] | None, k: int, *, modules: Modules, expand: int | None, deadline: float | None
    ) -> tuple[NDArray, NDArray, float]:
        """Return mean squared distances, indices, (n, k), and the fraction of rows that were searched in time.

        `blocks` are the modules of queries, or None for the training rows.
        """
        plan = make_search_plan(modules, k, expand, self.shape[1], self.budget, is_training=blocks is None)
        answers, searched, n = [], 0, 0
        end = None if deadline is None else time.monotonic() + deadline
        for queries in self._blocks(blocks, 24 * len(plan.groups) * plan.count):
            seconds = None if end is None else end - time.monotonic()
            arrays, rows = self._answer(queries, plan, partial(_ranked, plan, k), seconds)
            answers.append(arrays)
            searched, n = searched + rows * queries.n, n + queries.n
        if not searched:
            raise TimeoutError(
                f"No worker answered within {deadline:g} s. Increase `deadline`, or check that the workers are running."
            )
        squared, indices = (np.concatenate(each) for each in zip(*answers, strict=True))
        return squared, indices, searched / (self.shape[0] * n)

    def _blocks(self, blocks: Iterable[NDArray] | None, width: int) -> Iterator[_Queries]:
        """Yield queries in blocks that fit one task, `width` bytes of results each."""
        _, M, H = self.shape
        step = max(1, min(QUERY_BYTES // (M * H * np.dtype(self.dtype).itemsize), CANDIDATE_BYTES // width))
        if blocks is None:
            for each, start, end in zip(self._partitions, self._bounds, self._bounds[1:], strict=False):
                for first in range(start, end, step):
                    rows = np.arange(first, min(end, first + step))
                    yield _Queries(_task(Partition.rows, each, rows), len(rows), rows)
            return
        for block in blocks:
            for first in range(0, len(block), step):
                Q = block[first : first + step].astype(self.dtype, copy=False)
                yield _Queries(_value(Q), len(Q), None)

    def _answer(
        self, queries: _Queries, plan: SearchPlan, finish: Finish, seconds: float | None = None
    ) -> tuple[tuple[NDArray, NDArray], int]:
        """Return the finished candidates of the partitions that answer in time, and their number of rows."""
        tasks = [_task(Partition.candidates, each, plan, queries.task) for each in self._partitions]
        with answering(self.client), self.client.as_current():
            if seconds is None:
                merged = merge_tree(tasks, partial(_task, _nearest_first, plan.count))
                return self.client.compute(_task(finish, queries.n, queries.exclude, merged)).result(), self.shape[0]
            arrived = self._arrived(self.client.compute(tasks), seconds)
        parts = [arrived[number] for number in sorted(arrived)]
        rows = int(np.diff(self._bounds)[sorted(arrived)].sum())
        return finish(queries.n, queries.exclude, _nearest_first(plan.count, parts) if parts else None), rows

    def _arrived(self, futures: list[Any], seconds: float) -> dict[int, Any]:
        """Return the results that arrive within some seconds, by the number of the partition."""
        from distributed import as_completed

        numbers, arrived = {future.key: number for number, future in enumerate(futures)}, {}
        try:
            for future, result in as_completed(futures, with_results=True, timeout=max(0.0, seconds)):
                arrived[numbers[future.key]] = result
        except TimeoutError:
            self.client.cancel([future for future in futures if numbers[future.key] not in arrived])
        return arrived

    def _gather(self, tasks: list[Any]) -> list[Any]:
        with answering(self.client):
            return self.client.gather(self.client.compute(tasks))


def _task(function: Callable[..., Any], *args: Any) -> Any:
    from dask import delayed  # type: ignore[attr-defined]

    return delayed(function, pure=False)(*args)


def _value(value: Any) -> Any:
    """Return a separate task for a value that several tasks use."""
    from dask import delayed  # type: ignore[attr-defined]

    return delayed(value, traverse=False)


def _partition(shared: tuple[Any, NDArray, str], start: int, chunk: Any) -> Partition:
    function, probes, engine = shared
    with using_threads(1):
        modules = function(start, chunk)
    local = probes[(probes >= start) & (probes < start + len(modules))] - start
    return Partition(start, ModuleSearch(modules, engine, local))


def _nearest_first(count: int, parts: list[Candidates]) -> Candidates:
    """Merge the candidates of partitions: the nearest `count` of every group."""
    merged = []
    for group in zip(*parts, strict=True):
        squared, rows, totals = map(np.hstack, zip(*group, strict=True))
        order = np.lexsort((rows, squared), axis=1)[:, :count]
        merged.append(tuple(np.take_along_axis(each, order, axis=1) for each in (squared, rows, totals)))
    return merged


def _only_group(n: int, exclude: NDArray | None, parts: Candidates | None) -> tuple[NDArray, NDArray]:
    """Return squared distances over the ranking modules, and rows."""
    assert parts is not None  # without a deadline, all partitions answer
    ((_, rows, totals),) = parts
    return totals, rows


def _ranked(
    plan: SearchPlan, k: int, n: int, exclude: NDArray | None, parts: Candidates | None
) -> tuple[NDArray, NDArray]:
    """Return mean squared distances and rows of the k nearest candidates, infinite and -1 if there are fewer."""
    if parts is None:
        return np.full((n, k), np.inf), np.full((n, k), -1)
    rows, totals = (np.hstack([group[i] for group in parts]) for i in (1, 2))
    nearest, indices = rank_candidates(rows, totals, k, exclude)
    return nearest / len(plan.ranking), indices
