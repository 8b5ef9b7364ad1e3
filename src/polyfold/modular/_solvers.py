"""Names of the solvers of the modular problem; all take the values, M, H, λ and a generator."""

from collections.abc import Callable
from functools import partial

from polyfold.modular._backfit import solve_backfit
from polyfold.modular._closed import solve_closed
from polyfold.modular._descent import solve_gradient
from polyfold.modular._gradient import solve_adam, solve_stochastic
from polyfold.modular._problem import ModularSolution
from polyfold.modular._sweeps import solve_sweeps

SOLVERS: dict[str, Callable[..., ModularSolution]] = {
    "closed": solve_closed,
    "mbm": solve_sweeps,
    "adam": solve_adam,
    "sgd": solve_stochastic,
    "drop-module": partial(solve_stochastic, drop=True),
    "backfit": solve_backfit,
    "gradient": solve_gradient,
}
DATA_SOLVERS = ("sgd", "drop-module")  # they need the coordinates of the points, not the directions alone
