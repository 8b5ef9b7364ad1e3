"""Spectrum to modules: the modular loss, its closed form, the paper's algorithm and its rivals."""

from polyfold.modular._autoencoder import AutoencoderSolution, autoencoder_terms, solve_closed_autoencoder
from polyfold.modular._backfit import solve_backfit
from polyfold.modular._closed import solve_closed
from polyfold.modular._descent import descent_gradient, solve_gradient
from polyfold.modular._directions import Directions, directions_from_moments, directions_of, empty_moments
from polyfold.modular._gradient import drop_probability, modular_gradient, solve_adam, solve_stochastic
from polyfold.modular._loss import modular_loss_terms, spectral_loss
from polyfold.modular._rivals import bootstrap_maps, partition_maps, random_maps
from polyfold.modular._solution import ModularSolution
from polyfold.modular._sweeps import approximate_root, random_factors, solve_sweeps
from polyfold.modular._waterfill import Allocation, bound_of, waterfill

__all__ = [
    "Allocation",
    "AutoencoderSolution",
    "Directions",
    "ModularSolution",
    "approximate_root",
    "autoencoder_terms",
    "bootstrap_maps",
    "bound_of",
    "descent_gradient",
    "directions_from_moments",
    "directions_of",
    "drop_probability",
    "empty_moments",
    "modular_gradient",
    "modular_loss_terms",
    "partition_maps",
    "random_factors",
    "random_maps",
    "solve_adam",
    "solve_backfit",
    "solve_closed",
    "solve_closed_autoencoder",
    "solve_gradient",
    "solve_stochastic",
    "solve_sweeps",
    "spectral_loss",
    "waterfill",
]
