"""Progress of long fits: named phases and counted loops, shown as a bar, in the log and to scikit-learn's callbacks.

An estimator opens a fit (`shows_progress`). Algorithms name their phases (`phase`) and count their loops (`track`),
and do not depend on who watches. Nothing predicts time: a bar shows the phase, its count and the time elapsed.
"""

import contextlib
import functools
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Integral
from typing import Any, Concatenate, ParamSpec, TextIO, TypeVar

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9
    CallbackSupportMixin: Any = object

    def with_callbacks(method: Any) -> Any:
        """Return the method: this version has no callbacks."""
        return method


Item = TypeVar("Item")
Estimator = TypeVar("Estimator")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

logger = logging.getLogger("polyfold")
logger.addHandler(logging.NullHandler())
# Seconds between two updates of a bar, and between two lines of a log.
_REFRESH, _EVERY = 0.1, 10.0
# A broken pipe or a closed terminal must not end the fit.
_SURVIVED = contextlib.suppress(OSError, ValueError)


@dataclass
class ProgressStep:
    """A phase, or a loop with its count."""

    name: str
    total: int | None = None
    done: int | None = None

    def __str__(self) -> str:
        if self.done is None:
            return self.name
        return f"{self.name} {self.done}" if self.total is None else f"{self.name} {self.done}/{self.total}"


class Watcher:
    """Follow a fit; subclasses override what they need."""

    def begin(self, fit: "Fit", step: ProgressStep) -> None:
        """Handle the start of a step."""

    def update(self, fit: "Fit") -> None:
        """Handle any change of the steps."""

    def end(self, fit: "Fit", step: ProgressStep) -> None:
        """Handle the end of a step that did not fail."""

    def close(self, fit: "Fit", finished: bool) -> None:
        """Handle the end of the fit."""


class Fit:
    """A fit that is watched: its name and the steps it is in, from the outermost to the innermost."""

    def __init__(self, name: str, watchers: Sequence[Watcher], clock: Callable[[], float] = time.monotonic):
        self.name = name
        self.steps: list[ProgressStep] = []
        self._watchers = watchers
        self._clock, self._began = clock, clock()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return self._clock() - self._began

    @property
    def count(self) -> tuple[int, int | None]:
        """Return how far the innermost loop with a known length is, and its length."""
        counted = [step for step in self.steps if step.total]
        return (counted[-1].done or 0, counted[-1].total) if counted else (0, None)

    def __str__(self) -> str:
        # The two innermost steps fit on a line.
        return f"{self.name}: {', '.join(map(str, self.steps[-2:]))}" if self.steps else self.name

    def begin(self, step: ProgressStep) -> None:
        """Enter a step."""
        for watcher in self._watchers:
            watcher.begin(self, step)
        self.steps.append(step)
        self.update()

    def update(self) -> None:
        """Pass a change on to the watchers."""
        for watcher in self._watchers:
            watcher.update(self)

    def end(self, step: ProgressStep, *, failed: bool = False) -> None:
        """Leave a step. A loop that was left early can be closed late, after other steps have begun."""
        self.steps = [other for other in self.steps if other is not step]
        if not failed:
            for watcher in self._watchers:
                watcher.end(self, step)

    def close(self, finished: bool) -> None:
        """End the fit."""
        for watcher in self._watchers:
            watcher.close(self, finished)


# The watched fits that the current code is part of; None outside any fit.
_FITS: ContextVar[tuple[Fit, ...] | None] = ContextVar("polyfold_fits", default=None)


@contextmanager
def watched(name: str, watchers: Sequence[Watcher]) -> Iterator[None]:
    """Run a fit that `watchers` follow. A fit within a fit is part of it, and has its own watchers only if given."""
    outer = _FITS.get()
    own = Fit(name, watchers)
    token = _FITS.set((*(outer or ()), *([own] if watchers else [])))
    finished = False
    try:
        yield
        finished = True
    finally:
        _FITS.reset(token)
        own.close(finished)


def is_watched() -> bool:
    """Whether the current code is part of a fit that is already shown."""
    return _FITS.get() is not None


@contextmanager
def quiet() -> Iterator[None]:
    """Run a part without showing it: one of several that run in parallel."""
    token = _FITS.set(())
    try:
        yield
    finally:
        _FITS.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what runs within.

    Examples
    --------
    >>> with phase("kernel"):
    ...     pass
    """
    fits, step = _FITS.get() or (), ProgressStep(name)
    for fit in fits:
        fit.begin(step)
    failed = True
    try:
        yield
        failed = False
    finally:
        for fit in fits:
            fit.end(step, failed=failed)


def track(items: Iterable[Item], what: str, *, total: int | None = None) -> Iterator[Item]:
    """Yield `items` and count them."""
    fits = _FITS.get()
    if not fits:
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    step = ProgressStep(what, total, 0)
    for fit in fits:
        fit.begin(step)
    failed = True
    try:
        for item in items:
            yield item
            step.done = (step.done or 0) + 1
            for fit in fits:
                fit.update()
        failed = False
    finally:
        for fit in fits:
            fit.end(step, failed=failed)


class _Switch:
    """Whether every fit is shown."""

    on = False


def show_progress(show: bool = True) -> None:
    """Show the progress of every long fit on standard error, or stop doing so.

    On a terminal, rich (or tqdm if rich is not installed) draws one bar per fit; elsewhere a line is written every ten
    seconds. ``verbose=1`` does the same for one estimator. By default nothing is printed. The logger "polyfold"
    receives the lines at level INFO.

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
    """Return the watchers of a fit: a bar or lines if `verbose` or `show_progress` is on, and the log."""
    watchers: list[Watcher] = []
    stream = sys.stderr
    # None in programs without a console.
    if (verbose or _Switch.on) and stream is not None:
        watchers.append(_bar(stream) or lines(lambda line: _print(stream, f"polyfold: {line}\n")))
    if logger.isEnabledFor(logging.INFO):
        watchers.append(lines(logger.info))
    return watchers


def _bar(stream: TextIO) -> "ProgressDisplay | None":
    if stream.closed or not stream.isatty():
        return None
    if find_spec("rich"):
        return rich_bar(stream)
    return tqdm_bar(stream) if find_spec("tqdm") else None


class ProgressDisplay(Watcher):
    """Show a fit, at most once in `every` seconds, and write one line at the end."""

    def __init__(
        self,
        show: Callable[[Fit], object],
        write: Callable[[str], object],
        *,
        every: float,
        remove: Callable[[], object] = lambda: None,
    ):
        self._show, self._write, self._remove, self._every = show, write, remove, every
        self._last = 0.0

    def update(self, fit: Fit) -> None:
        """Show the fit if the last time is long enough ago."""
        if fit.seconds - self._last >= self._every:
            self._last = fit.seconds
            with _SURVIVED:
                self._show(fit)

    def close(self, fit: Fit, finished: bool) -> None:
        """Write the last line."""
        with _SURVIVED:
            self._remove()
        self._write(f"{fit.name} {'done in' if finished else 'stopped after'} {duration(fit.seconds)}")


def lines(write: Callable[[str], object]) -> ProgressDisplay:
    """Return a display that writes a line every ten seconds."""
    return ProgressDisplay(lambda fit: write(str(fit)), write, every=_EVERY)


def rich_bar(stream: TextIO) -> ProgressDisplay:
    """Return a bar of rich (extra ``cli``): the innermost loop, the steps it is in, and the time elapsed."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    class Quiet(Console):
        def on_broken_pipe(self) -> None:  # rich ends the program
            self.quiet = True

    columns = (TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
    progress = Progress(*columns, console=Quiet(file=stream), auto_refresh=False, transient=True)
    task = progress.add_task("", total=None)
    with _SURVIVED:
        progress.start()

    def show(fit: Fit) -> None:
        done, total = fit.count
        progress.update(task, description=str(fit), completed=done, total=total, refresh=True)

    return ProgressDisplay(show, lambda line: _print(stream, f"{line}\n"), every=_REFRESH, remove=progress.stop)


def tqdm_bar(stream: TextIO) -> ProgressDisplay:
    """Return a bar of tqdm (extra ``progress``), used if rich is not installed."""
    from tqdm import tqdm

    bar = tqdm(file=stream, leave=False, mininterval=0, bar_format="{desc} |{bar:24}| {elapsed}")

    def show(fit: Fit) -> None:
        bar.n, bar.total = fit.count
        bar.set_description_str(str(fit))

    return ProgressDisplay(show, lambda line: _print(stream, f"{line}\n"), every=_REFRESH, remove=bar.close)


def duration(seconds: float) -> str:
    """Format a time.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.52, 31.4, 240, 4300)]
    ['0.5 s', '31 s', '4 min', '1 h 12 min']
    """
    if seconds < 100:
        return f"{round(seconds, 1) if seconds < 10 else round(seconds):g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _print(stream: TextIO, text: str) -> None:
    with _SURVIVED:
        stream.write(text)
        stream.flush()


class LongFit(CallbackSupportMixin):
    """Base class of estimators that show the progress of their fit."""

    verbose: int = 0


def shows_progress(
    fit: Callable[Concatenate[Estimator, Parameters], Result],
) -> Callable[Concatenate[Estimator, Parameters], Result]:
    """Decorate the `fit` of a `LongFit`: show it if `verbose`, and call scikit-learn's callbacks."""

    @with_callbacks
    @functools.wraps(fit)
    def shown(self: Any, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        verbose = _check_verbose(self.verbose)
        watchers = displays(verbose) if _FITS.get() is None else []
        callbacks = _Callbacks.of(self, *args, **kwargs)
        with watched(type(self).__name__, watchers if callbacks is None else [*watchers, callbacks]):
            result = fit(self, *args, **kwargs)
        if callbacks is not None:
            callbacks.finish()
        return result

    return shown


def _check_verbose(verbose: Any) -> bool:
    if not isinstance(verbose, Integral | np.bool_) or verbose < 0:
        raise ValueError(f"verbose must be an integer >= 0, got {verbose!r}; pass 1 to show a bar.")
    return bool(verbose)


class _Callbacks(Watcher):
    """scikit-learn's callbacks of an estimator: each outermost phase or loop of its fit is one task."""

    @classmethod
    def of(cls, estimator: Any, *args: Any, **kwargs: Any) -> "_Callbacks | None":
        """Return the callbacks after announcing the fit, or None if the estimator has none."""
        if not hasattr(estimator, "_skl_callbacks") and not hasattr(estimator, "_parent_callback_ctx"):
            return None
        return cls(estimator, *args, **kwargs)

    def __init__(self, estimator: Any, X: Any, y: Any = None, **kwargs: Any):
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._task: tuple[ProgressStep, Any] | None = None

    def begin(self, fit: Fit, step: ProgressStep) -> None:
        """Begin a task with an outermost step."""
        if self._task is None:
            self._task = step, self._context.subcontext(task_name=step.name)
            self._task[1].call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self, fit: Fit, step: ProgressStep) -> None:
        """End the task of the step."""
        if self._task is not None and self._task[0] is step:
            self._task[1].call_on_fit_task_end(estimator=self._estimator, **self._data)
            self._task = None

    def finish(self) -> None:
        """Announce the end of a fit that did not fail."""
        # The estimator is fitted, so there is nothing to add to it.
        self._context.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes={})
