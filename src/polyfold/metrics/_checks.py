"""Border checks of the metrics: which array, what it must be, what came, what to do."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from polyfold._typing import Matrix

_SHAPES = {1: "(n,)", 2: "(n, n_components)", 3: "(n_modules, n, n_components)"}


def check_numbers(name: str, X: ArrayLike, *, ndim: int | None = 2, minimum: int = 1) -> NDArray[np.float64]:
    """Return `X` as dense, finite float64 of `ndim` axes with `minimum` rows at least, or say what is wrong."""
    if sp.issparse(X):
        raise TypeError(f"{name} must be a dense array, got a sparse one of shape {X.shape}; pass {name}.toarray().")
    # Not converted before its shape is known to be right: sklearn's own advice speaks of single samples.
    values: NDArray[np.float64] = check_array(
        X,
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    _check_shape(name, values, ndim, minimum)
    return values


def check_labels(name: str, y: ArrayLike, *, ndim: int | None = 1, minimum: int = 1) -> NDArray:
    """Return labels of any type as an array of `ndim` axes, or say what is wrong."""
    if sp.issparse(y):
        raise TypeError(f"{name} must be a dense array, got a sparse one of shape {y.shape}; pass {name}.toarray().")
    labels = np.asarray(y)
    _check_shape(name, labels, ndim, minimum)
    return labels


def check_same_length(**arrays: Matrix) -> None:
    """Raise unless all arrays describe the same points."""
    lengths = {name: X.shape[0] for name, X in arrays.items()}
    if len(set(lengths.values())) > 1:
        names, counts = " and ".join(lengths), " and ".join(map(str, lengths.values()))
        raise ValueError(f"{names} must describe the same points, got {counts} rows; pass the same rows to both.")


def _check_shape(name: str, X: NDArray, ndim: int | None, minimum: int) -> None:
    if ndim is not None and X.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} axes, {_SHAPES[ndim]}, got shape {X.shape}; reshape it, "
            "or pass the array of all points."
        )
    rows = X.shape[-2] if ndim == 3 else X.shape[0] if X.ndim else 0
    if rows < minimum or X.size == 0:
        raise ValueError(f"{name} must hold at least {minimum} point(s), got shape {X.shape}; pass more rows.")
