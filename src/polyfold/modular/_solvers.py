"""One door to all solvers of the modular problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.modular._backfit import solve_backfit
from polyfold.modular._closed import solve_closed
from polyfold.modular._descent import solve_gradient
from polyfold.modular._gradient import solve_adam, solve_stochastic
from polyfold.modular._problem import ModularFit, score
from polyfold.modular._sweeps import solve_sweeps

__all__ = ["DATA_SOLVERS", "fit_modules"]

ITERATIVE = {
    "mbm": solve_sweeps,
    "adam": solve_adam,
    "sgd": solve_stochastic,
    "drop-module": solve_stochastic,
    "backfit": solve_backfit,
    "gradient": solve_gradient,
}
DATA_SOLVERS = ("sgd", "drop-module")  # they need the coordinates of the points, not the directions alone


def fit_modules(
    values: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    *,
    energy: float,
    unit: float,
    solver: str = "closed",
    max_iter: int = 500,
    tol: float = 1e-7,
    coordinates: NDArray | None = None,
) -> ModularFit:
    """Minimise the modular loss over M modules of H dimensions.

    Parameters
    ----------
    values : ndarray of shape (r,)
        Eigenvalues of a centred kernel or singular values of centred data; positive, descending.
    n_modules, n_components : int
    diversity : float
        λ in [0, 1].
    rng : RandomState
    energy : float
        Sum of the squares of all values, those beyond the first r included.
    unit : float
        What losses are divided by: N² for kernels, N for data.
    solver : str, default="closed"
    max_iter : int, default=500
    tol : float, default=1e-7
        Of the iterative solvers.
    coordinates : ndarray of shape (N, r), default=None
        Of the points; for the solvers that work on data.

    Returns
    -------
    fit : ModularFit
    """
    task = (values, n_modules, n_components, diversity, rng)
    if solver == "closed" or values.size == 0:
        return score(solve_closed(*task), values, diversity, energy, unit)
    options: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    if solver in DATA_SOLVERS:
        options |= {"coordinates": coordinates, "drop": solver == "drop-module"}
    return score(ITERATIVE[solver](*task, **options), values, diversity, energy, unit)
