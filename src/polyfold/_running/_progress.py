"""Progress of long work: one bar and one estimate of the time left for a whole fit, whatever it is made of.

An estimator opens a job. Within it an algorithm names its phases once, with what each is expected to cost (`phases`),
and its loops say how far they are (`track`). A phase has its share of the job, a loop shares out the phase it runs in,
and a fit within a fit the place it was called from. Who looks at a job, if anyone, is no concern of the algorithm.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar

Item = TypeVar("Item")

# Before this share of the work an estimate of the rest is a guess.
_FIRST_ESTIMATE = 0.02


class Watcher(Protocol):
    """Someone who looks at a job."""

    def update(self, job: "Job") -> None:
        """Take note that the job has come further."""
        ...

    def close(self, job: "Job") -> None:
        """Take note that the job has ended: its `done` tells whether it was finished."""
        ...


class Job:
    """A whole fit: its name, the share of it that is done, what is being done, and who looks."""

    def __init__(self, name: str, watchers: Sequence[Watcher], clock: Callable[[], float] = time.monotonic):
        self.name = name
        self.watchers = watchers
        self.done = 0.0
        self.known = 0.0  # what was there from an earlier run, and took no time in this one
        self.doing = ""
        self._clock, self._began = clock, clock()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Time that the rest will take at the pace so far; None while there is none to speak of."""
        worked = self.done - self.known
        return self.seconds * (1 - self.done) / worked if worked >= _FIRST_ESTIMATE else None

    def reach(self, share: float, doing: str) -> None:
        """Say that `share` of the job is done, and what; it never goes back."""
        self.done, self.doing = max(self.done, min(share, 1.0)), doing
        for watcher in self.watchers:
            watcher.update(self)


@dataclass(frozen=True)
class _Span:
    """A part of a job, from `start` on, of a `width` in shares of the whole."""

    job: Job
    start: float = 0.0
    width: float = 1.0

    def part(self, start: float, width: float) -> "_Span":
        return _Span(self.job, self.start + start * self.width, width * self.width)

    def reach(self, share: float, doing: str) -> None:
        self.job.reach(self.start + share * self.width, doing)

    def skip(self, share: float, doing: str) -> None:
        self.job.known += share * self.width
        self.reach(share, doing)


_SPAN: ContextVar[_Span | None] = ContextVar("polyfold_progress", default=None)


@dataclass(frozen=True)
class _Outer:
    """The job around, of which an own job is a part."""

    span: _Span

    def update(self, job: Job) -> None:
        self.span.reach(job.done, job.doing)

    def close(self, job: Job) -> None:
        """Leave the rest to the job around."""


@contextmanager
def job(name: str, watchers: Sequence[Watcher]) -> Iterator[None]:
    """Run a whole fit that `watchers` look at; within another one it is a part of that, and nobody's without them."""
    around = _SPAN.get()
    if not watchers:
        yield
        return
    own = Job(name, watchers if around is None else [*watchers, _Outer(around)])
    try:
        _SPAN.set(_Span(own))
        yield
        own.reach(1.0, "")
    finally:
        _SPAN.set(around)
        for watcher in watchers:
            watcher.close(own)


@contextmanager
def quiet() -> Iterator[None]:
    """Run a part of which nobody is told: one of several that run side by side."""
    around = _SPAN.get()
    try:
        _SPAN.set(_Span(Job("", ())))
        yield
    finally:
        _SPAN.set(around)


def is_watched() -> bool:
    """Whether this is a part of a job."""
    return _SPAN.get() is not None


def phases(costs: Mapping[str, float]) -> Callable[..., AbstractContextManager[None]]:
    """Share out what runs now among phases by their expected costs, in any unit; ``with phase(name):`` runs one.

    ``phase(name, known=True)`` is one whose result is there from an earlier run.

    Examples
    --------
    >>> phase = phases({"kernel": 3.0, "modules": 1.0})
    >>> with phase("kernel"):
    ...     pass
    """
    span, total = _SPAN.get(), sum(costs.values()) or 1.0
    starts = dict(zip(costs, accumulate(costs.values(), initial=0.0), strict=False))

    @contextmanager
    def phase(name: str, *, known: bool = False) -> Iterator[None]:
        if span is None:
            yield
            return
        part = span.part(starts[name] / total, costs[name] / total)
        if known:
            part.skip(1.0, name)
        else:
            part.reach(0.0, name)
        try:
            _SPAN.set(part)
            yield
            part.reach(1.0, name)
        finally:
            _SPAN.set(span)

    return phase


def track(items: Iterable[Item], what: str, *, total: int | None = None, known: int = 0) -> Iterator[Item]:
    """Yield `items`; what is done for each of them is its share of what runs now.

    Of `total`, the first `known` are there from an earlier run.
    """
    span = _SPAN.get()
    if span is None:
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    remaining, done, place = iter(items), known, span
    if total and known:
        span.skip(known / total, what)
    try:
        while True:
            place = span if total is None else span.part(min(done / total, 1.0), 1 / total)
            _SPAN.set(place)
            try:
                item = next(remaining)
            except StopIteration:
                return
            yield item
            done += 1
            label = f"{what} {done}" if total is None else f"{what} {done}/{total}"
            span.reach(0.0 if total is None else min(done / total, 1.0), label)
    finally:
        # A loop that was left halfway may be closed when something else runs.
        if _SPAN.get() is place:
            _SPAN.set(span)
