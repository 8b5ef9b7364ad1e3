"""The modular loss in the eigenbasis of the kernel [Reeve2018, Def. 3 and Prop. 2].

With T = diag(d) and Z_m = F_m' F_m, F_m of shape (H, k):

    f = (1 - λ)/M Σ_m ‖Z_m - T‖² + λ ‖mean_m Z_m - T‖²

The loss of the paper is f / N². Directions beyond the k-th enter through the energy ‖T‖² only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["modular_loss_terms", "spectral_loss"]


def modular_loss_terms(F: NDArray, d: NDArray, energy: float) -> tuple[float, float]:
    """Mean loss of the single modules, and loss of their composite (both without the factor 1/N²)."""
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


def spectral_loss(F: NDArray, d: NDArray, lam: float, energy: float | None = None) -> float:
    """Return f for factors F of shape (M, H, k) and eigenvalues d (at least k of them)."""
    energy = float(np.sum(d**2)) if energy is None else energy
    single, composite = modular_loss_terms(F, d, energy)
    return (1 - lam) * single + lam * composite
