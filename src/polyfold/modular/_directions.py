"""Data to principal directions: the singular values and right singular vectors of the centred data.

The linear autoencoder needs what a spectrum has for kernels, and one thing more: the directions themselves,
because its decoders lead back to the data. Three routes, chosen by `directions_of` from the shape alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from polyfold._linalg import eigh_descending, fix_signs
from polyfold.kernels import IdentityFeatures
from polyfold.spectra import Moments

__all__ = ["Directions", "choose_route", "directions_from_moments", "directions_of", "empty_moments"]

MAX_GRAM = 3000  # the largest Gram matrix decomposed whole; beyond, Lanczos finds the few directions needed


@dataclass(frozen=True)
class Directions:
    """Singular values d, directions U and mean of data, so that the centred data are V diag(d) U'.

    Parameters
    ----------
    values : ndarray of shape (r,)
        Descending, positive.
    basis : ndarray of shape (D, r)
        Orthonormal columns.
    mean : ndarray of shape (D,)
    energy : float
        Sum of squares of the centred data: of all singular values, those beyond the first r included.
    n_samples : int
    """

    values: NDArray
    basis: NDArray
    mean: NDArray
    energy: float
    n_samples: int


def choose_route(n_samples: int, n_features: int, rank: int) -> str:
    """Return "features" or "samples" (Gram matrix of that side) or "lanczos", the cheapest exact way."""
    if min(n_samples, n_features) > MAX_GRAM and 10 * rank < min(n_samples, n_features):
        return "lanczos"
    return "features" if n_features <= n_samples else "samples"


def directions_of(X: Any, rank: int, rng: np.random.RandomState) -> Directions:
    """Return at least the top `rank` directions of the rows of `X`, dense or sparse."""
    route = choose_route(X.shape[0], X.shape[1], rank)
    if route == "features" and hasattr(X, "tocsr"):
        return _from_sparse(X)
    if route == "features":
        moments = empty_moments(X)
        moments.add(IdentityFeatures(X.shape[1]), X)
        return directions_from_moments(moments)
    return _from_samples(X) if route == "samples" else _from_lanczos(X, rank, rng)


def empty_moments(X: Any) -> Moments:
    """Start the sums about the mean of the first rows."""
    return Moments.about(IdentityFeatures(X.shape[1]), X)


def directions_from_moments(moments: Moments) -> Directions:
    """Decompose the D × D scatter matrix."""
    scatter = moments.scatter()
    squares, U = eigh_descending((scatter + scatter.T) / 2)
    keep = squares > max(squares[0], 0.0) * squares.size * np.finfo(np.float64).eps
    energy = max(float(np.trace(scatter)), 0.0)
    return Directions(np.sqrt(squares[keep]), U[:, keep], moments.mean(), energy, moments.count)


def _from_sparse(X: Any) -> Directions:
    """Decompose the D × D scatter matrix of sparse rows; the mean is subtracted from the sums."""
    mean, n = _mean(X), X.shape[0]
    X = X.astype(np.float64, copy=False)
    scatter = (X.T @ X).toarray() - n * np.outer(mean, mean)
    return directions_from_moments(Moments(mean, np.zeros_like(mean), scatter, n))


def _from_samples(X: Any) -> Directions:
    """Decompose the N × N matrix of inner products, for more columns than rows."""
    mean = _mean(X)
    if hasattr(X, "tocsr"):
        products = (X @ X.T).toarray().astype(np.float64, copy=False)
        columns = products.mean(axis=0)
        products += columns.mean() - columns - columns[:, None]
    else:  # centred first: no digits are lost to a large mean
        products = (X - mean) @ (X - mean).T
    squares, V = eigh_descending(products)
    # Centring leaves one direction of rounding; it and all below carry nothing.
    keep = squares > max(squares[0], 0.0) * squares.size * 4 * np.finfo(np.float64).eps
    V = V[:, keep]
    U = np.asarray(safe_sparse_dot(X.T, V, dense_output=True)) - np.outer(mean, V.sum(axis=0))
    Q = np.linalg.qr(U)[0]
    return Directions(np.sqrt(squares[keep]), fix_signs(Q), mean, max(float(np.trace(products)), 0.0), X.shape[0])


def _from_lanczos(X: Any, rank: int, rng: np.random.RandomState) -> Directions:
    """Find the top directions with products only, the mean subtracted on the fly."""
    n, mean = X.shape[0], _mean(X)

    def forward(v: NDArray) -> NDArray:
        return X @ v - mean @ v

    def backward(u: NDArray) -> NDArray:
        return X.T @ u - np.multiply.outer(mean, u.sum(axis=0))

    operator: Any = LinearOperator(X.shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    _, d, Vt = svds(operator, k=rank, v0=rng.standard_normal(min(X.shape)))
    order = np.argsort(d)[::-1]
    energy = float(row_norms(X, squared=True).sum(dtype=np.float64)) - n * float(mean @ mean)
    return Directions(d[order], fix_signs(Vt[order].T), mean, max(energy, 0.0), n)


def _mean(X: Any) -> NDArray:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
