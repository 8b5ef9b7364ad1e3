"""What linear autoencoders share: codes and reconstructions from M encoders and decoders."""

from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from polyfold._progress import LongFit, shows_progress
from polyfold._threads import in_blocks, threaded, using_threads
from polyfold._typing import FloatArray, Matrix, Rows
from polyfold._validation import check_rows, keeps_state_on_failure
from polyfold.estimators._modules import ModuleMixin
from polyfold.sources import by_blocks, check_stream, in_memory, is_stream

BATCH = 512  # rows moved to the mean at a time: few enough to stay in the cache


class LinearAutoencoder(LongFit, ModuleMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the linear autoencoders; subclasses add `_fit_rows`."""

    n_jobs: int | None

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
        """Fit to the rows of `X`, whatever was fitted before.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        if self._sums_blocks() and is_stream(X):
            X = check_stream(self, X, reset=True, minimum=2)
        else:
            X = self._validate(X, reset=True)
        with using_threads(self.n_jobs):
            self._fit_rows(X)
        return self

    def _sums_blocks(self) -> bool:
        """Whether a fit needs only sums over blocks of rows."""
        return False

    def _fit_rows(self, X: Matrix) -> None:
        """Fit to checked rows, and end with `_store_modules`."""
        raise NotImplementedError

    @by_blocks
    def transform(self, X: Rows) -> FloatArray:
        """Return the codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_modules * n_components)
            Columns ``m * n_components`` to ``(m + 1) * n_components`` are module m. Lazy for Dask.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        M, H, D = self.encoders_.shape
        # Rounded as X is: what the difference lacks is in the shift, which is formed in double precision.
        origin = (np.zeros(D) if sp.issparse(X) else self.means_.mean(axis=0)).astype(X.dtype)
        weights = self.encoders_.reshape(M * H, D).T
        shift = np.einsum("mhd,md->mh", self.encoders_, self.means_ - origin).ravel()
        with using_threads(self.n_jobs):
            Z = _project(X, weights.astype(X.dtype, copy=False), origin)
        Z -= shift.astype(X.dtype)
        return Z

    @by_blocks
    def inverse_transform(self, Z: Rows) -> FloatArray:
        """Return the ensemble's reconstruction: the mean over the modules.

        Parameters
        ----------
        Z : array-like of shape (n, n_modules * n_components)
            Codes, as returned by `transform`.

        Returns
        -------
        X : ndarray of shape (n, n_features)
        """
        check_is_fitted(self)
        Z = check_array(Z, dtype=[np.float64, np.float32])
        M, D, H = self.decoders_.shape
        if Z.shape[1] != M * H:
            raise ValueError(
                f"Z must have n_modules * n_components={M * H} columns, got {Z.shape[1]}; pass what transform returned."
            )
        stacked = self.decoders_.transpose(0, 2, 1).reshape(M * H, D) / M
        with using_threads(self.n_jobs):
            X = _project(Z, stacked.astype(Z.dtype, copy=False))
        return X + self.means_.mean(axis=0).astype(Z.dtype)

    def reconstruct_modules(self, X: Rows) -> FloatArray:
        """Return the reconstruction of `X` by every module.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        reconstructions : ndarray of shape (n_modules, n, n_features)
        """
        Z = self.transform_modules(X)
        decoders = self.decoders_.transpose(0, 2, 1).astype(Z.dtype, copy=False)
        with using_threads(self.n_jobs):
            modules = list(threaded(lambda pair: pair[0] @ pair[1], zip(Z, decoders, strict=True)))
        return np.stack(modules) + self.means_[:, None].astype(Z.dtype)

    def _store_modules(self, encoders: NDArray, decoders: NDArray, means: NDArray) -> None:
        """Store encoders (M, H, D), decoders (M, D, H) and means (M, D) at once."""
        self.encoders_, self.decoders_, self.means_ = encoders, decoders, means
        self._module_shape = encoders.shape[:2]

    def _check_parameters(self) -> None:
        self._check_modules()

    def _validate(self, X: Rows, *, reset: bool) -> Matrix:
        return check_rows(self, in_memory(X), reset=reset, minimum=2 if reset else 1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _project(X: Matrix, weights: NDArray, origin: NDArray | float = 0.0) -> NDArray:
    """Return (X - origin) @ weights; a large mean costs no digits, because rows are moved before they are summed."""
    if sp.issparse(X):
        return np.asarray(X @ weights)
    Z = np.empty((X.shape[0], weights.shape[1]), dtype=X.dtype)
    in_blocks(lambda rows: np.matmul(X[rows] - origin, weights, out=Z[rows]), len(Z), BATCH)
    return Z
