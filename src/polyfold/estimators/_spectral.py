"""What all estimators on a spectrum share: validation, fitting in one piece or in chunks, tags."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._linalg import blas_threads
from polyfold._validation import check_choice, check_count
from polyfold.kernels import OperatorKernel, Precomputed, as_kernel
from polyfold.spectra import FEATURE_MAPS, Spectrum, SpectrumBuilder, spectrum_from_operator

__all__ = ["SpectralEstimator"]


def _fits_in_chunks(estimator: SpectralEstimator) -> bool:
    """Whether `partial_fit` exists, by the parameters; raises AttributeError with the reason where not."""
    return estimator._check_incremental()


class SpectralEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators that read a kernel's spectrum; subclasses add `_solve` and `transform`."""

    kernel: Any
    feature_map: Any
    rank: int
    random_state: Any
    n_jobs: int | None
    _builder: SpectrumBuilder | None = None  # what `partial_fit` goes on from

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The kernel matrix itself, of shape (n_samples, n_samples), where ``kernel="precomputed"``.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = self._validate(X, reset=True)
        self._check_parameters()
        with blas_threads(self.n_jobs):
            spectrum, builder = self._build(X)
            self._store_spectrum(spectrum, X)
        self._builder = builder
        return self

    @available_if(_fits_in_chunks)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Fit to one more chunk of rows, going on from what was fitted before, by `fit` or `partial_fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        first = self._builder is None
        X = self._validate(X, reset=first, minimum=2 if first else 1)
        self._check_parameters()
        # A copy takes the rows: a chunk that fails must not leave half of itself in the sums.
        builder = self._new_builder() if self._builder is None else self._builder.copy()
        with blas_threads(self.n_jobs):
            self._store_spectrum(builder.add(X).spectrum(), X)
        self._builder = builder
        return self

    def _build(self, X: Any) -> tuple[Spectrum, SpectrumBuilder | None]:
        kernel = as_kernel(self.kernel)
        if isinstance(kernel, OperatorKernel):
            self._seeds = _draw_seeds(self.random_state)
            return spectrum_from_operator(kernel.operator(X), min(self.rank, self._directions())), None
        builder = self._new_builder().add(X)
        return builder.spectrum(), builder

    def _new_builder(self) -> SpectrumBuilder:
        self._seeds = _draw_seeds(self.random_state)
        return SpectrumBuilder(as_kernel(self.kernel), self.feature_map, self.rank, self._seeds[0])

    def _store_spectrum(self, spectrum: Spectrum, X: Any) -> Self:
        self.spectrum_ = spectrum
        self.eigenvalues_ = spectrum.eigenvalues
        return self._solve(X)

    def _solve(self, X: Any) -> Self:
        """Fit what comes after the spectrum."""
        raise NotImplementedError

    def _directions(self) -> int:
        """Return how many directions `_solve` reads; an operator's eigenvectors are found one by one."""
        raise NotImplementedError

    def _validate(self, X: Any, *, reset: bool, minimum: int = 1) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=False if self._is_precomputed() else "csr",
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else minimum,
        )

    def _validate_fitted(self, X: Any) -> Any:
        check_is_fitted(self, "spectrum_")
        return self._validate(X, reset=False)

    def _check_parameters(self) -> None:
        check_count("rank", self.rank)
        if isinstance(self.feature_map, str):
            check_choice("feature_map", self.feature_map, FEATURE_MAPS)
        if self._is_precomputed() and self.feature_map not in ("auto", "exact"):
            raise ValueError(
                f"feature_map must be 'auto' or 'exact' with kernel='precomputed', got {self.feature_map!r}; "
                "pass the data and a kernel to approximate."
            )

    def _check_incremental(self) -> bool:
        if self._is_precomputed() or isinstance(as_kernel(self.kernel), OperatorKernel):
            raise AttributeError(
                f"partial_fit needs a kernel that is a function of two points, got kernel={self.kernel!r}; "
                "use fit, or a kernel such as 'rbf'."
            )
        return True

    def _is_precomputed(self) -> bool:
        return self.kernel == "precomputed" if isinstance(self.kernel, str) else isinstance(self.kernel, Precomputed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _draw_seeds(random_state: Any) -> tuple[int, int]:
    """Seeds of the feature map and of the solver."""
    first, second = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=2)
    return int(first), int(second)
