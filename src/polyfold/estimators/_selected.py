"""Two simpler ways to avoid redundancy, for comparison [Blau2017, section 2]."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from polyfold._progress import LongFit, phase, shows_progress, track
from polyfold._regression import predict, residual_ratio
from polyfold._threads import using_threads
from polyfold._typing import FloatArray, Matrix, RandomState, Rows
from polyfold._validation import check_count, check_real, check_rows, draw_seed, keeps_state_on_failure, own_rows
from polyfold.estimators._spectral import warn_of_empty_columns
from polyfold.kernels import KernelLike, as_kernel, takes_precomputed
from polyfold.nonredundant import bandwidth_of
from polyfold.spectra import Spectrum, spectrum_of

_QUERIES = 1000
_MEDIAN_ROWS = 1000


class _PlainSequence(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both share: a kernel, its spectrum, fitting and empty columns; subclasses add `_fit_rows` and `_rows_at`."""

    n_components: int
    kernel: KernelLike
    n_neighbors: int | None
    random_state: RandomState
    n_jobs: int | None

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
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
        rows = own_rows(check_rows(self, X, reset=True, minimum=3, sparse=False), X)
        check_count("n_components", self.n_components, maximum=len(rows) - 1)
        self._n_features_out = self.n_components
        with using_threads(self.n_jobs):
            found = self._fit_rows(rows, draw_seed(self.random_state))
        warn_of_empty_columns(self.n_components, found)
        return self

    def transform(self, X: Rows) -> FloatArray:
        """Return the coordinates of old or new points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            Columns beyond what the kernel has are zero.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, sparse=False)
        with using_threads(self.n_jobs):
            return self._padded(self._rows_at(X), X.dtype)

    def _fit_rows(self, X: NDArray, seed: int) -> int:
        """Fit, and return the number of coordinates that were found."""
        raise NotImplementedError

    def _rows_at(self, X: NDArray) -> NDArray:
        """Return those coordinates of the rows of `X`."""
        raise NotImplementedError

    def _spectrum(self, X: Matrix, directions: int, seed: int) -> Spectrum:
        kernel = as_kernel(self.kernel, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        return spectrum_of(X, kernel, directions=directions, seed=seed)

    def _padded(self, Z: NDArray, dtype: DTypeLike) -> NDArray:
        return np.pad(Z, ((0, 0), (0, self._n_features_out - Z.shape[1]))).astype(dtype, copy=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = takes_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SelectedEmbedding(_PlainSequence):
    """Drop the coordinates of a spectral embedding that earlier ones predict.

    Computes more eigenvectors than required, regresses each on all before it (leave-one-out, locally linear) and
    keeps, in order, those whose residual is at least `threshold` [Dsilva2015]_. It can only choose among eigenvectors:
    if all of them are partly redundant, none is discarded.

    Parameters
    ----------
    n_components : int, default=2
    kernel : str or kernel object, default="laplacian_eigenmaps"
    n_neighbors : int, default=None
    n_candidates : int, default=None
        Eigenvectors to choose from; None means three times `n_components`, at least 10.
    threshold : float, default=0.3
        Smallest residual, as a fraction of the spread. If too few reach it, those with the largest residuals are added.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

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
        kernel: KernelLike = "laplacian_eigenmaps",
        n_neighbors: int | None = None,
        n_candidates: int | None = None,
        threshold: float = 0.3,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_rows(self, X: NDArray, seed: int) -> int:
        wanted = self.n_components
        check_real("threshold", self.threshold, minimum=0)
        count = max(3 * wanted, 10) if self.n_candidates is None else self.n_candidates
        count = check_count("n_candidates", count, minimum=wanted, hint="choose from at least n_components")
        with phase("spectrum"):
            self.spectrum_ = self._spectrum(X, min(count, len(X) - 1), seed)
        with phase("residuals"):
            coordinates = self.spectrum_.coordinates(X).astype(np.float64)
            self.residuals_ = regression_residuals(coordinates / coordinates.std(axis=0))
        self.selected_ = select_unpredictable(self.residuals_, self.threshold, wanted)
        return len(self.selected_)

    def _rows_at(self, X: NDArray) -> NDArray:
        return self.spectrum_.coordinates(X)[:, self.selected_]


class SequentialRegressionEmbedding(_PlainSequence):
    """Find coordinates one by one in the residual of the earlier ones.

    After every coordinate the points are replaced by their residual in a regression on the coordinates, and the kernel
    is built again. This often fails, because the residuals leave the manifold [Blau2017, Fig. 4].

    Parameters
    ----------
    n_components, kernel, n_neighbors, random_state : optional
        As in :class:`SelectedEmbedding`.
    bandwidth : float, default=0.3
        Of the regression, in units of the root mean squared norm of the earlier coordinates.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

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
        kernel: KernelLike = "laplacian_eigenmaps",
        n_neighbors: int | None = None,
        bandwidth: float = 0.3,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_rows(self, X: NDArray, seed: int) -> int:
        bandwidth = check_real("bandwidth", self.bandwidth, minimum=0, open_minimum=True)
        if takes_precomputed(self.kernel):
            raise ValueError(f"kernel must be one of points, which are regressed, got {self.kernel!r}; pass X itself.")
        self._sequence = Regressed(X, bandwidth).fit(lambda Y: self._spectrum(Y, 1, seed), self.n_components)
        self.embedding_ = self._padded(self._sequence.coordinates, X.dtype)
        return len(self._sequence.spectra)

    def _rows_at(self, X: NDArray) -> NDArray:
        return self._sequence.transform(X)


def regression_residuals(Z: NDArray) -> NDArray:
    """Leave-one-out residuals of columns on the earlier ones, bandwidth of [Dsilva2015], on at most 1,000 points."""
    rng = np.random.RandomState(0)
    queries = np.arange(len(Z)) if len(Z) <= _QUERIES else rng.choice(len(Z), _QUERIES, replace=False)
    sample = Z if len(Z) <= _MEDIAN_ROWS else Z[rng.choice(len(Z), _MEDIAN_ROWS, replace=False)]
    out = np.ones(Z.shape[1])
    for i in track(range(1, Z.shape[1]), "residuals"):
        distances = cdist(sample[:, :i], sample[:, :i])
        # exp(−d²/ε²) is a Gaussian of standard deviation ε/√2.
        h = max(float(np.median(distances)) / 3 / np.sqrt(2), np.finfo(np.float64).tiny)
        out[i] = residual_ratio(Z[:, :i], Z[:, i], [h], queries=queries, regressor="locally_linear")[0]
    return out


def select_unpredictable(residuals: NDArray, threshold: float, wanted: int) -> NDArray:
    """First `wanted` numbers above the threshold; if there are fewer, the next largest residuals are added."""
    passed = np.flatnonzero(residuals >= threshold)[:wanted]
    by_residual = np.argsort(-residuals, kind="stable")
    others = by_residual[~np.isin(by_residual, passed)]
    return np.sort(np.concatenate([passed, others[: wanted - len(passed)]]))


@dataclass
class Regressed:
    """Coordinates one by one, each the first of a spectrum of the data minus their regression on the earlier ones."""

    points: NDArray
    bandwidth: float
    coordinates: NDArray = field(init=False)
    spectra: list[tuple[Spectrum, float, float]] = field(init=False, default_factory=list)

    def fit(self, spectrum_of: Callable[[NDArray], Spectrum], count: int) -> "Regressed":
        """Find up to `count` coordinates; fewer if the residual is zero."""
        self.coordinates = np.empty((len(self.points), 0))
        for _ in track(range(count), "coordinates"):
            residual = self._residual(self.points, self.coordinates)
            spectrum = spectrum_of(residual)
            if spectrum.rank == 0:
                break
            f = spectrum.coordinates(residual)[:, 0].astype(np.float64)
            self.spectra.append((spectrum, float(f.mean()), float(f.std())))
            self.coordinates = np.column_stack([self.coordinates, (f - f.mean()) / f.std()])
        return self

    def transform(self, X: Matrix) -> NDArray:
        """Return the coordinates of the rows of `X`, shape (n, count)."""
        F = np.empty((len(X), 0))
        for spectrum, mean, scale in self.spectra:
            f = spectrum.coordinates(self._residual(X, F))[:, 0].astype(np.float64)
            F = np.column_stack([F, (f - mean) / scale])
        return F

    def _residual(self, X: NDArray, F: NDArray) -> NDArray:
        """Return the residual of `X` in a regression of the training points on their coordinates, at `F`."""
        earlier = self.coordinates[:, : F.shape[1]]
        if F.shape[1] == 0:
            return X
        return (X - predict(earlier, self.points, F, bandwidth_of(earlier, self.bandwidth))).astype(X.dtype, copy=False)
