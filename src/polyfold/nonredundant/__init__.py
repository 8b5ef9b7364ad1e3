"""Coordinates that earlier ones cannot predict: smoother, sequence, criterion, extension to new points."""

from polyfold.nonredundant._criterion import Selected, novelty, sample_rows, select_kernel, select_sequence
from polyfold.nonredundant._selection import Regressed, regression_residuals, select_news
from polyfold.nonredundant._sequence import (
    Settings,
    Step,
    bandwidth_of,
    extend,
    given_sequence,
    next_coordinate,
    warn_if_saturated,
)
from polyfold.nonredundant._smoother import SMOOTHERS, predictable_functions, smoother_matrix

__all__ = [
    "SMOOTHERS",
    "Regressed",
    "Selected",
    "Settings",
    "Step",
    "bandwidth_of",
    "extend",
    "given_sequence",
    "next_coordinate",
    "novelty",
    "predictable_functions",
    "regression_residuals",
    "sample_rows",
    "select_kernel",
    "select_news",
    "select_sequence",
    "smoother_matrix",
    "warn_if_saturated",
]
