"""Neighbour searches other than exact: FAISS, PyNNDescent, given graphs and distances, neighbours transformers."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from polyfold._linalg import row_blocks
from polyfold._policy import CANDIDATES_PER_NEIGHBOR, HNSW_EFFORT, HNSW_LINKS
from polyfold._threads import in_blocks, n_threads
from polyfold._validation import import_extra
from polyfold.neighbors._search import QUERIES, SEARCHES, SINGLE_RANGE, Exact, Frame, without_self


class _Faiss:
    """FAISS's graph index (HNSW); it holds the only copy of the rows, in single precision."""

    def __init__(self, X: Any):
        if sp.issparse(X):
            raise ValueError("the FAISS engine needs dense rows, got a sparse matrix; use the exact engine.")
        self.frame = Frame.of(X)
        self.index: Any = self._empty(import_extra("faiss", "faiss"), X.shape[1])
        self.add(X)

    def add(self, X: Any) -> None:
        """Append the rows of `X` to the index."""
        faiss = import_extra("faiss", "faiss")
        # Up to version 1.15 of FAISS, a graph built by several threads depends on their timing.
        with _openmp(faiss, n_threads() if hasattr(faiss, "hnsw_add_vertices_deterministic") else 1):
            for rows in row_blocks(*X.shape):
                self.index.add(_single(self.frame.apply(X[rows])))

    @property
    def n_rows(self) -> int:
        """Number of indexed rows."""
        return self.index.ntotal

    def _empty(self, faiss: Any, n_features: int) -> Any:
        index = faiss.IndexHNSWFlat(n_features, HNSW_LINKS)
        index.hnsw.efConstruction = HNSW_EFFORT
        return index

    def _ef_search(self, k: int) -> int:
        return max(HNSW_EFFORT, CANDIDATES_PER_NEIGHBOR * k)

    def _search(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        parameters = import_extra("faiss", "faiss").SearchParametersHNSW(efSearch=self._ef_search(k))
        return self.index.search(rows, k, params=parameters)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        distances, indices = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.int64)

        def fill(rows: slice) -> None:
            scaled, indices[rows] = self._query_block(self.frame.apply(X[rows]), k)
            distances[rows] = scaled * self.frame.scale

        in_blocks(fill, X.shape[0], QUERIES)
        return distances, indices

    def _query_block(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        far = np.abs(rows).max(axis=1) > SINGLE_RANGE
        squared, indices = self._search(np.where(far[:, None], 0, rows).astype(np.float32), k)
        distances = np.sqrt(np.maximum(squared, 0.0), dtype=np.float64)
        # Duplicates can disconnect the graph, and single precision can overflow: search those rows exactly.
        missed = np.flatnonzero(far | (indices < 0).any(axis=1))
        if len(missed):
            stored = self.index.reconstruct_n(0, self.index.ntotal).astype(np.float64)
            distances[missed], indices[missed] = Exact(stored).query(rows[missed], k)
        return distances, indices

    def __getstate__(self) -> dict[str, Any]:
        """Rows and links as plain arrays, which every version of FAISS can read and which are checked on load."""
        rows = self.index.reconstruct_n(0, self.index.ntotal)
        return {"frame": self.frame, "rows": rows, "links": self._links()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        faiss = import_extra("faiss", "faiss")
        rows = np.ascontiguousarray(state["rows"], dtype=np.float32)
        self.frame, self.index = state["frame"], self._empty(faiss, rows.shape[1])
        self._restore(faiss, rows, state["links"])

    def _links(self) -> dict[str, Any] | None:
        faiss, graph = import_extra("faiss", "faiss"), self.index.hnsw
        arrays = {name: faiss.vector_to_array(getattr(graph, name)) for name in _HNSW_ARRAYS}
        return {**arrays, "entry_point": int(graph.entry_point), "max_level": int(graph.max_level)}

    def _restore(self, faiss: Any, rows: NDArray, links: Any) -> None:
        # Rebuilding is slow, and other versions of FAISS build other graphs.
        graph = self.index.hnsw
        _check_links(links, len(rows), faiss.vector_to_array(graph.cum_nneighbor_per_level))
        self.index.storage.add(rows)
        self.index.ntotal = len(rows)
        for name in _HNSW_ARRAYS:
            faiss.copy_array_to_vector(np.ascontiguousarray(links[name]), getattr(graph, name))
        graph.entry_point, graph.max_level = links["entry_point"], links["max_level"]


# Arrays of an HNSW graph: the top level of every row, the offsets of its links, and the links.
_HNSW_ARRAYS = {"levels": np.int32, "offsets": np.uint64, "neighbors": np.int32}


def _check_links(links: dict[str, Any], n: int, sizes: NDArray) -> None:
    """Refuse links that point outside the index: FAISS follows them without a check."""
    levels, offsets, neighbors = (np.asarray(links[name]) for name in _HNSW_ARRAYS)
    sound = all(np.asarray(links[name]).dtype == kind and links[name].ndim == 1 for name, kind in _HNSW_ARRAYS.items())
    sound = sound and levels.shape == (n,) and offsets.shape == (n + 1,) and levels.min(initial=1) >= 1
    sound = sound and levels.max(initial=1) < len(sizes) and offsets[0] == 0
    sound = sound and np.array_equal(np.diff(offsets.astype(np.int64)), sizes[levels]) and offsets[-1] == len(neighbors)
    sound = sound and neighbors.min(initial=-1) >= -1 and neighbors.max(initial=-1) < n
    for level in range(1, levels.max()) if sound and n else ():
        first = offsets[:-1][levels > level].astype(np.int64)
        linked = neighbors[first[:, None] + np.arange(sizes[level], sizes[level + 1])]
        sound = sound and (levels[linked[linked >= 0]] > level).all()  # other rows have no links of this level
    top = links["entry_point"]
    if not (sound and 0 <= top < n and links["max_level"] == levels[top] - 1 == levels.max() - 1):
        raise ValueError(f"The links of this FAISS index point outside its {n} rows or levels; the file is damaged.")


@contextmanager
def _openmp(faiss: Any, count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(count)
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _single(rows: NDArray) -> NDArray:
    """Rows in single precision, or an error if they exceed its range."""
    far = np.abs(rows).max(initial=0.0)
    if far > SINGLE_RANGE:
        raise ValueError(
            f"the FAISS engine (single precision) needs rows within {SINGLE_RANGE:.0e} times their typical distance, "
            f"got one at {far:.0e}; drop such rows, or use the exact engine."
        )
    return rows.astype(np.float32)


class _FaissCandidates(_Faiss):
    """HNSW graph for candidate lists: `efSearch` is the number of candidates."""

    def _ef_search(self, k: int) -> int:
        return k


class _FaissFlat(_Faiss):
    """FAISS's brute force."""

    def _empty(self, faiss: Any, n_features: int) -> Any:
        return faiss.IndexFlatL2(n_features)

    def _search(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        return self.index.search(rows, k)

    def _links(self) -> None:
        return None

    def _restore(self, faiss: Any, rows: NDArray, links: Any) -> None:
        self.index.add(rows)


class _PyNNDescent:
    """PyNNDescent's graph index, which also takes sparse rows; rows without an answer are searched exactly."""

    def __init__(self, X: Any):
        import_extra("pynndescent", "pynndescent")
        self.frame = Frame.of(X)
        rows = self.frame.apply(X)
        self.rows = sp.csr_matrix(rows, dtype=np.float32) if sp.issparse(rows) else rows.astype(np.float32, copy=False)

    @cached_property
    def index(self) -> Any:
        """The index of PyNNDescent, built when it is first used: a file could hold many of them."""
        links = min(30, self.rows.shape[0] - 1)  # 30 is PyNNDescent's default
        descent = import_extra("pynndescent", "pynndescent").NNDescent
        # The graph depends on the number of threads that build it; searches do not.
        index = descent(self.rows, n_neighbors=links, random_state=0, n_jobs=1)
        index.prepare()
        return index

    def __getstate__(self) -> dict[str, Any]:
        # The index holds compiled functions, so it is rebuilt from the rows.
        return {"frame": self.frame, "rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.frame, self.rows = state["frame"], state["rows"]

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        rows = self.frame.apply(X)
        rows = sp.csr_matrix(rows, dtype=np.float32) if sp.issparse(rows) else rows.astype(np.float32, copy=False)
        self.index.n_jobs = min(n_threads(), numba.config.NUMBA_NUM_THREADS)  # pyright: ignore[reportPrivateImportUsage]
        indices, distances = self.index.query(rows, k=k)
        distances = distances.astype(np.float64)
        missed = np.flatnonzero((indices < 0).any(axis=1) | ~np.isfinite(distances).all(axis=1))
        if len(missed):
            distances[missed], indices[missed] = Exact(self.rows).query(rows[missed], k)
        return distances * self.frame.scale, indices


class _Distances:
    """Distances given as a matrix: dense, or sparse with the known neighbours of each row.

    scikit-learn's search in sparse graphs assumes that every row is its own first entry, and it keeps the matrix.
    """

    def __init__(self, X: Any):
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"neighbors='precomputed' needs square distances (n, n), got shape {X.shape}.")
        self.n_samples = X.shape[0]

    def of_training(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest others of every training point, shape (n, k)."""
        return _first_columns(*_sorted_entries(X, drop_self=True), X.shape, k)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        if X.shape[1] != self.n_samples:
            raise ValueError(f"X must hold distances to {self.n_samples} training points, got {X.shape[1]} columns.")
        # New points may have fewer stored neighbours than `k`; callers accept shorter lists.
        stored = int(np.diff(sp.csr_array(X).indptr).min()) if sp.issparse(X) else k
        return _first_columns(*_sorted_entries(X, drop_self=False), X.shape, max(1, min(k, stored)))


class _Transformer:
    """Any object with scikit-learn's `KNeighborsTransformer` interface; `kneighbors` is used if it has one."""

    def __init__(self, X: Any, transformer: Any):
        self.transformer = clone(transformer).fit(X)

    def of_training(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest others; points may or may not list themselves."""
        if hasattr(self.transformer, "kneighbors"):
            # `kneighbors()` without rows returns the neighbours of the training points, excluding themselves.
            if inspect.signature(self.transformer.kneighbors).parameters["X"].default is None:
                return self.transformer.kneighbors(n_neighbors=k)
            return without_self(*self.transformer.kneighbors(X, n_neighbors=k + 1))
        graph = self.transformer.transform(X)
        return _first_columns(*_sorted_entries(graph, drop_self=True), graph.shape, k)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        if hasattr(self.transformer, "kneighbors"):
            return self.transformer.kneighbors(X, n_neighbors=k)
        graph = self.transformer.transform(X)
        return _first_columns(*_sorted_entries(graph, drop_self=False), graph.shape, k)


class _Graph:
    """A given graph of distances between the training rows, next to the rows themselves."""

    def __init__(self, X: Any, graph: Any):
        if graph.shape != (X.shape[0], X.shape[0]):
            raise ValueError(
                f"neighbors must be a graph of the {X.shape[0]} rows of X, (n, n), got shape {graph.shape}; pass a "
                "transformer such as KNeighborsTransformer for rows that vary."
            )
        self.rows = Exact(X)
        k = max(1, fewest_neighbors(graph))
        self.distances, self.indices = _first_columns(*_sorted_entries(graph, drop_self=True), graph.shape, k)

    def of_training(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest others of every training point, shape (n, k)."""
        if k > self.indices.shape[1]:
            raise ValueError(
                f"n_neighbors must be <= {self.indices.shape[1]}, the neighbours that every row of the given graph "
                f"has, got {k}; lower it, or build the graph with more."
            )
        return self.distances[:, :k], self.indices[:, :k]

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return the lists of rows of `X`, which must be training rows; each row is first in its own list."""
        distance, match = self.rows.query(X, 1)
        if distance.any():
            raise ValueError(
                "X must hold training rows, because a graph given as neighbors has no other rows, got "
                f"{np.count_nonzero(distance)} new ones; pass a transformer such as KNeighborsTransformer as neighbors."
            )
        row, others = match[:, 0], max(0, k - 1)
        distances = np.hstack([distance, self.distances[row, :others]])
        return distances, np.hstack([match, self.indices[row, :others]])


def fewest_neighbors(graph: Any) -> int:
    """Return the smallest number of neighbours of a row, not counting the row itself."""
    if not sp.issparse(graph):
        return graph.shape[1] - 1
    coo = sp.csr_array(graph).tocoo()
    rows, columns = coo.coords
    return int(np.bincount(rows[rows != columns], minlength=graph.shape[0]).min(initial=graph.shape[1]))


def sorted_lists(graph: Any, *, drop_self: bool) -> NDArray:
    """Sort the columns of every row of a distance matrix or graph by distance, padded with -1: (n, m) int32."""
    rows, columns, _ = _sorted_entries(graph, drop_self=drop_self)
    counts, rank = _ranks(rows, graph.shape[0])
    out = np.full((graph.shape[0], max(1, counts.max(initial=0))), -1, dtype=np.int32)
    out[rows, rank] = columns
    return out


def with_own_zeros(distances: Any) -> Any:
    """Return distances between training points with a stored zero on the diagonal."""
    if not sp.issparse(distances):
        distances = distances.copy()
        np.fill_diagonal(distances, 0)
        return distances
    coo, diagonal = distances.tocoo(), np.arange(distances.shape[0])
    keep = coo.coords[0] != coo.coords[1]
    rows, columns = (np.concatenate([index[keep], diagonal]) for index in coo.coords)
    return sp.csr_array((np.concatenate([coo.data[keep], 0.0 * diagonal]), (rows, columns)), shape=distances.shape)


def _sorted_entries(graph: Any, *, drop_self: bool) -> tuple[NDArray, NDArray, NDArray]:
    """Rows, columns and distances of all entries, sorted by row, then distance, then column."""
    if sp.issparse(graph):
        # Stored zeros are neighbours at distance zero and must be kept.
        coo = sp.csr_array(graph).tocoo()
        rows, columns, distances = *coo.coords, coo.data
    else:
        rows, columns = (index.ravel() for index in np.indices(graph.shape))
        distances = np.asarray(graph).ravel()
    if len(distances) and not np.min(distances) >= 0:
        raise ValueError(f"distances must be >= 0, got {np.min(distances):.3g}; pass distances, not similarities.")
    if drop_self:
        keep = rows != columns
        rows, columns, distances = rows[keep], columns[keep], distances[keep]
    order = np.lexsort((columns, distances, rows))
    return rows[order], columns[order], distances[order]


def _ranks(rows: NDArray, n: int) -> tuple[NDArray, NDArray]:
    """Count the entries of every row, and rank each entry within its row, for sorted `rows`."""
    counts = np.bincount(rows, minlength=n)
    return counts, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def _first_columns(rows: NDArray, columns: NDArray, distances: NDArray, shape: Any, k: int) -> tuple[NDArray, NDArray]:
    """Return distances and indices of the first `k` entries of every row, shape (n, k)."""
    counts, rank = _ranks(rows, shape[0])
    if len(counts) and counts.min() < k:
        raise ValueError(
            f"the neighbour graph must hold at least {k} neighbours of every row, got {counts.min()}; "
            "build it with more neighbours, or lower n_neighbors."
        )
    first = rank < k
    return distances[first].reshape(-1, k).astype(np.float64), columns[first].reshape(-1, k)


SEARCHES.update(
    faiss=_Faiss,
    candidates=_FaissCandidates,
    flat=_FaissFlat,
    pynndescent=_PyNNDescent,
    precomputed=_Distances,
    transformer=_Transformer,
    graph=_Graph,
)
