"""M projections of rank h whose sum is a given diagonal matrix: fusion frames.

`unit_frames` solves rank one exactly by rotations [Davies2000]_, `projection_frame` any rank by Gauss-Newton
on the manifold of projections. `frame_may_exist` is a cheap test that excludes some problems. Statements and proofs:
docs/explanations/modular-closed-form.md, section 3.
"""

import numpy as np
from numpy.typing import NDArray

# Digits of the numbers of copies whose frame is the start, and how well that frame must fit.
DIGITS, ROUGH = 3, 1e-6
RELATIVE_DAMPING = 0.1  # of the largest residual; larger values reach fewer frames


def unit_frames(n: NDArray, rng: np.random.RandomState) -> NDArray:
    """Rows u of unit length with Σ u u' = diag(n_g), for every group g at once.

    Parameters
    ----------
    n : ndarray of shape (G, M)
        Non-negative, every row sums to M; padded with zeros.

    Returns
    -------
    U : ndarray of shape (G, M, M)
        U[g, m] is the unit vector of module m in group g.
    """
    G, M = n.shape
    U = np.linalg.qr(rng.standard_normal((G, M, M)))[0] * np.sqrt(n)[:, None, :]
    groups = np.arange(G)
    for _ in range(M - 1):  # every rotation gives one more row of every group its unit length
        norms = np.einsum("gmk,gmk->gm", U, U)
        low, high = norms.argmin(axis=1), norms.argmax(axis=1)
        _rotate_to_unit(U, groups, low, high, norms)
    return U


def _rotate_to_unit(U: NDArray, g: NDArray, i: NDArray, j: NDArray, norms: NDArray) -> None:
    """Rotate rows i and j of every group, in place, so that row i gets unit length."""
    a, b = norms[g, i], norms[g, j]
    c = np.einsum("gk,gk->g", U[g, i], U[g, j])
    # t solves |u_i + t u_j|² = 1 + t²; real because a ≤ 1 ≤ b.
    root = np.sqrt(np.maximum(c**2 - (a - 1) * (b - 1), 0))
    denominator = c + np.where(c >= 0, root, -root)
    t = np.where(np.abs(denominator) > 0, -(a - 1) / np.where(denominator == 0, 1, denominator), 0.0)
    t = np.where(np.maximum(1 - a, b - 1) < 1e-15, 0.0, t)
    cos = 1 / np.sqrt(1 + t**2)
    sin = t * cos
    row_i, row_j = U[g, i].copy(), U[g, j].copy()
    U[g, i] = cos[:, None] * row_i + sin[:, None] * row_j
    U[g, j] = cos[:, None] * row_j - sin[:, None] * row_i


def frame_may_exist(n: NDArray, M: int, h: int) -> bool:
    """Necessary conditions for M projections of rank h with sum diag(n), 0 < n < M, n descending."""
    p, slack = n.size, 1e-9 * M
    if p < h or abs(n.sum() - M * h) > 1e-6 * M * h:
        return False
    if p == h:
        return bool(np.all(n > M - slack))
    if M == 2:  # principal angles come in pairs
        full = np.concatenate([n, np.zeros(max(0, 2 * h - p))])
        return p <= 2 * h and bool(np.all(np.abs(full + full[::-1] - 2) < slack))
    smallest = np.concatenate([[0.0], np.cumsum(n[::-1])])
    largest = np.concatenate([[0.0], np.cumsum(n)])
    t = np.arange(h + 1)
    beyond = np.clip(p - t - M * (h - t), 0, p)
    spans = smallest[beyond] <= t * M - largest[np.minimum(t, p)] + slack
    k = np.arange(1, M)
    kernels = [n[i * h] <= M - i + slack for i in k if i * h < p]
    meets = [n[p - i * (p - h) - 1] >= i - slack for i in k if p - i * (p - h) >= 1]
    return bool(spans.all()) and all(kernels) and all(meets)


def projection_frame(n: NDArray, M: int, h: int, rng: np.random.RandomState) -> NDArray | None:
    """Orthonormal rows U of shape (M, h, p) with Σ_m U_m'U_m = diag(n), or None if none was found.

    There are infinitely many frames, and a long way from a random start leads to another one after the smallest change
    of n. The frame of a rounded n is therefore the start: the way from there is short, and follows n continuously.
    """
    nearby = _rounded_copies(n, M)
    U = _gauss_newton(_balanced_start(nearby, M, h, rng), nearby, tol=ROUGH)
    if U is not None:
        U = _gauss_newton(_orthonormal_rows(U * np.sqrt(n / nearby)), n)
    return U


def _rounded_copies(n: NDArray, M: int) -> NDArray:
    """Numbers of copies with few digits and the same sum, between 0 and M."""
    unit = 10.0 ** (np.floor(np.log10(n)) - (DIGITS - 1))
    rounded = np.clip(np.round(n / unit) * unit, 0.5 * n, M - 0.5 * (M - n))
    room = rounded * (M - rounded)
    return rounded + (round(n.sum()) - rounded.sum()) * room / room.sum()


def _gauss_newton(U: NDArray, n: NDArray, *, tol: float = 1e-10, max_iter: int = 40) -> NDArray | None:
    """Move projections until their sum is diag(n); None if they do not get there."""
    R = _residual(U, n)
    error, damping = np.abs(R).max(), 0.0
    for _ in range(max_iter):
        if error < tol:
            return U
        # Levenberg-Marquardt: where the equations are nearly singular, a full step leads to an arbitrary other frame.
        X = _newton_step(U, n, R, damping + RELATIVE_DAMPING * error)
        moved = False
        for step in (1.0, 0.5, 0.25, 0.1):
            candidate = _orthonormal_rows(U + step * (U @ X - (U @ X @ U.transpose(0, 2, 1)) @ U))
            trial = _residual(candidate, n)
            if np.linalg.norm(trial) < (1 - 0.1 * step) * np.linalg.norm(R):
                U, R, moved = candidate, trial, True
                break
        error = np.abs(R).max()
        damping = damping / 10 if moved else max(10 * damping, 1e-6)
        if damping > 1e3:
            break
    return U if error < tol else None


def _balanced_start(n: NDArray, M: int, h: int, rng: np.random.RandomState) -> NDArray:
    """Random projections, scaled towards the wanted diagonal."""
    gauss, scale = rng.standard_normal((M, h, n.size)), np.sqrt(n)
    U = _orthonormal_rows(gauss * scale)
    for _ in range(12):
        scale = scale * np.sqrt(n / np.maximum(np.einsum("mhp,mhp->p", U, U), 1e-12))
        U = _orthonormal_rows(gauss * scale)
    return U


def _residual(U: NDArray, n: NDArray) -> NDArray:
    rows = U.reshape(-1, n.size)
    return np.diag(n) - rows.T @ rows


def _orthonormal_rows(U: NDArray) -> NDArray:
    """Orthonormal rows of every module."""
    return np.linalg.qr(U.transpose(0, 2, 1))[0].transpose(0, 2, 1)


def _newton_step(U: NDArray, n: NDArray, R: NDArray, damping: float) -> NDArray:
    """Symmetric X with S X + X S - 2 Σ P X P = R, by preconditioned conjugate gradients."""
    M, _, p = U.shape
    rows = U.reshape(-1, p)
    S = rows.T @ rows
    weight = n[:, None] + n - 2 * np.outer(n, n) / M + 1e-3 + damping

    def apply(X: NDArray) -> NDArray:
        inner = U @ X @ U.transpose(0, 2, 1)
        SX = S @ X
        return SX + SX.T - 2 * rows.T @ (inner @ U).reshape(-1, p) + damping * X

    X, residual = np.zeros_like(R), R.copy()
    Z = residual / weight
    P, rho = Z.copy(), float(np.sum(residual * Z))
    stop = 1e-3 * np.linalg.norm(R) * min(1.0, np.abs(R).max())
    for _ in range(60):
        Q = apply(P)
        curvature = float(np.sum(P * Q))
        if curvature <= 0:
            break
        alpha = rho / curvature
        X += alpha * P
        residual -= alpha * Q
        if np.linalg.norm(residual) < stop:
            break
        Z = residual / weight
        rho, previous = float(np.sum(residual * Z)), rho
        P = Z + (rho / previous) * P
    return (X + X.T) / 2
