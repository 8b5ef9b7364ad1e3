"""What all estimators on a spectrum share: validation, fitting in one piece or in chunks, tags."""

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from polyfold._linalg import as_dense
from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import using_threads
from polyfold._typing import Matrix, RandomState, Rows
from polyfold._validation import check_choice, check_count, check_rows, keeps_state_on_failure, outside
from polyfold.exceptions import DegenerateDataWarning
from polyfold.kernels import FeatureMap, KernelLike, as_kernel, has_fixed_rows, takes_precomputed
from polyfold.sources import Source, check_stream, in_memory, is_stream, rows_to_fit
from polyfold.spectra import FEATURE_MAPS, Spectrum, SpectrumBuilder, spectrum_of

# Attributes that only fits of graph kernels have.
_OF_GRAPHS = ("landmarks_", "residuals_", "neighbor_recall_")


class SpectralEstimator(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators that read a kernel's spectrum; subclasses add `_fit_spectrum` and `transform`."""

    kernel: KernelLike
    feature_map: FeatureMap
    rank: int
    random_state: RandomState
    n_jobs: int | None
    _builder: SpectrumBuilder | None = None  # state from which `partial_fit` continues

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
        """Fit to the rows of `X`, whatever was fitted before.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            The kernel matrix itself, of shape (n_samples, n_samples), where ``kernel="precomputed"``. A stream is any
            container of :func:`polyfold.sources.as_source`: files, blocks, Dask.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        with using_threads(self.n_jobs):
            self._seeds = _draw_seeds(self.random_state)
            rows = self._rows_to_fit(X)
            self._check_parameters()
            with phase("spectrum"):
                spectrum = self._build_spectrum(rows)
            with phase("modules"):
                self._fit_spectrum(spectrum, rows)
            return self

    @available_if(lambda estimator: estimator._check_incremental())
    @keeps_state_on_failure
    def partial_fit(self, X: Rows, y: object = None) -> Self:
        """Fit to one more chunk of rows: those of `fit` or `partial_fit` before count as well.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        with using_threads(self.n_jobs):
            first = self._builder is None
            rows = self._validate(X, reset=first, minimum=2 if first else 1)
            self._check_parameters()
            if first:
                self._seeds = _draw_seeds(self.random_state)
            # A copy continues, so that a chunk that fails has not been counted.
            builder = self._new_builder()
            if self._builder is not None:
                builder = self._builder.copy_if_like(builder)
            self._builder = builder.add(rows)
            return self._fit_spectrum(builder.spectrum(), rows)

    def _rows_to_fit(self, X: Rows) -> Matrix | Source:
        """Return checked rows or their source; a graph needs all rows at once, or landmarks of them."""
        kernel = as_kernel(self.kernel)
        for name in _OF_GRAPHS:
            vars(self).pop(name, None)
        if is_stream(X) and self._sums_blocks():
            return check_stream(self, X, reset=True, minimum=2)
        validate = partial(self._validate, reset=True, minimum=2)
        if kernel.is_pointwise:
            return validate(X)
        options = {"few": kernel.takes_few, "fixed": has_fixed_rows(kernel), "seed": self._seeds[0]}
        rows, self.landmarks_ = rows_to_fit(X, validate, **options)
        return rows

    def _build_spectrum(self, rows: Matrix | Source) -> Spectrum:
        """Return the spectrum of the kernel, and store what `partial_fit` continues from."""
        kernel = as_kernel(self.kernel)
        if kernel.is_pointwise:
            with phase("kernel"):
                self._builder = self._new_builder().add(rows)
            with phase("eigenvalues"):
                return self._builder.spectrum()
        self._builder = None
        # Eigenvectors of an operator are computed one by one, so only those that are used are computed.
        spectrum = spectrum_of(rows, kernel, landmarks=self.rank, directions=self._directions())
        eigenfunctions: Any = spectrum.features
        self.residuals_ = eigenfunctions.residuals
        self.neighbor_recall_ = eigenfunctions.operator.neighbor_recall
        return spectrum

    def _new_builder(self) -> SpectrumBuilder:
        return SpectrumBuilder(as_kernel(self.kernel), self.feature_map, self.rank, self.rank, self._seeds[0])

    def _fit_spectrum(self, spectrum: Spectrum, X: Matrix) -> Self:
        """Fit to a spectrum, and store both; `X` holds the rows given last."""
        raise NotImplementedError

    def _directions(self) -> int:
        """Return how many directions are read."""
        raise NotImplementedError

    def _validate(self, X: Rows, *, reset: bool, minimum: int = 1) -> Matrix:
        """Return checked rows in memory."""
        kernel = as_kernel(self.kernel)
        rows = check_rows(self, in_memory(X), reset=reset, minimum=minimum)
        return as_dense(rows) if kernel.is_pointwise and kernel.takes_precomputed else rows

    def _sums_blocks(self) -> bool:
        """Whether a fit needs only sums over blocks of rows."""
        return hasattr(self, "partial_fit") and not as_kernel(self.kernel).needs_rows

    def _check_parameters(self) -> None:
        check_count("rank", self.rank)
        kernel, features = as_kernel(self.kernel), self.feature_map
        if isinstance(features, str):
            check_choice("feature_map", features, FEATURE_MAPS)
        elif not (hasattr(features, "transform") and hasattr(features, "metric")):
            raise TypeError(
                f"feature_map must be one of {', '.join(map(repr, FEATURE_MAPS))} or features of polyfold.kernels, got "
                f"{features!r}."
            )
        if kernel.takes_precomputed and features not in ("auto", "exact"):
            raise ValueError(
                f"feature_map must be 'auto' or 'exact' with kernel='precomputed', got {features!r}; "
                "pass the data and a kernel to approximate."
            )

    def _check_incremental(self) -> bool:
        """Whether `partial_fit` exists, by the parameters; raises AttributeError with the reason if not."""
        kernel = as_kernel(self.kernel)
        if kernel.takes_precomputed or not kernel.is_pointwise:
            raise AttributeError(
                f"partial_fit needs a kernel that is a function of two points, got kernel={self.kernel!r}; "
                "use fit, or a kernel such as 'rbf'."
            )
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = takes_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def warn_of_empty_columns(n_components: int, n_directions: int) -> None:
    """Warn if a kernel has fewer directions than `n_components`."""
    if n_directions < n_components:
        warnings.warn(
            f"n_components={n_components} is more than the {n_directions} directions that were found; the columns "
            "beyond them are zero. Lower n_components, or check the data for constant or repeated rows.",
            DegenerateDataWarning,
            stacklevel=outside(),
        )


def _draw_seeds(random_state: RandomState) -> tuple[int, int]:
    """Seeds of the feature map and of the solver."""
    first, second = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=2)
    return int(first), int(second)
