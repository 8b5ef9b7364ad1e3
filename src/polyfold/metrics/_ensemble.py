"""How good modules are alone and together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold.metrics._checks import check_labels


class EnsembleErrors(NamedTuple):
    """Mean error of the single modules, and error of their vote."""

    individual: float
    ensemble: float


def majority_vote(predictions: ArrayLike) -> NDArray:
    """Return the most frequent label of every column; of equally frequent ones, the smallest.

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
    """Return the mean error of single modules beside the error of the ensemble [Reeve2015, Fig. 6].

    Parameters
    ----------
    predictions : array-like of shape (n_modules, n) or (n_modules, n, n_classes)
        Labels, which vote, or probabilities, which are averaged; classes are then 0, 1, …
    y : array-like of shape (n,)
        True labels.

    Returns
    -------
    errors : EnsembleErrors
        Named tuple (individual, ensemble), both shares of wrong labels.

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
