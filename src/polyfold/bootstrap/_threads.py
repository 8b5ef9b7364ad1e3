"""Clusterings side by side: compiled loops run without the interpreter lock, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["threaded"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def threaded(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """Yield `function(item)` in order, computed by `n_jobs` threads.

    BLAS keeps to one thread meanwhile: its own threads would compete for the same cores, and would make the
    last digits depend on their number.
    """
    with _controller().limit(limits=1, user_api="blas"):
        if n_jobs == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(n_jobs) as pool:
            yield from pool.map(function, items)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, which many short calls would add up.
    return ThreadpoolController()
