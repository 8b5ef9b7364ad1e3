"""What all modular representations share: M linear maps of H dimensions on the coordinates of a spectrum."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyfold._running import blas_threads
from polyfold._validation import check_count
from polyfold.estimators._spectral import SpectralEstimator
from polyfold.exceptions import DegenerateDataWarning
from polyfold.modular import spectral_loss

__all__ = ["ModularTransformer"]


class ModularTransformer(SpectralEstimator):
    """Base of the modular representations; subclasses add `_maps`."""

    n_modules: int
    n_components: int
    offsets_: NDArray | None = None

    def transform(self, X: Any) -> NDArray:
        """Return all modules side by side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_modules * n_components)
            Columns ``m * n_components`` to ``(m + 1) * n_components`` are module m.
        """
        X = self._validate_fitted(X)
        M, H, k = self.components_.shape
        with blas_threads(self.n_jobs):
            Z = self.spectrum_.coordinates(X, self.components_.reshape(M * H, k).T)
        if self.offsets_ is not None:
            Z += self.offsets_.ravel().astype(Z.dtype)
        return Z

    def transform_modules(self, X: Any) -> NDArray:
        """Return every module's own representation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n_modules, n, n_components)
        """
        Z = self.transform(X)
        M, H, _ = self.components_.shape
        return np.ascontiguousarray(Z.reshape(-1, M, H).transpose(1, 0, 2))

    def _solve(self, X: Any) -> Self:
        rank, H = self.spectrum_.rank, self.n_components
        if rank < H:
            warnings.warn(
                f"n_components={H} is more than the {rank} directions of the centred kernel; the columns beyond "
                "them are zero. Lower n_components, or check the data for constant or repeated rows.",
                DegenerateDataWarning,
                stacklevel=3,
            )
        self.components_ = self._maps(X)
        self._n_features_out = self.components_.shape[0] * self.components_.shape[1]
        return self

    def _directions(self) -> int:
        return self.n_modules * self.n_components

    def _maps(self, X: Any) -> NDArray:
        """Return maps (M, H, k) on the first k coordinates."""
        raise NotImplementedError

    def _rng(self) -> np.random.RandomState:
        """Randomness of the solver: the same for every refit and remix of one model."""
        return np.random.RandomState(self._seeds[1])

    def _loss(self, diversity: float) -> float:
        """Modular loss of the fitted modules, as in the paper (divided by N²)."""
        k = self.components_.shape[2]
        factors = self.components_ * np.sqrt(self.eigenvalues_[:k])
        return spectral_loss(factors, self.eigenvalues_, diversity, self.spectrum_.energy) / self._pairs()

    def _pairs(self) -> float:
        return float(self.spectrum_.n_samples) ** 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_modules", self.n_modules)
        check_count("n_components", self.n_components)
