"""A cluster that is not here: a fit as a graph of tasks, run by a discrete-event simulation.

The scheduler hands out tasks one after the other; workers compute them, fetch what they need from one another and keep
what they have computed until it is merged; results that are not merged are written as they come. Some workers are
slow, every task takes a little more or less than it should, and workers die: what they held and is still needed is
computed again, as Dask does it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

BRANCHES = 8  # results that one task merges, as in polyfold.sources


@dataclass(frozen=True)
class Cluster:
    """Machines of one kind.

    Parameters
    ----------
    workers : int
    overhead : float
        Seconds the scheduler spends on a task.
    bandwidth : float
        Bytes a second that a worker, or the client, receives.
    jitter : float
        Spread of the logarithm of the time of a task.
    slow, slowness : float
        Share of the workers that are slow, and how many times as long they take.
    deaths : float
        Deaths of a worker in an hour; another one takes its place after `restart` seconds.
    """

    workers: int
    overhead: float = 5e-4
    bandwidth: float = 1e9
    jitter: float = 0.1
    slow: float = 0.0
    slowness: float = 3.0
    deaths: float = 0.0
    restart: float = 60.0


@dataclass(frozen=True)
class Stage:
    """Equal tasks, one for every chunk; a tree of merges, if anything is to be merged; then the client's part.

    Parameters
    ----------
    tasks : int
    seconds : float
        Of a task on a worker that is not slow.
    received : int, default=0
        Bytes that every worker needs before its first task, such as landmarks.
    result : int, default=0
        Bytes of what a task gives and is merged; 0 where results are written and no longer needed.
    merge : float, default=0
        Seconds to merge two results.
    client : float, default=0
        Seconds of the client when all is merged.
    """

    tasks: int
    seconds: float
    received: int = 0
    result: int = 0
    merge: float = 0.0
    client: float = 0.0


@dataclass
class _Task:
    seconds: float
    needs: Sequence[_Task] = ()
    bytes: int = 0
    depth: int = 0
    holder: int | None = None  # worker that has the result
    waiting: bool = False  # asked for, and not computed
    users: list[_Task] = field(default_factory=list)
    number: int = 0


def stage_tasks(stage: Stage) -> list[_Task]:
    """Return all tasks of a stage, the last of which is the root of the tree where there is one."""
    layer = [_Task(stage.seconds, bytes=stage.result) for _ in range(stage.tasks)]
    tasks = list(layer)
    while stage.result and len(layer) > 1:
        groups = [layer[i : i + BRANCHES] for i in range(0, len(layer), BRANCHES)]
        layer = [
            _Task((len(group) - 1) * stage.merge, group, stage.result, depth=group[0].depth + 1) for group in groups
        ]
        for task in layer:
            for needed in task.needs:
                needed.users.append(task)
        tasks += layer
    for number, task in enumerate(tasks):
        task.number = number
    return tasks


def simulate(stages: Sequence[Stage], cluster: Cluster, seed: int = 0) -> dict[str, float]:
    """Run stages one after the other.

    Parameters
    ----------
    stages : sequence of Stage
    cluster : Cluster
    seed : int, default=0

    Returns
    -------
    figures : dict
        ``seconds`` in all, ``client`` seconds of them, ``busy``, the share of the workers' time in which they compute,
        ``scheduler``, the share of the time in which the scheduler is busy, and ``again``, tasks computed once more.
    """
    run, client = _Run(cluster, np.random.RandomState(seed)), 0.0
    for stage in stages:
        run.stage(stage)
        client += stage.client
        run.environment.run(run.environment.timeout(stage.client))
    total = float(run.environment.now)
    return {
        "seconds": total,
        "client": client,
        "busy": float(run.computed) / (total * cluster.workers),
        "scheduler": run.assigned * cluster.overhead / total,
        "again": run.finished - run.needed,
    }


class _Run:
    """State of one simulation."""

    def __init__(self, cluster: Cluster, rng: np.random.RandomState):
        self.cluster, self.rng, self.environment = cluster, rng, simpy.Environment()
        self.pace = np.where(rng.random_sample(cluster.workers) < cluster.slow, cluster.slowness, 1.0)
        self.computed, self.assigned, self.finished, self.needed = 0.0, 0, 0, 0
        self.queue: list[tuple[int, int, _Task]] = []
        self.scheduler = simpy.Resource(self.environment)
        self.tasks: list[_Task] = []
        self.left: set[int] = set()
        self.goal, self.more = self.environment.event(), self.environment.event()
        self.fetched: set[int] = set()

    def stage(self, stage: Stage) -> None:
        """Run the tasks of a stage to their end."""
        self.tasks, self.queue, self.fetched = stage_tasks(stage), [], set()
        # Results that are not merged are written, and all of them are wanted.
        wanted = self.tasks[-1:] if stage.result else self.tasks
        self.left = {task.number for task in wanted}
        self.needed += len(self.tasks)
        self.goal, self.more = self.environment.event(), self.environment.event()
        for task in wanted:
            self._ask(task)
        workers = [self.environment.process(self._worker(number, stage)) for number in range(self.cluster.workers)]
        if self.cluster.deaths:
            for number in range(self.cluster.workers):
                self.environment.process(self._death(number, workers, stage, self.goal))
        self.environment.run(self.goal)
        for worker in workers:
            if worker.is_alive:
                worker.interrupt("done")
        if stage.result:  # to the client
            self.environment.run(self.environment.timeout(stage.result / self.cluster.bandwidth))

    def _ask(self, task: _Task) -> None:
        """Queue a task whose inputs are there, or ask for these."""
        if task.waiting or task.holder is not None:
            return
        task.waiting = True
        missing = [needed for needed in task.needs if needed.holder is None]
        for needed in missing:
            self._ask(needed)
        if not missing:
            self._push(task)

    def _push(self, task: _Task) -> None:
        # Merges first, as Dask does: they free memory.
        heapq.heappush(self.queue, (-task.depth, task.number, task))
        if not self.more.triggered:
            self.more.succeed()

    def _worker(self, number: int, stage: Stage) -> Generator[simpy.Event, Any, None]:
        now = None
        try:
            while True:
                while not self.queue:
                    self.more = self.environment.event() if self.more.triggered else self.more
                    yield self.more
                now = heapq.heappop(self.queue)[-1]
                with self.scheduler.request() as turn:
                    yield turn
                    yield self.environment.timeout(self.cluster.overhead)
                self.assigned += 1
                if stage.received and number not in self.fetched:
                    # Workers pass it on to one another.
                    steps = max(1.0, math.log2(self.cluster.workers))
                    yield self.environment.timeout(steps * stage.received / self.cluster.bandwidth)
                    self.fetched.add(number)
                far = sum(needed.bytes for needed in now.needs if needed.holder != number)
                if far:
                    yield self.environment.timeout(far / self.cluster.bandwidth)
                seconds = now.seconds * self.pace[number] * math.exp(self.cluster.jitter * self.rng.standard_normal())
                yield self.environment.timeout(seconds)
                self.computed += seconds
                self._finish(now, number)
                now = None
        except simpy.Interrupt:
            if now is not None and now.holder is None:
                now.waiting = False
                self._ask(now)

    def _finish(self, task: _Task, number: int) -> None:
        task.holder, task.waiting = number, False
        self.finished += 1
        for needed in task.needs:
            needed.holder = None  # merged, and released
        self.left.discard(task.number)
        for user in task.users:
            if user.waiting and all(needed.holder is not None for needed in user.needs):
                self._push(user)
        if not self.left and not self.goal.triggered:
            self.goal.succeed()

    def _death(self, number: int, workers: list[Any], stage: Stage, goal: Any) -> Generator[simpy.Event, Any, None]:
        while not goal.triggered:
            yield self.environment.timeout(self.rng.exponential(3600 / self.cluster.deaths))
            if goal.triggered:
                return
            lost = [task for task in self.tasks if task.holder == number] if stage.result else []
            for task in lost:
                task.holder = None
            workers[number].interrupt("died")
            self.fetched.discard(number)
            for task in lost:
                self._ask(task)
            yield self.environment.timeout(self.cluster.restart)
            if not goal.triggered:
                workers[number] = self.environment.process(self._worker(number, stage))
