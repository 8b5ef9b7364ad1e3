"""Nearest neighbours of training rows and new rows, the exact search, and the recall of approximate ones."""

import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from polyfold._linalg import block_rows, row_blocks
from polyfold._policy import EXACT_ROWS
from polyfold._threads import in_blocks, threaded, using_threads
from polyfold._validation import check_choice, check_count, import_extra, outside, sum_duplicates
from polyfold.exceptions import GraphWarning

# Search classes by engine name; `_engines` adds its own.
SEARCHES: dict[str, Any] = {}
ENGINES = ("auto", "exact", "faiss", "pynndescent", "precomputed")
APPROXIMATE = ("faiss", "pynndescent")
# Entries of neighbour graphs: ones, or distances.
GRAPH_MODES = ("connectivity", "distance")
# scikit-learn searches by trees up to this many columns, which is exact and fast for any number of rows.
_TREE_COLUMNS = 15
# Rows on which the recall of approximate searches is estimated, with a standard error of about 0.01.
RECALL_ROWS = 256
# Recall of an approximate search below which a warning is issued.
LOWEST_RECALL = 0.9
# Sampled rows that determine the origin and the scale of the data.
_FRAME_ROWS = 2001
# Extra candidates of the exact search, because rounding can change the order of the last ones.
_SPARE = 4
# Multiplications from which on the exact search uses FAISS, if it is installed: below, scikit-learn takes a second.
_FAISS_PRODUCTS = 2e9
# Queries per block; one thread searches one block.
QUERIES = 2048
# Sums of squares of entries up to this size are finite in single precision.
SINGLE_RANGE = 2.0**55
# The same by the bytes of a number, in single and in double precision.
_LARGEST = {4: SINGLE_RANGE, 8: 2.0**500}
# Relative difference of distances that single precision cannot resolve: closer distances are ties.
_ROUNDING = 1e-5


class Search(Protocol):
    """Search among the rows it was built from."""

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows of every row of `X`, nearest first, shape (n, k)."""
        ...


@dataclass(frozen=True)
class Neighborhoods:
    """The k nearest other points of every training point, and a search for new ones.

    `distances` and `indices` have shape (n, k), nearest first; a point is never its own neighbour. `recall` is the
    fraction of true neighbours among them: 1.0 for exact search, an estimate for approximate search, nan for given
    graphs.
    """

    distances: NDArray
    indices: NDArray
    search: Search
    recall: float = np.nan

    @property
    def n_samples(self) -> int:
        """Number of training points."""
        return len(self.indices)

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours of each training point."""
        return self.indices.shape[1]

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest training points of new rows, shape (n, k)."""
        return _in_order(*self.search.query(X, min(k, self.n_samples)))

    @property
    def finds_itself(self) -> bool:
        """Whether a query with a training point returns this point first: the search is exact, and no two coincide."""
        return isinstance(self.search, Exact) and bool(self.distances[:, 0].all())

    def graph(self) -> Any:
        """Return the directed graph of distances as a sparse (n, n) matrix; zeros of duplicates are kept."""
        return neighbor_graph(self.distances, self.indices, self.n_samples)


def neighbor_graph(values: NDArray, indices: NDArray, n_columns: int) -> sp.csr_array:
    """Return the sparse matrix with `values` (n, k) in the columns `indices`; zeros are stored, and -1 is skipped."""
    is_column = indices >= 0
    pointers = np.concatenate([[0], np.cumsum(is_column.sum(axis=1))])
    return sp.csr_array((values[is_column], indices[is_column], pointers), shape=(len(indices), n_columns))


def mode_graph(distances: NDArray, indices: NDArray, n_columns: int, mode: str) -> sp.csr_matrix:
    """Return lists of neighbours as the graph of scikit-learn's `kneighbors_graph`, with a `mode` of `GRAPH_MODES`."""
    values = distances if mode == "distance" else np.ones_like(distances)
    return sp.csr_matrix(neighbor_graph(values, indices, n_columns))


def find_neighbors(X: Any, n_neighbors: int, *, engine: Any = "auto", n_jobs: int | None = None) -> Neighborhoods:
    """Find the neighbourhoods of the rows of `X`.

    Shifting all points does not change the neighbours. Scaling by a power of two only scales the distances.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features), or distances if ``engine="precomputed"``
    n_neighbors : int
        At most n - 1.
    engine : str, transformer or graph, default="auto"
        "exact" (scikit-learn), "faiss", "pynndescent", "precomputed", an object with scikit-learn's
        `KNeighborsTransformer` interface, or a matrix of the distances of neighbouring rows. "auto" follows
        `choose_engine`.
    n_jobs : int or None, default=None
    """
    k = check_count(
        "n_neighbors", n_neighbors, maximum=X.shape[0] - 1, hint=f"X has {X.shape[0]} samples; lower n_neighbors"
    )
    if isinstance(engine, str):
        check_choice("neighbors", engine, ENGINES)
        engine = choose_engine(*X.shape, sparse=sp.issparse(X)) if engine == "auto" else engine
    with using_threads(n_jobs):
        search = make_search(engine, X)
        if hasattr(search, "of_training"):
            return Neighborhoods(*_in_order(*search.of_training(X, k)), search)
        distances, indices = _in_order(*without_self(*search.query(X, k + 1)))
        recall = _reported_recall(engine, X, indices) if engine in APPROXIMATE else 1.0
        return Neighborhoods(distances, indices, search, recall)


def make_search(engine: Any, X: Any) -> Any:
    """Index the rows of `X` with a named engine, a clone of a neighbours transformer, or a given graph."""
    if isinstance(engine, str):
        return SEARCHES[engine](X)
    return SEARCHES["graph" if is_graph(engine) else "transformer"](X, engine)


def is_graph(engine: Any) -> bool:
    """Whether `engine` is a neighbour graph of the training rows."""
    return sp.issparse(engine) or isinstance(engine, np.ndarray)


def choose_engine(n_samples: int, n_features: int, *, sparse: bool = False, approximate: bool = True) -> str:
    """Return the engine that "auto" selects: an approximate one for large data, if it is installed.

    Above 20,000 rows FAISS, or PyNNDescent if FAISS is missing or the rows are sparse. Otherwise, and for at most 15
    columns, scikit-learn ("exact"), whose time grows with the square of the number of rows. With
    ``approximate=False``: FAISS's flat index ("flat") or scikit-learn.
    """
    has_faiss = not sparse and importlib.util.find_spec("faiss") is not None
    if not approximate:
        return "flat" if has_faiss else "exact"
    if n_features <= _TREE_COLUMNS or n_samples <= EXACT_ROWS:
        return "exact"
    if has_faiss:
        return "faiss"
    return "exact" if importlib.util.find_spec("pynndescent") is None else "pynndescent"


def without_self(distances: NDArray, indices: NDArray, rows: NDArray | None = None) -> tuple[NDArray, NDArray]:
    """Drop every point from its own list, or the last entry if it is absent (duplicates, approximate search).

    `rows` (n,) are the numbers of the points; by default they are numbered from 0.
    """
    n, k = indices.shape
    is_self = indices == (np.arange(n) if rows is None else rows)[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    # An approximate index can list a point twice; only the first entry is dropped.
    keep = ~(is_self & (np.cumsum(is_self, axis=1) == 1))
    return distances[keep].reshape(n, k - 1), indices[keep].reshape(n, k - 1)


def _in_order(distances: NDArray, indices: NDArray) -> tuple[NDArray, NDArray]:
    """Sort every list by distance, then by index."""
    order = np.lexsort((indices, distances), axis=1)
    distances, indices = (np.take_along_axis(a, order, axis=1) for a in (distances, indices))
    return distances.astype(np.float64, copy=False), indices.astype(np.intp, copy=False)


@dataclass(frozen=True)
class Frame:
    """Origin and scale of the data: rows are centred and divided by a power of two.

    Distances from matrix products lose digits far from the origin, and single precision overflows far from one. Both
    are medians of a sample, so a single outlier does not compress the other rows.
    """

    origin: NDArray | None  # (d,), divided by the scale already; None for sparse rows
    scale: float
    dtype: Any

    @classmethod
    def of(cls, X: Any) -> "Frame":
        """Estimate origin and scale from the rows of `X`."""
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        rows = (sp.csr_array(X) if sp.issparse(X) else X)[:: -(-X.shape[0] // _FRAME_ROWS)]
        if sp.issparse(X):
            return cls(None, _power_of_two(abs(rows).max(axis=1).toarray().ravel()), dtype)
        rows = rows.astype(np.float64)
        # Scale first: differences of the largest doubles would overflow.
        first = _power_of_two(np.abs(rows).max(axis=1))
        origin = np.median(rows / first, axis=0)
        spread = np.abs(rows / first - origin).max(axis=1)
        if not spread.any():
            spread = np.array([np.abs(block / first - origin).max() for block in _blocks(X)])
        scale = _power_of_two(spread)
        return cls(origin / scale, first * scale, dtype)

    def apply(self, X: Any) -> Any:
        """Return the rows of `X` centred and scaled, in the dtype of the training rows."""
        if self.origin is None:
            return (sum_duplicates(sp.csr_array(X)) * (1 / self.scale)).astype(self.dtype)
        X = X.toarray() if sp.issparse(X) else X
        out = np.empty(X.shape, dtype=self.dtype)
        for rows in row_blocks(*X.shape):
            block = X[rows].astype(np.float64) / self.scale - self.origin
            out[rows] = self._bounded(block)
        return out

    def _bounded(self, block: NDArray) -> NDArray:
        limit = _LARGEST[np.dtype(self.dtype).itemsize]
        size = np.abs(block).max(initial=0.0)
        if not size <= limit:
            raise ValueError(
                f"X must lie within {limit:.3g} times the typical distance of its rows, {self.scale:.3g}, for squared "
                f"distances in {np.dtype(self.dtype)} to be finite, got an entry {size:.3g} times as far out; drop "
                "such rows or rescale their columns."
            )
        return block


def _blocks(X: NDArray) -> Iterator[NDArray]:
    return (X[rows].astype(np.float64) for rows in row_blocks(*X.shape))


def _power_of_two(sizes: NDArray) -> float:
    """Power of two near the median of the positive sizes; dividing by it is exact."""
    positive = sizes[sizes > 0]
    # Clipped so that the reciprocal is finite, too.
    return 2.0 ** int(np.clip(np.frexp(np.median(positive))[1], -1000, 1000)) if len(positive) else 1.0


class Exact:
    """scikit-learn's trees for few columns and brute force for many; distances are recomputed from differences.

    For many pairs of rows, FAISS's brute force is faster, in single precision. If rounding could hide a neighbour of a
    row, scikit-learn searches it again, so the neighbours do not depend on what is installed.
    """

    def __init__(self, X: Any):
        if sp.issparse(X):
            X = sum_duplicates(sp.csr_array(X))
            # Above this density the dense matrix is smaller, and it can be centred.
            X = X.toarray() if X.count_nonzero() > 0.67 * X.shape[0] * X.shape[1] else X
        self.frame = Frame.of(X)
        self.nearest = NearestNeighbors(n_jobs=1).fit(self.frame.apply(X))

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        distances, indices = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.intp)
        search, table = self._by_sklearn, self._single_precision(X.shape[0])
        if table is not None:
            # FAISS is loaded before threads start, so that each of them is limited to one thread of FAISS.
            search = partial(self._by_faiss, import_extra("faiss", "faiss").knn, table)

        def fill(block: slice) -> None:
            scaled, indices[block] = search(self.frame.apply(X[block]), k)
            distances[block] = self.frame.scale * scaled

        in_blocks(fill, X.shape[0], QUERIES)
        return distances, indices

    def _by_sklearn(self, rows: Any, k: int) -> tuple[NDArray, NDArray]:
        count = min(k + _SPARE, self.nearest.n_samples_fit_)
        return self._ranked(rows, self.nearest.kneighbors(rows, n_neighbors=count, return_distance=False), k)

    def _by_faiss(self, knn: Any, table: NDArray, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        if np.abs(rows).max() > SINGLE_RANGE:
            return self._by_sklearn(rows, k)
        squared, candidates = knn(rows.astype(np.float32), table, min(k + _SPARE, len(table)))
        distances, indices = self._ranked(rows, candidates, k)
        # A row nearer than the k-th is at most `farthest` from the origin, which bounds the error of its squared
        # distance. With that error it would be a candidate.
        farthest = row_norms(rows).astype(np.float64) + distances[:, -1]
        error = (rows.shape[1] + 8) * np.finfo(np.float32).eps * (2 * farthest) ** 2
        unsure = np.flatnonzero(~(distances[:, -1] ** 2 + error < squared[:, -1]))
        if len(unsure) and len(table) > candidates.shape[1]:
            distances[unsure], indices[unsure] = self._by_sklearn(rows[unsure], k)
        return distances, indices

    def _ranked(self, rows: Any, candidates: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Distances and indices of the `k` nearest candidates of every row."""
        distances, indices = _in_order(_paired_distances(rows, self.nearest._fit_X, candidates), candidates)
        return distances[:, :k], indices[:, :k]

    def _single_precision(self, n_queries: int) -> NDArray | None:
        """Return the rows for FAISS, or None if scikit-learn is to search."""
        rows = self.nearest._fit_X
        is_large = n_queries * np.prod(rows.shape, dtype=np.float64) >= _FAISS_PRODUCTS
        is_brute = self.nearest._fit_method == "brute" and not sp.issparse(rows)
        if not (is_large and is_brute and importlib.util.find_spec("faiss")):
            return None
        return rows.astype(np.float32, copy=False) if np.abs(rows).max() <= SINGLE_RANGE else None


SEARCHES["exact"] = Exact


def sampled_recall(X: Any, indices: NDArray) -> float:
    """Estimate the fraction of true neighbours among those found (n, k), on a sample of the rows of `X`.

    A neighbour counts if it is as near as the k-th true one, so any of several points at the same distance is correct.
    """
    n, k = indices.shape
    sample = np.sort(np.random.RandomState(0).choice(n, min(n, RECALL_ROWS), replace=False))
    reached, limits = _distances_within(X, sample, indices[sample]), _kth_distances(X, sample, k)
    return float(np.mean(reached <= limits[:, None] * (1 + _ROUNDING)))


def _kth_distances(X: Any, sample: NDArray, k: int) -> NDArray:
    """Distance of each sampled row to its k-th nearest other row, by exact search in blocks: (s,)."""
    n, queries = X.shape[0], X[sample]
    step = max(4 * (k + 1), block_rows(X.shape[1]))

    def nearest(start: int) -> NDArray:
        block = X[start : start + step]
        return start + Exact(block).query(queries, min(k + 1, block.shape[0]))[1]

    distances = _distances_within(X, sample, np.hstack(list(threaded(nearest, range(0, n, step)))))
    # The nearest row is the row itself, or a duplicate of it.
    return np.partition(distances, k, axis=1)[:, k]


def _distances_within(X: Any, rows: NDArray, others: NDArray) -> NDArray:
    """Distances of some rows of `X` to lists of other rows (s, m), in double precision."""
    frame = replace(Frame.of(X), dtype=np.float64)
    different, columns = np.unique(others, return_inverse=True)
    return _paired_distances(frame.apply(X[rows]), frame.apply(X[different]), columns.reshape(others.shape))


def _reported_recall(engine: str, X: Any, indices: NDArray) -> float:
    """Return the sampled recall, and warn if it is low."""
    recall = sampled_recall(X, indices)
    if recall < LOWEST_RECALL:
        warnings.warn(
            f"The {engine!r} search found {recall:.0%} of the true neighbours of {min(len(indices), RECALL_ROWS)} "
            f"sampled rows, less than {LOWEST_RECALL:.0%}. Pass a kernel with neighbors='exact', or another engine.",
            GraphWarning,
            stacklevel=outside(),
        )
    return recall


def _paired_distances(X: Any, Y: Any, indices: NDArray) -> NDArray:
    """Distance of every row of `X` to its own list of rows of `Y`, by differences: duplicates are at zero."""
    n, k = indices.shape
    out = np.empty((n, k))
    if sp.issparse(X):
        for rows in row_blocks(n, k * (2 + 4 * Y.nnz // Y.shape[0])):
            block = indices[rows]
            difference = X[rows][np.repeat(np.arange(len(block)), k)] - Y[block.ravel()]
            out[rows] = row_norms(difference).reshape(-1, k)
        return out
    for rows in row_blocks(n, k * X.shape[1]):
        difference = Y[indices[rows]]
        difference -= X[rows, None]
        out[rows] = np.sqrt(np.einsum("ijd,ijd->ij", difference, difference, dtype=np.float64))
    return out
