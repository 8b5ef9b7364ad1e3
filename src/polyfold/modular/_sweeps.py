"""Module by module: Algorithm 1 of [Reeve2018]_.

Equations: `sweep_module` is the inner loop (T, RT_H and the running sum S), `solve_sweeps` the outer one.
Deviations: (1) everything happens in the top k = min(r, M·H) directions, where the result is the same
[docs/explanations/modular-closed-form.md, 2a]; (2) the sweeps end when an epoch lowers the loss by less than `tol`
relative to it, instead of after a fixed number.
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold.modular._problem import ModularSolution, spectral_loss


def approximate_root(T: NDArray, H: int) -> NDArray:
    """RT_H(T): F of shape (H, k) that minimises ‖F'F - T‖ [Reeve2018, Def. 5]."""
    k = T.shape[0]
    d, U = scipy.linalg.eigh(T, subset_by_index=(max(k - H, 0), k - 1), check_finite=False)
    F = np.zeros((H, k), dtype=T.dtype)
    F[: d.size] = (U * np.sqrt(np.maximum(d, 0)))[:, ::-1].T
    return F


def random_factors(d: NDArray, M: int, H: int, rng: np.random.RandomState) -> NDArray:
    """Random start (M, H, k) whose composite has the energy of the kernel."""
    F = rng.standard_normal((M, H, d.size)) * np.sqrt(d)
    return F / np.sqrt(H)


def sweep_module(F: NDArray, m: int, S: NDArray, d: NDArray, lam: float, epsilon: float) -> NDArray:
    """Replace module m by its optimum given the others, and return the new sum S."""
    M, H, _ = F.shape
    own = F[m].T @ F[m]
    rest = S - own
    T = epsilon * own - (lam / M) * rest
    T[np.diag_indices_from(T)] += d
    F[m] = approximate_root(T / ((1 - lam) + lam / M + epsilon), H)
    return rest + F[m].T @ F[m]


def solve_sweeps(
    eigenvalues: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    *,
    max_iter: int = 500,
    tol: float = 1e-7,
    epsilon: float = 1e-6,
    reduce: bool = True,
) -> ModularSolution:
    """Lower the modular loss module by module until an epoch gains less than `tol` of it.

    ``reduce=False`` keeps all directions, as printed in the paper: the same modules, much later.
    """
    M, H = n_modules, n_components
    d = eigenvalues[: min(eigenvalues.size, M * H)] if reduce else eigenvalues
    F = random_factors(d, M, H, rng)
    S = np.einsum("mhk,mhl->kl", F, F)
    curve, energy = [], float(np.sum(eigenvalues**2))
    converged = False
    for _ in track(range(max_iter), "epochs"):
        for m in range(M):
            S = sweep_module(F, m, S, d, diversity, epsilon)
        curve.append(spectral_loss(F, d, diversity, energy))
        converged = len(curve) > 1 and curve[-2] - curve[-1] <= tol * curve[-1]
        if converged:
            break
    return ModularSolution(F, curve, converged)
