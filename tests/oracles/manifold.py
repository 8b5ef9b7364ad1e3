"""Matrices of classical spectral methods, point by point."""

import numpy as np


def neighbours(X, k):
    d = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1)[:, :k]
    return order, np.take_along_axis(d, order, axis=1)


def self_tuned_affinity(X, k, scale_neighbor):
    order, d = neighbours(X, k)
    sigma = d[:, scale_neighbor - 1]
    A = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j, dij in zip(order[i], d[i], strict=True):
            A[i, j] = A[j, i] = np.exp(-(dij**2) / (sigma[i] * sigma[j]))
    return A


def diffusion_walk(X, k, epsilon, alpha):
    order, d = neighbours(X, k)
    A = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j, dij in zip(order[i], d[i], strict=True):
            A[i, j] = A[j, i] = np.exp(-(dij**2) / epsilon)
    q = A.sum(axis=1) ** alpha
    A = A / q[:, None] / q[None, :]
    return A / A.sum(axis=1, keepdims=True)


def lle_cost(X, k, reg):
    order, _ = neighbours(X, k)
    W = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        Z = X[order[i]] - X[i]
        G = Z @ Z.T
        w = np.linalg.solve(G + reg * np.trace(G) * np.eye(k), np.ones(k))
        W[i, order[i]] = w / w.sum()
    R = np.eye(len(X)) - W
    return R.T @ R


def ltsa_cost(X, k, d):
    order, _ = neighbours(X, k)
    M = np.zeros((len(X), len(X)))
    for nearest in order:
        Z = X[nearest] - X[nearest].mean(axis=0)
        U = np.linalg.svd(Z)[0][:, :d]
        G = np.column_stack([np.full(k, 1 / np.sqrt(k)), U])
        M[np.ix_(nearest, nearest)] += np.eye(k) - G @ G.T
    return M


def hessian_cost(X, k, d):
    order, _ = neighbours(X, k)
    M = np.zeros((len(X), len(X)))
    for nearest in order:
        Z = X[nearest] - X[nearest].mean(axis=0)
        U = np.linalg.svd(Z)[0][:, :d]
        squares = [U[:, i] * U[:, j] for i in range(d) for j in range(i, d)]
        Q = np.linalg.qr(np.column_stack([np.ones(k), U, *squares]))[0][:, d + 1 :]
        sums = Q.sum(axis=0)
        Q = Q / np.where(np.abs(sums) < 1e-4, 1, sums)
        M[np.ix_(nearest, nearest)] += Q @ Q.T
    return M


def geodesics(X, k):
    """Floyd–Warshall on the union of neighbour edges."""
    order, d = neighbours(X, k)
    D = np.full((len(X), len(X)), np.inf)
    np.fill_diagonal(D, 0)
    for i in range(len(X)):
        for j, dij in zip(order[i], d[i], strict=True):
            D[i, j] = D[j, i] = min(D[i, j], dij)
    for m in range(len(X)):
        D = np.minimum(D, D[:, m, None] + D[None, m, :])
    return D
