"""Algorithm 1 of [Reeve2015]_: every module in turn takes its optimum given the others.

Equations: `backfit_module` is the inner loop (Φ, A_i, B_i; Proposition 3), `solve_backfit` the outer one.
Deviations: (1) everything happens in the top k = min(r, M·H) principal directions, which hold an optimum
[docs/explanations/modular-closed-form.md, 2a]; (2) the sum of all modules is updated, not computed again; (3) the
sweeps end when an epoch lowers the loss by too little, instead of after a fixed number.
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold.modular._problem import ModularSolution, autoencoder_terms


def random_modules(k: int, M: int, H: int, rng: np.random.RandomState) -> tuple[NDArray, NDArray]:
    """Random projections: decoders (M, k, H') with orthonormal columns, encoders their transposes."""
    A = np.linalg.qr(rng.standard_normal((M, k, min(H, k))))[0]
    return A, A.transpose(0, 2, 1).copy()


def backfit_module(A: NDArray, B: NDArray, i: int, total: NDArray, d: NDArray, lam: float) -> NDArray:
    """Replace module i by its optimum given the others, in place; return the new Σ_j A_j B_j."""
    M, k, H = A.shape
    rest = total - A[i] @ B[i]
    target = -(lam / M) * rest  # I - λ Z_i
    target[np.diag_indices(k)] += 1
    scaled = target * d
    Phi = scaled @ scaled.T
    _, U = scipy.linalg.eigh(Phi, subset_by_index=(k - H, k - 1), check_finite=False)
    A[i] = U[:, ::-1]
    B[i] = A[i].T @ target / (1 - lam * (M - 1) / M)
    return rest + A[i] @ B[i]


def solve_backfit(
    values: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    *,
    max_iter: int = 500,
    tol: float = 1e-7,
) -> ModularSolution:
    """Sweep until an epoch lowers the loss by no more than `tol` of it."""
    M, H = n_modules, n_components
    k = min(values.size, M * H)
    d, energy = values[:k], float(np.sum(values**2))
    A, B = random_modules(k, M, H, rng)
    total = np.einsum("mkh,mhl->kl", A, B)
    curve: list[float] = []
    converged = False
    for _ in track(range(max_iter), "epochs"):
        for i in range(M):
            total = backfit_module(A, B, i, total, d, diversity)
        single, composite = autoencoder_terms(A, B, d, energy)
        curve.append((1 - diversity) * single + diversity * composite)
        converged = len(curve) > 1 and curve[-2] - curve[-1] <= tol * curve[-1]
        if converged:
            break
    A, B = full_width(A, B, H)
    return ModularSolution(B, curve, converged, decoders=A)


def full_width(A: NDArray, B: NDArray, H: int) -> tuple[NDArray, NDArray]:
    """Add empty dimensions if there are fewer directions than H."""
    missing = H - A.shape[2]
    return np.pad(A, ((0, 0), (0, 0), (0, missing))), np.pad(B, ((0, 0), (0, missing), (0, 0)))
