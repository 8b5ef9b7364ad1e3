"""Algorithm 1 of [Blau2017]: coordinates one by one, each unpredictable from those before.

Step i solves, in the measure w of the kernel (`polyfold.kernels`), with g = √w f,

    max gᵀ K g   with   ‖g‖ = 1,   Σ w f = 0 (per component),   Σ m f v = 0 for every v the smoother sees,

[Blau2017, eq. 11 and 12] → `next_coordinate`; the loop over steps 4–9 is in `_search.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polyfold.kernels import GraphOperator, KernelOperator
from polyfold.nonredundant._deflation import ConstrainedSolver
from polyfold.nonredundant._policy import CLOSE, TIES, Judge, evenest, mostly_news
from polyfold.nonredundant._smoother import Predictable, predictable_functions

__all__ = ["Problem", "Settings", "Step", "bandwidth_of", "next_coordinate"]


@dataclass(frozen=True)
class Problem:
    """A kernel operator seen as problem (4): its measure, its trivial directions, its constrained solver."""

    operator: KernelOperator
    weights: NDArray  # (n,) w
    measure: NDArray  # (n,) m, in which the smoother averages
    trivial: NDArray  # (n, c), in g = √w f
    solver: ConstrainedSolver

    @classmethod
    def of(cls, operator: KernelOperator, solver: ConstrainedSolver) -> Problem:
        """Read the measure and the trivial directions off `operator`; without them, ones."""
        n = operator.n_samples
        weights = getattr(operator, "weights", np.ones(n))
        measure = operator.measure if isinstance(operator, GraphOperator) else np.ones(n)
        trivial = np.ones((n, 1)) if operator.trivial is None else operator.trivial
        return cls(operator, weights, measure, trivial, solver)

    def cost_of(self, g: NDArray) -> float:
        """Return gᵀ cost g, or 1/gᵀKg where the kernel has no cost."""
        cost = getattr(self.operator, "cost", None)
        if cost is None:
            return 1.0 / max(float(g @ (self.operator.matrix @ g)), np.finfo(np.float64).tiny)
        return max(float(g @ (cost @ g)), np.finfo(np.float64).tiny)


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

    `alpha` and `bandwidth` are those of the smoother on the earlier coordinates (None for the first);
    `intercepts` (one per component) and `slopes` give the predictable part that the deflation took off.
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
    news: float = np.nan

    def with_news(self, news: float) -> Step:
        """Return a copy that knows the share of its variance that is news."""
        return replace(self, news=news)

    def slim(self) -> Step:
        """Return a copy without the values of the excluded functions, which only fitting needs."""
        return self if self.predictable is None else replace(self, predictable=self.predictable.slim())

    @property
    def rank(self) -> int:
        """Number of functions of the earlier coordinates that were excluded."""
        return 0 if self.predictable is None else self.predictable.rank


def bandwidth_of(F: NDArray, alpha: float) -> float:
    """Return h = α (Σ_j ‖f_j‖² / N)^½ [Blau2017, section 5]."""
    return np.inf if np.isinf(alpha) else alpha * float(np.sqrt(np.sum(F**2) / len(F)))


def next_coordinate(
    problem: Problem,
    F: NDArray,
    alpha: float | None,
    settings: Settings,
    start: NDArray,
    judge: Judge | None = None,
) -> Step:
    """Find the coordinate after the columns of `F` (n, i − 1), with bandwidth factor `alpha`.

    With a `judge`, ties are settled as `polyfold.nonredundant._policy` says; without, this is Algorithm 1.
    """
    predictable = None
    if F.shape[1]:
        assert alpha is not None
        predictable = predictable_functions(
            F,
            bandwidth_of(F, alpha),
            problem.measure,
            smoother=settings.smoother,
            dense=settings.dense,
            cut=settings.cut,
            rng=np.random.RandomState(settings.seed),
        )
    Q, T = _orthonormal(problem.trivial, predictable, problem.measure / np.sqrt(problem.weights))
    g = problem.solver.top(Q, 1, start)[:, 0] if judge is None else _settled(problem, Q, judge, start)
    return _step(problem, g, Q, T, predictable, alpha)


def _settled(problem: Problem, Q: NDArray, judge: Judge, start: NDArray) -> NDArray:
    """Of the directions that cost nearly the same, the evenest that is mostly news; without news, the cheapest."""
    # New points of kernels without a cost are placed by the eigenvector equation, which a mixture does not satisfy.
    most = 1 if getattr(problem.operator, "cost", None) is None else TIES
    G = problem.solver.top(Q, max(1, min(most, len(Q) - Q.shape[1])), start)
    costs = np.array([problem.cost_of(g) for g in G.T])
    G = G[:, : max(1, int(np.count_nonzero(costs <= (1 + CLOSE) * costs[0])))]
    root = np.sqrt(problem.weights)[:, None]
    U = mostly_news(judge(G / root))
    return G[:, 0] if U.shape[1] == 0 else G @ U @ evenest(G @ U, Q / root, problem.weights)


def _orthonormal(trivial: NDArray, predictable: Predictable | None, factor: NDArray) -> tuple[NDArray, NDArray]:
    """Q (n, q) spanning the trivial and predictable directions, and T with Q = [trivial, V m/√w] T."""
    parts = [trivial] if predictable is None else [trivial, predictable.values * factor[:, None]]
    X = np.concatenate(parts, axis=1)
    norms = np.linalg.norm(X, axis=0)
    d, U = np.linalg.eigh((X / norms).T @ (X / norms))
    keep = d > 1e-8 * d[-1]
    T = (U[:, keep] / np.sqrt(d[keep])) / norms[:, None]
    # The Gram matrix squares the condition, so one QR restores orthogonality to rounding.
    Q, R = np.linalg.qr(X @ T)
    return Q, np.linalg.solve(R.T, T.T).T


def _step(
    problem: Problem,
    g: NDArray,
    Q: NDArray,
    T: NDArray,
    predictable: Predictable | None,
    alpha: float | None,
) -> Step:
    root = np.sqrt(problem.weights)
    raw = g / root
    image = problem.operator.matrix @ g
    taken = T @ (Q.T @ image)
    n_trivial = problem.trivial.shape[1]
    # The trivial columns are √w times the indicators, so their coefficients are intercepts of f.
    scale_of = problem.trivial.max(axis=0) / root[problem.trivial.argmax(axis=0)]
    slopes = np.empty(0) if predictable is None else predictable.coefficients @ taken[n_trivial:]
    center, scale = float(raw.mean()), max(float(raw.std()), np.finfo(np.float64).tiny)
    sign = 1.0 if raw[np.argmax(np.abs(raw - center))] >= center else -1.0
    return Step(
        values=sign * (raw - center) / scale,
        raw=raw,
        eigenvalue=float(g @ image),
        center=center,
        scale=sign * scale,
        predictable=predictable,
        intercepts=taken[:n_trivial] * scale_of,
        slopes=slopes,
        alpha=alpha,
    )
