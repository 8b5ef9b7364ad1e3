"""Distance correlation, and what it says about modules [Szekely2007]_."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import euclidean_distances

from polyfold._linalg import row_blocks

__all__ = ["distance_correlation", "module_correlation", "module_fidelity"]


def distance_correlation(X: ArrayLike, Y: ArrayLike) -> float:
    """Distance correlation of two representations of the same points, in [0, 1].

    Zero means independent, one means equal up to rotation, shift and scale.

    Parameters
    ----------
    X : array-like of shape (n, p)
    Y : array-like of shape (n, q)

    Returns
    -------
    correlation : float
        Zero where one of both is constant.

    Notes
    -----
    Time O(n²(p + q)), memory O(n) times a block of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.metrics import distance_correlation
    >>> x = np.arange(5.0)[:, None]
    >>> round(distance_correlation(x, -3 * x), 6)
    1.0
    """
    X, Y = _rows(X), _rows(Y)
    if len(X) != len(Y):
        raise ValueError(f"X and Y must describe the same points, got {len(X)} and {len(Y)} rows.")
    xy, xx, yy, row_x, row_y = _moments(X, Y)
    covariance = _centred(xy, row_x, row_y)
    scale = np.sqrt(max(_centred(xx, row_x, row_x), 0) * max(_centred(yy, row_y, row_y), 0))
    return float(np.sqrt(max(covariance, 0) / scale)) if scale > 0 else 0.0


def module_fidelity(modules: ArrayLike, X: ArrayLike) -> NDArray:
    """Distance correlation of every module with the original points.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)
    X : array-like of shape (n, n_features)

    Returns
    -------
    fidelity : ndarray of shape (n_modules,)
    """
    return np.array([distance_correlation(Z, X) for Z in np.asarray(modules)])


def module_correlation(modules: ArrayLike) -> float:
    """Mean distance correlation of all pairs of modules: one minus their diversity.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)

    Returns
    -------
    correlation : float
        One where there is a single module.
    """
    pairs = list(combinations(np.asarray(modules), 2))
    return float(np.mean([distance_correlation(a, b) for a, b in pairs])) if pairs else 1.0


def _rows(X: ArrayLike) -> NDArray:
    X = np.asarray(X, dtype=np.float64)
    return X[:, None] if X.ndim == 1 else X


def _moments(X: NDArray, Y: NDArray) -> tuple[float, float, float, NDArray, NDArray]:
    """Means of products of distances, and mean distances per row."""
    n = len(X)
    sums, row_x, row_y = np.zeros(3), np.empty(n), np.empty(n)
    for rows in row_blocks(n, n):
        a, b = euclidean_distances(X[rows], X), euclidean_distances(Y[rows], Y)
        # A point's distance to itself comes out as rounding noise.
        own = np.arange(rows.start, rows.stop)
        a[own - rows.start, own] = b[own - rows.start, own] = 0
        sums += [np.sum(a * b), np.sum(a * a), np.sum(b * b)]
        row_x[rows], row_y[rows] = a.mean(axis=1), b.mean(axis=1)
    xy, xx, yy = sums / n**2
    return xy, xx, yy, row_x, row_y


def _centred(product: float, row_a: NDArray, row_b: NDArray) -> float:
    """Mean product of double-centred distances from plain moments."""
    return float(product + row_a.mean() * row_b.mean() - 2 * np.mean(row_a * row_b))
