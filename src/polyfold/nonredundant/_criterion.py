"""One criterion for the bandwidth, the kernel and the number of coordinates: the unexplained fraction of the data.

u(F) is the fraction of the variance of X that remains if every row is predicted from its 10 nearest rows in the
standardised coordinates F (`polyfold._regression.NeighborRegression`). It needs no labels.

- Bandwidth: each coordinate takes the bandwidth with the lowest u, or the widest one within its standard error.
- Number: a further coordinate f must divide u by a larger factor than the same coordinate, permuted, multiplies it:
  u(F) / u(F, f) > u(F, permuted f) / u(F).
- Kernel: a kernel replaces the one before it in the list if its u is clearly lower.

Measured effect: docs/guide/nonredundant.md and benchmarks/studies/nonredundant.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._policy import CLEARLY_LOWER, MAX_AUTO_COMPONENTS, SEARCH_ROWS
from polyfold._progress import track
from polyfold._regression import NeighborRegression, bandwidth_grid, residual_ratio
from polyfold._typing import Matrix
from polyfold.kernels import Operator
from polyfold.nonredundant._sequence import Settings, Step, next_coordinate, rounding, values_of
from polyfold.spectra import EigenSolver


@dataclass(frozen=True)
class Selected:
    """Coordinates with their scores: u after each of them, and u with the last of them permuted.

    If the number was selected, the scores have one entry more than there are coordinates, of the first rejected one.
    """

    steps: list[Step]
    scores: NDArray
    permuted: NDArray

    @property
    def unexplained(self) -> float:
        """Unexplained fraction of all coordinates, 1 if there are none."""
        return float(self.scores[len(self.steps) - 1]) if self.steps else 1.0


def select_sequence(
    operator: Operator,
    solver: EigenSolver,
    X: Matrix,
    n_components: int | None,
    bandwidths: tuple[float, ...],
    settings: Settings,
    *,
    by_distances: bool = False,
) -> Selected:
    """Find coordinates of the rows of `X` one by one, each with the best of `bandwidths`, given from wide to narrow.

    `n_components` None selects their number, at most `MAX_AUTO_COMPONENTS`. `X` may hold distances of its rows.
    """
    limit = MAX_AUTO_COMPONENTS if n_components is None else n_components
    limit = min(limit, operator.n_samples - operator.trivial.shape[1])
    regression = _regression(operator, X, settings.seed, by_distances)
    steps: list[Step] = []
    scores, permuted = [], []
    for _ in track(range(limit), "coordinates"):
        step, score = _best_step(operator, solver, steps, bandwidths, regression, settings)
        if step is None:
            break
        shuffled = np.random.RandomState(settings.seed).permutation(step.values)
        scores.append(score)
        permuted.append(regression.unexplained(np.column_stack([values_of(steps, operator), shuffled])).mean())
        if n_components is None and steps and not _is_worth(scores[-2], scores[-1], permuted[-1]):
            break
        steps.append(step)
    return Selected(steps, np.array(scores), np.array(permuted))


def _regression(operator: Operator, X: Matrix, seed: int, by_distances: bool) -> NeighborRegression:
    """Prepare the criterion on at most `SEARCH_ROWS` of the distinct rows of `X`."""
    points = sample_rows(operator.n_samples, seed)
    rows = points if operator.row_points is None else np.unique(operator.row_points, return_index=True)[1][points]
    if by_distances:
        return NeighborRegression.of_distances(X[np.ix_(rows, rows)], points)
    return NeighborRegression.of(X[rows], points)


def sample_rows(n: int, seed: int) -> NDArray:
    """Return the numbers of at most `SEARCH_ROWS` of n rows, ascending."""
    return np.arange(n) if n <= SEARCH_ROWS else np.sort(np.random.RandomState(seed).choice(n, SEARCH_ROWS, False))


def _best_step(
    operator: Operator,
    solver: EigenSolver,
    steps: list[Step],
    bandwidths: tuple[float, ...],
    regression: NeighborRegression,
    settings: Settings,
) -> tuple[Step | None, float]:
    """Return the coordinate with the lowest u, of those within its standard error the one of the widest bandwidth."""
    F = values_of(steps, operator)
    tried: list[tuple[Step, NDArray]] = []
    best, worse = np.empty(0), 0
    for alpha in bandwidths if steps else (None,):
        step = next_coordinate(operator, solver, F, alpha, settings, rounding(steps))
        if step is None:
            continue
        errors = regression.unexplained(np.column_stack([F, step.values]))
        tried.append((step, errors))
        best = errors if len(tried) == 1 or errors.mean() < best.mean() else best
        worse = worse + 1 if _exceeds(errors, best) else 0
        # More than √n means of n points are not known well enough to be zero, and narrower smoothers see even more.
        if worse == 2 or step.rank > np.sqrt(len(F)):
            break
    for step, errors in tried:
        if not _exceeds(errors, best):
            return step, float(errors.mean())
    return None, 1.0


def _exceeds(errors: NDArray, best: NDArray) -> bool:
    """Whether the mean of errors exceeds that of others, of the same rows, by more than its standard error."""
    difference = errors - best
    return bool(difference.mean() > difference.std() / np.sqrt(len(difference)))


def select_kernel(found: Mapping[str, Selected]) -> str:
    """Return the name of the kernel to use: a later one replaces an earlier one if its u is clearly lower.

    If it has more coordinates, it must also pass the rule for a further coordinate.
    """
    names = iter(found)
    chosen = next(names)
    for name in names:
        old, new = found[chosen], found[name]
        is_worth = len(new.steps) <= len(old.steps) or _is_worth(
            old.unexplained, new.unexplained, new.permuted[len(new.steps) - 1]
        )
        if is_worth and new.unexplained < CLEARLY_LOWER * old.unexplained:
            chosen = name
    return chosen


def _is_worth(before: float, after: float, permuted: float) -> bool:
    """Whether a coordinate divides u by a larger factor than the same coordinate, permuted, multiplies it."""
    return before**2 > after * permuted


def novelty(F: NDArray, seed: int, *, n_queries: int = 500) -> NDArray:
    """Return the leave-one-out residual of every column on the earlier ones, with the bandwidth that predicts best.

    It is relative to the standard deviation of the column and at most 1, on a sample of the rows.
    """
    F = F[sample_rows(len(F), seed)]
    queries = np.random.RandomState(seed).permutation(len(F))[:n_queries]
    out = np.ones(F.shape[1])
    for i in range(1, F.shape[1]):
        grid = bandwidth_grid(F[:, :i])
        residuals = residual_ratio(F[:, :i], F[:, i], list(grid), queries=queries, regressor="locally_linear")
        out[i] = min(1.0, residuals.min())
    return out
