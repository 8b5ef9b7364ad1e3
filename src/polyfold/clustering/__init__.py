"""Clusters of the similarity of a bootstrap network: spectral readout, stability, number of clusters."""

from polyfold.clustering._levels import NumberEstimate, estimate_number
from polyfold.clustering._spectral_readout import (
    Membership,
    SpectralReadout,
    fit_membership,
    fit_spectral_readout,
    n_directions,
    spectral_labels,
)
from polyfold.clustering._stability import (
    FractionChoice,
    agreement,
    layer_stability,
    select_feature_fraction,
    select_layer,
)

__all__ = [
    "FractionChoice",
    "Membership",
    "NumberEstimate",
    "SpectralReadout",
    "agreement",
    "estimate_number",
    "fit_membership",
    "fit_spectral_readout",
    "layer_stability",
    "n_directions",
    "select_feature_fraction",
    "select_layer",
    "spectral_labels",
]
