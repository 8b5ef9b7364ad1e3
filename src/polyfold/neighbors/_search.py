"""Nearest neighbours of training points and of new ones, and the exact search for them."""

import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from polyfold._linalg import row_blocks
from polyfold._threads import in_blocks, using_threads
from polyfold._validation import check_choice, check_count, sum_duplicates

# Searches by name; the file of each adds its own.
SEARCHES: dict[str, Any] = {}
# How the recall of each is known, from rows and the distances (n, k) that were found.
RECALLS: dict[str, Any] = {}
ENGINES = ("auto", "exact", "faiss", "pynndescent", "precomputed")
# Above this many rows, and more columns than a tree can use, exact search costs more than all the rest.
_EXACT_ROWS = 20_000
_TREE_COLUMNS = 15
# PyNNDescent compiles for a minute before its first search: worth it where exact search takes many.
_DESCENT_ROWS = 60_000
# Rows that tell where the data are, and how far apart.
_FRAME_ROWS = 2001
# Candidates beyond the neighbours asked for: the last ones may have come before others by rounding.
_SPARE = 4
# Rows that are searched at a time, by one thread.
QUERIES = 2048
# Sums of squares stay finite for entries up to 2 to this power, in single and in double precision.
_LARGEST = {4: 55, 8: 500}


class Search(Protocol):
    """Search among the rows it was built from."""

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows of every row of `X`, nearest first, shape (n, k)."""
        ...


@dataclass(frozen=True)
class Neighborhoods:
    """The k nearest other points of every training point, and a search for new ones.

    `distances` and `indices` have shape (n, k), nearest first, a point never its own neighbour. `recall` is the share
    of true neighbours among them, estimated on some points where the search is approximate; nan where lists were given.
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
        """Number of neighbours of each."""
        return self.indices.shape[1]

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest training points of new rows, shape (n, k)."""
        return _in_order(*self.search.query(X, min(k, self.n_samples)))

    def graph(self) -> Any:
        """Return the directed graph of distances as a sparse (n, n) matrix; zeros of duplicates are kept."""
        n, k = self.indices.shape
        pointers = np.arange(0, n * k + 1, k)
        return sp.csr_array((self.distances.ravel(), self.indices.ravel(), pointers), shape=(n, n))


def find_neighbors(X: Any, n_neighbors: int, *, engine: Any = "auto", n_jobs: int | None = None) -> Neighborhoods:
    """Find the neighbourhoods of the rows of `X`.

    Moving all points, or multiplying them by a power of two, changes nothing but the unit of the distances.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, n_features), or distances where ``engine="precomputed"``
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
        return Neighborhoods(distances, indices, search, RECALLS[engine](X, distances))


def make_search(engine: Any, X: Any) -> Any:
    """Index the rows of `X` by an engine's name, by a copy of a transformer of neighbours, or by a graph of them."""
    if isinstance(engine, str):
        return SEARCHES[engine](X)
    return SEARCHES["graph" if is_graph(engine) else "transformer"](X, engine)


def is_graph(engine: Any) -> bool:
    """Whether what was passed as neighbours is a graph of the training rows."""
    return sp.issparse(engine) or isinstance(engine, np.ndarray)


def choose_engine(n_samples: int, n_features: int, *, sparse: bool = False, approximate: bool = True) -> str:
    """Return what "auto" stands for: an approximate index where exact search would be slow, if one is installed.

    FAISS from 20,000 rows on, PyNNDescent from 60,000 on where FAISS is missing or rows are sparse; without them, and
    for few columns, scikit-learn ("exact"), which beyond that takes time in proportion to the square of the rows.
    Without `approximate`, what answers exactly: FAISS's flat index ("flat"), or scikit-learn.
    """
    has_faiss = not sparse and importlib.util.find_spec("faiss") is not None
    if not approximate:
        return "flat" if has_faiss else "exact"
    if n_features <= _TREE_COLUMNS or n_samples <= _EXACT_ROWS:
        return "exact"
    if has_faiss:
        return "faiss"
    has_descent = n_samples > _DESCENT_ROWS and importlib.util.find_spec("pynndescent") is not None
    return "pynndescent" if has_descent else "exact"


def without_self(distances: NDArray, indices: NDArray) -> tuple[NDArray, NDArray]:
    """Drop every point from its own list; where it is absent (duplicates, approximate search), drop the last."""
    n, k = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    # A point listed twice by an approximate index loses only its first mention.
    keep = ~(own & (np.cumsum(own, axis=1) == 1))
    return distances[keep].reshape(n, k - 1), indices[keep].reshape(n, k - 1)


def _in_order(distances: NDArray, indices: NDArray) -> tuple[NDArray, NDArray]:
    """Sort every list by distance, then by index."""
    order = np.lexsort((indices, distances), axis=1)
    distances, indices = (np.take_along_axis(a, order, axis=1) for a in (distances, indices))
    return distances.astype(np.float64, copy=False), indices.astype(np.intp, copy=False)


@dataclass(frozen=True)
class Frame:
    """Where the data are and how large: rows are moved to the origin and divided by a power of two.

    Distances from matrix products lose their digits away from the origin, and single precision its range away from
    one. Medians of a sample decide, so that a single outlier does not push all others together.
    """

    origin: NDArray | None  # (d,), divided by the scale already; None for sparse rows
    scale: float
    dtype: Any

    @classmethod
    def of(cls, X: Any) -> "Frame":
        """Measure the rows of `X`."""
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        rows = (sp.csr_array(X) if sp.issparse(X) else X)[:: -(-X.shape[0] // _FRAME_ROWS)]
        if sp.issparse(X):
            return cls(None, _power_of_two(abs(rows).max(axis=1).toarray().ravel()), dtype)
        rows = rows.astype(np.float64)
        # The larger of all entries first: differences of the very largest numbers would overflow.
        first = _power_of_two(np.abs(rows).max(axis=1))
        origin = np.median(rows / first, axis=0)
        spread = np.abs(rows / first - origin).max(axis=1)
        if not spread.any():
            spread = np.array([np.abs(block / first - origin).max() for block in _blocks(X)])
        scale = _power_of_two(spread)
        return cls(origin / scale, first * scale, dtype)

    def apply(self, X: Any) -> Any:
        """Return the rows of `X` moved and scaled, in the type of the training rows."""
        if self.origin is None:
            return (sum_duplicates(sp.csr_array(X)) * (1 / self.scale)).astype(self.dtype)
        X = X.toarray() if sp.issparse(X) else X
        out = np.empty(X.shape, dtype=self.dtype)
        for rows in row_blocks(*X.shape):
            block = X[rows].astype(np.float64) / self.scale - self.origin
            out[rows] = self._bounded(block)
        return out

    def _bounded(self, block: NDArray) -> NDArray:
        limit = 2.0 ** _LARGEST[np.dtype(self.dtype).itemsize]
        size = np.abs(block).max(initial=0.0)
        if not size <= limit:
            raise ValueError(
                f"X must lie within {limit:.3g} times the typical distance of its rows, {self.scale:.3g}, for squared "
                f"distances in {np.dtype(self.dtype)} to be finite, got an entry {size:.3g} times as far out; drop "
                "such rows or rescale their columns."
            )
        return block


def _blocks(X: NDArray) -> Any:
    return (X[rows].astype(np.float64) for rows in row_blocks(*X.shape))


def _power_of_two(sizes: NDArray) -> float:
    """Power of two near the median of the positive sizes; dividing by it changes no digit."""
    positive = sizes[sizes > 0]
    # The reciprocal must be a number, too.
    return 2.0 ** int(np.clip(np.frexp(np.median(positive))[1], -1000, 1000)) if len(positive) else 1.0


class Exact:
    """scikit-learn's trees for few columns, its brute force for many; distances are then taken from differences."""

    def __init__(self, X: Any):
        if sp.issparse(X):
            X = sum_duplicates(sp.csr_array(X))
            # Beyond this share of entries the dense matrix is the smaller one, and can be moved to the origin.
            X = X.toarray() if X.nnz > 0.67 * X.shape[0] * X.shape[1] else X
        self.frame = Frame.of(X)
        self.nearest = NearestNeighbors(n_jobs=1).fit(self.frame.apply(X))

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        candidates = min(k + _SPARE, self.nearest.n_samples_fit_)
        distances, indices = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.intp)

        def fill(block: slice) -> None:
            rows = self.frame.apply(X[block])
            found = self.nearest.kneighbors(rows, n_neighbors=candidates, return_distance=False)
            near, found = _in_order(_paired_distances(rows, self.nearest._fit_X, found), found)
            distances[block], indices[block] = self.frame.scale * near[:, :k], found[:, :k]

        in_blocks(fill, X.shape[0], QUERIES)
        return distances, indices


SEARCHES["exact"] = Exact
RECALLS["exact"] = lambda X, distances: 1.0


def _paired_distances(X: Any, Y: Any, indices: NDArray) -> NDArray:
    """Distance of every row of `X` to its own list of rows of `Y`, by differences: copies are at zero."""
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
