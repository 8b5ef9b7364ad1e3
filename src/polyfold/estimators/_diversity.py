"""What the models with a diversity term share: its bounds, remixing, and how near the loss is to its bound."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polyfold._validation import check_real

__all__ = ["RemixMixin", "check_diversity", "relative_gap", "warn_unconverged"]


class RemixMixin:
    """Other modules from what is already known of the data; subclasses add `_solve_like`."""

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
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other._solve_like(self)

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

    def _solve_like(self, source: Self) -> Self:
        """Fit the modules to what `source` knows of its data."""
        raise NotImplementedError


def check_diversity(diversity: float) -> float:
    """Return λ in [0, 1], or raise with the reason for the bound."""
    return check_real(
        "diversity",
        diversity,
        minimum=0,
        maximum=1,
        hint="above 1 the loss is unbounded below (Theorem 1 of Reeve and Brown 2015), below 0 it rewards equality",
    )


def relative_gap(loss: float, bound: float, energy: float) -> float:
    """Return (loss - bound) / bound; a bound that is rounding beside the loss of nothing, `energy`, counts as that."""
    floor = max(bound, np.finfo(np.float64).eps * energy)
    return max(loss - bound, 0.0) / floor if floor > 0 else 0.0


def warn_unconverged(model: Any) -> None:
    """Warn that the solver of a fitted model used up its epochs."""
    warnings.warn(
        f"solver={model.solver!r} stopped after max_iter={model.max_iter} epochs with relative gap "
        f"{model.loss_gap_:.3g} to the lower bound and tol={model.tol:g}; raise max_iter, or use solver='closed'.",
        ConvergenceWarning,
        stacklevel=5,
    )
