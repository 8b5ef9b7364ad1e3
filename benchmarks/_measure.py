"""Seconds, peak memory and warnings of one call."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Measured(NamedTuple):
    """What a call gave and took.

    `wall` and `cpu` are seconds; on one core of a machine that others use, too, only the second can be compared.
    `megabytes` is the peak above what was there before, None where it is not known.
    """

    result: Any
    wall: float
    cpu: float
    megabytes: float | None
    warnings: list[str]

    def after(self, first: Measured) -> Measured:
        """Count what was done before as well; the peak is that of the larger."""
        peaks = [m for m in (first.megabytes, self.megabytes) if m is not None]
        return self._replace(
            wall=first.wall + self.wall, cpu=first.cpu + self.cpu, megabytes=max(peaks) if peaks else None
        )


def measured(call: Callable[[], Any]) -> Measured:
    """Call a function once."""
    before = _fresh_peak()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu = time.perf_counter(), _cpu_seconds()
        result = call()
        wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    peak = None if before is None else (_kilobytes("VmHWM") - before) / 1024
    ours = [f"{w.category.__name__}: {w.message}" for w in caught if "polyfold" in w.category.__module__]
    return Measured(result, wall, cpu, peak, ours)


def _cpu_seconds() -> float:
    """CPU time of all threads and of finished child processes."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _fresh_peak() -> float | None:
    """Give freed memory back and forget the peak; return what is in use, in kilobytes."""
    if sys.platform != "linux":
        return None
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    _RESET.write_text("5")
    return _kilobytes("VmRSS")


def _kilobytes(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+)", _STATUS.read_text())
    if found is None:
        raise RuntimeError(f"{_STATUS} has no line {field}.")
    return float(found[1])
