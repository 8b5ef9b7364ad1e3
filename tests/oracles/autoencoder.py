"""Slow, literal transcriptions of the modular autoencoder paper [Reeve2015]."""

from __future__ import annotations

import numpy as np


def literal_loss(outputs, target, lam):
    """Eq. 2 averaged over the data: outputs (M, n, q), target (n, q)."""
    M, n, _ = outputs.shape
    total = 0.0
    for t in range(n):
        mean = sum(outputs[i, t] for i in range(M)) / M
        error = sum(np.sum((outputs[i, t] - target[t]) ** 2) for i in range(M)) / M
        diversity = sum(np.sum((outputs[i, t] - mean) ** 2) for i in range(M)) / M
        total += error - lam * diversity
    return total / n


def negative_correlation_update(outputs, target, lam):
    """(F_i - y) - λ (F_i - mean F) for every module and row: what each network follows [Liu1999, eq. 4]."""
    M, n, q = outputs.shape
    update = np.zeros((M, n, q))
    for i in range(M):
        for t in range(n):
            mean = sum(outputs[j, t] for j in range(M)) / M
            update[i, t] = (outputs[i, t] - target[t]) - lam * (outputs[i, t] - mean)
    return update


def autoencoder_loss(A, B, X, lam):
    """E_λ of decoders A (M, D, H) and encoders B (M, H, D) on centred columns X (D, N), eq. 1 averaged."""
    reconstructions = np.stack([A[i] @ B[i] @ X for i in range(len(A))])
    return literal_loss(reconstructions.transpose(0, 2, 1), X.T, lam)


def backfit_epoch(A, B, Sigma, lam):
    """One epoch of Algorithm 1, as printed, in place."""
    M, D, H = A.shape
    for i in range(M):
        Z = sum((A[j] @ B[j] for j in range(M) if j != i), np.zeros((D, D))) / M
        Phi = (np.eye(D) - lam * Z) @ Sigma @ (np.eye(D) - lam * Z).T
        values, vectors = np.linalg.eigh(Phi)
        A[i] = vectors[:, np.argsort(values)[::-1][:H]]
        B[i] = A[i].T @ (np.eye(D) - lam * Z) / (1 - lam * (M - 1) / M)
