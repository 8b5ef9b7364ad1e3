"""Kernel operator to spectrum: graph kernels for everything that reads spectra (modules, plain embeddings).

Eigenvectors are those of [Blau2017, problem 4], orthonormal in the operator's measure; eigenvalues those of the flipped
matrix. New points get their coordinates from the operator's own extension, and training points their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh, splu

from polyfold._linalg import eigh_descending, fix_signs
from polyfold.kernels import FactorOperator, GraphOperator, KernelOperator, is_cheap_to_invert, linear_operator
from polyfold.spectra._spectrum import Spectrum

__all__ = ["ExtendedCoordinates", "spectrum_from_operator"]

_DENSE_ROWS = 500
# A new point so isolated that its step outlasts the coordinate's own time scale is not pushed further out.
_LOWEST_SHARE = 0.1


@dataclass(frozen=True)
class ExtendedCoordinates:
    """Eigenfunctions of an operator at old and new points: the raw features of its spectrum."""

    operator: KernelOperator
    functions: NDArray  # (N, r), at the training points
    eigenvalues: NDArray  # (r,), of the operator's matrix
    intercepts: NDArray  # (c, r), what the trivial directions take off

    @property
    def width(self) -> int:
        """Number of eigenfunctions."""
        return self.functions.shape[1]

    def transform(self, X: Any) -> NDArray:
        """Return the eigenfunctions at the rows of `X`, shape (n, r)."""
        operator = self.operator
        if not isinstance(operator, GraphOperator):
            return (_images(operator, self.functions, X) - self.intercepts) / self.eigenvalues
        extension = operator.extend(X)
        image = extension.rows @ self.functions
        if operator.interpolates:
            return image
        share = 1 - extension.times[:, None] * (operator.flip - self.eigenvalues)
        return extension.settle(image / np.maximum(share, _LOWEST_SHARE), self.functions)

    def metric(self) -> None:
        """Return None: the functions are scaled by the spectrum's read-out."""


def spectrum_from_operator(operator: KernelOperator, rank: int) -> Spectrum:
    """Spectrum of the top `rank` non-trivial directions of an operator."""
    n = operator.n_samples
    weights = getattr(operator, "weights", np.ones(n))
    trivial = np.ones((n, 1)) if operator.trivial is None else operator.trivial
    Q = np.linalg.qr(trivial)[0]
    rank = min(rank, n - Q.shape[1])
    nu, G = _top(operator, Q, rank)
    power = getattr(operator, "power", 1)
    keep = nu > max(nu[0], 0.0) * n * np.finfo(np.float64).eps
    nu, G = nu[keep], G[:, keep]
    # Unit mean weight: functions then have about unit length, as eigenvectors have.
    functions = G / np.sqrt(weights / weights.mean())[:, None]
    intercepts = np.zeros((1, len(nu)))
    if not isinstance(operator, GraphOperator):
        intercepts = np.mean(operator.matrix @ G, axis=0, keepdims=True)
    return Spectrum(
        eigenvalues=nu**power,
        energy=_energy(operator, Q, nu, power),
        n_samples=n,
        features=ExtendedCoordinates(operator, functions, nu, intercepts),
        shift=np.zeros(len(nu)),
        readout=np.diag(nu ** (power / 2)),
    )


def _images(operator: KernelOperator, functions: NDArray, X: Any) -> NDArray:
    if isinstance(operator, FactorOperator):
        return operator.features(X) @ (operator.factor.T @ functions)
    return np.asarray(operator.rows(X) @ functions)


def _top(operator: KernelOperator, Q: NDArray, rank: int) -> tuple[NDArray, NDArray]:
    """Largest eigenpairs of the matrix outside the span of Q."""
    n = operator.n_samples
    if n <= _DENSE_ROWS or rank > n // 3:
        return _dense_top(operator.matrix, Q, rank)
    if isinstance(operator, FactorOperator):
        return _factor_top(operator.factor, Q, rank)
    if isinstance(operator, GraphOperator) and is_cheap_to_invert(operator):
        return _inverse_top(operator, Q, rank)
    K = operator.matrix

    def deflated(x: NDArray) -> NDArray:
        x = x - Q @ (Q.T @ x)
        y = K @ x
        return y - Q @ (Q.T @ y)

    return _lanczos(n, deflated, rank)


def _dense_top(K: Any, Q: NDArray, rank: int) -> tuple[NDArray, NDArray]:
    full = K.toarray() if sp.issparse(K) else np.asarray(K @ np.eye(K.shape[0]))
    full = (full + full.T) / 2
    KQ = full @ Q
    low = 10 * np.abs(full).sum(axis=1).max() + 1.0
    d, G = eigh_descending(full - KQ @ Q.T - Q @ KQ.T + Q @ (Q.T @ KQ - low * np.eye(Q.shape[1])) @ Q.T, rank)
    return d, G


def _factor_top(C: NDArray, Q: NDArray, rank: int) -> tuple[NDArray, NDArray]:
    U, s, _ = np.linalg.svd(C - Q @ (Q.T @ C), full_matrices=False)
    return s[:rank] ** 2, fix_signs(U[:, :rank])


def _inverse_top(operator: GraphOperator, Q: NDArray, rank: int) -> tuple[NDArray, NDArray]:
    """Smallest eigenpairs of the cost by a sparse LU: the flip would make them all alike."""
    cost: Any = operator.cost
    shift = 1e-9 * float(cost.diagonal().mean())
    shifted = sp.csc_matrix(cost + shift * sp.eye_array(cost.shape[0], format="csr"))
    lu = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def inverse(x: NDArray) -> NDArray:
        x = x - Q @ (Q.T @ x)
        z = lu.solve(x)
        return z - Q @ (Q.T @ z)

    _, G = _lanczos(len(Q), inverse, rank)
    return operator.flip - np.einsum("ij,ij->j", G, cost @ G), G


def _lanczos(n: int, apply: Any, rank: int) -> tuple[NDArray, NDArray]:
    start = np.random.RandomState(0).standard_normal(n)
    options: dict[str, Any] = {"k": rank, "which": "LA", "v0": apply(start), "tol": 1e-8}
    d, G = eigsh(linear_operator(n, apply), **options)
    return d[::-1], fix_signs(G[:, ::-1])


def _energy(operator: KernelOperator, Q: NDArray, nu: NDArray, power: int) -> float:
    """Sum of squares of all eigenvalues; only of the known ones where the kernel is a power or indefinite."""
    if isinstance(operator, GraphOperator) and power == 1:
        K = operator.matrix
        total = float(K.multiply(K).sum())
        return total - float(np.sum((Q.T @ (K @ Q)) ** 2))
    if isinstance(operator, FactorOperator):
        C = operator.factor - Q @ (Q.T @ operator.factor)
        return float(np.sum((C.T @ C) ** 2))
    return float(np.sum(nu ** (2 * power)))
