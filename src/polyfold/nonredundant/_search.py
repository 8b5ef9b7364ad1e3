"""The loop of Algorithm 1 [Blau2017], with the smoother's width and the number of coordinates found on the way."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyfold._running import track
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import GraphOperator, KernelOperator
from polyfold.nonredundant._bandwidth import ALPHAS, NEW_DIRECTION, NEWS, NOISE, candidates, enough, unexplained
from polyfold.nonredundant._even import EvenSolver, is_manifold
from polyfold.nonredundant._sequence import Problem, Settings, Step, next_coordinate
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
        Bandwidth factor; None follows `polyfold.nonredundant._bandwidth`.
    settings : Settings
    """
    limit = MAX_AUTO_COMPONENTS if n_components is None else n_components
    limit = min(limit, problem.operator.n_samples - problem.trivial.shape[1])
    operator = problem.operator
    manifold = is_manifold(operator)
    if manifold and alpha is None:  # a given width is Algorithm 1 to the letter
        problem = replace(problem, solver=EvenSolver.of(operator, problem.solver))
    least = NEW_DIRECTION if manifold else NEWS
    steps: list[Step] = []
    for step in track(_coordinates(problem, alpha, settings, manifold), "coordinates", total=limit):
        if n_components is None and steps and (step.news < least or _is_noise(problem.operator, step)):
            break
        steps.append(step)
        if len(steps) == limit:
            break
    _warn_if_saturated(steps, problem.operator.n_samples)
    return steps


def _is_noise(operator: KernelOperator, step: Step) -> bool:
    """Whether not even neighbours in the data share the values of a coordinate."""
    if not isinstance(operator, GraphOperator):
        return False
    left = step.values - step.values[operator.extend.near.indices].mean(axis=1)
    return bool(np.sqrt(np.mean(left**2)) > NOISE)


def _coordinates(problem: Problem, alpha: float | None, settings: Settings, manifold: bool) -> Iterator[Step]:
    """Yield coordinates without end, each unpredictable from those yielded before."""
    n = problem.operator.n_samples
    start = np.random.RandomState(settings.seed).standard_normal(n)
    F = np.empty((n, 0))
    current = ALPHAS[0] if alpha is None else alpha
    for _ in itertools.count():
        if F.shape[1] == 0 or alpha is not None:
            step = next_coordinate(problem, F, current if F.shape[1] else None, settings, start)
        else:
            step = _widest_with_news(problem, F, current, settings, start, manifold)
            current = min(step.alpha or current, current)
        if F.shape[1] and np.isnan(step.news):
            step = step.with_news(unexplained(F, step.values, settings.seed))
        yield step
        F = np.column_stack([F, step.values])


def _widest_with_news(
    problem: Problem, F: NDArray, alpha: float, settings: Settings, start: NDArray, manifold: bool
) -> Step:
    """Try narrower smoothers until the next coordinate is news; where none is, keep the best."""
    n_earlier = F.shape[1]
    best: Step | None = None
    for candidate in candidates(alpha, n_earlier, manifold=manifold):
        step = next_coordinate(problem, F, candidate, settings, start)
        step = step.with_news(unexplained(F, step.values, settings.seed))
        if best is not None and manifold and _is_noise(problem.operator, step):
            break
        if best is None or step.news > best.news:
            best = step
        if step.news >= enough(candidate, n_earlier, manifold=manifold):
            break
    assert best is not None
    return best


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
