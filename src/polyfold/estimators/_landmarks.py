"""Which rows a fit is made of that needs them all at once, and what it may lose by it."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from polyfold._typing import Matrix, Rows
from polyfold._validation import own_rows
from polyfold.kernels import GraphKernel, Kernel
from polyfold.neighbors import is_graph
from polyfold.sources import all_or_some, in_memory, is_stream

_SHARE, _QUERIES = 4, 1000


def rows_to_fit(
    X: Rows, kernel: Kernel | GraphKernel, validate: Callable[[Rows], Matrix], seed: int
) -> tuple[Matrix, NDArray | None]:
    """Return checked rows that nobody else changes: those of `X`, or landmarks and their numbers.

    Landmarks stand for very many rows where the kernel `takes_few`, for streams beyond the memory budget, and for very
    many rows of a cluster.
    """
    few = getattr(kernel, "takes_few", False)
    if not is_stream(X):
        rows = validate(X)
        chosen, numbers = all_or_some(rows, few=True, seed=seed) if few and not _is_given(kernel) else (rows, None)
        return own_rows(chosen, X) if numbers is None else chosen, numbers
    given, numbers = (in_memory(X), None) if _is_given(kernel) else all_or_some(X, few=few, seed=seed)
    return own_rows(validate(given), given), numbers


def _is_given(kernel: Kernel | GraphKernel) -> bool:
    """Whether the user gave the neighbours or the kernel values of all rows, which have no others."""
    return kernel.takes_precomputed or is_graph(getattr(kernel, "neighbors", None))


def landmark_error(model: BaseEstimator, landmarks: Matrix, seed: int, **changes: object) -> NDArray:
    """Estimate the error of every column due to landmarks, relative to its spread.

    The model, with `changes` of its parameters, is fitted again to every quarter of its landmarks, and both transform
    at most 1,000 of the other landmarks. The error of a quarter is the residual of a linear regression on its
    coordinates. The largest of the four is an upper bound if errors decrease with the number of landmarks.
    """
    numbers, errors = np.arange(landmarks.shape[0]), []
    for quarter in range(_SHARE):
        few = clone(model).set_params(random_state=seed, verbose=0, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model itself has already warned
            few.fit(landmarks[quarter::_SHARE])
        others = numbers[numbers % _SHARE != quarter]
        queries = landmarks[others[:: -(-len(others) // _QUERIES)]]
        Z, A = (np.asarray(each.transform(queries), dtype=np.float64) for each in (model, few))
        Z, A = Z - Z.mean(axis=0), A - A.mean(axis=0)
        left = Z - A @ np.linalg.lstsq(A, Z, rcond=None)[0]
        errors.append(np.linalg.norm(left, axis=0) / np.maximum(np.linalg.norm(Z, axis=0), np.finfo(np.float64).tiny))
    return np.max(errors, axis=0)
