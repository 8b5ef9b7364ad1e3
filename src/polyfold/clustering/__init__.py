"""Clusters of any representation: trees, levels, stability."""

from polyfold.clustering._stability import LabelledTree as LabelledTree
from polyfold.clustering._stability import cluster_stability as cluster_stability
from polyfold.clustering._stability import code_trees as code_trees
from polyfold.clustering._stability import information as information
from polyfold.clustering._stability import layer_stability as layer_stability
from polyfold.clustering._stability import n_coordinates as n_coordinates
from polyfold.clustering._stability import row_trees as row_trees
from polyfold.clustering._stability import select_feature_fraction as select_feature_fraction
from polyfold.clustering._stability import select_layer as select_layer
from polyfold.clustering._stability import select_levels as select_levels
from polyfold.clustering._stability import stability_curve as stability_curve
from polyfold.clustering._tree import ClusterTree as ClusterTree
from polyfold.clustering._tree import fit_tree as fit_tree
