"""Multilayer bootstrap networks: sampling, first layer, layers of codes, output. Private."""

from polyfold.bootstrap._candidate_search import CandidateSearch, GraphSearch
from polyfold.bootstrap._code_search import CodeSearch, check_codes, shared_centers
from polyfold.bootstrap._dense_search import DenseSearch
from polyfold.bootstrap._encoder import (
    Encoder,
    FirstLayer,
    fit_encoder,
    fit_replicates,
    layers_for,
    make_first_layer,
)
from polyfold.bootstrap._inverted_index import SparseSearch
from polyfold.bootstrap._layer_checkpoint import LayerCheckpoint, replicate_checkpoints, stored_seed
from polyfold.bootstrap._output import (
    Output,
    SpectralReadout,
    fit_output,
    fit_spectral_readout,
)
from polyfold.bootstrap._sampling import (
    ClusteringSpec,
    check_layer,
    check_settings,
    child_stream,
    decaying_sizes,
    is_auto,
    layer_sizes,
    level_of,
    n_selected,
    sample_rows,
    stream_seed,
)
from polyfold.bootstrap._shared_codes import nearest_by_codes

__all__ = [
    "CandidateSearch",
    "ClusteringSpec",
    "CodeSearch",
    "DenseSearch",
    "Encoder",
    "FirstLayer",
    "GraphSearch",
    "LayerCheckpoint",
    "Output",
    "SparseSearch",
    "SpectralReadout",
    "check_codes",
    "check_layer",
    "check_settings",
    "child_stream",
    "decaying_sizes",
    "fit_encoder",
    "fit_output",
    "fit_replicates",
    "fit_spectral_readout",
    "is_auto",
    "layer_sizes",
    "layers_for",
    "level_of",
    "make_first_layer",
    "n_selected",
    "nearest_by_codes",
    "replicate_checkpoints",
    "sample_rows",
    "shared_centers",
    "stored_seed",
    "stream_seed",
]
