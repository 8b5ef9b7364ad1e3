"""The report of an experiment: tables next to the paper's, panels of a figure, and claims with their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"


@dataclass(frozen=True)
class Entry:
    """One number of a table: ours (mean and standard deviation over draws) and the paper's, None if it is missing.

    The last label is the column, the others are the row.
    """

    labels: tuple[str, ...]
    ours: float | None
    spread: float | None
    paper: float | None


@dataclass(frozen=True)
class Table:
    """Numbers next to those of the paper."""

    title: str
    entries: list[Entry]
    digits: int = 1


@dataclass(frozen=True)
class Curve:
    """One line, level, row of bars or cloud of points of a panel."""

    label: str
    x: list[Any]
    y: list[Any]
    spread: list[float] | None = None
    style: str = "line"  # or "level", "bar", "points"
    color: list[float] | None = None  # values or classes of points


@dataclass(frozen=True)
class Panel:
    """One pair of axes: curves, or an image."""

    title: str
    x: str = ""
    y: str = ""
    curves: list[Curve] = field(default_factory=list)
    xscale: str = "linear"  # or "log", or "even": every value at the same distance from the next
    yscale: str = "linear"
    image: list[list[float]] | None = None


@dataclass(frozen=True)
class Claim:
    """A comparative sentence of the paper, its place there, and our observation.

    If it does not hold, `why` gives the reason that an experiment showed, and `see` the name of that experiment.
    """

    statement: str
    source: str
    verdict: str
    evidence: str
    why: str = ""
    see: str = ""


@dataclass(frozen=True)
class Report:
    """The result of an experiment."""

    tables: list[Table] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


Values = Sequence[float]


def entry(*labels: str, ours: Values | float | None, paper: float | None = None) -> Entry:
    """Return the entry of one number, or of the numbers of several draws; no number is shown as a dash."""
    values = [] if ours is None else np.atleast_1d(np.asarray(ours, dtype=float))
    if not len(values):
        return Entry(labels, None, None, paper)
    return Entry(labels, float(np.mean(values)), float(np.std(values)) if len(values) > 1 else None, paper)


def line(label: str, points: Mapping[Any, Values | float], *, style: str = "line") -> Curve:
    """Return the curve through the means at every x, with their standard deviations; x without values are skipped."""
    found = {x: np.atleast_1d(np.asarray(values, dtype=float)) for x, values in points.items()}
    found = {x: values for x, values in found.items() if values.size}
    repeated = any(values.size > 1 for values in found.values())
    spread = [float(np.std(values)) for values in found.values()] if repeated else None
    return Curve(label, list(found), [float(np.mean(values)) for values in found.values()], spread, style)


def level(label: str, values: Values) -> Curve:
    """Return a level line at the mean of values."""
    return Curve(label, [], [float(np.mean(values))] if len(values) else [], style="level")


def points(label: str, plane: Any, color: Any = None) -> Curve:
    """Return a cloud of points in the plane, in four digits, coloured by values or classes."""
    x, y = (np.round(np.asarray(column, dtype=float), 4).tolist() for column in np.asarray(plane).T)
    return Curve(label, x, y, style="points", color=None if color is None else np.asarray(color).tolist())


def ahead(
    statement: str,
    better: Values,
    worse: Values,
    *,
    source: str,
    errors: float = 0.0,
    slack: float = 0.0,
    digits: int = 1,
    why: str = "",
    see: str = "",
) -> Claim:
    """Judge the claim that `better` exceeds `worse`, draw by draw, on average.

    The mean difference must be above ``errors`` times its standard error minus ``slack``. For errors and losses, where
    less is better, pass them the other way round.
    """
    if not len(better) or not len(worse):
        return untestable(statement, "the data set is not available", source=source)
    a, b = np.asarray(better, dtype=float), np.asarray(worse, dtype=float)
    paired = a - b if a.shape == b.shape else np.array([a.mean() - b.mean()])
    error = float(np.std(paired, ddof=1) / np.sqrt(paired.size)) if paired.size > 1 else 0.0
    shown = f"{a.mean():.{digits}f} against {b.mean():.{digits}f}, difference {paired.mean():+.{digits}f}"
    shown += f" ± {error:.{digits}f}" if paired.size > 1 else ""
    return observed(statement, paired.mean() > errors * error - slack, shown, source=source, why=why, see=see)


def observed(statement: str, holds: bool, evidence: str, *, source: str, why: str = "", see: str = "") -> Claim:
    """Return a claim that was tested; reasons are kept only where it does not hold."""
    if holds:
        return Claim(statement, source, HOLDS, evidence)
    return Claim(statement, source, FAILS, evidence, why, see)


def untestable(statement: str, reason: str, *, source: str) -> Claim:
    """Return a claim that cannot be tested here, and why."""
    return Claim(statement, source, UNTESTED, reason)
