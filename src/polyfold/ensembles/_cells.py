"""Cells of an index on a cluster: where they are, and how they are asked.

Every cell is a task of Dask whose result stays on its worker. A worker that is lost takes its cells with it; Dask makes
them again from the rows, on the others. A worker that answers late is not lost to Dask: after half of the time there is
its cells are made a second time elsewhere, and whichever answers first counts.
"""

import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.ensembles._shards import Group, hold, make_cell, make_modules
from polyfold.sources import answering

# Shards for every thread of the workers: more of them are asked one after the other.
SHARDS_PER_THREAD = 2
# How often a cell is asked in one search.
TRIES = 2


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
            threads = sum(client.nthreads().values())
        ends = shard_bounds(tuple(length for _, length, _ in parts), threads)
        shards = [parts[first:last] for first, last in pairwise(ends)]
        self.bounds = np.array([shard[0][0] for shard in shards] + [source.n_rows])
        self.groups = _spread(n_modules, groups or count_groups(len(shards), threads, n_modules))
        self._function = function
        self._chunks = [[chunk for _, _, chunk in shard] for shard in shards]
        self._futures: list[Any] = []
        try:
            with answering(client):
                self._make()
        except BaseException:  # an interrupt, too: nothing stays on the workers
            client.cancel(self._futures)
            raise

    def __reduce__(self) -> Any:
        raise TypeError(
            "an index on a cluster cannot be copied or saved, its rows are on the workers; save its representation_, "
            "and fit FrozenEstimator(representation_) to the rows where it is loaded."
        )

    def __len__(self) -> int:
        return len(self._futures)

    def members(self, number: int) -> Group:
        """Return the modules of a cell."""
        return self.groups[number % len(self.groups)]

    def shard(self, number: int) -> int:
        """Return the shard of a cell."""
        return number // len(self.groups)

    def _make(self) -> None:
        addresses = sorted(self.client.nthreads())
        rows = [self._rows(shard) for shard in range(len(self._chunks))]
        for number in range(len(rows) * len(self.groups)):
            # Groups of modules are put on one worker after the other; a single one stays where its rows are.
            spread = [addresses[number % len(addresses)]] if len(self.groups) > 1 and addresses else None
            self._futures.append(self._cell(number, rows[self.shard(number)], spread))
        for future in self._futures:
            # One after the other: the first that fails says why.
            self.client.submit(_nothing, future, pure=False).result()

    def _rows(self, shard: int, workers: list[str] | None = None) -> Any:
        """Return a new task with the modules of a shard."""
        from dask import delayed  # type: ignore[attr-defined]

        # Under a new name: what has this one already may be what does not answer.
        task = delayed(make_modules)(
            delayed(self._function, traverse=False),
            int(self.bounds[shard]),
            self._chunks[shard],
            dask_key_name=f"polyfold-rows-{shard}-{uuid.uuid4().hex}",
        )
        return self.client.compute(task, workers=workers, allow_other_workers=workers is not None)

    def _cell(self, number: int, rows: Any, workers: list[str] | None) -> Any:
        start = int(self.bounds[self.shard(number)])
        key = f"polyfold-cell-{number}-{uuid.uuid4().hex}"
        own = {"workers": workers, "allow_other_workers": workers is not None, "key": key}
        return self.client.submit(make_cell, rows, start, self.members(number), self.engine, self._wanted, **own)

    def share(self, value: Any) -> Any:
        """Give a value to the workers, for several questions; None stays None."""
        return None if value is None else self.client.submit(hold, value, pure=False)

    def ask(
        self, function: Callable[..., Any], arguments: dict[int, tuple[Any, ...]], seconds: float | None = None
    ) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """Return ``function(cell, *arguments[number])`` of cells by their numbers, and why others have not answered.

        Parameters
        ----------
        function : callable
            Of :mod:`polyfold.ensembles._shards`.
        arguments : dict
            By the number of the cell.
        seconds : float, optional
            After which no answer is waited for.
        """
        with answering(self.client):
            question = _Question(self, function, arguments)
            try:
                return question.answers_within(seconds)
            finally:
                question.leave()

    def renew(self, number: int) -> Any:
        """Return a second copy of a cell, on workers that do not hold it; None where there are no others."""
        holders = self.client.who_has([self._futures[number]]).get(self._futures[number].key, ())
        others = sorted(set(self.client.nthreads()) - set(holders))
        if not others:
            return None
        return self._cell(number, self._rows(self.shard(number), others), others)

    def is_held(self, number: int) -> bool:
        """Whether some worker has a cell: where none has, Dask is about to make it again."""
        return bool(self.client.who_has([self._futures[number]]).get(self._futures[number].key))

    def __getitem__(self, number: int) -> Any:
        return self._futures[number]

    def __setitem__(self, number: int, future: Any) -> None:
        self._futures[number] = future


class _Question:
    """One function of several cells, asked at once, and again where no answer comes."""

    def __init__(self, cells: Cells, function: Callable[..., Any], arguments: dict[int, tuple[Any, ...]]):
        self._cells, self._function, self._arguments = cells, function, arguments
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._asked: dict[str, tuple[int, Any, Any]] = {}  # by the key of the answer: number, cell, answer
        self._tries: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()
        self._answers: dict[int, Any] = {}
        self._errors: dict[int, BaseException] = {}
        for number in arguments:
            self._ask(number, cells[number])

    def answers_within(self, seconds: float | None) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """Wait for the answers."""
        begin = time.monotonic()
        half, end = (None, None) if seconds is None else (begin + seconds / 2, begin + seconds)
        while len(self._answers) + len(self._errors) < len(self._arguments):
            until = end if half is None else half
            try:
                future = self._done.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                if half is None:
                    break
                half = None
                self._ask_others()
            else:
                self._take(future, None if end is None else max(0.01, end - time.monotonic()))
        late = TimeoutError(f"no answer within {seconds} s")
        missing = {number: late for number in self._arguments if number not in self._answers}
        return self._answers, {**missing, **self._errors}

    def leave(self) -> None:
        """Take back what has not been answered."""
        left = [answer for number, _, answer in self._asked.values() if number not in self._answers]
        if left and self._cells.client.status == "running":
            self._cells.client.cancel(left)

    def _ask(self, number: int, cell: Any) -> None:
        self._tries[number] += 1
        self._waiting[number] += 1
        answer = self._cells.client.submit(self._function, cell, *self._arguments[number], pure=False)
        self._asked[answer.key] = (number, cell, answer)
        answer.add_done_callback(self._done.put)

    def _ask_others(self) -> None:
        for number in self._arguments:
            late = number not in self._answers and self._tries[number] < TRIES
            if late and self._cells.is_held(number) and (cell := self._cells.renew(number)) is not None:
                self._ask(number, cell)

    def _take(self, future: Any, seconds: float | None) -> None:
        number, cell, _ = self._asked[future.key]
        self._waiting[number] -= 1
        if number in self._answers:
            return
        try:
            self._answers[number] = future.result(timeout=seconds)
        except Exception as error:  # whatever a worker raises is told where nobody else answers
            if self._cells.client.status != "running":
                raise ConnectionError(str(error)) from error
            self._again(number, error)
        else:
            self._cells[number] = cell

    def _again(self, number: int, error: BaseException) -> None:
        cell = self._cells.renew(number) if self._tries[number] < TRIES else None
        if cell is not None:
            self._ask(number, cell)
        elif not self._waiting[number]:
            self._errors[number] = error


def _nothing(cell: Any) -> None:
    """Wait for a cell."""


def _spread(n_modules: int, groups: int) -> list[Group]:
    """Return the numbers of the modules of every group: neighbouring ones."""
    parts = np.array_split(np.arange(n_modules), groups)
    return [tuple(part.tolist()) for part in parts]
