"""What every solver of the modular problem returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ModularSolution"]


@dataclass(frozen=True)
class ModularSolution:
    """Modules in the eigenbasis of the kernel.

    Parameters
    ----------
    factors : ndarray of shape (M, H, k)
        Module m approximates diag(d) by F_m'F_m; its map is φ_m(x) = F_m diag(1/√d) c(x).
    loss_curve : list of float
        Loss after every epoch of an iterative solver; empty for the closed form.
    converged : bool
        Whether the solver met its tolerance.
    """

    factors: NDArray
    loss_curve: list[float] = field(default_factory=list)
    converged: bool = True

    @property
    def allocation(self) -> NDArray:
        """Share n_j of every direction in the modules' spaces, between 0 and M; they sum to M·H at full rank."""
        if self.factors.size == 0:
            return np.zeros(self.factors.shape[2])
        _, s, Vt = np.linalg.svd(self.factors, full_matrices=False)
        Vt = Vt * (s > 1e-10 * s.max())[:, :, None]
        return np.einsum("mhk,mhk->k", Vt, Vt)
