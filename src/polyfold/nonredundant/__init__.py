"""Coordinates that earlier ones cannot predict: smoother, sequence and its criterion."""

from polyfold.nonredundant._kernel_selection import KernelChoice, SequenceSettings, select_on_sample
from polyfold.nonredundant._sequence import (
    MAX_AUTO_COMPONENTS,
    Selected,
    Step,
    bandwidth_of,
    best_rotation,
    extend,
    find_sequence,
    follow_bandwidths,
    next_coordinate,
    sample_rows,
    select_kernel,
    values_of,
    warn_if_saturated,
)
from polyfold.nonredundant._smoother import predictable_functions

__all__ = [
    "MAX_AUTO_COMPONENTS",
    "KernelChoice",
    "Selected",
    "SequenceSettings",
    "Step",
    "bandwidth_of",
    "best_rotation",
    "extend",
    "find_sequence",
    "follow_bandwidths",
    "next_coordinate",
    "predictable_functions",
    "sample_rows",
    "select_kernel",
    "select_on_sample",
    "values_of",
    "warn_if_saturated",
]
