"""What linear autoencoders share: codes and reconstructions from M encoders and decoders."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from polyfold._running import blas_threads
from polyfold._validation import check_count
from polyfold.exceptions import DegenerateDataWarning

__all__ = ["LinearAutoencoder"]


class LinearAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the linear autoencoders; subclasses set `encoders_`, `decoders_` and `means_`."""

    n_modules: int
    n_components: int
    n_jobs: int | None

    def transform(self, X: Any) -> NDArray:
        """Return the codes of all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_modules * n_components)
            Columns ``m * n_components`` to ``(m + 1) * n_components`` are module m.
        """
        check_is_fitted(self, "encoders_")
        X = self._validate(X, reset=False)
        M, H, D = self.encoders_.shape
        weights = self.encoders_.reshape(M * H, D).T
        with blas_threads(self.n_jobs):
            Z = safe_sparse_dot(X, weights.astype(X.dtype, copy=False), dense_output=True)
        # The shift in double precision: with a large mean, its digits are the ones that matter.
        Z -= np.einsum("mhd,md->mh", self.encoders_, self.means_).ravel().astype(X.dtype)
        return Z

    def transform_modules(self, X: Any) -> NDArray:
        """Return the codes of every module.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n_modules, n, n_components)
        """
        return self._by_module(self.transform(X))

    def inverse_transform(self, Z: Any) -> NDArray:
        """Return the ensemble's reconstruction: the mean over the modules.

        Parameters
        ----------
        Z : array-like of shape (n, n_modules * n_components)
            Codes, as returned by `transform`.

        Returns
        -------
        X : ndarray of shape (n, n_features)
        """
        check_is_fitted(self, "decoders_")
        Z = check_array(Z, dtype=[np.float64, np.float32])
        M, D, H = self.decoders_.shape
        if Z.shape[1] != M * H:
            raise ValueError(
                f"Z must have n_modules * n_components={M * H} columns, got {Z.shape[1]}; pass what transform returned."
            )
        stacked = self.decoders_.transpose(0, 2, 1).reshape(M * H, D) / M
        with blas_threads(self.n_jobs):
            return Z @ stacked.astype(Z.dtype, copy=False) + self.means_.mean(axis=0).astype(Z.dtype)

    def reconstruct_modules(self, X: Any) -> NDArray:
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
        with blas_threads(self.n_jobs):
            return Z @ decoders + self.means_[:, None].astype(Z.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.encoders_.shape[0] * self.encoders_.shape[1]

    def _by_module(self, Z: NDArray) -> NDArray:
        M, H, _ = self.encoders_.shape
        return np.ascontiguousarray(Z.reshape(-1, M, H).transpose(1, 0, 2))

    def _validate(self, X: Any, *, reset: bool, minimum: int = 1) -> Any:
        dtype = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=dtype, ensure_min_samples=minimum)

    def _warn_of_empty_columns(self, n_directions: int) -> None:
        if n_directions < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} is more than the {n_directions} directions of the centred data; the "
                "columns beyond them are zero. Lower n_components, or check the data for constant or repeated rows.",
                DegenerateDataWarning,
                stacklevel=4,
            )

    def _check_parameters(self) -> None:
        check_count("n_modules", self.n_modules)
        check_count("n_components", self.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
