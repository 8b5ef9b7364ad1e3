"""Data to the spectrum of the linear kernel: principal directions, which lead back to the data as well.

Eigenvalues are the squared singular values of the centred data, the read-out has orthonormal columns U and the shift
is the mean, so that x ≈ shift + U c(x). Three routes, chosen by `choose_route` from the shape alone. Dense rows are
centred before anything is squared; sparse rows keep their zeros, and the mean is taken off the sums.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from polyfold._linalg import eigh_descending, fix_signs, row_blocks
from polyfold._typing import Matrix
from polyfold.kernels import IdentityFeatures
from polyfold.sources import Source
from polyfold.spectra._builder import Moments, spectrum_from_moments
from polyfold.spectra._spectrum import Spectrum

MAX_GRAM = 3000  # the largest Gram matrix decomposed whole; beyond, Lanczos finds the few directions needed
EPS = float(np.finfo(np.float64).eps)


def choose_route(n_samples: int, n_features: int, n_directions: int) -> str:
    """Return "features" or "samples" (Gram matrix of that side) or "lanczos", the cheapest exact way."""
    if min(n_samples, n_features) > MAX_GRAM and 10 * n_directions < min(n_samples, n_features):
        return "lanczos"
    return "features" if n_features <= n_samples else "samples"


def linear_spectrum(X: Matrix, n_directions: int, rng: np.random.RandomState) -> Spectrum:
    """Return at least the top `n_directions` principal directions of the rows of `X`: dense, sparse or a source."""
    route = choose_route(X.shape[0], X.shape[1], n_directions)
    if isinstance(X, Source):
        if route == "features" or (route == "lanczos" and X.shape[0] >= X.shape[1] and not X.is_array):
            return _from_moments(_dense_moments(X))  # one pass, where Lanczos would need many
        X = X.whole()
    if route == "features":
        return _from_moments(_sparse_moments(X) if sp.issparse(X) else _dense_moments(X))
    return _from_samples(X) if route == "samples" else _from_lanczos(X, n_directions, rng)


def update_linear_spectrum(spectrum: Spectrum | None, X: Matrix) -> Spectrum:
    """Return the spectrum of the rows of `X` and of those behind a complete `spectrum`; None: of `X` alone."""
    if spectrum is None:
        return _from_moments(_dense_moments(X))
    U, mean = spectrum.readout, spectrum.shift
    scatter = (U * spectrum.eigenvalues) @ U.T
    return _from_moments(_add_rows(Moments(mean, np.zeros_like(mean), scatter, spectrum.n_samples), X))


def _from_moments(moments: Moments) -> Spectrum:
    D = moments.centre.size
    return spectrum_from_moments(IdentityFeatures(D), None, moments, D)


def _dense_moments(X: Matrix) -> Moments:
    """Moments about the mean of the first rows, block by block."""
    return _add_rows(Moments.about(IdentityFeatures(X.shape[1]), X), X)


def _add_rows(moments: Moments, X: Matrix) -> Moments:
    moments.add(IdentityFeatures(X.shape[1]), X)
    return moments


def _sparse_moments(X: Matrix) -> Moments:
    """Moments about the origin, from one sparse product."""
    X = X.astype(np.float64, copy=False)
    total = np.asarray(X.sum(axis=0)).ravel()
    return Moments(np.zeros_like(total), total, (X.T @ X).toarray(), X.shape[0])


def _from_samples(X: Matrix) -> Spectrum:
    """Decompose the N × N matrix of inner products, for more columns than rows."""
    mean, n = _mean(X), X.shape[0]
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        products = (X @ X.T).toarray()
        columns = products.mean(axis=0)
        products += columns.mean() - columns - columns[:, None]
        noise = EPS * n * n * float(mean @ mean)
    else:
        X = X - mean
        products, noise = X @ X.T, _rounding(mean, n)
    squares, V = eigh_descending(products)
    # Centring leaves one direction of rounding; it and all below carry nothing.
    keep = squares > max(max(squares[0], 0.0) * n * 4 * EPS, noise)
    V = V[:, keep]
    U = np.asarray(X.T @ V) - (np.outer(mean, V.sum(axis=0)) if sp.issparse(X) else 0.0)
    trace, energy = float(np.trace(products)), float(np.sum(products**2))
    return _spectrum(squares[keep], np.linalg.qr(U)[0], mean, n, max(trace, 0.0), energy)


def _from_lanczos(X: Matrix, n_directions: int, rng: np.random.RandomState) -> Spectrum:
    """Find the top directions with products only, the mean subtracted on the fly; the rest is known by its trace."""
    n, mean = X.shape[0], _mean(X)
    trace, noise = _scatter_trace(X, mean), max(X.shape) * _rounding(mean, n)
    if trace <= noise:
        return _spectrum(np.zeros(0), np.zeros((X.shape[1], 0)), mean, n, 0.0, 0.0)

    def forward(v: NDArray) -> NDArray:
        return X @ v - mean @ v

    def backward(u: NDArray) -> NDArray:
        return X.T @ u - np.multiply.outer(mean, u.sum(axis=0))

    operator: Any = LinearOperator(X.shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    _, d, Vt = svds(operator, k=n_directions, v0=rng.standard_normal(min(X.shape)))
    order = np.argsort(d)[::-1]
    order = order[d[order] ** 2 > max(d.max() ** 2 * max(X.shape) * EPS, noise)]
    return replace(_spectrum(d[order] ** 2, Vt[order].T, mean, n, trace, np.nan), is_complete=False)


def _spectrum(squares: NDArray, U: NDArray, mean: NDArray, n: int, trace: float, energy: float) -> Spectrum:
    return Spectrum(squares, energy, n, IdentityFeatures(mean.size), mean, fix_signs(U), trace)


def _scatter_trace(X: Matrix, mean: NDArray) -> float:
    """Sum of squares of the centred rows."""
    if sp.issparse(X):
        squares = float(X.multiply(X).sum(dtype=np.float64))
        return max(squares - X.shape[0] * float(mean @ mean), 0.0)
    return sum(float(np.sum((X[rows] - mean) ** 2)) for rows in row_blocks(*X.shape))


def _rounding(mean: NDArray, n: int) -> float:
    """Square sum of what rounding leaves of `n` rows centred at their own mean."""
    return n * (8 * EPS) ** 2 * float(mean @ mean)


def _mean(X: Matrix) -> NDArray:
    """Mean of the rows; dense ones are summed from the first row on, so that a common offset costs no digits."""
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    first = X[0].astype(np.float64)
    return first + sum((X[rows] - first).sum(axis=0) for rows in row_blocks(*X.shape)) / X.shape[0]
