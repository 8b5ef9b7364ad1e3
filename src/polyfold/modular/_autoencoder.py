"""Linear modular autoencoders in the basis of the principal directions [Reeve2015].

With T = diag(d), d the singular values of the centred data, and a module's reconstruction Y_m = A_m B_m T,

    N · E_λ = (1 - λ)/M Σ_m ‖Y_m - T‖² + λ ‖mean_m Y_m - T‖²,

the function that modular kernel PCA minimises over Y_m = F_m'F_m. So its closed form serves here, with
A_m B_m = F_m'F_m diag(1/d) [docs/theory/modular-closed-form.md, 2c]. Decoders have orthonormal columns, as in
Algorithm 1; that fixes the scale of the codes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyfold.modular._closed import solve_closed

__all__ = ["AutoencoderSolution", "autoencoder_terms", "solve_closed_autoencoder"]


@dataclass(frozen=True)
class AutoencoderSolution:
    """Modules in the basis of the principal directions.

    Parameters
    ----------
    decoders : ndarray of shape (M, k, H)
        A_m; orthonormal columns.
    encoders : ndarray of shape (M, H, k)
        B_m.
    loss_curve : list of float
        N · E_λ after every epoch of an iterative solver; empty for the closed form.
    converged : bool
        Whether the solver met its tolerance.
    """

    decoders: NDArray
    encoders: NDArray
    loss_curve: list[float] = field(default_factory=list)
    converged: bool = True


def autoencoder_terms(A: NDArray, B: NDArray, d: NDArray, energy: float) -> tuple[float, float]:
    """Mean squared error of the single modules, and that of their mean (both times N)."""
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


def solve_closed_autoencoder(
    values: NDArray, n_modules: int, n_components: int, diversity: float, rng: np.random.RandomState
) -> AutoencoderSolution:
    """Global minimum wherever the frame exists: the closed form on singular values."""
    F = solve_closed(values, n_modules, n_components, diversity, rng).factors
    k = F.shape[2]
    # The rows of a module's factor are orthogonal, so F'F = V' diag(s) V needs no decomposition.
    s = np.einsum("mhk,mhk->mh", F, F)
    V = F / np.sqrt(np.where(s > 0, s, 1.0))[:, :, None]
    return AutoencoderSolution(V.transpose(0, 2, 1), s[:, :, None] * V / values[:k])
