"""Spectrum to modules: the modular problem, its closed form, the papers' algorithms and their baselines."""

from polyfold.modular._backfit import solve_backfit
from polyfold.modular._closed import solve_closed
from polyfold.modular._descent import descent_gradient, solve_gradient
from polyfold.modular._gradient import drop_probability, modular_gradient, solve_adam, solve_stochastic
from polyfold.modular._problem import (
    Allocation,
    ModularFit,
    ModularSolution,
    as_autoencoders,
    autoencoder_terms,
    bound_of,
    score_solution,
    spectral_loss,
    waterfill,
)
from polyfold.modular._solvers import (
    DATA_SOLVERS,
    SOLVERS,
    bagged_autoencoders,
    bootstrap_maps,
    partition_maps,
    random_maps,
)
from polyfold.modular._sweeps import approximate_root, random_factors, solve_sweeps

__all__ = [
    "DATA_SOLVERS",
    "SOLVERS",
    "Allocation",
    "ModularFit",
    "ModularSolution",
    "approximate_root",
    "as_autoencoders",
    "autoencoder_terms",
    "bagged_autoencoders",
    "bootstrap_maps",
    "bound_of",
    "descent_gradient",
    "drop_probability",
    "modular_gradient",
    "partition_maps",
    "random_factors",
    "random_maps",
    "score_solution",
    "solve_adam",
    "solve_backfit",
    "solve_closed",
    "solve_gradient",
    "solve_stochastic",
    "solve_sweeps",
    "spectral_loss",
    "waterfill",
]
