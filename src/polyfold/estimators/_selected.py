"""Two simpler ways to avoid redundancy, for comparison [Blau2017, section 2]."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._regression import predict, residual_ratio
from polyfold._running import blas_threads, track
from polyfold._validation import check_count, check_real
from polyfold.kernels import OperatorKernel, as_kernel
from polyfold.nonredundant import bandwidth_of
from polyfold.spectra import Spectrum, SpectrumBuilder, spectrum_from_operator

__all__ = ["SelectedEmbedding", "SequentialRegressionEmbedding"]

_QUERIES = 1000
_MEDIAN_ROWS = 1000


class _PlainSequence(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both share: a kernel, its spectrum, validation and tags."""

    kernel: Any
    n_neighbors: int | None
    random_state: Any
    n_jobs: int | None

    def _spectrum(self, X: Any, rank: int) -> Spectrum:
        kernel = as_kernel(self.kernel)
        if self.n_neighbors is not None and "n_neighbors" in kernel.get_params():
            kernel = clone(kernel).set_params(n_neighbors=self.n_neighbors)
        if isinstance(kernel, OperatorKernel):
            return spectrum_from_operator(kernel.operator(X), rank)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return SpectrumBuilder(kernel, "auto", rank, seed).add(X).spectrum()

    def _validate(self, X: Any, *, reset: bool) -> Any:
        minimum = 3 if reset else 1
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=minimum)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SelectedEmbedding(_PlainSequence):
    """The plain spectral embedding without the coordinates that earlier ones predict.

    Computes more eigenvectors than asked for, regresses each on all before it (leave-one-out, locally linear) and
    keeps, in order, those whose residual is at least `threshold` [Dsilva2015]_. It can only choose among eigenvectors:
    where all of them are partly redundant, none is discarded.

    Parameters
    ----------
    n_components : int, default=2
    kernel : str or kernel object, default="laplacian_eigenmaps"
    n_neighbors : int, default=None
    n_candidates : int, default=None
        Eigenvectors to choose from; None means three times `n_components`, at least 10.
    threshold : float, default=0.3
        Smallest residual, as a share of the spread. Where too few reach it, those with the largest residuals join.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None

    Attributes
    ----------
    selected_ : ndarray of shape (n_components,)
        Numbers of the eigenvectors kept, from 0.
    residuals_ : ndarray of shape (n_candidates,)
        With weights exp(−d²/ε²), ε a third of the median distance between earlier coordinates.
    spectrum_ : Spectrum

    Examples
    --------
    >>> from polyfold.baselines import SelectedEmbedding
    >>> from sklearn.datasets import make_swiss_roll
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> SelectedEmbedding(n_components=2, n_candidates=8).fit_transform(X).shape
    (500, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "laplacian_eigenmaps",
        n_neighbors: int | None = None,
        n_candidates: int | None = None,
        threshold: float = 0.3,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = self._validate(X, reset=True)
        wanted = check_count("n_components", self.n_components, maximum=len(X) - 1)
        check_real("threshold", self.threshold, minimum=0)
        candidates = max(3 * wanted, 10) if self.n_candidates is None else self.n_candidates
        candidates = check_count("n_candidates", candidates, minimum=wanted, hint="choose from at least n_components")
        with blas_threads(self.n_jobs):
            self.spectrum_ = self._spectrum(X, min(candidates, len(X) - 1))
            coordinates = self.spectrum_.coordinates(X)
            self.residuals_ = _residuals(coordinates / coordinates.std(axis=0))
        self.selected_ = _select(self.residuals_, self.threshold, wanted)
        self._n_features_out = len(self.selected_)
        return self

    def transform(self, X: Any) -> NDArray:
        """Return the kept coordinates of old or new points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
        """
        check_is_fitted(self, "spectrum_")
        X = self._validate(X, reset=False)
        with blas_threads(self.n_jobs):
            return self.spectrum_.coordinates(X)[:, self.selected_]


class SequentialRegressionEmbedding(_PlainSequence):
    """Coordinates one by one, each from the data minus their reconstruction by the earlier ones.

    After every coordinate the points are replaced by what a regression on the coordinates leaves of them, and the
    kernel is built anew. Simple, and not enough: points leave the manifold on the way [Blau2017, Fig. 4].

    Parameters
    ----------
    n_components : int, default=2
    kernel : str or kernel object, default="laplacian_eigenmaps"
    n_neighbors : int, default=None
    bandwidth : float, default=0.3
        Of the regression, in units of the root mean squared norm of the earlier coordinates.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Mean 0, variance 1.

    Notes
    -----
    Time O(n²) per coordinate, in blocks; the training points are kept.

    Examples
    --------
    >>> from polyfold.baselines import SequentialRegressionEmbedding
    >>> from sklearn.datasets import make_swiss_roll
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> SequentialRegressionEmbedding(n_components=2).fit_transform(X).shape
    (500, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "laplacian_eigenmaps",
        n_neighbors: int | None = None,
        bandwidth: float = 0.3,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = self._validate(X, reset=True)
        count = check_count("n_components", self.n_components, maximum=len(X) - 1)
        check_real("bandwidth", self.bandwidth, minimum=0, open_minimum=True)
        self._points, self._spectra, self._moments = X, [], []
        F = np.empty((len(X), 0))
        with blas_threads(self.n_jobs):
            for _ in track(range(count), "coordinates"):
                left = self._left(X, F, F)
                spectrum = self._spectrum(left, 1)
                f = spectrum.coordinates(left)[:, 0].astype(np.float64)
                self._spectra.append(spectrum)
                self._moments.append((f.mean(), max(f.std(), np.finfo(np.float64).tiny)))
                F = np.column_stack([F, (f - f.mean()) / self._moments[-1][1]])
        self.embedding_ = F.astype(X.dtype, copy=False)
        self._coordinates = F
        self._n_features_out = count
        return self

    def transform(self, X: Any) -> NDArray:
        """Return the coordinates of old or new points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
        """
        check_is_fitted(self, "embedding_")
        X = self._validate(X, reset=False)
        F = np.empty((len(X), 0))
        with blas_threads(self.n_jobs):
            for spectrum, (mean, scale) in zip(self._spectra, self._moments, strict=True):
                left = self._left(X, self._coordinates[:, : F.shape[1]], F)
                F = np.column_stack([F, (spectrum.coordinates(left)[:, 0] - mean) / scale])
        return F.astype(X.dtype, copy=False)

    def _left(self, X: NDArray, F: NDArray, new: NDArray) -> NDArray:
        """Return what a regression of the training points on their coordinates `F` leaves of `X` at `new`."""
        if F.shape[1] == 0:
            return X
        return (X - predict(F, self._points, new, bandwidth_of(F, self.bandwidth))).astype(X.dtype, copy=False)


def _residuals(Z: NDArray) -> NDArray:
    """Leave-one-out residuals with the bandwidth of [Dsilva2015], on at most 1,000 points."""
    rng = np.random.RandomState(0)
    queries = np.arange(len(Z)) if len(Z) <= _QUERIES else rng.choice(len(Z), _QUERIES, replace=False)
    some = Z if len(Z) <= _MEDIAN_ROWS else Z[rng.choice(len(Z), _MEDIAN_ROWS, replace=False)]
    out = np.ones(Z.shape[1])
    for i in track(range(1, Z.shape[1]), "residuals"):
        distances = np.linalg.norm(some[:, None, :i] - some[None, :, :i], axis=2)
        # exp(−d²/ε²) is a Gaussian of standard deviation ε/√2.
        h = max(float(np.median(distances)) / 3 / np.sqrt(2), np.finfo(np.float64).tiny)
        out[i] = residual_ratio(Z[:, :i], Z[:, i], [h], queries=queries, regressor="locally_linear")[0]
    return out


def _select(residuals: NDArray, threshold: float, wanted: int) -> NDArray:
    """First `wanted` numbers above the threshold; where there are fewer, the next largest residuals join."""
    passed = np.flatnonzero(residuals >= threshold)[:wanted]
    rest = np.setdiff1d(np.argsort(-residuals, kind="stable"), passed, assume_unique=True)
    rest = rest[np.argsort(-residuals[rest], kind="stable")][: wanted - len(passed)]
    return np.sort(np.concatenate([passed, rest]))
