"""Scores of clusterings against known classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from polyfold.metrics._checks import check_labels, check_same_length


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of points in the right class under the best one-to-one matching of clusters and classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_pred : array-like of shape (n,)

    Returns
    -------
    accuracy : float in [0, 1]

    Examples
    --------
    >>> from polyfold.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b"], [1, 1, 0])
    1.0
    """
    y_true, y_pred = _labels(y_true, y_pred)
    table = np.asarray(contingency_matrix(y_true, y_pred))
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def nmi(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mutual information of clusters and classes over the geometric mean of their entropies, in [0, 1].

    Arguments are those of :func:`clustering_accuracy`.

    Examples
    --------
    >>> from polyfold.metrics import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    y_true, y_pred = _labels(y_true, y_pred)
    return float(normalized_mutual_info_score(y_true, y_pred, average_method="geometric"))


def _labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray, NDArray]:
    y_true, y_pred = check_labels("y_true", y_true), check_labels("y_pred", y_pred)
    check_same_length(y_true=y_true, y_pred=y_pred)
    return y_true, y_pred
