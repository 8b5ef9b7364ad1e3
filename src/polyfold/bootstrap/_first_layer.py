"""One protocol for nearest centres, `assign(rows) -> codes`, and which implementation the first layer uses.

- dense rows, exactly: `DenseSearch`
- sparse rows, exactly: `SparseSearch`
- dense rows, among candidates from neighbour lists: `CandidateSearch`, if there are more than 5·10⁷ pairs of a row and
  a centre
- given neighbour graphs: `GraphSearch`
- codes, in the layers above: `CodeSearch`

Fitting and prediction call the same objects.
"""

import math
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from polyfold._policy import CANDIDATES, EXACT_PAIRS
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold._validation import check_count
from polyfold.bootstrap._candidate_search import CandidateLists, CandidateSearch, GraphSearch, check_graph
from polyfold.bootstrap._code_search import code_dtype
from polyfold.bootstrap._dense_search import FEW_ROWS, DenseSearch, fit_bound
from polyfold.bootstrap._inverted_index import SparseSearch
from polyfold.bootstrap._sampling import ClusteringSpec, child_stream
from polyfold.neighbors import sorted_lists

# Rows that a thread takes at a time in all clusterings; or pairs of a row and a clustering, if clusterings are shared.
BLOCK, TASK_ROWS = 1024, 8192
# Lists longer than the codes of a row would dominate the memory.
LONGEST_LIST = 512


class LayerSearch(Protocol):
    """Nearest centres of rows in the clusterings of one layer."""

    specs: list[ClusteringSpec]
    # Whether threads share the work by clusterings, or by blocks of rows.
    by_clustering: bool

    def assign(self, rows: Any) -> np.ndarray:
        """Index of the nearest centre of every row, in every clustering: (v, n)."""
        ...


class FirstLayer(LayerSearch, Protocol):
    """Search among the training rows themselves."""

    X: Any

    def adapt(self, rows: Any) -> Any:
        """Return checked rows in the form of the training rows, dense or sparse."""
        ...

    def prepare(self, rows: Any, *, n_jobs: int = ...) -> Any:
        """Return rows with what all clusterings need of them."""
        ...

    def quality(self, codes: np.ndarray, *, rows: Any, seeds: np.random.SeedSequence) -> dict[str, float]:
        """Estimates of the errors of an approximate search, by name."""
        ...


def assign_rows(
    search: LayerSearch,
    rows: Any,
    n_centers: int,
    *,
    n_jobs: int = 1,
    what: str | None = None,
) -> np.ndarray:
    """Codes of rows in all clusterings of a layer, by threads: (V, n). `what` names the work in the progress."""
    n, V = rows.shape[0], len(search.specs)
    out = np.empty((V, n), dtype=code_dtype(n_centers))
    if search.by_clustering and n > FEW_ROWS:
        filled, total, step = out, V, max(1, TASK_ROWS // n)
        task = lambda v: replace(cast(Any, search), specs=search.specs[v : v + step]).assign(rows)  # noqa: E731
    else:
        filled, total, step = out.T, n, BLOCK
        task = lambda start: search.assign(rows[start : start + BLOCK]).T  # noqa: E731
    tasks = range(0, total, step)
    results = threaded(task, tasks, n_jobs)
    if what is not None:
        results = track(results, what, total=len(tasks))
    for start, codes in zip(tasks, results, strict=True):
        filled[start : start + step] = codes
    return out


def make_first_layer(
    X: Any, *, metric: str, neighbors: Any, n_centers: int, seeds: np.random.SeedSequence
) -> FirstLayer:
    """Choose the search of the first layer.

    Parameters
    ----------
    X : (n, d) ndarray, CSR matrix, or neighbour lists if `metric` is "precomputed"
    metric : {"euclidean", "cosine", "linear", "precomputed"}
    neighbors : {"auto", "exact", "graph"}, int, (n, n) graph, or object with ``fit`` and ``transform``
    n_centers : int
    seeds : SeedSequence
        Seed of the sample from which the principal directions are computed.
    """
    if metric == "precomputed":
        return GraphSearch(X)
    reason = "sparse data" if sp.issparse(X) else "metric='linear'" if metric == "linear" else ""
    if isinstance(neighbors, str) and neighbors == "auto":
        neighbors = "exact" if reason or X.shape[0] * n_centers <= EXACT_PAIRS else "graph"
    is_exact = isinstance(neighbors, str) and neighbors == "exact"
    if reason and not is_exact:
        raise ValueError(f"neighbors must be 'exact' or 'auto' with {reason}, got {neighbors!r}.")
    if sp.issparse(X):
        return SparseSearch(X, metric)
    exact = DenseSearch(X, metric, fit_bound(X, unit=metric == "cosine", seeds=child_stream(seeds, "bound")))
    return exact if is_exact else _candidates(exact, neighbors, n_centers)


def _candidates(exact: DenseSearch, neighbors: Any, n_centers: int) -> CandidateSearch:
    n, count, given, transformer = len(exact.X), CANDIDATES, None, None
    if hasattr(neighbors, "fit") and hasattr(neighbors, "transform"):
        transformer = clone(neighbors).fit(exact.X)
        neighbors = transformer.transform(exact.X)
    if sp.issparse(neighbors) or isinstance(neighbors, np.ndarray):
        given = sorted_lists(check_graph(neighbors, n, n), drop_self=True)
    elif not isinstance(neighbors, str):
        count = check_count("neighbors", neighbors, hint="it counts the candidates per row")
    elif neighbors != "graph":
        raise ValueError(
            "neighbors must be 'auto', 'exact', 'graph', a number of candidates, a graph or a neighbours "
            f"transformer, got {neighbors!r}."
        )
    # On average, `count` of the listed rows are centres of a clustering.
    length = min(n - 1, LONGEST_LIST, math.ceil(count * n / n_centers))
    return CandidateSearch(CandidateLists(exact, length, given, transformer), count)
