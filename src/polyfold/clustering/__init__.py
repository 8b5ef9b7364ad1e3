"""Clusters of any representation: trees, levels, stability."""

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
from polyfold.clustering._tree import ClusterTree, fit_tree

__all__ = [
    "ClusterTree",
    "Replicate",
    "cluster_stability",
    "code_replicates",
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
