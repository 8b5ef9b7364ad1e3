"""Coordinates that earlier ones cannot predict: smoother, deflation, sequence, extension to new points."""

from polyfold.nonredundant._deflation import EIGEN_SOLVERS, choose_solver, make_solver
from polyfold.nonredundant._extension import extend
from polyfold.nonredundant._factor import gaussian_factor
from polyfold.nonredundant._search import nonredundant_sequence
from polyfold.nonredundant._sequence import Problem, Settings, Step, bandwidth_of, next_coordinate
from polyfold.nonredundant._smoother import SMOOTHERS, Predictable, predictable_functions, smoother_matrix

__all__ = [
    "EIGEN_SOLVERS",
    "SMOOTHERS",
    "Predictable",
    "Problem",
    "Settings",
    "Step",
    "bandwidth_of",
    "choose_solver",
    "extend",
    "gaussian_factor",
    "make_solver",
    "next_coordinate",
    "nonredundant_sequence",
    "predictable_functions",
    "smoother_matrix",
]
