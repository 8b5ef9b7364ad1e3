"""How much of every direction the modules share: the lower bound of the modular loss.

See docs/theory/modular-closed-form.md. With g(t) = t / ((1-λ) + λt), the allocation n maximises
Σ d_j² g(n_j/M) subject to 0 ≤ n_j ≤ M and Σ n_j = MH; then ‖T‖² - Σ d_j² g(n_j/M) is a lower bound of f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MIN_DIVERSITY", "Allocation", "bound_of", "waterfill"]

MIN_DIVERSITY = 1e-8  # below, dividing by λ loses more digits than the diversity term is worth


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
