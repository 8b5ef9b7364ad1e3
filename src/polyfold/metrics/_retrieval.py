"""Scores of neighbours that were found: precision, and the average-accuracy curve of [Zhang2016, sec. 5.2]."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._linalg import squared_distances
from polyfold._regression import standard_position
from polyfold._validation import check_labels, check_numbers, check_same_length

BLOCK = 256


def retrieval_precision(found: ArrayLike, truth: ArrayLike) -> float:
    """Mean fraction of the true neighbours among those found [Reeve2018, Sec. 6.2].

    Parameters
    ----------
    found : array-like of int of shape (n, k)
        Indices found for every query; -1 means none.
    truth : array-like of int of shape (n, k)
        Indices of the true neighbours; -1 means none and is not counted.

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


def average_accuracy_curve(
    Z: ArrayLike, labels: ArrayLike, *, counts: ArrayLike | None = None, unlabeled: object = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    r"""Mean fraction of relevant documents among the nearest ones, for growing numbers of them.

    .. math:: A(r) = \frac{1}{n} \sum_i \frac{1}{r} \, \#\{ j \in N_r(i) : y_j = y_i \}

    where N_r(i) are the r points nearest to point i, itself excluded. Every point is a query once. An unlabelled
    document is a mistake wherever it is retrieved, and as a query finds nothing.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
        Coordinates; nearness is Euclidean.
    labels : array-like of shape (n_samples,) or (n_samples, n_topics)
        One label per document, or indicators of its topics; documents that share a topic are relevant.
    counts : array-like of int, optional
        Numbers of retrieved documents, rising; by default 1, 3, 7, 15, … below n_samples.
    unlabeled : optional
        The label that means none, with one label per document. A row of zeros means none with indicators.

    Returns
    -------
    counts : ndarray of shape (m,)
    accuracy : ndarray of shape (m,)
        Between 0 and 1.

    Notes
    -----
    O(n² (p + log n)) time, O(n) memory per query.

    References
    ----------
    [Zhang2016]

    Examples
    --------
    >>> from polyfold.metrics import average_accuracy_curve
    >>> average_accuracy_curve([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1], counts=[1, 3])[1].round(2)
    array([1.  , 0.33])
    """
    Z = check_numbers("Z", Z, minimum=2)
    labels = check_labels("labels", labels, ndim=2 if np.ndim(labels) == 2 else 1)
    check_same_length(Z=Z, labels=labels)
    n = len(Z)
    counts = _check_counts(counts, n)
    Z, _, _ = standard_position(Z)
    found = np.zeros(len(counts))
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(n, start + BLOCK))
        distances = squared_distances(Z[rows], Z)
        distances[np.arange(len(rows)), rows] = np.inf
        order = _nearest(distances, counts[-1])
        hits = np.cumsum(_relevant(labels, rows, order, unlabeled), axis=1)
        found += hits[:, counts - 1].sum(axis=0)
    return counts, found / (counts * n)


def _check_counts(counts: ArrayLike | None, n: int) -> NDArray[np.int64]:
    if counts is None:
        counts = 2 ** np.arange(1, max(2, int(np.log2(max(n, 2))) + 1)) - 1
        counts = counts[counts < n]
    counts = check_labels("counts", counts)
    if counts.dtype.kind not in "iu" or counts[0] < 1 or counts[-1] >= n or np.any(counts[1:] <= counts[:-1]):
        raise ValueError(
            f"counts must be rising integers >= 1 and < n_samples={n}, got {counts.tolist()}; "
            "leave it out for 1, 3, 7, 15, …"
        )
    return counts.astype(np.int64)


def _nearest(distances: NDArray, count: int) -> NDArray:
    """Columns of the `count` smallest entries of every row, ascending."""
    nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, nearest, axis=1), axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1)


def _relevant(labels: NDArray, rows: NDArray, order: NDArray, unlabeled: object) -> NDArray:
    """Whether the documents in `order` share a label with their query: (len(rows), count)."""
    if labels.ndim == 2:
        shared = labels[rows].astype(np.int32) @ labels.T.astype(np.int32) > 0
        return np.take_along_axis(shared, order, axis=1)
    same = labels[order] == labels[rows][:, None]
    return same if unlabeled is None else same & (labels[rows] != unlabeled)[:, None]
