"""What the modular representations share: M modules of H dimensions side by side, remixed without the data."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from polyfold._threads import using_threads
from polyfold._typing import FloatArray, Rows
from polyfold._validation import check_choice, check_count, check_real, outside
from polyfold.estimators._spectral import SpectralEstimator, warn_of_empty_columns
from polyfold.modular import DATA_SOLVERS, SOLVERS, ModularFit, score_solution
from polyfold.sources import by_blocks, is_stream
from polyfold.spectra import Spectrum

CARRIED = ("n_features_in_", "feature_names_in_", "_seeds")  # what a remixed model takes over


class ModuleMixin:
    """M modules of H dimensions, side by side in what `transform` returns."""

    n_modules: int
    n_components: int
    _module_shape: tuple[int, int]  # (M, H), set with the other fitted attributes

    def transform_modules(self, X: Rows) -> FloatArray:
        """Return every module's own representation.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n_modules, n, n_components)
            A view of what `transform` returns.
        """
        Z = self.transform(X)  # type: ignore[attr-defined]
        Z = Z if is_stream(Z) else np.asarray(Z)  # those of Dask stay lazy
        return Z.reshape(Z.shape[0], *self._module_shape).transpose(1, 0, 2)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Return the names of the columns: ``module2_dim0`` is the first dimension of the third module.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Compared with the names seen in `fit`, and not used otherwise.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        M, H = self._module_shape
        return np.array([f"module{m}_dim{h}" for m in range(M) for h in range(H)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self._module_shape[0] * self._module_shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_module_shape")

    def _check_modules(self) -> None:
        check_count("n_modules", self.n_modules)
        check_count("n_components", self.n_components)


class RemixMixin:
    """Models with a diversity term: their parameters and losses, and other modules from the same spectrum."""

    SOLVERS: tuple[str, ...]
    n_modules: int
    n_components: int
    diversity: float
    solver: str
    max_iter: int
    tol: float
    spectrum_: Spectrum
    _directions: Callable[[], int]  # number of directions that a fit looks for, if it does not find all of them
    _rng: Callable[[], np.random.RandomState]

    def remix(
        self, *, diversity: float | None = None, n_modules: int | None = None, n_components: int | None = None
    ) -> Self:
        """Return another fitted model from the same directions, without touching the data.

        Parameters
        ----------
        diversity : float, default=None
        n_modules : int, default=None
        n_components : int, default=None
            What to change; None keeps the value of this model.

        Returns
        -------
        model : object
            Of the same class.
        """
        check_is_fitted(self)
        changes = {"diversity": diversity, "n_modules": n_modules, "n_components": n_components}
        other: Any = clone(self).set_params(**{name: value for name, value in changes.items() if value is not None})
        other._check_parameters()
        vars(other).update({name: value for name, value in vars(self).items() if name in CARRIED})
        with using_threads(other.n_jobs):
            return other._fit_like(self)

    def diversity_path(self, grid: Iterable[float]) -> list[Self]:
        """Return the fitted models for every λ in `grid`, all from this model's directions.

        Parameters
        ----------
        grid : iterable of float

        Returns
        -------
        models : list of objects
            Of the same class.
        """
        return [self.remix(diversity=diversity) for diversity in grid]

    def _fit_like(self, source: Self) -> Self:
        """Fit to the spectrum of another fitted estimator."""
        raise NotImplementedError

    def _check_enough_directions(self, source: Self) -> None:
        """Refuse modules of more directions than `source` has looked for, unless there are no more."""
        found = source.spectrum_.rank
        if self._directions() > found and not source.spectrum_.is_complete:
            raise ValueError(
                f"n_modules * n_components must be <= {found}, the directions this model has found, got "
                f"{self.n_modules * self.n_components}; fit with the new parameters."
            )

    def _fit_modules(self, values: NDArray, energy: float, unit: float, coordinates: NDArray | None) -> ModularFit:
        """Minimise the loss over directions with these values; energy counts those beyond, losses are per `unit`."""
        solver = self.solver if values.size else "closed"
        options: dict[str, Any] = {} if solver == "closed" else {"max_iter": self.max_iter, "tol": self.tol}
        if solver in DATA_SOLVERS:
            options["coordinates"] = coordinates
        solution = SOLVERS[solver](values, self.n_modules, self.n_components, self.diversity, self._rng(), **options)
        return score_solution(solution, values, self.diversity, energy, unit)

    def _store_fit(self, fit: ModularFit) -> None:
        self.loss_, self.loss_bound_, self.loss_gap_ = fit.loss, fit.bound, fit.gap
        self.allocation_, self.loss_curve_, self.n_iter_ = fit.allocation, list(fit.loss_curve), fit.n_iter
        if not fit.converged:
            warnings.warn(
                f"solver={self.solver!r} stopped after max_iter={self.max_iter} epochs with relative gap "
                f"{fit.gap:.3g} to the lower bound and tol={self.tol:g}; raise max_iter, or use solver='closed'.",
                ConvergenceWarning,
                stacklevel=outside(),
            )

    def _check_diversity(self) -> None:
        why = "above 1 the loss is unbounded below (Theorem 1 of Reeve and Brown 2015), below 0 it rewards equality"
        check_real("diversity", self.diversity, minimum=0, maximum=1, hint=why)
        check_choice("solver", self.solver, self.SOLVERS)
        check_count("max_iter", self.max_iter)
        check_real("tol", self.tol, minimum=0)


class ModularTransformer(ModuleMixin, SpectralEstimator):
    """Base of the linear maps on the coordinates of a spectrum; subclasses add `_fit_spectrum`."""

    offsets_: NDArray | None = None

    @by_blocks
    def transform(self, X: Rows) -> FloatArray:
        """Return all modules side by side.

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
        M, H, k = self.components_.shape
        with using_threads(self.n_jobs):
            Z = self.spectrum_.coordinates(X, self.components_.reshape(M * H, k).T)
        if self.offsets_ is not None:
            Z += self.offsets_.ravel().astype(Z.dtype)
        return Z

    def _store_maps(self, spectrum: Spectrum, maps: NDArray, offsets: NDArray | None = None) -> Self:
        """Store maps (M, H, k) on the first k coordinates, and all that goes with them, at once."""
        warn_of_empty_columns(self.n_components, spectrum.eigenvalues.size)
        self.spectrum_, self.eigenvalues_ = spectrum, spectrum.eigenvalues
        self.components_, self.offsets_ = maps, offsets
        self._module_shape = maps.shape[:2]
        return self

    def _directions(self) -> int:
        return min(self.rank, self.n_modules * self.n_components)

    def _rng(self) -> np.random.RandomState:
        """Randomness of the solver: the same for every refit and remix of one model."""
        return np.random.RandomState(self._seeds[1])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_modules()
