"""Literal transcriptions of [Reeve2018] on N × N matrices: slow, short, and independent of the library."""

import itertools

import numpy as np


def centred(K):
    n = len(K)
    C = np.eye(n) - np.full((n, n), 1 / n)
    return C @ K @ C


def inner_product_loss(Z, K):
    """Definition 1."""
    n = len(Z)
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += (Z[i] @ Z[j] - K[i, j]) ** 2
    return total / n**2


def modular_loss_by_variance(modules, K, lam):
    """Definition 3: mean loss minus λ times the variance of the inner products."""
    n = K.shape[0]
    single = np.mean([inner_product_loss(Z, K) for Z in modules])
    products = np.array([Z @ Z.T for Z in modules])
    return single - lam * np.sum(np.var(products, axis=0)) / n**2


def best_root(T, r):
    """Definition 5, through a full eigendecomposition."""
    d, U = np.linalg.eigh(T)
    top = np.argsort(-d)[:r]
    return (U[:, top] * np.sqrt(np.maximum(d[top], 0))).T


def algorithm_1(K, M, H, lam, epsilon, epochs, rng):
    """Algorithm 1 with Ψ a root of K: factors (M, H, N) and the loss after every epoch."""
    n = len(K)
    F = [rng.standard_normal((H, n)) for _ in range(M)]
    S = sum(f.T @ f for f in F)
    c = 1 / ((1 - lam) + lam / M + epsilon)
    losses = []
    for _ in range(epochs):
        for m in range(M):
            rest = S - F[m].T @ F[m]
            T = c * (K - (lam / M) * rest + epsilon * F[m].T @ F[m])
            F[m] = best_root(T, H)
            S = rest + F[m].T @ F[m]
        losses.append(modular_loss_by_variance([f.T for f in F], K, lam))
    return F, losses


def drop_module_loss(modules, K, p):
    """Expected loss over all 2^M choices of kept modules [Reeve2018, Sec. 5]."""
    M, total = len(modules), 0.0
    products = [Z @ Z.T for Z in modules]
    for kept in itertools.product((0, 1), repeat=M):
        weight = np.prod([p if k else 1 - p for k in kept])
        mixed = sum(k * P for k, P in zip(kept, products, strict=True)) / M
        total += weight * np.mean((mixed - K) ** 2)
    return total


def distance_correlation(X, Y):
    """[Szekely2007], by double centring."""

    def centred_distances(Z):
        D = np.sqrt(((Z[:, None] - Z[None]) ** 2).sum(axis=2))
        return D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()

    A, B = centred_distances(X), centred_distances(Y)
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


def retrieve(query_modules, modules, k):
    """The retrieval rule of [Reeve2018, Sec. 6.2] for one query."""
    union = set()
    for q, Z in zip(query_modules, modules, strict=True):
        union |= set(np.argsort(((Z - q) ** 2).sum(axis=1), kind="stable")[:k])
    average = {
        i: np.mean([((Z[i] - q) ** 2).sum() for q, Z in zip(query_modules, modules, strict=True)]) for i in union
    }
    return sorted(union, key=average.get)[:k]
