"""Clusters of any representation: spectral coordinates of a network, trees, levels, stability."""

from polyfold.clustering._levels import (
    Replicate,
    cluster_stability,
    information,
    select_levels,
    stability_curve,
)
from polyfold.clustering._spectral_readout import Membership, SpectralReadout, fit_membership, fit_spectral_readout
from polyfold.clustering._stability import (
    code_replicates,
    layer_stability,
    mean_stability,
    n_coordinates,
    select_feature_fraction,
    select_layer,
)
from polyfold.clustering._tree import ClusterTree, fit_tree

__all__ = [
    "ClusterTree",
    "Membership",
    "Replicate",
    "SpectralReadout",
    "cluster_stability",
    "code_replicates",
    "fit_membership",
    "fit_spectral_readout",
    "fit_tree",
    "information",
    "layer_stability",
    "mean_stability",
    "n_coordinates",
    "select_feature_fraction",
    "select_layer",
    "select_levels",
    "stability_curve",
]
