"""Threads of the libraries below: BLAS and OpenMP (scikit-learn, FAISS, torch).

Their sums are cut into as many parts as there are threads, so that the last digits depend on the number. Work of this
package is cut into parts that do not, and every part gets one thread of theirs.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import scipy.linalg  # noqa: F401  (the BLAS it brings must be loaded before the libraries are looked up)
from threadpoolctl import ThreadpoolController


@contextmanager
def library_threads(count: int) -> Iterator[None]:
    """Keep BLAS and OpenMP to `count` threads.

    The number of OpenMP belongs to the thread that sets it, that of BLAS mostly to the process. Of limits that
    overlap, in threads or one within another, the lowest holds, and when the last of them is left the number is what
    it was before the first.
    """
    token = object()
    before = [(library, library.num_threads) for library in _libraries(per_thread=True)]
    try:  # from the first change on: an interrupt between two lines must not leave the number low
        _set_threads([(library, count) for library, number in before if number > count])
        _LIMITS.enter(token, count)
        yield
    finally:
        _LIMITS.leave(token)
        _set_threads([(library, number) for library, number in before if library.num_threads != number])


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
    """Libraries, looked up when modules have come: going through all that is loaded takes milliseconds."""
    return ThreadpoolController().lib_controllers


def _libraries(*, per_thread: bool) -> list[Any]:
    """Libraries whose number of threads belongs to the thread that sets it, or to the process."""
    return [library for library in _loaded(len(sys.modules)) if _is_per_thread(library) == per_thread]


def _is_per_thread(library: Any) -> bool:
    return library.user_api == "openmp" or getattr(library, "threading_layer", "") == "openmp"


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    for library, count in counts:
        library.set_num_threads(count)
        # threadpoolctl listens to one thread until that one is done; the last to leave may be another.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()
