"""Coordinates that earlier ones cannot predict: smoother, sequence and its criterion."""

from polyfold.nonredundant._kernel_selection import KernelChoice as KernelChoice
from polyfold.nonredundant._kernel_selection import SequenceSettings as SequenceSettings
from polyfold.nonredundant._kernel_selection import select_on_sample as select_on_sample
from polyfold.nonredundant._sequence import MAX_AUTO_COMPONENTS as MAX_AUTO_COMPONENTS
from polyfold.nonredundant._sequence import Selected as Selected
from polyfold.nonredundant._sequence import Step as Step
from polyfold.nonredundant._sequence import bandwidth_of as bandwidth_of
from polyfold.nonredundant._sequence import best_rotation as best_rotation
from polyfold.nonredundant._sequence import extend as extend
from polyfold.nonredundant._sequence import find_sequence as find_sequence
from polyfold.nonredundant._sequence import follow_bandwidths as follow_bandwidths
from polyfold.nonredundant._sequence import next_coordinate as next_coordinate
from polyfold.nonredundant._sequence import select_kernel as select_kernel
from polyfold.nonredundant._sequence import values_of as values_of
from polyfold.nonredundant._sequence import warn_if_saturated as warn_if_saturated
from polyfold.nonredundant._smoother import predictable_functions as predictable_functions
