"""The plain spectral embedding of any kernel."""

from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyfold._threads import using_threads
from polyfold._typing import FloatArray, Matrix, RandomState, Rows
from polyfold._validation import check_count
from polyfold.estimators._spectral import SpectralEstimator, warn_of_empty_columns
from polyfold.kernels import FeatureMap, KernelLike
from polyfold.sources import by_blocks, is_stream
from polyfold.spectra import Spectrum


class KernelEmbedding(SpectralEstimator):
    r"""Embed rows by the top eigenvectors of any centred kernel (kernel PCA).

    .. math:: \min_{\varphi} \frac{1}{N^2} \sum_{i,j} (\varphi(x_i) \cdot \varphi(x_j) - k(x_i, x_j))^2

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    kernel : str, kernel object or callable, default="rbf"
        See :mod:`polyfold.kernels`; graph kernels such as ``"laplacian_eigenmaps"`` included.
    feature_map : {"auto", "exact", "nystroem", "fourier"} or features, default="auto"
        How the kernel of many rows is approximated. "auto" is exact up to ``2 * rank`` points and Nyström beyond.
    rank : int, default=1000
        Number of landmarks or random features, and of directions kept. Larger values approximate the kernel more
        closely; memory grows with its square.
    random_state : int, RandomState or None, default=None
        Seed of all random steps, such as the choice of landmarks.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    spectrum_ : Spectrum
    eigenvalues_ : ndarray
        Of the centred kernel matrix, descending.
    residuals_, neighbor_recall_, landmarks_ : of graph kernels only
        As in :class:`NonRedundantEmbedding`.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> pf.KernelEmbedding(n_components=2, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike = "rbf",
        feature_map: FeatureMap = "auto",
        rank: int = 1000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.feature_map = feature_map
        self.rank = rank
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit_transform(self, X: Rows, y: object = None) -> FloatArray:
        """Fit to the rows of `X` and return their coordinates.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            What `transform` returns for the same rows. Graph kernels store it, so neighbours are searched once.
        """
        if not self.fit(X)._has_coordinates_of(X):
            return self.transform(X)
        Z = self.spectrum_.training_coordinates(self._validate(X, reset=False).dtype)
        return np.pad(Z, ((0, 0), (0, self.n_components - Z.shape[1])))

    @by_blocks
    def transform(self, X: Rows) -> FloatArray:
        """Return the coordinates of old or new points.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            Columns beyond the rank of the kernel are zero. Lazy for Dask.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        kept = min(self._n_features_out, self.spectrum_.rank)
        with using_threads(self.n_jobs):
            return self.spectrum_.coordinates(X, np.eye(kept, self._n_features_out))

    def _has_coordinates_of(self, X: Rows) -> bool:
        """Whether `transform` of the training rows is stored: a graph kernel was fitted to all of them."""
        operator = self.spectrum_.operator
        return not is_stream(X) and operator is not None and operator.finds_itself and self.landmarks_ is None

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        warn_of_empty_columns(self.n_components, spectrum.eigenvalues.size)
        self.spectrum_, self.eigenvalues_ = spectrum, spectrum.eigenvalues
        self._n_features_out = self.n_components
        return self

    def _directions(self) -> int:
        return min(self.rank, self.n_components)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_components", self.n_components)
