"""The loop of Algorithm 1 [Blau2017], with the smoother's width and the number of coordinates found on the way."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from polyfold._running import track
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import Operator
from polyfold.nonredundant._bandwidth import ALPHAS, NEW_DIRECTION, NEWS, NOISE, candidates, enough, unexplained
from polyfold.nonredundant._even import EvenSolver, is_manifold
from polyfold.nonredundant._sequence import Settings, Step, next_coordinate
from polyfold.nonredundant._smoother import is_saturated
from polyfold.spectra import EigenSolver

MAX_AUTO_COMPONENTS = 15
# Eigenvalues below this share of the first are rounding.
_ROUNDING = 1e-10


def nonredundant_sequence(
    operator: Operator, solver: EigenSolver, n_components: int | None, alpha: float | None, settings: Settings
) -> list[Step]:
    """Find coordinates one by one.

    Parameters
    ----------
    operator : Operator
    solver : EigenSolver
    n_components : int or None
        None stops before the first coordinate that is mere noise or hardly news, at most 15.
    alpha : float or None
        Bandwidth factor; None follows `polyfold.nonredundant._bandwidth`.
    settings : Settings
    """
    limit = MAX_AUTO_COMPONENTS if n_components is None else n_components
    limit = min(limit, operator.n_samples - operator.trivial.shape[1])
    manifold = is_manifold(operator)
    if manifold and alpha is None:  # a given width is Algorithm 1 to the letter
        solver = EvenSolver.of(operator, solver)
    least = NEW_DIRECTION if manifold else NEWS
    steps: list[Step] = []
    for step in track(_coordinates(operator, solver, alpha, settings, manifold), "coordinates", total=limit):
        if n_components is None and steps and (step.news < least or _is_noise(operator, step)):
            break
        steps.append(step)
        if len(steps) == limit:
            break
    _warn_if_saturated(steps, operator.n_samples)
    return steps


def _is_noise(operator: Operator, step: Step) -> bool:
    """Whether not even neighbours in the data share the values of a coordinate."""
    if operator.near is None or operator.has_units:
        return False
    left = step.values - step.values[operator.near.indices].mean(axis=1)
    return bool(np.sqrt(np.mean(left**2)) > NOISE)


def _coordinates(
    operator: Operator, solver: EigenSolver, alpha: float | None, settings: Settings, manifold: bool
) -> Iterator[Step]:
    """Yield coordinates as long as there are any, each unpredictable from those yielded before."""
    n = operator.n_samples
    start = np.random.RandomState(settings.seed).standard_normal(n)
    F = np.empty((n, 0))
    current, lowest = ALPHAS[0] if alpha is None else alpha, 0.0

    def following(factor: float | None) -> Step | None:
        step = next_coordinate(operator, solver, F, factor, settings, start, lowest)
        if step is None or not F.shape[1]:
            return step
        return replace(step, news=unexplained(F, step.values, settings.seed))

    step = following(None)
    while step is not None:
        yield step
        F = np.column_stack([F, step.values])
        lowest = lowest or _ROUNDING * abs(step.eigenvalue)
        if alpha is None:
            step = _widest_with_news(operator, following, current, F.shape[1], manifold)
            current = current if step is None else min(step.alpha or current, current)
        else:
            step = following(alpha)


def _widest_with_news(
    operator: Operator, following: Callable[[float], Step | None], alpha: float, n_earlier: int, manifold: bool
) -> Step | None:
    """Try narrower smoothers until the next coordinate is news; where none is, keep the best."""
    best: Step | None = None
    for candidate in candidates(alpha, n_earlier, manifold=manifold):
        step = following(candidate)
        if step is None or (best is not None and manifold and _is_noise(operator, step)):
            break
        if best is None or step.news > best.news:
            best = step
        if step.news >= enough(candidate, n_earlier, manifold=manifold):
            break
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
