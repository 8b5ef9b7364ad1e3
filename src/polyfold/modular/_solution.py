"""What every solver of the modular problem returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy.typing import NDArray

__all__ = ["ModularSolution"]


@dataclass(frozen=True)
class ModularSolution:
    """Modules in the eigenbasis of the kernel.

    Parameters
    ----------
    factors : ndarray of shape (M, H, k)
        Module m approximates diag(d) by F_m'F_m; its map is φ_m(x) = F_m diag(1/√d) c(x).
    allocation : ndarray of shape (k,)
        Share of every direction, summed over the modules: the n_j of the closed form.
    loss_curve : list of float
        Loss after every epoch of an iterative solver; empty for the closed form.
    converged : bool
        Whether the solver met its tolerance.
    """

    factors: NDArray
    allocation: NDArray
    loss_curve: list[float] = field(default_factory=list)
    converged: bool = True
