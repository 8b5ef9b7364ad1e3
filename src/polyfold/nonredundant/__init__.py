"""Coordinates that earlier ones cannot predict: smoother, sequence, extension to new points."""

from polyfold.nonredundant._selection import Regressed, regression_residuals, select_news
from polyfold.nonredundant._sequence import (
    Settings,
    Step,
    bandwidth_of,
    extend,
    next_coordinate,
    nonredundant_sequence,
)
from polyfold.nonredundant._smoother import (
    SMOOTHERS,
    Predictable,
    gaussian_factor,
    predictable_functions,
    smoother_matrix,
)

__all__ = [
    "SMOOTHERS",
    "Predictable",
    "Regressed",
    "Settings",
    "Step",
    "bandwidth_of",
    "extend",
    "gaussian_factor",
    "next_coordinate",
    "nonredundant_sequence",
    "predictable_functions",
    "regression_residuals",
    "select_news",
    "smoother_matrix",
]
