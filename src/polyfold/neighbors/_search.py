"""Nearest neighbours for graph kernels: scikit-learn, any transformer of that kind, FAISS, PyNNDescent, or given."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from polyfold._validation import check_choice, check_count, import_extra

__all__ = ["ENGINES", "Neighborhoods", "choose_engine", "find_neighbors"]

ENGINES = ("auto", "exact", "faiss", "pynndescent", "precomputed")
# Above this many rows, and more columns than a tree can use, exact search costs more than all the rest.
_EXACT_ROWS = 20_000
_TREE_COLUMNS = 15


class _Search(Protocol):
    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]: ...


@dataclass(frozen=True)
class Neighborhoods:
    """The k nearest other points of every training point, and a search for new ones.

    `distances` and `indices` have shape (n, k), nearest first, a point never its own neighbour.
    """

    distances: NDArray
    indices: NDArray
    search: _Search

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
        distances, indices = self.search.query(X, min(k, self.n_samples))
        return np.asarray(distances, dtype=np.float64), np.asarray(indices, dtype=np.intp)

    def graph(self) -> Any:
        """Return the directed graph of distances as a sparse (n, n) matrix; zeros of duplicates are kept."""
        n, k = self.indices.shape
        pointers = np.arange(0, n * k + 1, k)
        return sp.csr_array((self.distances.ravel(), self.indices.ravel(), pointers), shape=(n, n))


def find_neighbors(X: Any, n_neighbors: int, *, engine: Any = "auto", n_jobs: int | None = None) -> Neighborhoods:
    """Find the neighbourhoods of the rows of `X`.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or distances where ``engine="precomputed"``
    n_neighbors : int
        At most n - 1.
    engine : str or transformer, default="auto"
        "exact" (scikit-learn), "faiss", "pynndescent", "precomputed", or an object with scikit-learn's
        `KNeighborsTransformer` interface. "auto" follows `choose_engine`.
    n_jobs : int or None, default=None
    """
    k = check_count(
        "n_neighbors", n_neighbors, maximum=X.shape[0] - 1, hint=f"X has {X.shape[0]} samples; lower n_neighbors"
    )
    if isinstance(engine, str):
        check_choice("neighbors", engine, ENGINES)
        search = _BUILDERS[choose_engine(*X.shape) if engine == "auto" else engine](X, n_jobs)
    else:
        search = _GivenTransformer(clone(engine).fit(X))
    if isinstance(search, _Distances):
        return Neighborhoods(*search.neighbors(k), search)
    return Neighborhoods(*_without_self(*search.query(X, k + 1)), search)


def choose_engine(n_samples: int, n_features: int) -> str:
    """Resolve ``neighbors="auto"``: exact, or above 20,000 rows an index that does not grow quadratically."""
    if n_samples <= _EXACT_ROWS or n_features <= _TREE_COLUMNS:
        return "exact"
    # PyNNDescent compiles for a minute before its first search, so it has to be asked for.
    return "faiss" if importlib.util.find_spec("faiss") is not None else "exact"


def _without_self(distances: NDArray, indices: NDArray) -> tuple[NDArray, NDArray]:
    """Drop every point from its own list; where it is absent (duplicates, approximate search), drop the last."""
    n, k = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    # A point listed twice by an approximate index loses only its first mention.
    own &= np.cumsum(own, axis=1) == 1
    keep = ~own
    shape = (n, k - 1)
    return distances[keep].reshape(shape).astype(np.float64), indices[keep].reshape(shape).astype(np.intp)


class _Exact:
    def __init__(self, X: Any, n_jobs: int | None):
        self.nearest = NearestNeighbors(n_jobs=n_jobs).fit(X)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        return self.nearest.kneighbors(X, n_neighbors=k)


class _Faiss:
    """FAISS's graph index (HNSW): exact search would be quadratic there, too."""

    def __init__(self, X: Any, n_jobs: int | None):
        faiss = import_extra("faiss", "faiss")
        rows = np.ascontiguousarray(X, dtype=np.float32)
        self.index: Any = faiss.IndexHNSWFlat(rows.shape[1], 16)
        self.index.hnsw.efConstruction = 60
        self.index.add(rows)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        self.index.hnsw.efSearch = max(48, 2 * k)
        squared, indices = self.index.search(np.ascontiguousarray(X, dtype=np.float32), k)
        return np.sqrt(np.maximum(squared, 0.0)), indices

    def __getstate__(self) -> dict[str, Any]:
        return {"index": import_extra("faiss", "faiss").serialize_index(self.index)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.index = import_extra("faiss", "faiss").deserialize_index(state["index"])


class _PyNNDescent:
    def __init__(self, X: Any, n_jobs: int | None):
        pynndescent = import_extra("pynndescent", "test")
        self.index = pynndescent.NNDescent(X, n_neighbors=30, random_state=0, n_jobs=n_jobs)
        self.index.prepare()

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        indices, distances = self.index.query(X, k=k)
        return distances, indices


class _GivenTransformer:
    """Any object with scikit-learn's `KNeighborsTransformer` interface."""

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        if hasattr(self.transformer, "kneighbors"):
            return self.transformer.kneighbors(X, n_neighbors=k)
        return _rows_of_graph(self.transformer.transform(X), k)


class _Distances:
    """Distances given as a matrix: dense (n, n), or sparse with the known neighbours of each row."""

    def __init__(self, X: Any, n_jobs: int | None):
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"neighbors='precomputed' needs square distances (n, n), got shape {X.shape}.")
        self.distances = X

    def neighbors(self, k: int) -> tuple[NDArray, NDArray]:
        if sp.issparse(self.distances):
            return _rows_of_graph(_off_diagonal(sp.csr_array(self.distances)), k)
        masked = np.array(self.distances, dtype=np.float64)
        np.fill_diagonal(masked, np.inf)
        return _smallest(masked, k)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        return _rows_of_graph(sp.csr_array(X), k) if sp.issparse(X) else _smallest(np.asarray(X, dtype=np.float64), k)


def _off_diagonal(graph: Any) -> Any:
    coo = graph.tocoo()
    keep = coo.coords[0] != coo.coords[1]
    rows, columns = coo.coords[0][keep], coo.coords[1][keep]
    return sp.csr_array((coo.data[keep], (rows, columns)), shape=graph.shape)


def _smallest(distances: NDArray, k: int) -> tuple[NDArray, NDArray]:
    part = np.argpartition(distances, k - 1, axis=1)[:, :k]
    order = np.argsort(np.take_along_axis(distances, part, axis=1), axis=1, kind="stable")
    indices = np.take_along_axis(part, order, axis=1)
    return np.take_along_axis(distances, indices, axis=1), indices


def _rows_of_graph(graph: Any, k: int) -> tuple[NDArray, NDArray]:
    """Take the `k` smallest stored distances of every row."""
    graph = sp.csr_array(graph)
    counts = np.diff(graph.indptr)
    if counts.min() < k:
        raise ValueError(
            f"the neighbour graph must hold at least {k} neighbours of every row, got {counts.min()}; "
            "build it with more neighbours, or lower n_neighbors."
        )
    row = np.repeat(np.arange(graph.shape[0]), counts)
    order = np.lexsort((graph.data, row))
    first = graph.indptr[:-1, None] + np.arange(k)[None, :]
    chosen = order[first]
    return graph.data[chosen].astype(np.float64), graph.indices[chosen].astype(np.intp)


_BUILDERS = {"exact": _Exact, "faiss": _Faiss, "pynndescent": _PyNNDescent, "precomputed": _Distances}


def distinct_rows(X):
    """Temporary."""
    A = X.toarray() if sp.issparse(X) else np.asarray(X)
    _, first, inverse = np.unique(A + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[inverse.ravel()]
