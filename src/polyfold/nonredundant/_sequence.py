"""Algorithm 1 of [Blau2017]: coordinates one by one, each unpredictable from the earlier ones.

Step i solves, in the measure w of the operator (`polyfold.kernels`), with g = √w f,

    max gᵀ K g   with   ‖g‖ = 1,   Σ w f = 0 (per component),   Σ m f v = 0 for every v the smoother sees,

[Blau2017, eq. 11 and 12] → `next_coordinate`; steps 4–9 → `given_sequence`. The paper leaves the bandwidth of the
smoother and the number of coordinates to the user; `_criterion.py` selects them.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold._typing import Matrix
from polyfold._validation import outside
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import Operator
from polyfold.nonredundant._smoother import Predictable, is_saturated, predictable_functions
from polyfold.spectra import EigenSolver, residuals

_TOL = 1e-6
# Eigenvalues below this fraction of the first are rounding.
_ROUNDING = 1e-10
# A walk of many steps that has this little of a direction left cannot be extended to new points.
_DECAYED = 1e-4


@dataclass(frozen=True)
class Settings:
    """How smoothing is done: the kind, the cut on its gains, dense or low rank, and its randomness."""

    smoother: str = "nadaraya_watson"
    cut: float = 0.03
    dense: bool = False
    seed: int = 0


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


def given_sequence(
    operator: Operator, solver: EigenSolver, alphas: list[float | None], settings: Settings
) -> list[Step]:
    """Find one coordinate for every bandwidth factor, the first of which is None; fewer if the kernel has no more."""
    steps: list[Step] = []
    for alpha in track(alphas, "coordinates"):
        step = next_coordinate(operator, solver, values_of(steps, operator), alpha, settings, rounding(steps))
        if step is None:
            break
        steps.append(step)
    return steps


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
    settings: Settings,
    lowest: float = 0.0,
) -> Step | None:
    """Find the coordinate after the columns of `F` (N, i − 1), with bandwidth factor `alpha`; None if none is left.

    A kernel with units has no direction left if the eigenvalue is not above `lowest`, its rounding.
    """
    predictable = None
    if F.shape[1]:
        assert alpha is not None
        predictable = predictable_functions(
            F,
            bandwidth_of(F, alpha),
            operator.measure,
            smoother=settings.smoother,
            dense=settings.dense,
            cut=settings.cut,
            rng=np.random.RandomState(settings.seed),
        )
    Q, T = _orthonormal(operator, predictable)
    if Q.shape[1] >= operator.n_samples:
        return None
    start = np.random.RandomState(settings.seed).standard_normal(operator.n_samples)
    G = solver.top(Q, 1, start, _TOL)[1]
    step = replace(_step(operator, G[:, 0], Q, T, predictable, alpha), residual=float(residuals(operator, Q, G)[0]))
    if operator.steps > 1 and step.eigenvalue <= _DECAYED:
        return None
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
            predictable = (step.predictable.features(F[:, :i]) @ step.slopes)[:, None]
        eigenvalue, intercepts = np.array([step.eigenvalue]), step.intercepts[:, None]
        raw = extension.values(step.raw[:, None], eigenvalue, intercepts, predictable)
        F[:, i] = (raw[:, 0] - step.center) / step.scale
    return F


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
