"""Multilayer bootstrap networks: bottom layer, upper layers, output, without estimators."""

from polyfold._files import fingerprint
from polyfold.bootstrap._bottom import DenseBottom, PrecomputedBottom, SparseBottom
from polyfold.bootstrap._checkpoint import Checkpoint
from polyfold.bootstrap._choose import choose_bottom
from polyfold.bootstrap._draws import Draw, decaying_sizes
from polyfold.bootstrap._matching import shared_centers
from polyfold.bootstrap._nearest import nearest_by_codes
from polyfold.bootstrap._network import Network, fit_network
from polyfold.bootstrap._output import Output, fit_output, largest_drop

__all__ = [
    "Checkpoint",
    "DenseBottom",
    "Draw",
    "Network",
    "Output",
    "PrecomputedBottom",
    "SparseBottom",
    "choose_bottom",
    "decaying_sizes",
    "fingerprint",
    "fit_network",
    "fit_output",
    "largest_drop",
    "nearest_by_codes",
    "shared_centers",
]
