"""Distance correlation of modules [Szekely2007]_."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array

from polyfold._linalg import row_blocks, squared_distances
from polyfold._regression import standard_position
from polyfold._typing import Matrix, SparseMatrix
from polyfold._validation import check_numbers, check_same_length


def distance_correlation(X: ArrayLike | SparseMatrix, Y: ArrayLike | SparseMatrix) -> float:
    """Return the distance correlation of two representations, in [0, 1].

    Zero means independent, one means equal up to rotation, shift and scale.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p)
    Y : array-like or sparse matrix of shape (n, q)

    Returns
    -------
    correlation : float
        Zero if one of both is constant.

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
    X, Y = _points("X", X), _points("Y", Y)
    check_same_length(X=X, Y=Y)
    xy, xx, yy, row_x, row_y = _moments(X, Y)
    covariance = _centred(xy, row_x, row_y)
    scale = np.sqrt(max(_centred(xx, row_x, row_x), 0) * max(_centred(yy, row_y, row_y), 0))
    return min(1.0, float(np.sqrt(max(covariance, 0) / scale))) if scale > 0 else 0.0


def module_fidelity(modules: ArrayLike, X: ArrayLike | SparseMatrix) -> NDArray:
    """Return the distance correlation of each module with the original rows.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)
    X : array-like or sparse matrix of shape (n, n_features)

    Returns
    -------
    fidelity : ndarray of shape (n_modules,)
    """
    modules, X = check_numbers("modules", modules, ndim=3), _points("X", X)
    check_same_length(modules=modules[0], X=X)
    return np.array([distance_correlation(Z, X) for Z in modules])


def module_correlation(modules: ArrayLike) -> float:
    """Return the mean distance correlation of all pairs of modules.

    Parameters
    ----------
    modules : array-like of shape (n_modules, n, n_components)

    Returns
    -------
    correlation : float
        One for a single module.
    """
    pairs = list(combinations(check_numbers("modules", modules, ndim=3), 2))
    return float(np.mean([distance_correlation(a, b) for a, b in pairs])) if pairs else 1.0


def _points(name: str, X: ArrayLike | SparseMatrix) -> Matrix:
    """Return scaled rows, centred if dense; neither changes the correlation."""
    if sp.issparse(X):
        rows = sp.csr_array(check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name), copy=True)
        rows.sum_duplicates()
        return rows / (abs(rows).max() or 1.0)
    values = np.asarray(X)
    return standard_position(check_numbers(name, values[:, None] if values.ndim == 1 else values))[0]


def _distances(X: Matrix, rows: slice) -> NDArray:
    return euclidean_distances(X[rows], X) if sp.issparse(X) else np.sqrt(squared_distances(X[rows], X))


def _moments(X: Matrix, Y: Matrix) -> tuple[float, float, float, NDArray, NDArray]:
    """Means of products of distances, and mean distances per row."""
    n = X.shape[0]
    sums, row_x, row_y = np.zeros(3), np.empty(n), np.empty(n)
    for rows in row_blocks(n, n):
        a, b = _distances(X, rows), _distances(Y, rows)
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
