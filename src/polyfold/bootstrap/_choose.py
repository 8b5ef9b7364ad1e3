"""Which search the bottom layer uses: every "auto" is decided here."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from polyfold._validation import check_count
from polyfold.bootstrap._bottom import Bottom, DenseBottom, PrecomputedBottom, SparseBottom, check_graph
from polyfold.neighbors import principal_screen, sorted_lists

# Candidates per point: about 0.4 % of the assignments then differ from the exact ones on images of digits.
CANDIDATES = 20
# Products of points and centres up to which searching exactly takes seconds, not minutes, on two cores.
EXACT_PRODUCTS = 5e7
# Lists longer than the codes of a point would dominate the memory.
LONGEST_LIST = 512


def is_affordable(n_points: int, n_centers: int) -> bool:
    """Whether "auto" searches exactly."""
    return n_points * n_centers <= EXACT_PRODUCTS


def list_length(n_points: int, n_centers: int, n_candidates: int) -> int:
    """Neighbours per point such that, on average, `n_candidates` of them are centres."""
    return min(n_points - 1, LONGEST_LIST, math.ceil(n_candidates * n_points / n_centers))


def choose_bottom(X: Any, *, metric: str, neighbors: Any, n_centers: int, reconstruction: float, seed: int) -> Bottom:
    """Build the search of the bottom layer.

    Parameters
    ----------
    X : (n, d) ndarray, CSR matrix, or neighbour lists when `metric` is "precomputed"
    metric : {"euclidean", "cosine", "linear", "precomputed"}
    neighbors : {"auto", "exact", "graph"}, int, (n, n) graph, or object with ``fit`` and ``transform``
    n_centers : int
    reconstruction : float
    seed : int
        Of the sample that the principal directions come from.
    """
    if metric == "precomputed":
        return PrecomputedBottom(X)
    graph_reason = _no_graph(X, metric, reconstruction)
    if isinstance(neighbors, str) and neighbors == "auto":
        neighbors = "exact" if graph_reason or is_affordable(X.shape[0], n_centers) else "graph"
    exact = isinstance(neighbors, str) and neighbors == "exact"
    if graph_reason and not exact:
        raise ValueError(f"neighbors must be 'exact' or 'auto' with {graph_reason}, got {neighbors!r}.")
    if sp.issparse(X):
        return SparseBottom(X, metric)
    bottom = DenseBottom(X, metric, principal_screen(X, unit=metric == "cosine", seed=seed))
    return bottom if exact else _with_graph(bottom, neighbors, n_centers)


def _no_graph(X: Any, metric: str, reconstruction: float) -> str:
    """Why candidates cannot come from a neighbour graph; empty if they can."""
    if sp.issparse(X):
        return "sparse data"
    if metric == "linear":
        return "metric='linear'"
    return "reconstruction > 0" if reconstruction > 0 else ""


def _with_graph(bottom: DenseBottom, neighbors: Any, n_centers: int) -> DenseBottom:
    n = len(bottom.X)
    bottom.n_candidates = CANDIDATES
    if hasattr(neighbors, "fit") and hasattr(neighbors, "transform"):
        bottom.searcher = clone(neighbors).fit(bottom.X)
        neighbors = bottom.searcher.transform(bottom.X)
    if sp.issparse(neighbors) or isinstance(neighbors, np.ndarray):
        bottom.lists = sorted_lists(check_graph(neighbors, n, n), drop_self=True)
    elif not isinstance(neighbors, str):
        bottom.n_candidates = check_count("neighbors", neighbors, hint="it counts the candidates per point")
    elif neighbors != "graph":
        raise ValueError(
            "neighbors must be 'auto', 'exact', 'graph', a number of candidates, a graph or a neighbours "
            f"transformer, got {neighbors!r}."
        )
    bottom.n_neighbors = list_length(n, n_centers, bottom.n_candidates)
    return bottom
