"""Distance correlation of modules [Szekely2007]_."""

from collections.abc import Sequence

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
    return float(_correlations([X, Y])[0, 1])


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
    pairs = correlations(list(check_numbers("modules", modules, ndim=3)))
    return float(pairs[np.triu_indices(len(pairs), 1)].mean()) if len(pairs) > 1 else 1.0


def correlations(modules: Sequence[NDArray]) -> NDArray:
    """Return the distance correlations of all pairs of M modules (n, H), shape (M, M)."""
    return _correlations([_points("modules", Z) for Z in modules])


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


def _correlations(parts: Sequence[Matrix]) -> NDArray:
    """Return the correlations of all pairs from one pass over blocks of distances."""
    n, count = parts[0].shape[0], len(parts)
    products, row_means = np.zeros((count, count)), np.empty((count, n))
    for rows in row_blocks(n, n * count):
        distances = np.stack([_distances(X, rows) for X in parts])
        # A point's distance to itself comes out as rounding noise.
        own = np.arange(rows.start, rows.stop)
        distances[:, own - rows.start, own] = 0
        flat = distances.reshape(count, -1)
        products += flat @ flat.T
        row_means[:, rows] = distances.mean(axis=2)
    means = row_means.mean(axis=1)
    # Mean products of double-centred distances.
    covariances = np.maximum(products / n**2 + np.outer(means, means) - 2 * (row_means @ row_means.T) / n, 0)
    scale = np.sqrt(np.outer(np.diag(covariances), np.diag(covariances)))
    return np.minimum(1.0, np.sqrt(np.divide(covariances, scale, out=np.zeros_like(scale), where=scale > 0)))
