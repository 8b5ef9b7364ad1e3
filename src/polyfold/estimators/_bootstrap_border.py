"""What a bootstrap network learns from, what it says of the other rows, and advice on the data."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis

from polyfold._validation import check_rows, draw_seed, outside, own_rows
from polyfold.bootstrap import Network, Output, SparseBottom, stored_seed
from polyfold.exceptions import ScaleWarning
from polyfold.neighbors import sorted_lists, with_own_zeros
from polyfold.sources import Source, answer_others, as_source, check_stream, in_memory, is_stream, pick_rows, trusted

# Numbers that are used as they are.
KINDS: dict[str, Any] = {"dtype": [np.float64, np.float32, np.uint8], "order": "C"}

# Share of entries that are not zero below which non-negative rows are read as text: counts of words, or weights.
TEXT_DENSITY = 0.05
# Share of the variance, in a tenth of the columns, from which on their units are doubted.
HEAVY = 0.9
ADVICE_ROWS = 5000


@dataclass(frozen=True)
class Placing:
    """What a network says of rows that it has not learned from; small enough to be sent to workers, and whole.

    Attributes
    ----------
    network : Network
    level : int
        The layer that is read.
    read : callable
        Of the (V, n) codes in that layer: arrays with a row for each point.
    """

    network: Network
    level: int
    read: Callable[[NDArray], tuple[NDArray, ...]]

    def __call__(self, rows: Any) -> tuple[NDArray, ...]:
        """Return what is read of rows."""
        # On one thread: blocks are worked on side by side.
        return self.read(self.network.encode(suited(rows, self.network), self.level, n_jobs=1))


def suited(rows: Any, network: Network | None) -> Any:
    """Return rows as a fitted network takes them, CSR if it learned from such, else dense; or as a new one does."""
    if isinstance(network.bottom, SparseBottom) if network is not None else sp.issparse(rows):
        return sp.csr_array(rows)
    return rows.toarray() if sp.issparse(rows) else rows


def read_output(output: Output, codes: NDArray) -> tuple[NDArray]:
    """Coordinates of (V, n) codes."""
    return (output.transform(codes),)


@dataclass(frozen=True)
class Others:
    """All rows, where a network has learned from some.

    Attributes
    ----------
    source : Source
    learned : ndarray
        Ascending numbers of those that it has learned from.
    """

    source: Source
    learned: NDArray

    def place(self, placing: Placing, answers: tuple[NDArray, ...]) -> tuple[NDArray, ...]:
        """Return what is said of all rows, where `answers` are those for the rows learned from."""
        return answer_others(self.source, placing, self.learned, answers)


def rows_to_learn(network: Any, X: Any, seed: int) -> tuple[Any, Others | None]:
    """Return checked rows for a network to learn from, and what holds the others where they are a sample."""
    # A graph of all rows is no graph of some.
    has_graph = network.metric == "precomputed" or sp.issparse(network.neighbors)
    has_graph = has_graph or isinstance(network.neighbors, np.ndarray)
    most: float = math.inf if has_graph or network.max_samples is None else int(network.max_samples)
    if most < math.inf and is_stream(X) and (found := as_source(X)).n_rows > most:
        source = check_stream(network, found, reset=True, minimum=2).in_bytes()
    else:
        given = in_memory(X)
        rows = network._validate(given, reset=True)
        if rows.shape[0] <= most:
            return own_rows(rows, given), None
        source = trusted(rows).in_bytes()
    # A stream of its own, far from the draws of the layers.
    rng = np.random.default_rng([seed, 2**31 + 3])
    numbers = np.sort(rng.choice(source.n_rows, int(most), replace=False))
    # Names and numbers of columns are known by now.
    sample = check_rows(BaseEstimator(), pick_rows(source, numbers), reset=True, minimum=2, **KINDS)
    return network._suited(sample, reset=True), Others(source, numbers)


def seed_of(network: Any, checkpoint: Any) -> int:
    """Draw the seed of a fit; where none is asked for, that of the folder it goes on from."""
    seed = draw_seed(network.random_state)
    known = None if checkpoint is None or network.random_state is not None else stored_seed(checkpoint)
    return seed if known is None else known


def settings(network: Any, rows: Any, sizes: list[int]) -> dict[str, Any]:
    """Collect what a stored layer depends on."""
    names = ("n_clusterings", "feature_fraction", "metric", "neighbors", "reconstruction")
    return {"data": rows, "sizes": sizes} | {name: getattr(network, name) for name in names}


def lists_of(X: Any, *, reset: bool) -> NDArray:
    """Return lists of neighbours in the place of a graph or of a matrix of distances."""
    if reset and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square graph or matrix with metric='precomputed', got shape {X.shape}.")
    return sorted_lists(with_own_zeros(X) if reset else X, drop_self=False)


def advise_scaling(network: Any, X: Any) -> bool:
    """Warn where a tenth of the columns hold nearly all of the variance, and say so: the others will hardly count."""
    if X.shape[1] < 2:
        return False
    X = X[:: -(-X.shape[0] // ADVICE_ROWS)]
    # In units of the largest entry, so that squares of huge and of tiny numbers stay numbers.
    unit = float(max(X.max(), -float(X.min()))) or 1.0
    if sp.issparse(X):
        variance = mean_variance_axis(sp.csr_matrix(X.astype(np.float64) / unit), axis=0)[1]
    else:
        variance = (X / unit).var(axis=0, dtype=np.float64)
    order = np.argsort(variance)[::-1][: max(1, X.shape[1] // 10)]
    share = variance[order].sum() / (variance.sum() or 1.0)
    if share < HEAVY or np.count_nonzero(variance) <= len(order):
        return False
    names = getattr(network, "feature_names_in_", np.arange(X.shape[1]))[order[:3]]
    warnings.warn(
        f"{share:.0%} of the variance of X is in {len(order)} of its {X.shape[1]} columns "
        f"({', '.join(map(str, names))}{', …' if len(order) > 3 else ''}); if columns are in different units, put a "
        "StandardScaler before the network, or the others will hardly count.",
        ScaleWarning,
        stacklevel=outside(),
    )
    return True


def suitable_metric(X: Any) -> str:
    """Return the cosine for text, which rows are whose entries are nearly all zero and never negative."""
    values = X.data if sp.issparse(X) else X
    dense = np.count_nonzero(values) > TEXT_DENSITY * X.shape[0] * X.shape[1]
    return "euclidean" if dense or (values.size and values.min() < 0) else "cosine"


def output_dtype(rows: Any, given: Any) -> type[np.floating]:
    """Single precision for single-precision rows, or distances in place of which there are lists, else double."""
    return np.float32 if np.float32 in (rows.dtype, getattr(given, "dtype", None)) else np.float64
