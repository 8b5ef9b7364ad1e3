"""The loop of Algorithm 1 [Blau2017], with the smoother's width and the number of coordinates found on the way."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import GraphOperator, KernelOperator
from polyfold.nonredundant._policy import MOSTLY, PLAIN, WIDTHS, Judge, too_fine
from polyfold.nonredundant._sequence import Problem, Settings, Step, bandwidth_of, next_coordinate
from polyfold.nonredundant._smoother import is_saturated

__all__ = ["MAX_AUTO_COMPONENTS", "nonredundant_sequence"]

MAX_AUTO_COMPONENTS = 15


def nonredundant_sequence(
    problem: Problem, n_components: int | None, alpha: float | None, settings: Settings
) -> list[Step]:
    """Find coordinates one by one.

    Parameters
    ----------
    problem : Problem
    n_components : int or None
        None stops before the first coordinate that is mere noise or hardly news, at most 15.
    alpha : float or None
        Bandwidth factor; None follows `polyfold.nonredundant._policy`.
    settings : Settings
    """
    limit = MAX_AUTO_COMPONENTS if n_components is None else n_components
    limit = min(limit, problem.operator.n_samples - problem.trivial.shape[1])
    steps: list[Step] = []
    for step in track(_coordinates(problem, alpha, settings), "coordinates", total=limit):
        if n_components is None and steps and step.news - _noise(problem.operator, step.values) < MOSTLY:
            break
        steps.append(step)
        if len(steps) == limit:
            break
    _warn_if_saturated(steps, problem.operator.n_samples)
    return steps


def _noise(operator: KernelOperator, f: NDArray) -> float:
    """Share of the variance of `f` that the mean over neighbours in the data leaves."""
    if not isinstance(operator, GraphOperator):
        return 0.0
    return float(np.mean((f - f[operator.extend.near.indices].mean(axis=1)) ** 2) / f.var())


def _coordinates(problem: Problem, alpha: float | None, settings: Settings) -> Iterator[Step]:
    """Yield coordinates without end, each unpredictable from those yielded before."""
    n = problem.operator.n_samples
    start = np.random.RandomState(settings.seed).standard_normal(n)
    step = next_coordinate(problem, np.empty((n, 0)), None, settings, start)
    F = step.values[:, None]
    widths = (PLAIN, *WIDTHS) if alpha is None else (alpha,)
    for _ in itertools.count():
        yield step
        step = _next(problem, F, widths, settings, start, literal=alpha is not None)
        widths = widths if step.alpha == widths[0] else tuple(width for width in widths if width != PLAIN)
        F = np.column_stack([F, step.values])


def _next(
    problem: Problem, F: NDArray, widths: tuple[float, ...], settings: Settings, start: NDArray, *, literal: bool
) -> Step:
    """Try narrower and narrower smoothers until most of the coordinate is news; where none does, keep the widest."""
    judge = Judge.of(F, settings.seed)
    first: Step | None = None
    for alpha in widths:
        if first is not None and too_fine(F, bandwidth_of(F, alpha), settings.cut, settings.seed):
            break
        step = next_coordinate(problem, F, alpha, settings, start, None if literal else judge)
        step = step.with_news(float(judge(step.values[:, None])[0, 0]))
        if step.news >= MOSTLY:
            return step
        if alpha != PLAIN and first is None:
            first = step
    assert first is not None
    return first


def _warn_if_saturated(steps: list[Step], n: int) -> None:
    for number, step in enumerate(steps, start=1):
        if step.predictable is not None and is_saturated(step.predictable, n):
            warnings.warn(
                f"bandwidth={step.alpha:g} is so small that {step.rank} functions of the first {number - 1} "
                f"coordinates were excluded for coordinate {number}, of {n} samples: nothing can be predicted from "
                "points that are all alone, and what remains is noise. Raise bandwidth, or leave it at 'auto'.",
                DegenerateDataWarning,
                stacklevel=4,
            )
            return
