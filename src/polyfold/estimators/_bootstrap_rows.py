"""Rows for bootstrap networks: input checks, the sample that a network learns from, and the rest of the rows."""

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis

from polyfold._linalg import sample_rows
from polyfold._policy import TEXT_DENSITY
from polyfold._validation import check_rows, draw_seed, outside, own_rows
from polyfold.bootstrap import Encoder, child_stream, stored_seed
from polyfold.exceptions import ScaleWarning
from polyfold.neighbors import sorted_lists, with_own_zeros
from polyfold.sources import Source, as_source, check_stream, in_memory, is_stream, pick_rows, transform_rest, trusted

# Types of numbers that are used as they are.
KINDS: dict[str, Any] = {"dtype": [np.float64, np.float32, np.uint8], "order": "C"}
# `ScaleWarning`: fraction of the variance in a tenth of the columns, and rows that are looked at.
HEAVY, ADVICE_ROWS = 0.9, 5000


@dataclass(frozen=True)
class Subsample:
    """All rows, and the ascending numbers of those that a network learned from."""

    source: Source
    indices: NDArray

    def transform_rest(self, encoder: Encoder, level: int, output: Any, known: NDArray) -> NDArray:
        """Return the coordinates of all rows by the output of a layer, given those of the sample."""
        return transform_rest(self.source, partial(_coordinates, encoder, level, output), self.indices, known)


def _coordinates(encoder: Encoder, level: int, output: Any, rows: Any) -> NDArray:
    return output.transform(encoder.encode(encoder.first.adapt(rows), level))


def training_rows(network: Any, X: Any, seeds: np.random.SeedSequence) -> tuple[Any, Subsample | None]:
    """Return checked rows for a network to learn from, and the subsample if these are not all."""
    # A precomputed graph cannot be subsampled.
    has_graph = network.metric == "precomputed" or sp.issparse(network.neighbors)
    has_graph = has_graph or isinstance(network.neighbors, np.ndarray)
    most: float = math.inf if has_graph or network.max_samples is None else int(network.max_samples)
    if most < math.inf and is_stream(X) and (stream := as_source(X)).n_rows > most:
        source = check_stream(network, stream, reset=True, minimum=2).in_bytes()
    else:
        given = in_memory(X)
        rows = network._validate(given, reset=True)
        if rows.shape[0] <= most:
            return own_rows(rows, given), None
        source = trusted(rows).in_bytes()
    indices = sample_rows(source.n_rows, int(most), child_stream(seeds, "subsample"))
    # Names and numbers of columns are known by now.
    sample = check_rows(BaseEstimator(), pick_rows(source, indices), reset=True, minimum=2, **KINDS)
    return network._adapt(sample, reset=True), Subsample(source, indices)


def seed_of(network: Any, checkpoint: Any) -> int:
    """Draw the seed of a fit; without a `random_state`, take that of the checkpoint it continues."""
    seed = draw_seed(network.random_state)
    known = None if checkpoint is None or network.random_state is not None else stored_seed(checkpoint)
    return seed if known is None else known


def settings(network: Any, rows: Any, sizes: list[int]) -> dict[str, Any]:
    """Collect what a stored layer depends on."""
    names = ("n_clusterings", "feature_fraction", "metric", "neighbors")
    return {"data": rows, "sizes": sizes} | {name: getattr(network, name) for name in names}


def lists_of(X: Any, *, reset: bool) -> NDArray:
    """Return neighbour lists from a graph or a matrix of distances."""
    if reset and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square graph or matrix with metric='precomputed', got shape {X.shape}.")
    return sorted_lists(with_own_zeros(X) if reset else X, drop_self=False)


def is_text(X: Any) -> bool:
    """Whether rows look like counts or weights of words: nearly all entries zero, none negative."""
    values = X.data if sp.issparse(X) else X
    dense = np.count_nonzero(values) > TEXT_DENSITY * X.shape[0] * X.shape[1]
    return not dense and not (values.size and values.min() < 0)


def advise_scaling(network: Any, X: Any) -> None:
    """Warn if a tenth of the columns hold nearly all of the variance."""
    if X.shape[1] < 2:
        return
    X = X[:: -(-X.shape[0] // ADVICE_ROWS)]
    # Divided by the largest entry, so that squares of huge and of tiny numbers stay finite.
    unit = float(max(X.max(), -float(X.min()))) or 1.0
    if sp.issparse(X):
        variance = mean_variance_axis(sp.csr_matrix(X.astype(np.float64) / unit), axis=0)[1]
    else:
        variance = (X / unit).var(axis=0, dtype=np.float64)
    order = np.argsort(variance)[::-1][: max(1, X.shape[1] // 10)]
    fraction = variance[order].sum() / (variance.sum() or 1.0)
    if fraction < HEAVY or np.count_nonzero(variance) <= len(order):
        return
    names = getattr(network, "feature_names_in_", np.arange(X.shape[1]))[order[:3]]
    warnings.warn(
        f"{fraction:.0%} of the variance of X is in {len(order)} of its {X.shape[1]} columns "
        f"({', '.join(map(str, names))}{', …' if len(order) > 3 else ''}); if columns have different units, put a "
        "StandardScaler before the network, or the other columns have almost no influence.",
        ScaleWarning,
        stacklevel=outside(),
    )


def output_dtype(rows: Any, given: Any) -> type[np.floating]:
    """Single precision for single-precision rows or distances, else double."""
    return np.float32 if np.float32 in (rows.dtype, getattr(given, "dtype", None)) else np.float64


def take_feature_names(estimator: Any, network: Any) -> None:
    """Copy the names and the number of the columns from a fitted network."""
    estimator.n_features_in_ = network.n_features_in_
    vars(estimator).pop("feature_names_in_", None)
    if hasattr(network, "feature_names_in_"):
        estimator.feature_names_in_ = np.asarray(network.feature_names_in_)
