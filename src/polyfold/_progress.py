"""Progress of long fits: named phases and counted loops, shown as a bar and to scikit-learn's callbacks.

An estimator opens a fit (`shows_progress`). Algorithms name their phases (`phase`) and count their loops (`track`),
and do not depend on who watches. Nothing predicts time: a bar shows the phase, its count and the time elapsed.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Integral
from typing import Any, Concatenate, ParamSpec, Protocol, TextIO, TypeVar

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


class Watcher(Protocol):
    """Follows a fit."""

    def update(self, fit: "Fit") -> None:
        """Handle a change of the steps."""
        ...

    def close(self, fit: "Fit", finished: bool) -> None:
        """Handle the end of the fit."""
        ...


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
        self.steps.append(step)
        self.update()

    def end(self, step: ProgressStep, *, failed: bool) -> None:
        """Leave a step. A loop that was left early can be closed late, after other steps have begun."""
        self.steps = [other for other in self.steps if other is not step]
        if not failed:
            self.update()

    def update(self) -> None:
        """Pass a change on to the watchers."""
        for watcher in self._watchers:
            watcher.update(self)

    def close(self, finished: bool) -> None:
        """End the fit."""
        for watcher in self._watchers:
            watcher.close(self, finished)


# The watched fits that the current code is part of; None outside any fit.
_FITS: ContextVar[tuple[Fit, ...] | None] = ContextVar("polyfold_fits", default=None)


@contextmanager
def watched(name: str, *, verbose: bool = False, watchers: Sequence[Watcher] = ()) -> Iterator[None]:
    """Run a fit that is displayed, if `verbose` or `show_progress` is on, and that `watchers` follow.

    A fit within a fit is part of it: it has no display of its own.
    """
    outer = _FITS.get()
    own = Fit(name, [*(_display(verbose) if outer is None else ()), *watchers])
    token = _FITS.set((*(outer or ()), own))
    finished = False
    try:
        yield
        finished = True
    finally:
        _FITS.reset(token)
        own.close(finished)


@contextmanager
def quiet() -> Iterator[None]:
    """Run a part without showing it: one of several that run in parallel."""
    token = _FITS.set(())
    try:
        yield
    finally:
        _FITS.reset(token)


@contextmanager
def _within(step: ProgressStep) -> Iterator[tuple[Fit, ...]]:
    """Run a step of the current fits."""
    fits, failed = _FITS.get() or (), True
    for fit in fits:
        fit.begin(step)
    try:
        yield fits
        failed = False
    finally:
        for fit in fits:
            fit.end(step, failed=failed)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what runs within.

    Examples
    --------
    >>> with phase("kernel"):
    ...     pass
    """
    with _within(ProgressStep(name)):
        yield


def track(items: Iterable[Item], what: str, *, total: int | None = None) -> Iterator[Item]:
    """Yield `items` and count them."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    step = ProgressStep(what, total, 0)
    with _within(step) as fits:
        for done, item in enumerate(items, start=1):
            yield item
            step.done = done
            for fit in fits:
                fit.update()


class _Switch:
    """Whether every fit is shown."""

    on = False


def show_progress(show: bool = True) -> None:
    """Show the progress of all long fits on standard error, or stop it.

    On a terminal, rich (or tqdm if rich is not installed) draws one bar per fit; elsewhere a line is written every ten
    seconds. ``verbose=1`` does the same for one estimator. By default nothing is printed.

    Parameters
    ----------
    show : bool, default=True

    Examples
    --------
    >>> import polyfold as pf
    >>> pf.show_progress(False)
    """
    _Switch.on = bool(show)


def _display(verbose: bool) -> "list[ProgressDisplay]":
    """Return a bar or lines on standard error if `verbose` or `show_progress` is on."""
    stream = sys.stderr
    # None in programs without a console.
    if not (verbose or _Switch.on) or stream is None:
        return []
    if not stream.closed and stream.isatty():
        for package, bar in (("rich", RichBar), ("tqdm", TqdmBar)):
            if find_spec(package):
                return [bar(stream)]
    return [ProgressDisplay(stream)]


class ProgressDisplay:
    """Write a line every ten seconds, and one at the end."""

    every = 10.0  # seconds between two updates

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._last = 0.0

    def update(self, fit: Fit) -> None:
        """Show the fit if the last time is long enough ago."""
        if fit.seconds - self._last >= self.every:
            self._last = fit.seconds
            with _SURVIVED:
                self._show(fit)

    def close(self, fit: Fit, finished: bool) -> None:
        """Write the last line."""
        with _SURVIVED:
            self._remove()
            self._write(f"{fit.name} {'done in' if finished else 'stopped after'} {fit.seconds:.1f} s")

    def _show(self, fit: Fit) -> None:
        self._write(str(fit))

    def _remove(self) -> None:
        """Remove a bar."""

    def _write(self, line: str) -> None:
        self._stream.write(f"polyfold: {line}\n")
        self._stream.flush()


class RichBar(ProgressDisplay):
    """A bar of rich (extra ``cli``): the innermost loop, the steps it is in, and the time elapsed."""

    every = 0.1

    def __init__(self, stream: TextIO):
        super().__init__(stream)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        class Quiet(Console):
            def on_broken_pipe(self) -> None:  # rich ends the program
                self.quiet = True

        columns = (TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Quiet(file=stream), auto_refresh=False, transient=True)
        self._task = self._progress.add_task("", total=None)
        with _SURVIVED:
            self._progress.start()

    def _show(self, fit: Fit) -> None:
        done, total = fit.count
        self._progress.update(self._task, description=str(fit), completed=done, total=total, refresh=True)

    def _remove(self) -> None:
        self._progress.stop()


class TqdmBar(ProgressDisplay):
    """A bar of tqdm (extra ``progress``), used if rich is not installed."""

    every = 0.1

    def __init__(self, stream: TextIO):
        super().__init__(stream)
        from tqdm import tqdm

        self._tqdm = tqdm(file=stream, leave=False, mininterval=0, bar_format="{desc} |{bar:24}| {elapsed}")

    def _show(self, fit: Fit) -> None:
        self._tqdm.n, self._tqdm.total = fit.count
        self._tqdm.set_description_str(str(fit))

    def _remove(self) -> None:
        self._tqdm.close()


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
        with watched(type(self).__name__, verbose=verbose, watchers=_callbacks_of(self, *args, **kwargs)):
            return fit(self, *args, **kwargs)

    return shown


def _check_verbose(verbose: Any) -> bool:
    if not isinstance(verbose, Integral | np.bool_) or verbose < 0:
        raise ValueError(f"verbose must be an integer >= 0, got {verbose!r}; pass 1 to show a bar.")
    return bool(verbose)


def _callbacks_of(estimator: Any, *args: Any, **kwargs: Any) -> "list[_Callbacks]":
    """Return scikit-learn's callbacks of an estimator, if it has any, after announcing its fit."""
    has_any = hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")
    return [_Callbacks(estimator, *args, **kwargs)] if has_any else []


class _Callbacks:
    """scikit-learn's callbacks of an estimator: each outermost phase or loop of its fit is one task."""

    def __init__(self, estimator: Any, X: Any, y: Any = None, **kwargs: Any):
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context = estimator._init_callback_context(max_subtasks=None)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._step: ProgressStep | None = None
        self._task: Any = None

    def update(self, fit: Fit) -> None:
        """End the task of a step that has ended, and begin one with another outermost step."""
        step = fit.steps[0] if fit.steps else None
        if step is self._step:
            return
        if self._step is not None:
            self._task.call_on_fit_task_end(estimator=self._estimator, **self._data)
        self._step = step
        if step is not None:
            self._task = self._context.subcontext(task_name=step.name)
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def close(self, fit: Fit, finished: bool) -> None:
        """Announce the end of a fit that did not fail."""
        if finished:
            # The estimator is fitted, so there is nothing to add to it.
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes={})
