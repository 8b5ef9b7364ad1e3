"""How much coordinates repeat one another, and what can be rebuilt from them."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from polyfold._regression import (
    REGRESSORS,
    bandwidth_grid,
    loo_predict,
    residual_ratio,
    root_mean_square,
    standard_position,
)
from polyfold._typing import RandomState
from polyfold._validation import check_choice, check_count, check_numbers, check_real, check_same_length, outside
from polyfold.exceptions import DegenerateDataWarning


def redundancy(
    Z: ArrayLike,
    *,
    bandwidth: float | Literal["best"] = "best",
    regressor: Literal["locally_linear", "nadaraya_watson"] = "locally_linear",
    n_queries: int | None = 1000,
    random_state: RandomState = 0,
) -> NDArray:
    r"""Return the leave-one-out residual of each coordinate on the earlier ones.

    .. math:: r_i = \sqrt{\frac{\sum_n (z_{ni} - \hat z_{ni})^2}{\sum_n (z_{ni} - \bar z_i)^2}}

    where the prediction of a point does not use the point itself. 1 means unpredictable, 0 predictable. Published
    conventions differ in the bandwidth and in leaving out [Dsilva2015]_, so both are stated here.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
    bandwidth : float or "best", default="best"
        Standard deviation of the Gaussian weights in units of the root mean squared norm of the earlier coordinates
        (centred); "best" takes, for every coordinate, the one of a grid that predicts best.
    regressor : {"locally_linear", "nadaraya_watson"}, default="locally_linear"
    n_queries : int, default=1000
        Number of points predicted (from all others); None predicts all.
    random_state : int, RandomState or None, default=0
        Seed of the choice of queries.

    Returns
    -------
    residuals : ndarray of shape (n_components,)
        The first is 1, because there is nothing to predict it from. A constant coordinate gets 0 and a warning, and
        is not used to predict the others.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.metrics import redundancy
    >>> t, u = np.random.RandomState(0).uniform(-1, 1, (2, 500))
    >>> redundancy(np.column_stack([t, t**2, u])).round(1)
    array([1., 0., 1.])
    """
    Z = check_numbers("Z", Z, minimum=2)
    check_choice("regressor", regressor, REGRESSORS)
    queries = _queries(len(Z), n_queries, random_state)
    varying = _varying(Z)
    out = np.zeros(Z.shape[1])
    out[varying[:1]] = 1.0
    for before, i in enumerate(varying[1:], start=1):
        F = Z[:, varying[:before]]
        out[i] = residual_ratio(F, Z[:, i], _bandwidths(F, bandwidth), queries=queries, regressor=regressor).min()
    return out


def loo_reconstruction(Z: ArrayLike, X: ArrayLike, *, bandwidth: float | Literal["best"] = "best") -> NDArray:
    """Reconstruct each row of `X` from the coordinates of all other rows.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_components)
    X : array-like of shape (n_samples, n_features)
    bandwidth : float or "best", default="best"
        As in :func:`redundancy`; "best" has the smallest squared error over all rows.

    Returns
    -------
    X_rebuilt : ndarray of shape (n_samples, n_features)

    References
    ----------
    [Blau2017], section 5.1.
    """
    Z, X = check_numbers("Z", Z, minimum=2), check_numbers("X", X, minimum=2)
    check_same_length(Z=Z, X=X)
    S, origin, unit = standard_position(X)
    rebuilt = [loo_predict(Z, S, h) for h in _bandwidths(Z, bandwidth)]
    return origin + unit * min(rebuilt, key=lambda guess: float(np.sum((guess - S) ** 2)))


def psnr(X: ArrayLike, X_rebuilt: ArrayLike, *, data_range: float | None = None) -> float:
    r"""Return the peak signal-to-noise ratio in decibels.

    .. math:: 10 \log_{10}(\text{range}^2 / \text{mean squared error})

    Parameters
    ----------
    X : array-like
        The signal.
    X_rebuilt : array-like
        Of the same shape.
    data_range : float, default=None
        Largest minus smallest possible value; None takes it from `X`, which must not be constant then.

    Returns
    -------
    decibels : float
        Infinite if both are equal.

    Examples
    --------
    >>> from polyfold.metrics import psnr
    >>> psnr([0.0, 1.0], [0.1, 0.9])
    20.0
    """
    X, X_rebuilt = check_numbers("X", X, ndim=None), check_numbers("X_rebuilt", X_rebuilt, ndim=None)
    if X.shape != X_rebuilt.shape:
        raise ValueError(
            f"X_rebuilt must have the shape of X, {X.shape}, got {X_rebuilt.shape}; pass one value for each of X."
        )
    span = (
        float(np.ptp(X)) if data_range is None else check_real("data_range", data_range, minimum=0, open_minimum=True)
    )
    error = X - X_rebuilt
    largest = float(np.abs(error).max())
    if largest == 0:
        return float("inf")
    if span == 0:
        raise ValueError(f"data_range must be given if X is constant, here {X.flat[0]:g}; pass the possible range.")
    # In units of the largest error, squares stay within range whatever the unit of the signal.
    noise = float(np.sqrt(np.mean((error / largest) ** 2)))
    return round(20 * float(np.log10(span / largest) - np.log10(noise)), 10)


def _varying(Z: NDArray) -> NDArray:
    """Columns that are not constant; names the others in a warning."""
    constant = np.array([not standard_position(column[:, None])[0].any() for column in Z.T])
    if constant.any():
        warnings.warn(
            f"Columns {np.flatnonzero(constant).tolist()} of Z are constant. They get 0 and do not predict other "
            "columns; leave them out.",
            DegenerateDataWarning,
            stacklevel=outside(),
        )
    return np.flatnonzero(~constant)


def _bandwidths(F: NDArray, bandwidth: float | str) -> list[float]:
    if isinstance(bandwidth, str):
        check_choice("bandwidth", bandwidth, ("best",))
        return list(bandwidth_grid(F, size=12))
    return [check_real("bandwidth", bandwidth, minimum=0, open_minimum=True) * root_mean_square(F)]


def _queries(n: int, n_queries: int | None, random_state: RandomState) -> NDArray:
    if n_queries is None or check_count("n_queries", n_queries) >= n:
        return np.arange(n)
    return check_random_state(random_state).choice(n, n_queries, replace=False)
