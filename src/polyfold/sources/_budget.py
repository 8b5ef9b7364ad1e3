"""Memory for blocks of rows: a quarter of the free memory, unless `memory_budget` sets another limit."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from polyfold._validation import check_count

LEAST = 10**7  # one block needs this much
_BUDGET: ContextVar[int | None] = ContextVar("polyfold_memory_budget", default=None)


@contextmanager
def memory_budget(size: int | str) -> Iterator[None]:
    """Limit the memory that blocks of rows may use.

    Parameters
    ----------
    size : int or str
        Bytes, or a number with a unit such as "500 MB" or "2 GiB".

    Examples
    --------
    >>> from polyfold.sources import memory_budget
    >>> with memory_budget("200 MB"):
    ...     pass
    """
    before = _BUDGET.get()
    _BUDGET.set(_as_bytes(size))
    try:
        yield
    finally:
        _BUDGET.set(before)


def budget() -> int:
    """Return the bytes that blocks may take."""
    given = _BUDGET.get()
    return max(LEAST, _free_memory() // 4) if given is None else given


def rows_within(fraction: float, row_bytes: int, most: int) -> int:
    """Return how many rows of `row_bytes` fit a fraction of the budget, at least 64 rows and at most `most` bytes."""
    return max(64, int(min(fraction * budget(), most)) // max(1, row_bytes))


def _as_bytes(size: int | str) -> int:
    if isinstance(size, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(I?B)\s*", size, flags=re.IGNORECASE)
        if found is None:
            raise ValueError(f"memory_budget must be a number of bytes or a text such as '2 GB', got {size!r}.")
        step = 1024 if found[3].upper() == "IB" else 1000
        size = int(float(found[1]) * step ** " KMGT".index(found[2].upper() or " "))
    return check_count("memory_budget", size, minimum=LEAST, hint="one block of rows needs that much, in bytes")


def _free_memory() -> int:
    """Return the free bytes by the system and the control group; 4 GB if the system does not report them."""
    return int(min([_system_memory(), *_group_memory()]))


def _system_memory() -> float:
    info = Path("/proc/meminfo")
    if info.exists() and (found := re.search(r"MemAvailable:\s+(\d+) kB", info.read_text())):
        return 1024.0 * int(found[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return 4e9


def _group_memory() -> list[float]:
    limit, used = (Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current"))
    if not (limit.exists() and used.exists()) or limit.read_text().strip() == "max":
        return []
    return [float(np.clip(int(limit.read_text()) - int(used.read_text()), LEAST, np.inf))]
