"""Spectrum to modules: the modular loss, its closed form, the paper's algorithm and its rivals."""

from polyfold.modular._closed import solve_closed
from polyfold.modular._gradient import drop_probability, modular_gradient, solve_adam, solve_stochastic
from polyfold.modular._loss import modular_loss_terms, spectral_loss
from polyfold.modular._rivals import bootstrap_maps, partition_maps, random_maps
from polyfold.modular._solution import ModularSolution
from polyfold.modular._sweeps import approximate_root, random_factors, solve_sweeps
from polyfold.modular._waterfill import Allocation, bound_of, waterfill

__all__ = [
    "Allocation",
    "ModularSolution",
    "approximate_root",
    "bootstrap_maps",
    "bound_of",
    "drop_probability",
    "modular_gradient",
    "modular_loss_terms",
    "partition_maps",
    "random_factors",
    "random_maps",
    "solve_adam",
    "solve_closed",
    "solve_stochastic",
    "solve_sweeps",
    "spectral_loss",
    "waterfill",
]
