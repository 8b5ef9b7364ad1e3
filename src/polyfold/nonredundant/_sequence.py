"""Algorithm 1 of [Blau2017]: coordinates one by one, each unpredictable from those before, and its open questions.

Step i solves, in the measure w of the operator (`polyfold.kernels`), with g = √w f,

    max gᵀ K g   with   ‖g‖ = 1,   Σ w f = 0 (per component),   Σ m f v = 0 for every v the smoother sees,

[Blau2017, eq. 11 and 12] → `next_coordinate`; steps 4–9 → `nonredundant_sequence`.

**The policy.** The paper leaves open how wide the smoother is, which of nearly equal directions to take and when to
stop. One score decides: the share of a coordinate's variance that is *news*, what leave-one-out regression on the
earlier coordinates F leaves of it with the bandwidth that predicts best (`Judge`). A harmonic of F has a share near 0,
a new direction one near 1, and half (`MOSTLY`) tells them apart.

    Take the widest smoother that leaves a direction of which most is news; where none does, the widest.

- Widths: the plain coordinate first (`PLAIN`: only uncorrelated with F), then `WIDTHS`, the range of the paper.
  Narrower ones cost more and bend what they leave. Once the plain coordinate is no news it is not tried again: the
  harmonic that it shows stays the cheapest direction. Where nothing is news (clusters, late coordinates of images), the
  widest of `WIDTHS` is kept: on MNIST and a bootstrap network's graph narrower ones raised the error.
- Not tried are widths that see more than √n functions of F, since so many means of n points are not known well enough
  to be zeroed, or more than `MOST_FUNCTIONS`, which bounds the time.
- Ties: directions within `CLOSE` of the smallest cost are one choice, made by the sample. A harmonic that costs the
  same mixes with the new direction: combinations that are mostly predictable are dropped. cos(πx₂)·u(x₁) with a slow u
  costs hardly more than cos(πx₂), and where u vanishes x₂ cannot be read off. E[f | F] = 0 is silent on E[f² | F] = u²:
  take the combination whose size F predicts least (`evenest`).
- Graphs of data with more than `FEW_DIMENSIONS` intrinsic dimensions, such as images of digits, keep the widest of
  `WIDTHS` and no ties: with the rule above, errors of a classifier on three coordinates of MNIST rose from 9 to 11 to
  10 to 17 %, since what distinguishes digits is partly predictable there, and many directions cost nearly the same.
- ``n_components="auto"`` stops before a coordinate of which less than half is news that neighbours in the data share.

Evidence: docs/guide/nonredundant.md, "The policy", and benchmarks/studies/nonredundant.py. A given width is the paper's
algorithm to the letter.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold._regression import loo_rows
from polyfold._typing import Matrix
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import Operator, intrinsic_dimension
from polyfold.nonredundant._smoother import Predictable, gaussian_block, is_saturated, predictable_functions
from polyfold.spectra import EigenSolver, residuals

PLAIN = np.inf
WIDTHS = (0.6, 0.35, 0.2, 0.12)
CLOSE, TIES = 0.2, 5
MOSTLY = 0.5
MOST_FUNCTIONS = 40
FEW_DIMENSIONS = 5
MAX_AUTO_COMPONENTS = 15
_REFERENCES, _QUERIES = 2500, 300
_STARTS, _DESCENTS = 8, 300
_TOL = 1e-6
# Eigenvalues below this share of the first are rounding.
_ROUNDING = 1e-10
# A walk of many steps that has this little of a direction left says nothing of new points.
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

    `alpha` is the width of the smoother on the earlier coordinates (None for the first); `intercepts` (one per
    component) and `slopes` give the part that the constraints took off. `residual` says
    how well the eigenproblem was solved: the norm of what is left of its equation, beside its cost or eigenvalue.
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
    residual: float = np.nan

    def slim(self) -> "Step":
        """Return a copy without the values of the excluded functions, which only fitting needs."""
        return self if self.predictable is None else replace(self, predictable=self.predictable.slim())

    @property
    def rank(self) -> int:
        """Number of functions of the earlier coordinates that were excluded."""
        return 0 if self.predictable is None else self.predictable.rank


def nonredundant_sequence(
    operator: Operator, solver: EigenSolver, n_components: int | None, alpha: float | None, settings: Settings
) -> list[Step]:
    """Find coordinates one by one; fewer than asked for where the kernel has no more.

    Parameters
    ----------
    operator : Operator
    solver : EigenSolver
    n_components : int or None
        None stops before the first coordinate that is mere noise or hardly news, at most 15.
    alpha : float or None
        Bandwidth factor; None follows the policy.
    settings : Settings
    """
    limit = MAX_AUTO_COMPONENTS if n_components is None else n_components
    limit = min(limit, operator.n_samples - operator.trivial.shape[1])
    steps: list[Step] = []
    for step in track(_coordinates(operator, solver, alpha, settings), "coordinates", total=limit):
        if n_components is None and steps and step.news - _noise(operator, step.values) < MOSTLY:
            break
        steps.append(step)
        if len(steps) == limit:
            break
    if alpha is not None:
        _warn_if_saturated(steps, operator.n_samples)
    return steps


def _noise(operator: Operator, f: NDArray) -> float:
    """Share of the variance of `f` that the mean over neighbours in the data leaves."""
    if operator.near is None or operator.has_units:
        return 0.0
    return float(np.mean((f - f[operator.near.indices].mean(axis=1)) ** 2) / f.var())


def _coordinates(operator: Operator, solver: EigenSolver, alpha: float | None, settings: Settings) -> Iterator[Step]:
    """Yield coordinates as long as there are any, each unpredictable from those yielded before."""
    n = operator.n_samples
    start = np.random.RandomState(settings.seed).standard_normal(n)
    F, lowest = np.empty((n, 0)), 0.0
    step = next_coordinate(operator, solver, F, None, settings, start)
    widths = _widths(operator) if alpha is None else (alpha,)
    while step is not None:
        yield step
        F = np.column_stack([F, step.values])
        lowest = lowest or _ROUNDING * abs(step.eigenvalue)
        judge, best = Judge.of(F, settings.seed), None
        for width in widths:
            if best is not None and _is_too_fine(F, width, settings):
                break
            ties = judge if len(widths) > 1 else None
            step = next_coordinate(operator, solver, F, width, settings, start, ties, lowest)
            step = None if step is None else replace(step, news=float(judge(step.values[:, None])[0, 0]))
            if step is not None and step.news >= MOSTLY:
                best = step
                break
            if width != PLAIN and best is None:
                best = step
        step = best
        if step is not None and step.alpha != PLAIN:
            widths = tuple(width for width in widths if width != PLAIN)


def _widths(operator: Operator) -> tuple[float, ...]:
    """Widths to try; only the first of `WIDTHS` on graphs of data with many intrinsic dimensions."""
    if operator.cost is None or operator.near is None or intrinsic_dimension(operator.near.distances) <= FEW_DIMENSIONS:
        return (PLAIN, *WIDTHS)
    return WIDTHS[:1]


def bandwidth_of(F: NDArray, alpha: float) -> float:
    """Return h = α (Σ_j ‖f_j‖² / N)^½ [Blau2017, section 5]."""
    return np.inf if np.isinf(alpha) else alpha * float(np.sqrt(np.sum(F**2) / len(F)))


def next_coordinate(
    operator: Operator,
    solver: EigenSolver,
    F: NDArray,
    alpha: float | None,
    settings: Settings,
    start: NDArray,
    judge: "Judge | None" = None,
    lowest: float = 0.0,
) -> Step | None:
    """Find the coordinate after the columns of `F` (N, i − 1), with bandwidth factor `alpha`; None if none is left.

    With a `judge`, ties are settled by the policy; without, this is Algorithm 1. Nothing is left of a kernel with units
    where the eigenvalue is not above `lowest`, its rounding.
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
    left = operator.n_samples - Q.shape[1]
    if left <= 0:
        return None
    # New points of kernels without a cost are placed by the eigenvector equation, which a mixture does not satisfy.
    most = 1 if judge is None or operator.cost is None else min(TIES, left)
    G = solver.top(Q, most, start, _TOL)[1]
    g = G[:, 0] if most == 1 or judge is None else _settled(operator, G, Q, judge)
    step = replace(_step(operator, g, Q, T, predictable, alpha), residual=float(residuals(operator, Q, G[:, :1])[0]))
    if operator.steps > 1 and step.eigenvalue <= _DECAYED:
        return None
    return None if operator.has_units and abs(step.eigenvalue) <= lowest else step


def _settled(operator: Operator, G: NDArray, Q: NDArray, judge: "Judge") -> NDArray:
    """Of the directions that cost nearly the same, the evenest that is mostly news; without news, the cheapest."""
    costs = np.maximum(np.einsum("ij,ij->j", G, operator.cost @ G), np.finfo(np.float64).tiny)
    G = G[:, costs <= (1 + CLOSE) * costs[0]]
    root = np.sqrt(operator.weights)[:, None]
    U = mostly_news(judge(G / root))
    return G[:, 0] if U.shape[1] == 0 else G @ U @ evenest(G @ U, Q / root, operator.weights)


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


@dataclass(frozen=True)
class Judge:
    """Says what share of a coordinate's variance is news beside the earlier ones."""

    rows: NDArray  # (b, q, m): the regression at the queries, one matrix for each bandwidth
    references: NDArray  # (m,)
    queries: NDArray  # (q,), places among the references

    @classmethod
    def of(cls, F: NDArray, seed: int) -> "Judge":
        """Prepare the regressions on `F` (n, p), which all candidates share."""
        rng = np.random.RandomState(seed)
        references = _some(len(F), _REFERENCES, rng)
        queries = _some(len(references), _QUERIES, rng)
        return cls(loo_rows(F[references], queries), references, queries)

    def __call__(self, F: NDArray) -> NDArray:
        """Return the matrix (k, k) of news of the columns of `F` (n, k): its diagonal holds their shares."""
        F = (F - F.mean(axis=0))[self.references] / np.maximum(F.std(axis=0), np.finfo(np.float64).tiny)
        left = F[self.queries] - self.rows @ F
        left = left[np.mean(left**2, axis=(1, 2)).argmin()]
        return left.T @ left / len(left)


def mostly_news(news: NDArray) -> NDArray:
    """Return the orthonormal combinations (k, m) of which most is news, by the matrix of news (k, k)."""
    shares, U = np.linalg.eigh(news)
    return U[:, shares >= MOSTLY]


def _some(n: int, most: int, rng: np.random.RandomState) -> NDArray:
    return np.arange(n) if n <= most else rng.choice(n, most, replace=False)


def _is_too_fine(F: NDArray, alpha: float, settings: Settings) -> bool:
    """Whether a smoother of the rows of `F` sees more functions than are tried, judged by four times as many rows."""
    most = min(np.sqrt(len(F)), MOST_FUNCTIONS)
    rows = F[_some(len(F), int(4 * most), np.random.RandomState(settings.seed))]
    G = gaussian_block(rows, rows, bandwidth_of(F, alpha))
    root = np.sqrt(G.sum(axis=1))
    gains = np.linalg.eigvalsh(G / root / root[:, None])
    return bool(np.count_nonzero(gains > settings.cut * gains[-1]) > most)


def evenest(G: NDArray, V: NDArray, weights: NDArray) -> NDArray:
    """Return unit c for which V (n, q), functions of F, predict the size of G c (n, k) least.

    Minimises Σ_v (cᵀA_v c)² with A_v = Σ_i v_i (g_i g_iᵀ − I) by shifted power iteration [Kolda2011] from many starts.
    """
    k = G.shape[1]
    if k == 1:
        return np.ones(1)
    products = (G[:, :, None] * G[:, None, :]).reshape(len(G), k * k)
    A = V.T @ products - np.average(V, axis=0, weights=weights)[:, None] * np.eye(k).ravel()
    quartic = A.T @ A
    shift = max(float(np.linalg.eigvalsh(quartic)[-1]), np.finfo(np.float64).tiny)
    best = np.eye(k)[0]
    C = np.concatenate([np.eye(k), np.random.RandomState(0).standard_normal((_STARTS, k))])
    for _ in range(_DESCENTS):
        C /= np.linalg.norm(C, axis=1, keepdims=True)
        slopes = ((C[:, :, None] * C[:, None, :]).reshape(-1, k * k) @ quartic).reshape(-1, k, k)
        values = np.einsum("skl,sk,sl->s", slopes, C, C)
        best = C[values.argmin()]
        C = shift * C - np.einsum("skl,sl->sk", slopes, C)
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
