"""Threads of this package: how many `n_jobs` means, and work done by them in parts that do not depend on their number.

An estimator says once, at its border, how many threads there are (`using_threads`); whatever runs within asks no
further. A part of the work runs with one, whatever it calls: estimators of the user and libraries below included.
"""

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from numbers import Integral
from typing import TypeVar

from joblib import cpu_count
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

from polyfold._running._libraries import library_threads
from polyfold._running._progress import quiet

Item = TypeVar("Item")
Result = TypeVar("Result")

# Results that may wait for an earlier one, per thread: enough that no thread stands still, few enough for memory.
_AHEAD = 2
_CURRENT: ContextVar[int | None] = ContextVar("polyfold_threads", default=None)


def n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` means: -1 all cores, -2 all but one, None what the place allows.

    None is the number of the estimator around, if there is one; one in a worker of joblib or Dask; that of
    ``joblib.parallel_config`` where it is active; else every core that the process may use.
    """
    if n_jobs is None:
        current = _CURRENT.get()
        return _default_threads() if current is None else current
    message = f"n_jobs must be None or an integer other than 0, got {n_jobs!r}; pass 1 for one thread, -1 for all."
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(message)
    if n_jobs == 0:
        raise ValueError(message)
    return _counted(int(n_jobs))


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Let the work within use as many threads as `n_jobs` means, and the libraries below one in each."""
    before, count = _CURRENT.get(), n_threads(n_jobs)
    try:
        _CURRENT.set(count)
        with library_threads(1):
            yield
    finally:
        _CURRENT.set(before)


def threaded(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None) -> Iterator[Result]:
    """Yield `function(item)` in order, computed by `n_jobs` threads; None takes those of the estimator around."""
    count, config = n_threads(n_jobs), get_config()

    def alone(item: Item) -> Result:
        # Around the call and not around the loop, so that nothing stays limited when the loop is left halfway.
        with quiet(), using_threads(1), config_context(**config):  # scikit-learn's settings belong to a thread
            return function(item)

    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    # One item needs no threads, which take longer to start than a row to be predicted.
    return map(alone, items) if count == 1 or len(first) < 2 else _pooled(alone, items, count)


def in_blocks(function: Callable[[slice], object], n_rows: int, step: int) -> None:
    """Call `function` with slices of `step` rows, side by side: each fills its own part of a result."""
    for _ in threaded(function, (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))):
        pass


def _pooled(function: Callable[[Item], Result], items: Iterator[Item], count: int) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            waiting.extend(pool.submit(function, item) for item in islice(items, _AHEAD * count))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(function, item) for item in islice(items, 1))
        finally:  # left halfway, by an error or an interrupt: what has not begun need not be waited for
            for future in waiting:
                future.cancel()


def _default_threads() -> int:
    if _in_dask_worker() or multiprocessing.current_process().daemon:
        return 1
    backend, configured = get_active_backend()
    if configured is not None:
        return _counted(configured)
    return 1 if backend.nesting_level else _available()


def _counted(n_jobs: int) -> int:
    return n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)


def _available() -> int:
    """Cores that the process may use by affinity, control group and environment."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpu_count(), int(asked)) if asked.isdecimal() and int(asked) else cpu_count()


def _in_dask_worker() -> bool:
    """Whether this is a task of Dask: of its distributed, its threaded or its multiprocessing scheduler."""
    if (distributed := sys.modules.get("distributed")) is not None:
        try:
            distributed.get_worker()
        except ValueError:  # its way to say no
            pass
        else:
            return True
    if (scheduler := sys.modules.get("dask.threaded")) is not None:
        pools = [pool for own in scheduler.pools.values() for pool in own.values()] + [scheduler.default_pool]
        # By name: a thread may run before its pool has it on the list.
        name, prefixes = threading.current_thread().name, (getattr(pool, "_thread_name_prefix", "") for pool in pools)
        if any(prefix and name.startswith(f"{prefix}_") for prefix in prefixes):
            return True
    return "dask.multiprocessing" in sys.modules and multiprocessing.parent_process() is not None
