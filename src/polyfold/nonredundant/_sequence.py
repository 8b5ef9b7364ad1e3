"""Algorithm 1 of [Blau2017]: coordinates one by one, each unpredictable from the earlier ones.

Step i solves, in the measure w of the operator (`polyfold.kernels`), with g = √w f,

    max gᵀ K g   with   ‖g‖ = 1,   Σ w f = 0 (per component),   Σ m f v = 0 for every v the smoother sees,

[Blau2017, eq. 11 and 12] → `next_coordinate`; steps 4–9 → `follow_bandwidths`. The paper leaves the bandwidth of the
smoother and the number of coordinates to the user. `find_sequence` selects them by one criterion, u(F): the fraction of
the variance of X that remains if every row is predicted from its 10 nearest rows in the standardised coordinates F.

- Bandwidth: the one with the lowest u, or the widest one within its standard error.
- Number: a further coordinate f must divide u by a larger factor than the same coordinate, permuted, multiplies it:
  u(F) / u(F, f) > u(F, permuted f) / u(F).
- Kernel: a kernel replaces the one before it in the list if its u is clearly lower (`select_kernel`).
- Rotation: eigenvectors of nearly equal eigenvalues mix the directions of the data. The coordinates after the first are
  rotated so that the leading ones have the lowest u, if it falls significantly (`best_rotation`).

Measured effect: docs/guide/nonredundant.md and benchmarks/studies/nonredundant.py.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import sample_rows
from polyfold._policy import CLEARLY_LOWER, SEARCH_ROWS, SIGNIFICANT
from polyfold._progress import track
from polyfold._regression import NeighborRegression
from polyfold._typing import Matrix
from polyfold._validation import outside
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import Operator
from polyfold.nonredundant._smoother import Predictable, is_saturated, predictable_functions
from polyfold.spectra import EigenSolver, residuals

_TOL = 1e-6
# Eigenvalues below this fraction of the first are rounding.
_ROUNDING = 1e-10
# Most coordinates that n_components="auto" selects.
MAX_AUTO_COMPONENTS = 15
# Rows on which rotations are compared.
_ROTATION_ROWS = 1000


@dataclass(frozen=True)
class Step:
    """One coordinate f = (raw − center) / scale and what is needed to extend it to new points.

    `alpha` is the bandwidth factor of the smoother on the earlier coordinates (None for the first). `intercepts` (one
    per component) and `slopes` give the part that the constraints removed. `residual` is that of the eigenvector
    equation, relative to the cost or the eigenvalue.
    """

    values: NDArray
    raw: NDArray
    eigenvalue: float
    center: float
    scale: float
    predictable: Predictable | None
    intercepts: NDArray
    slopes: NDArray
    alpha: float | None = None
    residual: float = np.nan

    def slim(self) -> "Step":
        """Return a copy without the values of the excluded functions, which only fitting needs."""
        return self if self.predictable is None else replace(self, predictable=self.predictable.slim())

    @property
    def rank(self) -> int:
        """Number of functions of the earlier coordinates that were excluded."""
        return 0 if self.predictable is None else self.predictable.rank


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


def values_of(steps: list[Step], operator: Operator) -> NDArray:
    """Return the coordinates that were found, shape (N, len(steps))."""
    return np.column_stack([np.empty((operator.n_samples, 0)), *(step.values for step in steps)])


def rounding(steps: list[Step]) -> float:
    """Return the eigenvalue below which a kernel with units has no direction left, 0 before the first step."""
    return _ROUNDING * abs(steps[0].eigenvalue) if steps else 0.0


def bandwidth_of(F: NDArray, alpha: float) -> float:
    """Return h = α (Σ_j ‖f_j‖² / N)^½ [Blau2017, section 5]."""
    return np.inf if np.isinf(alpha) else alpha * float(np.sqrt(np.sum(F**2) / len(F)))


def next_coordinate(
    operator: Operator,
    solver: EigenSolver,
    F: NDArray,
    alpha: float | None,
    seed: int,
    lowest: float = 0.0,
) -> Step | None:
    """Find the coordinate after the columns of `F` (N, i − 1), with bandwidth factor `alpha`; None if none is left.

    A kernel with units has no direction left if the eigenvalue is not above `lowest`, its rounding.
    """
    predictable = None
    if F.shape[1]:
        assert alpha is not None
        rng = np.random.RandomState(seed)
        predictable = predictable_functions(F, bandwidth_of(F, alpha), operator.measure, rng)
    Q, T = _orthonormal(operator, predictable)
    if Q.shape[1] >= operator.n_samples:
        return None
    start = np.random.RandomState(seed).standard_normal(operator.n_samples)
    G = solver.top(Q, 1, start, _TOL)[1]
    step = replace(_step(operator, G[:, 0], Q, T, predictable, alpha), residual=float(residuals(operator, Q, G)[0]))
    return None if operator.has_units and abs(step.eigenvalue) <= lowest else step


def _orthonormal(operator: Operator, predictable: Predictable | None) -> tuple[NDArray, NDArray]:
    """Q (N, q) spanning the trivial and predictable directions, and T with Q = [trivial, V m/√w] T."""
    X = operator.trivial
    if predictable is not None:
        factor = operator.measure / np.sqrt(operator.weights)
        X = np.concatenate([X, predictable.values * factor[:, None]], axis=1)
    norms = np.linalg.norm(X, axis=0)
    d, U = np.linalg.eigh((X / norms).T @ (X / norms))
    keep = d > 1e-8 * d[-1]
    T = (U[:, keep] / np.sqrt(d[keep])) / norms[:, None]
    # The Gram matrix squares the condition, so one QR restores orthogonality to rounding.
    Q, R = np.linalg.qr(X @ T)
    return Q, np.linalg.solve(R.T, T.T).T


def _step(
    operator: Operator, g: NDArray, Q: NDArray, T: NDArray, predictable: Predictable | None, alpha: float | None
) -> Step:
    raw = g / np.sqrt(operator.weights)
    image = operator.apply(g)
    taken = T @ (Q.T @ image)
    n_trivial = len(taken) - (0 if predictable is None else predictable.values.shape[1])
    center, scale = float(raw.mean()), max(float(raw.std()), np.finfo(np.float64).tiny)
    sign = 1.0 if raw[np.argmax(np.abs(raw - center))] >= center else -1.0
    return Step(
        values=sign * (raw - center) / scale,
        raw=raw,
        eigenvalue=float(g @ image),
        center=center,
        scale=sign * scale,
        predictable=predictable,
        intercepts=taken[:n_trivial],
        slopes=np.empty(0) if predictable is None else predictable.coefficients @ taken[n_trivial:],
        alpha=alpha,
    )


def extend(operator: Operator, steps: list[Step], X: Matrix) -> NDArray:
    """Return the coordinates of the rows of `X`, shape (n, len(steps)); the paper has none for new points.

    The part that the constraints took off is a function of the earlier coordinates only, so that coordinates follow
    one after the other by the formula of `polyfold.kernels.Extension`.
    """
    extension = operator.extend(X)
    F = np.empty((X.shape[0], len(steps)))
    for i, step in enumerate(steps):
        predictable: Any = 0.0
        if step.predictable is not None:
            predictable = (step.predictable.factor.rows(F[:, :i]) @ step.slopes)[:, None]
        eigenvalue, intercepts = np.array([step.eigenvalue]), step.intercepts[:, None]
        raw = extension.values(step.raw[:, None], eigenvalue, intercepts, predictable)
        F[:, i] = (raw[:, 0] - step.center) / step.scale
    return F


def find_sequence(
    operator: Operator,
    solver: EigenSolver,
    X: Matrix,
    bandwidths: Sequence[Sequence[float | None]],
    seed: int,
    *,
    stops: bool = False,
    by_distances: bool = False,
) -> Selected:
    """Find coordinates of the rows of `X` one by one, each with the best of its `bandwidths`, from wide to narrow.

    The only bandwidth of the first coordinate is None. There are fewer coordinates if the kernel has no more, and with
    `stops` before the first one that is not worth it. `X` may hold distances of its rows.
    """
    limit = operator.n_samples - operator.trivial.shape[1]
    regression = criterion(operator, X, seed, by_distances=by_distances)
    steps: list[Step] = []
    scores, permuted = [], []
    for alphas in track(bandwidths[:limit], "coordinates"):
        step, score = _best_step(operator, solver, steps, alphas, regression, seed)
        if step is None:
            break
        shuffled = np.random.RandomState(seed).permutation(step.values)
        scores.append(score)
        permuted.append(regression.unexplained(np.column_stack([values_of(steps, operator), shuffled])).mean())
        if stops and steps and not _is_worth(scores[-2], scores[-1], permuted[-1]):
            break
        steps.append(step)
    return Selected(steps, np.array(scores), np.array(permuted))


def follow_bandwidths(operator: Operator, solver: EigenSolver, alphas: Sequence[float | None], seed: int) -> list[Step]:
    """Find one coordinate for each of the `alphas`, without the criterion; fewer if the kernel has no more."""
    steps: list[Step] = []
    for alpha in track(alphas, "coordinates"):
        step = next_coordinate(operator, solver, values_of(steps, operator), alpha, seed, rounding(steps))
        if step is None:
            break
        steps.append(step)
    return steps


def criterion(operator: Operator, X: Matrix, seed: int, *, by_distances: bool = False) -> NeighborRegression:
    """Prepare u on at most `SEARCH_ROWS` of the distinct rows of `X`, which may hold distances of its rows."""
    points = sample_rows(operator.n_samples, SEARCH_ROWS, np.random.RandomState(seed))
    rows = points if operator.row_points is None else np.unique(operator.row_points, return_index=True)[1][points]
    if by_distances:
        return NeighborRegression.of_distances(X[np.ix_(rows, rows)], points)
    return NeighborRegression.of(X[rows], points)


def _best_step(
    operator: Operator,
    solver: EigenSolver,
    steps: list[Step],
    alphas: Sequence[float | None],
    regression: NeighborRegression,
    seed: int,
) -> tuple[Step | None, float]:
    """Return the coordinate with the lowest u, of those within its standard error the one of the widest bandwidth."""
    F = values_of(steps, operator)
    tried: list[tuple[Step, NDArray]] = []
    for alpha in alphas:
        step = next_coordinate(operator, solver, F, alpha, seed, rounding(steps))
        if step is None:
            continue
        tried.append((step, regression.unexplained(np.column_stack([F, step.values]))))
        # More than √n means of n points are not known well enough to be zero, and narrower smoothers see even more.
        if step.rank > np.sqrt(len(F)):
            break
    best = min((errors for _, errors in tried), key=np.mean, default=np.empty(0))
    for step, errors in tried:
        if not _exceeds(errors, best):
            return step, float(errors.mean())
    return None, 1.0


def _exceeds(errors: NDArray, best: NDArray, significance: float = 1.0) -> bool:
    """Whether the mean of errors exceeds that of others, of the same rows, by more than that many standard errors."""
    difference = errors - best
    return bool(difference.mean() > significance * difference.std() / np.sqrt(len(difference)))


def best_rotation(regression: NeighborRegression, F: NDArray) -> NDArray:
    """Return the rotation (d, d) of the standardised columns of `F` after which the leading ones have the lowest u.

    The first one stays: a single coordinate explains most if it winds through several directions. Each further one is
    the combination of the remaining columns with the lowest u. As a function of the combination, u is approximated by a
    quadratic form, exact at the columns and at sums and differences of two. A column stays if u does not fall by
    `SIGNIFICANT` standard errors. The u of all columns does not depend on the rotation.
    """
    regression, R = regression.thinned(_ROTATION_ROWS), np.eye(F.shape[1])
    for i in range(1, F.shape[1] - 1):

        def errors(weights: NDArray, i: int = i) -> NDArray:
            return regression.unexplained(np.column_stack([F @ R[:, :i], F @ (R[:, i:] @ weights)]))

        unit = np.eye(F.shape[1] - i)
        tried = [errors(weights) for weights in unit]
        form = np.diag([each.mean() for each in tried])
        for j, k in combinations(range(len(form)), 2):
            form[j, k] = form[k, j] = (errors(unit[j] + unit[k]).mean() - errors(unit[j] - unit[k]).mean()) / 2
        turn = np.linalg.eigh(form)[1]
        turn *= np.sign(turn[np.abs(turn).argmax(axis=0), range(len(turn))])
        if _exceeds(tried[0], errors(turn[:, 0]), SIGNIFICANT):
            R[:, i:] = R[:, i:] @ turn
    return R


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


def warn_if_saturated(steps: list[Step], n: int) -> None:
    """Warn if a bandwidth that was given excludes more than half as many functions as there are points."""
    for number, step in enumerate(steps, start=1):
        if step.predictable is not None and is_saturated(step.predictable, n):
            warnings.warn(
                f"bandwidth={step.alpha:g} is so small that {step.rank} functions of the first {number - 1} "
                f"coordinates were excluded for coordinate {number}, of {n} samples; the rest is noise. Increase "
                "bandwidth, or leave it at 'auto'.",
                DegenerateDataWarning,
                stacklevel=outside(),
            )
            return
