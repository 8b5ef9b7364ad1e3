"""Multilayer bootstrap networks: bottom layer, upper layers, output, without estimators."""

from polyfold._files import fingerprint
from polyfold.bootstrap._agreement import choose_share, deepest, layer_agreement, n_directions, sample_rows
from polyfold.bootstrap._bottom import DenseBottom, PrecomputedBottom, SparseBottom
from polyfold.bootstrap._checkpoint import Checkpoint, Folders, stored_seed
from polyfold.bootstrap._choose import choose_bottom
from polyfold.bootstrap._cut import Cut, fit_cut
from polyfold.bootstrap._draws import Draw, decaying_sizes
from polyfold.bootstrap._layers import check_layer, check_not_tiny, check_settings, layer_sizes, level_of
from polyfold.bootstrap._matching import shared_centers
from polyfold.bootstrap._membership import Membership, fit_membership
from polyfold.bootstrap._nearest import nearest_by_codes
from polyfold.bootstrap._network import Network, fit_network
from polyfold.bootstrap._number import find_number
from polyfold.bootstrap._output import Output, fit_output
from polyfold.bootstrap._stacks import fit_stacks

__all__ = [
    "Checkpoint",
    "Cut",
    "DenseBottom",
    "Draw",
    "Folders",
    "Membership",
    "Network",
    "Output",
    "PrecomputedBottom",
    "SparseBottom",
    "check_layer",
    "check_not_tiny",
    "check_settings",
    "choose_bottom",
    "choose_share",
    "decaying_sizes",
    "deepest",
    "find_number",
    "fingerprint",
    "fit_cut",
    "fit_membership",
    "fit_network",
    "fit_output",
    "fit_stacks",
    "layer_agreement",
    "layer_sizes",
    "level_of",
    "n_directions",
    "nearest_by_codes",
    "sample_rows",
    "shared_centers",
    "stored_seed",
]
