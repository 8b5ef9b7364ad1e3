"""Choose among directions that cost nearly the same: the one whose size the earlier coordinates do not predict.

On a long strip the constrained minimum is cos(πx₂/L₂), but cos(πx₂/L₂)·u(x₁) with a slow u costs hardly more, and a
random sample decides which comes first. Where u vanishes, the coordinate says nothing of x₂. Algorithm 1 of [Blau2017]
asks for E[f | F] = 0 and is silent on E[f² | F] = u². So of the directions g within `CLOSE` of the smallest cost, take

    argmin Σ_v (Σ_i v(F_i) f_i²)²   over unit combinations f = Σ_k c_k f_k,   v the excluded functions of F,

the most even spread. That is a quartic in a handful of numbers c: `_evenest`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from polyfold.kernels import Operator, intrinsic_dimension
from polyfold.spectra import EigenSolver

CLOSE = 0.2
LOW_DIMENSION = 5
_MOST = 5
_STARTS = 8


def is_manifold(operator: Operator) -> bool:
    """Whether a cost is minimised on a graph of data with at most `LOW_DIMENSION` intrinsic dimensions."""
    if operator.cost is None or operator.near is None:
        return False
    return intrinsic_dimension(operator.near.distances) <= LOW_DIMENSION


@dataclass(frozen=True)
class EvenSolver:
    """A constrained solver that settles near ties by the spread."""

    solver: EigenSolver
    cost: Any
    root: NDArray  # (n,) √w
    n_trivial: int

    @classmethod
    def of(cls, operator: Operator, solver: EigenSolver) -> "EvenSolver":
        """Wrap the solver of `operator`."""
        return cls(solver, operator.cost, np.sqrt(operator.weights), int(operator.components.max()) + 1)

    def top(self, Q: NDArray, k: int, start: NDArray | None = None, tol: float = 1e-6) -> tuple[NDArray, NDArray]:
        """Return a unit vector g ⟂ Q whose cost is within `CLOSE` of the smallest."""
        if Q.shape[1] <= self.n_trivial:
            return self.solver.top(Q, k, start, tol)
        nu, G = self.solver.top(Q, min(_MOST, len(Q) - Q.shape[1]), start, tol)
        costs = np.einsum("ij,ij->j", G, self.cost @ G)
        G = G[:, costs <= (1 + CLOSE) * costs[0]]
        return nu[:1], (G @ _evenest(_spreads(G, Q / self.root[:, None], self.root**2)))[:, None]


def _spreads(G: NDArray, V: NDArray, weights: NDArray) -> NDArray:
    """Σ_i v_i g_ik g_il less its value for an even spread, for every column v of `V` (n, q), shape (q, k, k)."""
    k = G.shape[1]
    products = (G[:, :, None] * G[:, None, :]).reshape(len(G), k * k)
    A = (V.T @ products).reshape(-1, k, k)
    return A - np.average(V, axis=0, weights=weights)[:, None, None] * np.eye(k)


def _evenest(A: NDArray) -> NDArray:
    """Find the unit c that minimises Σ_v (cᵀ A_v c)², the best of several descents."""
    k = A.shape[1]
    if k == 1:
        return np.ones(1)

    def unevenness(c: NDArray) -> tuple[float, NDArray]:
        size = np.linalg.norm(c)
        c = c / size
        Ac = A @ c
        s = Ac @ c
        slope = 4.0 * (s @ Ac)
        return float(s @ s), (slope - (slope @ c) * c) / size

    starts = np.concatenate([np.eye(k), np.random.RandomState(0).standard_normal((_STARTS, k))])
    ends = [minimize(unevenness, c, jac=True) for c in starts]
    c = min(ends, key=lambda end: float(end.fun)).x
    return c / np.linalg.norm(c)
