"""Gaussian mixtures as in the experiments of [Reeve2015]."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from polyfold._typing import RandomState
from polyfold._validation import check_count, check_real


def make_gaussian_mixture(
    n_samples: int = 1000,
    *,
    n_features: int = 20,
    n_clusters: int = 10,
    std: float = 0.25,
    centers: ArrayLike | None = None,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Draw from equally weighted spherical Gaussians with standard normal means.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    n_features : int, default=20
        Dimension; ignored with `centers`.
    n_clusters : int, default=10
        Number of Gaussians; ignored with `centers`.
    std : float, default=0.25
        Standard deviation of every Gaussian.
    centers : array-like of shape (n_clusters, n_features), default=None
        Means; None draws them from the standard normal distribution.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points.
    y : ndarray of shape (n_samples,), int32
        Index of the Gaussian each point came from.

    References
    ----------
    [Reeve2015], section 3.

    Examples
    --------
    >>> from polyfold.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(200, n_features=5, random_state=0)
    >>> X.shape, len(set(y.tolist()))
    ((200, 5), 10)
    """
    check_count("n_samples", n_samples)
    check_real("std", std, minimum=0.0)
    rng = check_random_state(random_state)
    if centers is None:
        size = (check_count("n_clusters", n_clusters), check_count("n_features", n_features))
        means = rng.standard_normal(size)
    else:
        means = check_array(centers, dtype=np.float64)
    y = rng.randint(len(means), size=n_samples)
    return means[y] + std * rng.standard_normal((n_samples, means.shape[1])), y.astype(np.int32)
