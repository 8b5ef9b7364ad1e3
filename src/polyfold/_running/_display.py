"""Who looks at a job: a bar on a terminal, a few lines elsewhere, the log."""

import contextlib
import logging
import math
import shutil
import sys
from collections.abc import Callable
from typing import TextIO

from polyfold._running._progress import Job, Watcher

logger = logging.getLogger("polyfold")
logger.addHandler(logging.NullHandler())
# Seconds between two pictures of the bar, and between two lines.
_REFRESH, _EVERY = 0.1, 10.0
_BAR = 24


class _Switch:
    """Whether progress is shown without being asked for."""

    on = False


def show_progress(show: bool = True) -> None:
    """Show the progress of every long fit on standard error, or stop doing so.

    One bar for the whole fit, with the time left, where standard error is a terminal; elsewhere a line every ten
    seconds. ``verbose=1`` does the same for one estimator. Without either nothing is printed; the logger "polyfold"
    gets the lines at level INFO.

    Parameters
    ----------
    show : bool, default=True

    Examples
    --------
    >>> import polyfold as pf
    >>> pf.show_progress(False)
    """
    _Switch.on = bool(show)


def displays(verbose: bool) -> list[Watcher]:
    """Return those who show a job that is or is not asked to be shown."""
    watchers: list[Watcher] = []
    stream = sys.stderr
    # None in programs without a console.
    if (verbose or _Switch.on) and stream is not None:
        lines = Lines(lambda line: _print(stream, f"polyfold: {line}\n"))
        watchers.append(Bar(stream) if _is_terminal(stream) else lines)
    if logger.isEnabledFor(logging.INFO):
        watchers.append(Lines(logger.info))
    return watchers


class Lines:
    """A line every ten seconds, and one at the end."""

    def __init__(self, write: Callable[[str], object]):
        self._write = write
        self._last = 0.0

    def update(self, job: Job) -> None:
        """Write a line if the last one is old."""
        if job.seconds - self._last >= _EVERY and job.done < 1:
            self._last = job.seconds
            self._write(f"{job.name} {describe(job)}")

    def close(self, job: Job) -> None:
        """Write the last line."""
        self._write(f"{job.name} {_ending(job)}")


class Bar:
    """One line that is drawn anew."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._last = -math.inf
        self._length = 0

    def update(self, job: Job) -> None:
        """Draw the bar if the last picture is old."""
        if job.seconds - self._last >= _REFRESH:
            self._last = job.seconds
            self._draw(job, describe(job))

    def close(self, job: Job) -> None:
        """Draw the bar for the last time and leave its line."""
        self._draw(job, _ending(job))
        _print(self._stream, "\n")

    def _draw(self, job: Job, text: str) -> None:
        full = int(_BAR * job.done)
        line = f"{job.name} [{'#' * full}{'.' * (_BAR - full)}] {text}"[: shutil.get_terminal_size().columns - 1]
        _print(self._stream, f"\r{line.ljust(self._length)}")
        self._length = len(line)


def describe(job: Job) -> str:
    """Say how far a job is, what it does, and how long it will take."""
    # Rounded down and up: neither "100 %" nor "0 s" before the end.
    parts = [f"{math.floor(100 * job.done)} %", job.doing]
    if job.seconds_left is not None:
        parts.append(f"{duration(max(1, math.ceil(round(job.seconds_left, 3))))} left")
    return ", ".join(part for part in parts if part)


def _ending(job: Job) -> str:
    state = "done in" if job.done >= 1 else f"stopped at {math.floor(100 * job.done)} % after"
    return f"{state} {duration(round(job.seconds, 1) if job.seconds < 10 else round(job.seconds))}"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.5, 31, 240, 4300)]
    ['0.5 s', '31 s', '4 min', '1 h 12 min']
    """
    if seconds < 100:
        return f"{seconds:g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()


def _print(stream: TextIO, text: str) -> None:
    # Who looked has gone, by a broken pipe or a closed stream: no reason to lose a fit.
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()
