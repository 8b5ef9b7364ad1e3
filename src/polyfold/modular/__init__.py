"""Spectrum to modules: the modular problem, its closed form, the papers' algorithms and their baselines."""

from polyfold.modular._adam_sgd import drop_probability as drop_probability
from polyfold.modular._adam_sgd import modular_gradient as modular_gradient
from polyfold.modular._adam_sgd import solve_adam as solve_adam
from polyfold.modular._adam_sgd import solve_stochastic as solve_stochastic
from polyfold.modular._backfit import solve_backfit as solve_backfit
from polyfold.modular._closed import solve_closed as solve_closed
from polyfold.modular._gradient import descent_gradient as descent_gradient
from polyfold.modular._gradient import solve_gradient as solve_gradient
from polyfold.modular._problem import ModularFit as ModularFit
from polyfold.modular._problem import ModularSolution as ModularSolution
from polyfold.modular._problem import as_autoencoders as as_autoencoders
from polyfold.modular._problem import autoencoder_terms as autoencoder_terms
from polyfold.modular._problem import bound_of as bound_of
from polyfold.modular._problem import score_solution as score_solution
from polyfold.modular._problem import spectral_loss as spectral_loss
from polyfold.modular._problem import waterfill as waterfill
from polyfold.modular._solvers import DATA_SOLVERS as DATA_SOLVERS
from polyfold.modular._solvers import SOLVERS as SOLVERS
from polyfold.modular._solvers import bagged_autoencoders as bagged_autoencoders
from polyfold.modular._solvers import bootstrap_maps as bootstrap_maps
from polyfold.modular._solvers import partition_maps as partition_maps
from polyfold.modular._solvers import random_maps as random_maps
from polyfold.modular._sweeps import approximate_root as approximate_root
from polyfold.modular._sweeps import random_factors as random_factors
from polyfold.modular._sweeps import solve_sweeps as solve_sweeps
