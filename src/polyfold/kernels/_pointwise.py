"""Kernels that are functions of two points."""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics.pairwise import manhattan_distances

from polyfold._linalg import as_dense, inner_products, shifted_products, unit_rows
from polyfold._typing import Matrix
from polyfold._validation import check_count, check_real, outside
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels._base import IdentityFeatures, Kernel, PointFeatures, as_float
from polyfold.sources import Source, Survey, survey


def mean_distance_gamma(X: Matrix) -> float:
    """γ = 1 / mean squared distance of all pairs, which is 1 / (2 · total variance) [Kwok2004]_.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), source or survey

    Returns
    -------
    gamma : float
        1.0, with a warning, if all rows are equal.
    """
    variance = survey(X).total_variance
    if variance > 0:
        return 1 / (2 * variance)
    warnings.warn(
        "all rows of X are equal, so gamma has no scale to follow; using gamma=1.0.",
        DegenerateDataWarning,
        stacklevel=outside(),
    )
    return 1.0


class Gaussian(Kernel):
    """Compare rows by the Gaussian (RBF) kernel exp(-γ‖x - y‖²).

    Parameters
    ----------
    gamma : float, default=None
        Factor γ of the squared distance. Larger values compare only close rows. None takes one over the mean
        squared distance of all pairs, in one pass over the data [Kwok2004]_.

    Examples
    --------
    >>> import numpy as np
    >>> from polyfold.kernels import Gaussian
    >>> Gaussian(gamma=1.0).resolve(np.eye(2))(np.eye(2), np.eye(2)).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    def __init__(self, gamma: float | None = None):
        self.gamma = gamma

    def _resolve(self, X: Matrix | Source | Survey) -> None:
        self.gamma_ = _check_gamma(self.gamma, X)

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        out = shifted_products(as_float(X), as_float(Y), self.gamma_)
        return np.exp(out, out=out)

    def frequencies(self, n_features: int, count: int, rng: np.random.RandomState) -> NDArray:
        """Draw from the normal distribution of a Gaussian kernel's frequencies, shape (n_features, count)."""
        return rng.normal(scale=np.sqrt(2 * self.gamma_), size=(n_features, count))


class Laplacian(Kernel):
    """Compare rows by the Laplacian kernel exp(-γ‖x - y‖₁).

    Parameters
    ----------
    gamma : float, default=None
        Factor γ of the distance. Larger values compare only close rows. None takes one over the root of the number of
        columns times the mean squared distance of all pairs, the Manhattan counterpart of the Gaussian default.
    """

    def __init__(self, gamma: float | None = None):
        self.gamma = gamma

    def _resolve(self, X: Matrix | Source | Survey) -> None:
        if self.gamma is None:
            self.gamma_ = float(np.sqrt(mean_distance_gamma(X) / X.shape[1]))
        else:
            self.gamma_ = _check_gamma(self.gamma, X)

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        X, Y = as_float(X), as_float(Y)
        out = manhattan_distances(X, Y).astype(X.dtype, copy=False)
        out *= -self.gamma_
        return np.exp(out, out=out)

    def frequencies(self, n_features: int, count: int, rng: np.random.RandomState) -> NDArray:
        """Draw from the Cauchy distribution of a Laplacian kernel's frequencies, shape (n_features, count)."""
        return self.gamma_ * rng.standard_cauchy(size=(n_features, count))


class Linear(Kernel):
    """Compare rows by their inner product x·y, as PCA does."""

    is_linear = True
    _origin: NDArray | None = None

    def about(self, X: Matrix) -> Self:
        """Return the kernel of differences from the mean of dense rows: the same once it is centred."""
        moved = clone(self)
        known = survey(X)
        moved._origin = None if known.is_sparse else known.mean
        return moved

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        X, Y = as_float(X), as_float(Y)
        if self._origin is not None:
            X, Y = ((as_dense(rows) - self._origin).astype(rows.dtype, copy=False) for rows in (X, Y))
        return inner_products(X, Y)


class Polynomial(Kernel):
    """Compare rows by the polynomial kernel (γ x·y + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        Products of up to this many columns count.
    gamma : float, default=None
        Scale of the product; None means one over the number of columns.
    coef0 : float, default=1.0
        Larger values give more weight to low degrees. A negative value is an error: the kernel would not be positive
        semi-definite.
    """

    def __init__(self, degree: int = 3, gamma: float | None = None, coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _resolve(self, X: Matrix | Source | Survey) -> None:
        check_count("degree", self.degree)
        check_real("coef0", self.coef0, minimum=0)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else _check_gamma(self.gamma, X)

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        out = inner_products(as_float(X), as_float(Y))
        out *= self.gamma_
        out += self.coef0
        with np.errstate(over="ignore"):  # the sums are checked to be finite
            return np.power(out, self.degree, out=out)


class Cosine(Kernel):
    """Compare rows by their cosine, x·y / (‖x‖‖y‖); zero for rows of zeros."""

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        X, Y = (unit_rows(rows).astype(as_float(rows).dtype, copy=False) for rows in (X, Y))
        return inner_products(X, Y)


class CallableKernel(Kernel):
    """Any function of two matrices of rows that returns their kernel values.

    Parameters
    ----------
    function : callable
        ``function(X, Y) -> array of shape (n, m)``.
    """

    given_as = "a callable"

    def __init__(self, function: Callable[[Any, Any], ArrayLike]):
        self.function = function

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""
        out = np.asarray(self.function(X, Y))
        if out.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"kernel must return an array of shape (n, m)={(X.shape[0], Y.shape[0])}, got {out.shape}; "
                "a callable kernel takes two matrices of rows, not two single points."
            )
        if not np.isfinite(out).all():
            raise ValueError(
                f"a callable kernel must return finite values, got {out[~np.isfinite(out)][0]}; check the function for "
                "overflow and division by zero."
            )
        return as_float(out)


class Precomputed(Kernel):
    """Use a given kernel matrix.

    `fit` takes the kernel of all pairs of training rows, of shape (n, n), and `transform` the rows k(x_new, x_train).
    """

    takes_precomputed = True
    given_as = "a precomputed"

    def columns(self, X: Matrix) -> PointFeatures:
        """Return the features of a point: its values with the training points, as given."""
        return IdentityFeatures(X.shape[0])

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the given values: `X` already holds them, `Y` is not looked at."""
        return as_float(X)


def _check_gamma(gamma: float | None, X: Matrix) -> float:
    if gamma is None:
        return mean_distance_gamma(X)
    return check_real("gamma", gamma, minimum=0, open_minimum=True, hint="leave it out to use the mean distance")
