"""The modular problem: its loss, its lower bound, and how a solution of it is scored.

With T = diag(d), d descending (the eigenvalues of a centred kernel, or the singular values of centred data), and
modules Z_m of rank at most H,

    f = (1 - λ)/M Σ_m ‖Z_m - T‖² + λ ‖mean_m Z_m - T‖².

Modular kernel PCA has Z_m = F_m'F_m [Reeve2018, Def. 3 and Prop. 2] and reports f / N²; the linear autoencoder has
Z_m = A_m B_m T [Reeve2015]_ and reports f / N. Directions beyond the k-th enter through the energy ‖T‖² only.

The lower bound [docs/explanations/modular-closed-form.md]: with g(t) = t / ((1-λ) + λt), the allocation n maximises
Σ d_j² g(n_j/M) subject to 0 ≤ n_j ≤ M and Σ n_j = MH; then ‖T‖² - Σ d_j² g(n_j/M) ≤ f.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_DIVERSITY = 1e-8  # below, dividing by λ loses more digits than the diversity term is worth


@dataclass(frozen=True)
class ModularSolution:
    """Modules in the basis of the directions, as a solver leaves them.

    Parameters
    ----------
    factors : ndarray of shape (M, H, k)
        F_m, or the encoders B_m if there are decoders.
    loss_curve : sequence of float
        Loss after every epoch of an iterative solver.
    converged : bool
        Whether the solver met its tolerance.
    decoders : ndarray of shape (M, k, H), default=None
        A_m with orthonormal columns; None where Z_m = F_m'F_m.
    """

    factors: NDArray
    loss_curve: Sequence[float] = ()
    converged: bool = True
    decoders: NDArray | None = None

    @property
    def allocation(self) -> NDArray:
        """Share n_j of every direction in the modules' spaces, between 0 and M; they sum to M·H at full rank."""
        rows = self.factors if self.decoders is None else self.decoders.transpose(0, 2, 1)
        if rows.size == 0:
            return np.zeros(rows.shape[2])
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        Vt = Vt * (s > 1e-10 * s.max())[:, :, None]
        return np.einsum("mhk,mhk->k", Vt, Vt)


@dataclass(frozen=True, kw_only=True)
class ModularFit(ModularSolution):
    """A solution with its scores; all losses are in the units of the estimators: per pair of points, or per point.

    Parameters
    ----------
    single, composite : float
        Mean loss of the single modules, and loss of their mean.
    loss, bound, gap : float
        f, its lower bound, and (loss - bound) / bound.
    """

    single: float
    composite: float
    loss: float
    bound: float
    gap: float

    @property
    def n_iter(self) -> int:
        """Number of epochs; one for the closed form."""
        return len(self.loss_curve)


def score_solution(solution: ModularSolution, d: NDArray, lam: float, energy: float, unit: float) -> ModularFit:
    """Score a solution for directions `d` of a total `energy` (at least Σ d²); losses are divided by `unit`."""
    F, A = solution.factors, solution.decoders
    terms = modular_loss_terms(F, d, energy) if A is None else autoencoder_terms(A, F, d, energy)
    loss = (1 - lam) * terms[0] + lam * terms[1]
    bound = _lower_bound(d, F.shape[0], F.shape[1], lam, energy)
    beyond = max(energy - float(np.sum(d**2)), 0.0)  # solvers see the directions only
    return ModularFit(
        factors=F,
        decoders=A,
        loss_curve=tuple((value + beyond) / unit for value in solution.loss_curve) or (loss / unit,),
        converged=solution.converged,
        single=terms[0] / unit,
        composite=terms[1] / unit,
        loss=loss / unit,
        bound=bound / unit,
        gap=_relative_gap(loss, bound, energy, lam),
    )


def as_autoencoders(fit: ModularFit, d: NDArray) -> tuple[NDArray, NDArray]:
    """Return decoders A (M, k, H) with orthonormal columns and encoders B (M, H, k) with A_m B_m diag(d) = Z_m.

    A fit without decoders comes from the closed form: the rows of its factors are orthogonal.
    """
    if fit.decoders is not None:
        return fit.decoders, fit.factors
    F = fit.factors
    s = np.einsum("mhk,mhk->mh", F, F)  # F'F = V' diag(s) V
    V = F / np.sqrt(np.where(s > 0, s, 1.0))[:, :, None]
    return V.transpose(0, 2, 1), s[:, :, None] * V / d[: F.shape[2]]


def modular_loss_terms(F: NDArray, d: NDArray, energy: float) -> tuple[float, float]:
    """Mean loss of the single modules Z_m = F_m'F_m, and loss of their mean."""
    M, k = F.shape[0], F.shape[2]
    # Both terms are sums over the k × k corner plus what no module reaches; the latter has to come from a
    # difference, the former must not: near λ = 1 it is many orders below ‖T‖².
    outside = max(energy - float(np.sum(d[:k] ** 2)), 0.0)
    inner = np.matmul(F, F.transpose(0, 2, 1))  # (M, H, H)
    norms = np.sum(inner**2, axis=(1, 2))
    products = np.einsum("mhk,mhk,k->m", F, F, d[:k])
    single = float(np.mean(norms - 2 * products) + np.sum(d[:k] ** 2))
    rows = F.reshape(F.shape[0] * F.shape[1], k)
    composite = rows.T @ rows / M
    composite[np.diag_indices(k)] -= d[:k]
    return max(single, 0.0) + outside, float(np.sum(composite**2)) + outside


def autoencoder_terms(A: NDArray, B: NDArray, d: NDArray, energy: float) -> tuple[float, float]:
    """Mean loss of the single modules Z_m = A_m B_m T, and loss of their mean."""
    M, k, _ = A.shape
    outside = max(energy - float(np.sum(d[:k] ** 2)), 0.0)
    single, mean = 0.0, np.zeros((k, k))
    for decoder, encoder in zip(A, B * d[:k], strict=True):
        residual = decoder @ encoder
        mean += residual / M
        residual[np.diag_indices(k)] -= d[:k]
        single += float(np.sum(residual**2)) / M
    mean[np.diag_indices(k)] -= d[:k]
    return single + outside, float(np.sum(mean**2)) + outside


def spectral_loss(F: NDArray, d: NDArray, lam: float, energy: float | None = None) -> float:
    """Return f for factors F of shape (M, H, k) and eigenvalues d (at least k of them)."""
    energy = float(np.sum(d**2)) if energy is None else energy
    single, composite = modular_loss_terms(F, d, energy)
    return (1 - lam) * single + lam * composite


@dataclass(frozen=True)
class Allocation:
    """Copies n_j of every direction, the water level β and the counts of full and open directions."""

    copies: NDArray  # (k,), descending
    level: float  # β: every active, unsaturated direction has d_j = β((1-λ) + λ n_j / M)
    saturated: int  # q: directions that every module holds
    active: int  # p: directions that some module holds


def waterfill(d: NDArray, M: int, H: int, lam: float) -> Allocation:
    """Allocate M·H copies over descending eigenvalues d, at most M each, for k = len(d) ≤ M·H."""
    k = d.size
    if k <= H or lam < MIN_DIVERSITY:
        n = np.where(np.arange(k) < H, float(M), 0.0)
        return Allocation(n, float(d[min(H, k) - 1]), min(H, k), min(H, k))
    u = _inverse_level(d, M, H, lam)
    n = np.clip((M / lam) * (d * u - (1 - lam)), 0, M)
    n[n < 1e-12 * M] = 0
    n[n > (1 - 1e-12) * M] = M
    return Allocation(n, 1 / u, int(np.sum(n == M)), int(np.sum(n > 0)))


def _inverse_level(d: NDArray, M: int, H: int, lam: float) -> float:
    """Solve Σ clip(M/λ (d_j u - (1-λ)), 0, M) = MH for u = 1/β: piecewise linear and increasing."""
    sums = np.concatenate([[0.0], np.cumsum(d)])
    breaks = np.unique(np.concatenate([(1 - lam) / d, 1 / d]))

    def pieces(u: NDArray) -> tuple[NDArray, NDArray]:
        saturated = np.searchsorted(-d, -1 / u, side="right")
        active = np.searchsorted(-d, -(1 - lam) / u, side="left") if lam < 1 else np.full(u.shape, d.size)
        return saturated, np.maximum(active, saturated)

    inner = breaks[breaks > 0]
    q, p = pieces(inner)
    filled = q + (inner * (sums[p] - sums[q]) - (1 - lam) * (p - q)) / lam
    i = int(np.searchsorted(filled, H, side="left"))
    # The solution lies on the linear piece that ends at breakpoint i: its counts are those just before it.
    before = np.array([inner[0] * 0.5 if i == 0 else 0.5 * (inner[i - 1] + inner[i])])
    (q,), (p,) = pieces(before)
    if p == q:  # a flat piece: H directions are full and no other has begun
        return float(before[0])
    return float((lam * (H - q) + (1 - lam) * (p - q)) / (sums[p] - sums[q]))


def bound_of(d: NDArray, allocation: Allocation, M: int, lam: float, energy: float | None = None) -> float:
    """Lower bound of the loss, ‖T‖² - Σ d_j² g(n_j/M), summed without cancellation."""
    k = allocation.copies.size
    t = allocation.copies / M
    # 1 - g(t) = (1-λ)(1-t) / ((1-λ) + λt), and 1 where t = 0 (also for λ = 1).
    rest = np.ones(k)
    np.divide((1 - lam) * (1 - t), (1 - lam) + lam * t, out=rest, where=t > 0)
    outside = 0.0 if energy is None else max(energy - float(np.sum(d[:k] ** 2)), 0.0)
    return float(np.sum(d[:k] ** 2 * rest)) + outside


def _lower_bound(d: NDArray, M: int, H: int, lam: float, energy: float) -> float:
    """Lower bound for any number of directions; all of the energy if there are none."""
    top = d[: M * H]
    return bound_of(top, waterfill(top, M, H, lam), M, lam, energy) if top.size else energy


def _relative_gap(loss: float, bound: float, energy: float, lam: float) -> float:
    """Return (loss - bound) / bound, with differences and bounds below rounding taken as zero."""
    eps = np.finfo(np.float64).eps
    # The loss of the single modules is a difference of terms as large as the energy.
    rounding, floor = 4 * eps * (1 - lam) * energy, max(bound, eps * energy)
    return (loss - bound) / floor if loss - bound > rounding else 0.0
