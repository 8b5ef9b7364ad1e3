"""How long work runs: threads side by side, threads of BLAS, progress shown on request."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (the BLAS it brings must be loaded before the libraries are looked up)
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

logger = logging.getLogger("polyfold")
Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means to joblib: -1 all cores, -2 all but one, None its default."""
    if n_jobs is not None:
        message = f"n_jobs must be None or an integer other than 0, got {n_jobs!r}; pass 1 for one thread, -1 for all."
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
            raise TypeError(message)
        if n_jobs == 0:
            raise ValueError(message)
    return effective_n_jobs(n_jobs if n_jobs is None else int(n_jobs))


def threaded(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> Iterator[Result]:
    """Yield `function(item)` in order, computed by `n_jobs` threads.

    BLAS keeps to one thread in every call: its own threads would compete for the same cores, and would make the
    last digits depend on their number.
    """
    count = n_threads(n_jobs)

    def limited(item: Item) -> Result:
        # Around the call and not around the loop, so that nothing stays limited when the loop is left halfway.
        with blas_threads(1):
            return function(item)

    return map(limited, items) if count == 1 else _pooled(limited, items, count)


def _pooled(function: Callable[[Item], Result], items: Iterable[Item], count: int) -> Iterator[Result]:
    with ThreadPoolExecutor(count) as pool:
        yield from pool.map(function, items)


@contextmanager
def blas_threads(n_jobs: int | None) -> Iterator[None]:
    """Keep BLAS to the threads that `n_jobs` means; None leaves its own setting.

    The number belongs to the process. Of limits that overlap, in threads or one within another, the lowest holds,
    and when the last of them is left the number is what it was before the first.
    """
    if n_jobs is None:
        yield
        return
    count, token = n_threads(n_jobs), object()
    before = [(library, library.num_threads) for library in _libraries(per_thread=True)]
    try:  # from the first change on: an interrupt between two lines must not leave the number low
        _set_threads([(library, count) for library, _ in before])
        _LIMITS.enter(token, count)
        yield
    finally:
        _LIMITS.leave(token)
        _set_threads(before)


class _Limits:
    """The limits in force in the whole process, under one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[object, int] = {}
        self._before: list[tuple[Any, int]] = []

    def enter(self, token: object, count: int) -> None:
        """Lower BLAS to `count` threads, until `token` leaves."""
        with self._lock:
            # Those of an interrupted `leave` are still to be restored.
            self._before = self._before or [(library, library.num_threads) for library in _libraries(per_thread=False)]
            self._counts[token] = count
            self._apply()

    def leave(self, token: object) -> None:
        """Take back the limit of `token`, if there is one."""
        with self._lock:
            self._counts.pop(token, None)
            self._apply()
            self._before = self._before if self._counts else []

    def _apply(self) -> None:
        wanted = [(library, min(self._counts.values(), default=before)) for library, before in self._before]
        _set_threads([(library, count) for library, count in wanted if library.num_threads != count])


_LIMITS = _Limits()


@lru_cache(maxsize=1)
def _loaded(n_modules: int) -> list[Any]:
    """BLAS libraries, looked up when modules have come: going through all that is loaded takes milliseconds."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _libraries(*, per_thread: bool) -> list[Any]:
    """BLAS libraries whose number of threads belongs to the thread that sets it, or to the process."""
    libraries = _loaded(len(sys.modules))
    return [library for library in libraries if (getattr(library, "threading_layer", "") == "openmp") == per_thread]


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    for library, count in counts:
        library.set_num_threads(count)
        # threadpoolctl listens to one thread until that one is done; the last to leave may be another.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


def show_progress(show: bool = True) -> None:
    """Print the progress of long fits to standard error, or stop doing so.

    Parameters
    ----------
    show : bool, default=True
        Whether lines such as ``kernel blocks 12/40, 3 s left`` are printed.

    Examples
    --------
    >>> import polyfold as pf
    >>> pf.show_progress(False)
    """
    for handler in [h for h in logger.handlers if getattr(h, "_polyfold", False)]:
        logger.removeHandler(handler)
    if show:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("polyfold: %(message)s"))
        handler._polyfold = True  # type: ignore[attr-defined]
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


def track(items: Iterable[Item], what: str, *, total: int | None = None, every: float = 1.0) -> Iterator[Item]:
    """Yield `items`, logging ``what i/total, t s left`` at most once in `every` seconds."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= every:
            last = now
            logger.info(_line(what, done, total, now - start))


def _line(what: str, done: int, total: int | None, seconds: float) -> str:
    if total is None:
        return f"{what} {done}, {seconds:.0f} s"
    return f"{what} {done}/{total}, {seconds * (total - done) / done:.0f} s left"
