"""Scores of neighbour lists."""

from numpy.typing import ArrayLike, NDArray

from polyfold.metrics._checks import check_labels, check_same_length


def retrieval_precision(found: ArrayLike, truth: ArrayLike) -> float:
    """Mean share of the true neighbours among those found [Reeve2018, Sec. 6.2].

    Parameters
    ----------
    found : array-like of int of shape (n, k)
        Indices found for every query; -1 stands for nothing.
    truth : array-like of int of shape (n, k)
        Indices of the true neighbours; -1 stands for none and is not counted.

    Returns
    -------
    precision : float in [0, 1]

    Examples
    --------
    >>> from polyfold.metrics import retrieval_precision
    >>> retrieval_precision([[3, 1], [0, 5]], [[1, 2], [0, 5]])
    0.75
    """
    found, truth = _indices("found", found), _indices("truth", truth)
    check_same_length(found=found, truth=truth)
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=1)
    counted = truth >= 0
    if not counted.any():
        raise ValueError("truth must hold at least one index >= 0, got only -1; pass the true neighbours.")
    return float(hits[counted].mean())


def _indices(name: str, values: ArrayLike) -> NDArray:
    indices = check_labels(name, values, ndim=2)
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must hold integer indices, got {indices.dtype}; pass rows of kneighbors, not distances."
        )
    return indices
