"""Threads: how many `n_jobs` means, work in parts that do not depend on their number, and limits for libraries.

An estimator sets the number of threads once, at its border (`using_threads`). Parts of the work run in these threads,
with one thread each for BLAS and OpenMP (scikit-learn, FAISS, torch): those libraries split sums by their number of
threads, which changes the last digits. The parts of this package do not depend on the number of threads.
"""

import multiprocessing
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import chain, islice
from numbers import Integral
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the libraries are looked up)
from joblib import cpu_count
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from polyfold._progress import quiet
from polyfold._validation import outside

Item = TypeVar("Item")
Result = TypeVar("Result")

# Results per thread that may wait for an earlier one: enough that no thread idles, few enough for memory.
_AHEAD = 2
_CURRENT: ContextVar[int | None] = ContextVar("polyfold_threads", default=None)


def n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` means: -1 for all cores, -2 for all but one.

    None is the number set by the calling estimator, if any. Otherwise it is one in a worker of joblib or Dask, the
    number set by ``joblib.parallel_config`` if it is active, or every core that the process may use.
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
    """Run the work within on `n_jobs` threads, with one thread of BLAS and OpenMP in each."""
    before, count = _CURRENT.get(), n_threads(n_jobs)
    try:
        _CURRENT.set(count)
        with single_threaded_libraries():
            yield
    finally:
        _CURRENT.set(before)


def threaded(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None) -> Iterator[Result]:
    """Yield `function(item)` in order, computed by `n_jobs` threads; None takes the number of the calling estimator."""
    count, config = n_threads(n_jobs), get_config()

    def alone(item: Item) -> Result:
        # Around the call, not around the loop: nothing stays limited if the loop is left early.
        with quiet(), using_threads(1), config_context(**config):  # scikit-learn's settings belong to a thread
            return function(item)

    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    # For one item, starting threads takes longer than predicting a row.
    return map(alone, items) if count == 1 or len(first) < 2 else _pooled(alone, items, count)


def in_blocks(function: Callable[[slice], object], n_rows: int, step: int) -> None:
    """Call `function` with slices of `step` rows, in parallel; each call fills its own part of a result."""
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
        finally:  # after an error or an interrupt, do not wait for work that has not begun
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
    """Return the number of cores the process may use, by affinity, control group and environment."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpu_count(), int(asked)) if asked.isdecimal() and int(asked) else cpu_count()


def _in_dask_worker() -> bool:
    """Whether this runs in a task of Dask's distributed, threaded or multiprocessing scheduler."""
    if (distributed := sys.modules.get("distributed")) is not None:
        try:
            distributed.get_worker()
        except ValueError:  # not in a worker
            pass
        else:
            return True
    if (scheduler := sys.modules.get("dask.threaded")) is not None:
        pools = [pool for own in scheduler.pools.values() for pool in own.values()] + [scheduler.default_pool]
        # By name: a thread may run before its pool lists it.
        name, prefixes = threading.current_thread().name, (getattr(pool, "_thread_name_prefix", "") for pool in pools)
        if any(prefix and name.startswith(f"{prefix}_") for prefix in prefixes):
            return True
    return "dask.multiprocessing" in sys.modules and multiprocessing.parent_process() is not None


@contextmanager
def single_threaded_libraries() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread; several limits may overlap, nested or in several threads.

    The number of OpenMP threads belongs to the thread that sets it, that of BLAS usually to the process. The last
    limit to end restores the number from before the first. (`threadpool_limits` would restore that of another limit.)
    """
    token = object()
    before = [(library, library.num_threads) for library in _libraries(per_thread=True)]
    try:  # from the first change on, so that an interrupt cannot leave the number low
        _set_threads([(library, 1) for library, _ in before])
        _LIMIT.enter(token)
        yield
    finally:
        _LIMIT.leave(token)
        _set_threads(before)


class _ProcessLimit:
    """Limit of the libraries whose number of threads belongs to the process, shared by all who set it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: set[object] = set()
        self._before: list[tuple[Any, int]] = []

    def enter(self, token: object) -> None:
        """Lower the number of threads to one."""
        with self._lock:
            # The numbers of an interrupted `leave` are still to be restored.
            self._before = self._before or [(library, library.num_threads) for library in _libraries(per_thread=False)]
            self._tokens.add(token)
            _set_threads([(library, 1) for library, _ in self._before])

    def leave(self, token: object) -> None:
        """Restore the number of threads with the last limit that ends."""
        with self._lock:
            self._tokens.discard(token)
            if not self._tokens:
                _set_threads(self._before)
                self._before = []


_LIMIT = _ProcessLimit()


@lru_cache(maxsize=1)
def _loaded(n_modules: int) -> list[Any]:
    """Libraries, looked up again when modules have been loaded: the lookup takes milliseconds."""
    return ThreadpoolController().lib_controllers


def _libraries(*, per_thread: bool) -> list[Any]:
    """Libraries whose number of threads belongs to the thread that sets it, or to the process."""
    return [library for library in _loaded(len(sys.modules)) if _is_per_thread(library) == per_thread]


def _is_per_thread(library: Any) -> bool:
    return library.user_api == "openmp" or getattr(library, "threading_layer", "") == "openmp"


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    for library, count in counts:
        if library.num_threads == count:
            continue
        library.set_num_threads(count)
        # threadpoolctl ties a limit to one thread; the last to leave may be another.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba and store the code, or only compile it if no folder is writable."""
    import numba

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            _warn_of_no_cache()
            return numba.njit(**options)(function)

    return decorate


@lru_cache(maxsize=1)
def _warn_of_no_cache() -> None:
    warnings.warn(
        "numba finds no writable folder for compiled code, so that every process compiles it again, which takes up to "
        "a minute; set NUMBA_CACHE_DIR to a folder that you can write to.",
        RuntimeWarning,
        stacklevel=outside(),
    )
