"""Batch gradient descent on the linear modular autoencoder, the baseline of Algorithm 1 in [Reeve2015]_.

With Σ = diag(d²)/N, C_m = A_m B_m and C̄ their mean,

    ∂E_λ/∂C_m = 2/M [(1 - λ) C_m + λ C̄ - I] Σ,   ∂E_λ/∂A_m = ∂E_λ/∂C_m B_m',   ∂E_λ/∂B_m = A_m' ∂E_λ/∂C_m.

Gradient descent does not depend on the basis, so all of it happens in that of the principal directions, where
an epoch over the data costs no more than these products.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold.modular._backfit import full_width, random_modules
from polyfold.modular._problem import ModularSolution, autoencoder_terms

RELATIVE_RATES = tuple(2.0**e for e in range(-5, 6))  # in units of M over the largest variance
Modules = tuple[NDArray, NDArray]  # decoders (M, k, H) and encoders (M, H, k)
PILOT_EPOCHS = 50  # epochs given to every learning rate before the best one continues
RISE = -1e-9  # as a tolerance: a pilot ends if its loss rises by this fraction


def descent_gradient(A: NDArray, B: NDArray, variances: NDArray, lam: float) -> Modules:
    """Gradient of E_λ with respect to decoders (M, k, H) and encoders (M, H, k)."""
    M, k, H = A.shape
    stacked_A = A.transpose(1, 0, 2).reshape(k, M * H)
    mean = stacked_A @ B.reshape(M * H, k) / M
    BS = B * variances
    SBt = BS.transpose(0, 2, 1)
    # (1-λ) C Σ B' = (1-λ) A (B Σ B'): no k × k matrix per module is formed.
    to_A = (1 - lam) * A @ (BS @ B.transpose(0, 2, 1)) + lam * mean @ SBt - SBt
    At = A.transpose(0, 2, 1)
    to_B = (1 - lam) * (At @ A) @ BS + (lam * At @ mean - At) * variances
    return (2 / M) * to_A, (2 / M) * to_B


def solve_gradient(
    values: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    *,
    max_iter: int = 500,
    tol: float = 1e-7,
    learning_rates: tuple[float, ...] = RELATIVE_RATES,
) -> ModularSolution:
    """Descend with the best of the learning rates until an epoch gains less than `tol` of the loss."""
    d = values
    start = random_modules(d.size, n_modules, n_components, rng)
    rate = learning_rates[0]
    if len(learning_rates) > 1:
        pilots = {r: _losses(start, d, diversity, r, PILOT_EPOCHS, tol=RISE)[1][-1] for r in learning_rates}
        rate = min(pilots, key=lambda r: pilots[r])
    (A, B), curve, converged = _losses(start, d, diversity, rate, max_iter, tol=tol)
    A, B = _orthonormal_decoders(A, B, n_components)
    return ModularSolution(B, curve, converged, decoders=A)


def _losses(
    start: Modules, d: NDArray, lam: float, rate: float, epochs: int, *, tol: float
) -> tuple[Modules, list[float], bool]:
    """Run up to `epochs`; stop when one gains too little or the loss leaves the finite numbers."""
    energy = float(np.sum(d**2))
    curve: list[float] = []
    modules = start
    for modules in track(_steps(*start, d, lam, rate, epochs), "epochs", total=epochs):
        single, composite = autoencoder_terms(*modules, d, energy)
        loss = (1 - lam) * single + lam * composite
        curve.append(loss if np.isfinite(loss) else np.inf)
        if not np.isfinite(loss):
            break
        if len(curve) > 1 and curve[-2] - curve[-1] <= tol * curve[-1]:
            return modules, curve, True
    return modules, curve, False


def _steps(A: NDArray, B: NDArray, d: NDArray, lam: float, rate: float, epochs: int) -> Iterator[Modules]:
    """Yield the modules after every step; variances are scaled so that rates do not depend on the units."""
    variances = (d / d[0]) ** 2
    step = rate * A.shape[0] / 4
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(epochs):
            to_A, to_B = descent_gradient(A, B, variances, lam)
            A, B = A - step * to_A, B - step * to_B
            yield A, B


def _orthonormal_decoders(A: NDArray, B: NDArray, H: int) -> Modules:
    """Rewrite A_m B_m with orthonormal decoders, and add empty dimensions up to H."""
    Q, R = np.linalg.qr(A)
    return full_width(Q, R @ B, H)
