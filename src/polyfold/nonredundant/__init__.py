"""Coordinates that earlier ones cannot predict: smoother, sequence and its criterion."""

from polyfold.nonredundant._sequence import (
    Selected,
    Settings,
    Step,
    bandwidth_of,
    best_rotation,
    criterion,
    extend,
    given_sequence,
    next_coordinate,
    sample_rows,
    select_kernel,
    select_sequence,
    values_of,
    warn_if_saturated,
)
from polyfold.nonredundant._smoother import SMOOTHERS, predictable_functions, smoother_matrix

__all__ = [
    "SMOOTHERS",
    "Selected",
    "Settings",
    "Step",
    "bandwidth_of",
    "best_rotation",
    "criterion",
    "extend",
    "given_sequence",
    "next_coordinate",
    "predictable_functions",
    "sample_rows",
    "select_kernel",
    "select_sequence",
    "smoother_matrix",
    "values_of",
    "warn_if_saturated",
]
