"""Cells of an index on a cluster: where they are, and how they are asked (extra ``dask``).

Every cell is an actor of Dask, an object that stays on its worker. A worker that is lost takes its cells with it; they
are made again from the rows, on the others, while those answer. A worker that answers late is not lost to Dask: after
half of the time there is, its cells are made a second time elsewhere, and whichever answers first counts. Workers that
come back get some of the cells again, between searches.
"""

import time
import uuid
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.ensembles._shards import Cell, Group, make_modules
from polyfold.sources import answering

# Shards for every thread of the workers: more of them are asked one after the other.
SHARDS_PER_THREAD = 2
# How often a cell is made in one search, or fit.
TRIES = 3
# Seconds between two looks at who has answered.
SHORTEST, LONGEST = 0.001, 0.02
GONE = "Worker holding Actor was lost"

Arguments = dict[int, tuple[Any, ...]]


def shard_bounds(lengths: tuple[int, ...], n_threads: int) -> NDArray:
    """Return the ends of shards in chunks, (n_shards + 1,): chunks that follow one another, about as many rows each."""
    ends, shards = np.cumsum(lengths), min(len(lengths), max(1, SHARDS_PER_THREAD * n_threads))
    wanted = ends[-1] * np.arange(1, shards + 1) / shards
    return np.unique([0, *(np.searchsorted(ends, wanted) + 1).clip(max=len(lengths))])


def count_groups(n_shards: int, n_threads: int, n_modules: int) -> int:
    """Return into how many groups modules are spread: 1 where there are shards for all threads."""
    return int(np.clip(n_threads // n_shards, 1, n_modules))


class Cells:
    """Modules of rows on the workers of a client, by shards and groups of modules; cell (s, g) is number s G + g.

    Parameters
    ----------
    client : distributed.Client
    source : DaskSource
    function : callable
        Of the first row of a chunk, and the chunk: its modules (n, M, H).
    n_modules : int
    engine : str
    groups : int, optional
        Groups of modules, None for `count_groups`.
    wanted : tuple of int and float, optional
        Neighbours and the recall that every cell is to be tuned to.
    """

    def __init__(
        self,
        client: Any,
        source: Any,
        function: Callable[[int, Any], NDArray],
        n_modules: int,
        engine: str,
        groups: int | None = None,
        wanted: tuple[int, float] | None = None,
    ):
        with answering(client):
            self.client, self.engine, self._wanted, parts = client, engine, wanted, source.parts()
            workers = client.nthreads()
        threads, self._n_workers = sum(workers.values()), len(workers)
        ends = shard_bounds(tuple(length for _, length, _ in parts), threads)
        shards = [parts[first:last] for first, last in pairwise(ends)]
        self.bounds = np.array([shard[0][0] for shard in shards] + [source.n_rows])
        self.groups = _spread(n_modules, groups or count_groups(len(shards), threads, n_modules))
        self._function = function
        self._chunks = [[chunk for _, _, chunk in shard] for shard in shards]
        self._futures: list[Any] = []
        self._actors: dict[str, Any] = {}  # by the keys of the futures
        self._moving: dict[int, Any] = {}  # copies that are being made to even out
        self._is_uneven = False
        try:
            with answering(client):
                self._make()
            self._wait()
        except BaseException:  # an interrupt, too: nothing stays on the workers
            if client.status == "running":
                client.cancel(self._futures)
            raise

    def __reduce__(self) -> Any:
        raise TypeError(
            "an index on a cluster cannot be copied or saved, its rows are on the workers; save its representation_, "
            "and fit FrozenEstimator(representation_) to the rows where it is loaded."
        )

    def __len__(self) -> int:
        return len(self._futures)

    def __getitem__(self, number: int) -> Any:
        return self._futures[number]

    def __setitem__(self, number: int, future: Any) -> None:
        self._actors.pop(self._futures[number].key, None)
        self._futures[number] = future

    def members(self, number: int) -> Group:
        """Return the modules of a cell."""
        return self.groups[number % len(self.groups)]

    def shard(self, number: int) -> int:
        """Return the shard of a cell."""
        return number // len(self.groups)

    def ask(
        self, method: str, arguments: Arguments, seconds: float | None = None
    ) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """Return what a method of `Cell` gives, by the numbers of cells, and why others have not answered.

        Parameters
        ----------
        method : str
        arguments : dict
            Of the method, by the number of the cell.
        seconds : float, optional
            After which no answer is waited for.
        """
        with answering(self.client), self.client.as_current():  # actors look for a client
            self._move()
            answers, errors = _Question(self, method, arguments).answers_within(seconds)
            if self._is_uneven and not errors and not self._moving:
                self._even_out()
            return answers, errors

    def actor(self, future: Any) -> Any:
        """Return the actor behind a future that is finished."""
        if future.key not in self._actors:
            self._actors[future.key] = future.result()
        return self._actors[future.key]

    def renew(self, number: int) -> Any:
        """Return a second copy of a cell, on workers that do not hold it; None where there are no others."""
        future = self._futures[number]
        holders = set(self.client.who_has([future]).get(future.key, ())) if future.status == "finished" else set()
        others = sorted(set(self.client.nthreads()) - holders)
        if not others and holders:
            return None
        self._is_uneven = True
        return self._cell(number, self._rows(self.shard(number), others), others)

    def _move(self) -> None:
        """Use the copies that have been made; others are not waited for."""
        for number, copy in list(self._moving.items()):
            if copy.status != "pending":
                del self._moving[number]
                if copy.status == "finished":
                    self[number] = copy

    def _even_out(self) -> None:
        """Begin to copy cells from workers that have most to those that have fewest, until they differ by one."""
        places = self.client.who_has(self._futures)
        held: dict[str, list[int]] = {address: [] for address in sorted(self.client.nthreads())}
        for number, future in enumerate(self._futures):
            for address in places.get(future.key, ())[:1]:
                held.setdefault(address, []).append(number)
        by_load = sorted(held, key=lambda address: len(held[address]))
        while held and len(held[by_load[-1]]) - len(held[by_load[0]]) > 1:
            number, target = held[by_load[-1]].pop(), by_load[0]
            held[target].append(number)
            self._moving[number] = self._cell(number, self._rows(self.shard(number), [target]), [target])
            by_load.sort(key=lambda address: len(held[address]))
        # While workers are missing, their return is waited for.
        self._is_uneven = bool(self._moving) or len(held) < self._n_workers

    def _make(self) -> None:
        addresses = sorted(self.client.nthreads())
        rows = [self._rows(shard) for shard in range(len(self._chunks))]
        for number in range(len(rows) * len(self.groups)):
            # Groups of modules are put on one worker after the other.
            workers = addresses[number % len(addresses) :][:1] if len(self.groups) > 1 and addresses else None
            self._futures.append(self._cell(number, rows[self.shard(number)], workers))

    def _wait(self) -> None:
        """Wait until all cells are there; the first that fails says why."""
        found, errors = self.ask("effort", dict.fromkeys(range(len(self)), ()))
        for error in errors.values():
            raise error
        self.efforts = [found[number] for number in sorted(found)]

    def _rows(self, shard: int, workers: list[str] | None = None) -> Any:
        """Return a new task with the modules of a shard."""
        from dask import delayed  # type: ignore[attr-defined]

        # Under a new name: what has this one already may be what does not answer.
        task = delayed(make_modules)(
            delayed(self._function, traverse=False),
            int(self.bounds[shard]),
            anew(self._chunks[shard]) if workers else self._chunks[shard],
            dask_key_name=f"polyfold-rows-{shard}-{uuid.uuid4().hex}",
        )
        return self.client.compute(task, workers=workers or None, allow_other_workers=bool(workers))

    def _cell(self, number: int, rows: Any, workers: list[str] | None) -> Any:
        how = (int(self.bounds[self.shard(number)]), self.members(number), self.engine, self._wanted)
        place = {"workers": workers, "allow_other_workers": True} if workers else {}
        key = f"polyfold-cell-{number}-{uuid.uuid4().hex}"
        return self.client.submit(Cell, rows, *how, actor=True, key=key, **place)


class _Question:
    """One method of several cells, asked at once, and again where no answer comes."""

    def __init__(self, cells: Cells, method: str, arguments: Arguments):
        self._cells, self._method, self._arguments = cells, method, arguments
        self._open: list[tuple[int, Any, Any]] = []  # number, cell, and its answer once the cell is there
        self._tries: Counter[int] = Counter()
        self._answers: dict[int, Any] = {}
        self._errors: dict[int, BaseException] = {}
        for number in arguments:
            self._ask(number, cells[number])

    def answers_within(self, seconds: float | None) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """Wait for the answers."""
        begin, pause, is_half = time.monotonic(), SHORTEST, False
        while self._open:
            self._look()
            passed = time.monotonic() - begin
            if seconds is not None and passed >= seconds:
                break
            if seconds is not None and not is_half and passed >= seconds / 2:
                is_half = True
                self._ask_others()
            if self._cells.client.status != "running":
                raise ConnectionError(f"its client is {self._cells.client.status}")
            time.sleep(pause)
            pause = min(LONGEST, 1.2 * pause)
        self._keep_copies()
        late = TimeoutError("no answer" if seconds is None else f"no answer within {seconds:.3g} s")
        missing = {number: late for number in self._arguments if number not in self._answers}
        return self._answers, {**missing, **self._errors}

    def _ask(self, number: int, cell: Any) -> None:
        self._tries[number] += 1
        self._open.append((number, cell, None))

    def _look(self) -> None:
        """Take the answers that have come, and ask the cells that have."""
        current, self._open = self._open, []
        for number, cell, answer in current:
            if number in self._answers:
                continue
            if cell.status == "cancelled":
                raise ConnectionError("what it held was cancelled")
            try:
                if cell.status in ("error", "lost"):
                    raise cell.exception() or RuntimeError(GONE)
                if answer is None and cell.status == "finished":
                    answer = getattr(self._cells.actor(cell), self._method)(*self._arguments[number])
                if answer is None or not answer.done():
                    self._open.append((number, cell, answer))
                    continue
                self._answers[number] = answer.result()
                self._use(number, cell)
            except Exception as error:  # whatever a worker raises is told where nobody else answers
                self._again(number, error)

    def _again(self, number: int, error: BaseException) -> None:
        """Make a cell again whose worker is gone; what it raises itself, it would raise again."""
        is_gone = isinstance(error, OSError) or GONE in str(error)
        if is_gone and self._tries[number] < TRIES and (copy := self._cells.renew(number)) is not None:
            self._cells[number] = copy
            self._ask(number, copy)
        elif number not in [each[0] for each in self._open]:
            self._errors[number] = error

    def _ask_others(self) -> None:
        """Make cells that are there and do not answer a second time."""
        for number, _, answer in list(self._open):
            if answer is not None and (copy := self._cells.renew(number)) is not None:
                self._ask(number, copy)

    def _keep_copies(self) -> None:
        """Go on with the copies of cells that have not answered at all."""
        for number, cell, _ in self._open:
            self._use(number, cell)

    def _use(self, number: int, cell: Any) -> None:
        if self._cells[number] is not cell:
            self._cells[number] = cell


def anew(chunks: list[Any]) -> list[Any]:
    """Return chunks whose tasks have new names: those of the old ones may be held by a worker that does not answer."""
    from dask.delayed import Delayed
    from dask.graph_manipulation import clone
    from dask.optimization import cull
    from dask.utils import ensure_dict

    graph = {key: task for chunk in chunks for key, task in ensure_dict(chunk.__dask_graph__()).items()}
    graph, _ = cull(graph, [chunk.key for chunk in chunks])
    found = clone(*(Delayed(chunk.key, graph) for chunk in chunks))
    return list(found) if len(chunks) > 1 else [found]  # one alone is returned as it is


def _spread(n_modules: int, groups: int) -> list[Group]:
    """Return the numbers of the modules of every group: neighbouring ones."""
    parts = np.array_split(np.arange(n_modules), groups)
    return [tuple(part.tolist()) for part in parts]
