"""Algorithm 1 of [Blau2017], line by line, with dense matrices and loops."""

from dataclasses import dataclass

import numpy as np

from polyfold.nonredundant._smoother import Predictable, gaussian_block


def smoothing_matrix(F, h):
    """Step 5: Gaussian weights of all pairs, rows divided by their sums."""
    n = len(F)
    P = np.empty((n, n))
    for j in range(n):
        for k in range(n):
            P[j, k] = np.exp(-np.sum((F[j] - F[k]) ** 2) / (2 * h**2))
    return P / P.sum(axis=1, keepdims=True)


def algorithm_1(K, d, alpha, cut=0.03):
    """Projections f_1 … f_d of a kernel matrix that is to be maximised, unit norm, mean zero."""
    n = len(K)
    center = np.eye(n) - np.ones((n, n)) / n
    projections = [_top(center @ K @ center)]
    for _ in range(1, d):
        F = np.column_stack(projections)
        h = alpha * np.sqrt(np.sum(F**2) / n)
        _, s, Vt = np.linalg.svd(smoothing_matrix(F, h))
        V = Vt[s > cut * s[0]].T
        # The constraint 1ᵀf = 0 joins those of the smoother.
        Q = np.linalg.qr(np.column_stack([np.ones(n), V]))[0]
        deflate = np.eye(n) - Q @ Q.T
        projections.append(_top(deflate @ K @ deflate))
    return np.column_stack(projections)


@dataclass(frozen=True)
class DenseRows:
    """All points as landmarks: z(F) = G(F, F_train)."""

    landmarks: np.ndarray
    bandwidth: float

    def rows(self, F):
        return gaussian_block(F, self.landmarks, self.bandwidth)


def dense_functions(F, bandwidth, weights, rng=None):
    """Step 6 in a measure, by the whole smoother: in place of `predictable_functions`, which has a low rank."""
    rows = DenseRows(np.array(F), bandwidth)
    G = rows.rows(F) * weights
    P, root = G / G.sum(axis=1, keepdims=True), np.sqrt(weights)
    _, gains, Vt = np.linalg.svd(root[:, None] * P / root)
    values = Vt[gains > 0.03 * gains[0]].T / root[:, None]
    coefficients = np.linalg.lstsq(rows.rows(F), values, rcond=1e-10)[0]
    return Predictable(rows, coefficients, values, gains[: values.shape[1]])


def _top(K):
    return np.linalg.eigh((K + K.T) / 2)[1][:, -1]


def loo_mean(F, y, h):
    """Leave-one-out Nadaraya–Watson predictions by the residual formula y − r/(1 − L_ii)."""
    P = smoothing_matrix(F, h)
    residual = y - P @ y
    return y - residual / (1 - np.diag(P))
