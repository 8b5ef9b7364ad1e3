"""Clusters of any representation: trees, levels, stability, membership."""

from polyfold.clustering._stability import (
    Replicate,
    cluster_stability,
    code_replicates,
    information,
    layer_stability,
    mean_stability,
    n_coordinates,
    row_replicates,
    select_feature_fraction,
    select_layer,
    select_levels,
    stability_curve,
)
from polyfold.clustering._tree import ClusterTree, Membership, fit_membership, fit_tree

__all__ = [
    "ClusterTree",
    "Membership",
    "Replicate",
    "cluster_stability",
    "code_replicates",
    "fit_membership",
    "fit_tree",
    "information",
    "layer_stability",
    "mean_stability",
    "n_coordinates",
    "row_replicates",
    "select_feature_fraction",
    "select_layer",
    "select_levels",
    "stability_curve",
]
