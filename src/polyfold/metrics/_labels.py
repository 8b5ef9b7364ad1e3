"""Scores of labels: clusterings against classes, and modules alone and together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from polyfold._validation import check_labels, check_same_length


class EnsembleErrors(NamedTuple):
    """Hold the mean error of the single modules, and the error of their vote."""

    individual: float
    ensemble: float


def majority_vote(predictions: ArrayLike) -> NDArray:
    """Return the most frequent label of each column; of several, the smallest.

    Parameters
    ----------
    predictions : array-like of shape (n_modules, n)
        Labels given by every module.

    Returns
    -------
    labels : ndarray of shape (n,)

    Examples
    --------
    >>> from polyfold.metrics import majority_vote
    >>> majority_vote([[0, 1, 2], [0, 2, 1], [1, 2, 0]]).tolist()
    [0, 2, 0]
    """
    predictions = check_labels("predictions", predictions, ndim=2)
    labels, codes = np.unique(predictions, return_inverse=True)
    codes = codes.reshape(len(predictions), -1)
    counts = np.zeros((labels.size, codes.shape[1]), dtype=np.intp)
    for row in codes:
        counts[row, np.arange(row.size)] += 1
    return labels[counts.argmax(axis=0)]


def ensemble_errors(predictions: ArrayLike, y: ArrayLike) -> EnsembleErrors:
    """Return the errors of single modules and of the ensemble [Reeve2015, Fig. 6].

    Parameters
    ----------
    predictions : array-like of shape (n_modules, n) or (n_modules, n, n_classes)
        Labels, which vote, or probabilities, which are averaged; classes are then 0, 1, …
    y : array-like of shape (n,)
        True labels.

    Returns
    -------
    errors : EnsembleErrors
        Named tuple (individual, ensemble), both fractions of wrong labels.

    Examples
    --------
    >>> from polyfold.metrics import ensemble_errors
    >>> errors = ensemble_errors([[0, 1, 1], [0, 0, 1], [1, 0, 1]], [0, 0, 1])
    >>> round(errors.individual, 3), errors.ensemble
    (0.222, 0.0)
    """
    predictions, y = check_labels("predictions", predictions, ndim=None), check_labels("y", y)
    if predictions.ndim not in (2, 3) or predictions.shape[1] != y.shape[0]:
        raise ValueError(
            f"predictions must have shape (n_modules, {y.shape[0]}) or (n_modules, {y.shape[0]}, n_classes), "
            f"got {predictions.shape}; pass the predictions of every module for the points of y."
        )
    if predictions.ndim == 3:
        single, joint = predictions.argmax(axis=2), predictions.mean(axis=0, dtype=np.float64).argmax(axis=1)
    else:
        single, joint = predictions, majority_vote(predictions)
    return EnsembleErrors(float(np.mean(single != y)), float(np.mean(joint != y)))


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the accuracy under the best matching of clusters and classes.

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
    """Return the normalised mutual information of clusters and classes.

    The mutual information is divided by the geometric mean of the entropies, so it is in [0, 1].
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
