"""Other ways to find neighbours: FAISS, PyNNDescent, given graphs and distances, any neighbours transformer."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from polyfold._linalg import row_blocks
from polyfold._threads import in_blocks, n_threads
from polyfold._validation import import_extra
from polyfold.neighbors._recall import reported_recall
from polyfold.neighbors._search import QUERIES, RECALLS, SEARCHES, Exact, Frame, without_self

# Squares of entries up to here, and sums of many of them, are finite in single precision.
_FAR = 2.0**55


class _Faiss:
    """FAISS's graph index (HNSW); it holds the only copy of the rows, in single precision."""

    def __init__(self, X: Any):
        faiss = import_extra("faiss", "faiss")
        if sp.issparse(X):
            raise ValueError("the FAISS engine needs dense rows, got a sparse matrix; use the exact engine.")
        self.frame = Frame.of(X)
        self.index: Any = self._empty(faiss, X.shape[1])
        # Up to version 1.15 of FAISS, a graph that several threads build depends on which of them comes first.
        with _openmp(faiss, n_threads() if hasattr(faiss, "hnsw_add_vertices_deterministic") else 1):
            for rows in row_blocks(*X.shape):
                self.index.add(_single(self.frame.apply(X[rows])))

    @staticmethod
    def _empty(faiss: Any, n_features: int) -> Any:
        index = faiss.IndexHNSWFlat(n_features, 16)
        index.hnsw.efConstruction = 60
        return index

    def _search(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        effort = import_extra("faiss", "faiss").SearchParametersHNSW(efSearch=max(48, 2 * k))
        return self.index.search(rows, k, params=effort)

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        distances, indices = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.int64)

        def fill(rows: slice) -> None:
            near, indices[rows] = self._query_block(self.frame.apply(X[rows]), k)
            distances[rows] = near * self.frame.scale

        in_blocks(fill, X.shape[0], QUERIES)
        return distances, indices

    def _query_block(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        far = np.abs(rows).max(axis=1) > _FAR
        squared, indices = self._search(np.where(far[:, None], 0, rows).astype(np.float32), k)
        distances = np.sqrt(np.maximum(squared, 0.0), dtype=np.float64)
        # Copies can cut the graph, and single precision has an end: what is not answered is searched exactly.
        left = np.flatnonzero(far | (indices < 0).any(axis=1))
        if len(left):
            stored = self.index.reconstruct_n(0, self.index.ntotal).astype(np.float64)
            distances[left], indices[left] = Exact(stored).query(rows[left], k)
        return distances, indices

    def __getstate__(self) -> dict[str, Any]:
        """Rows and links as plain arrays: what another version of FAISS, or a reader who trusts nobody, can check."""
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
        # Building anew takes long, and versions of FAISS link in different ways; checked, the links are as good.
        graph = self.index.hnsw
        _check_links(links, len(rows), faiss.vector_to_array(graph.cum_nneighbor_per_level))
        self.index.storage.add(rows)
        self.index.ntotal = len(rows)
        for name in _HNSW_ARRAYS:
            faiss.copy_array_to_vector(np.ascontiguousarray(links[name]), getattr(graph, name))
        graph.entry_point, graph.max_level = links["entry_point"], links["max_level"]


# Links of a graph index: how high every row reaches, where its links begin, and the links.
_HNSW_ARRAYS = {"levels": np.int32, "offsets": np.uint64, "neighbors": np.int32}


def _check_links(links: dict[str, Any], n: int, sizes: NDArray) -> None:
    """Refuse links that lead out of the index: FAISS follows them unchecked."""
    levels, offsets, neighbors = (np.asarray(links[name]) for name in _HNSW_ARRAYS)
    sound = all(np.asarray(links[name]).dtype == kind and links[name].ndim == 1 for name, kind in _HNSW_ARRAYS.items())
    sound = sound and levels.shape == (n,) and offsets.shape == (n + 1,) and levels.min(initial=1) >= 1
    sound = sound and levels.max(initial=1) < len(sizes) and offsets[0] == 0
    sound = sound and np.array_equal(np.diff(offsets.astype(np.int64)), sizes[levels]) and offsets[-1] == len(neighbors)
    sound = sound and neighbors.min(initial=-1) >= -1 and neighbors.max(initial=-1) < n
    top = links["entry_point"]
    if not (sound and 0 <= top < n and links["max_level"] == levels[top] - 1 == levels.max() - 1):
        raise ValueError(f"the links of a FAISS index must lead from row to row of its {n} rows, got others.")


@contextmanager
def _openmp(faiss: Any, count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(count)
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _single(rows: NDArray) -> NDArray:
    """Rows in single precision, or a message where they have no place there."""
    far = np.abs(rows).max(initial=0.0)
    if far > _FAR:
        raise ValueError(
            f"the FAISS engine (single precision) needs rows within {_FAR:.0e} times their typical distance, "
            f"got one at {far:.0e}; drop such rows, or use the exact engine."
        )
    return rows.astype(np.float32)


class _FaissFlat(_Faiss):
    """FAISS's brute force."""

    @staticmethod
    def _empty(faiss: Any, n_features: int) -> Any:
        return faiss.IndexFlatL2(n_features)

    def _search(self, rows: NDArray, k: int) -> tuple[NDArray, NDArray]:
        return self.index.search(rows, k)

    def _links(self) -> None:
        return None

    def _restore(self, faiss: Any, rows: NDArray, links: Any) -> None:
        self.index.add(rows)


class _PyNNDescent:
    """A graph index that also takes sparse rows; what it does not find is searched exactly."""

    def __init__(self, X: Any):
        import_extra("pynndescent", "pynndescent")
        self.frame = Frame.of(X)
        rows = self.frame.apply(X)
        self.rows = sp.csr_matrix(rows, dtype=np.float32) if sp.issparse(rows) else rows.astype(np.float32, copy=False)
        self._build()

    def _build(self) -> None:
        links = min(30, self.rows.shape[0] - 1)
        descent = import_extra("pynndescent", "pynndescent").NNDescent
        # With another number of threads it builds another graph; its searches are the same.
        self.index = descent(self.rows, n_neighbors=links, random_state=0, n_jobs=1)
        self.index.prepare()

    def __getstate__(self) -> dict[str, Any]:
        # The index holds compiled functions; it is built again from the rows.
        return {"frame": self.frame, "rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.frame, self.rows = state["frame"], state["rows"]
        self._build()

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest rows, shape (n, k)."""
        rows = self.frame.apply(X)
        rows = sp.csr_matrix(rows, dtype=np.float32) if sp.issparse(rows) else rows.astype(np.float32, copy=False)
        self.index.n_jobs = min(n_threads(), numba.config.NUMBA_NUM_THREADS)  # pyright: ignore[reportPrivateImportUsage]
        indices, distances = self.index.query(rows, k=k)
        distances = distances.astype(np.float64)
        left = np.flatnonzero((indices < 0).any(axis=1) | ~np.isfinite(distances).all(axis=1))
        if len(left):
            distances[left], indices[left] = Exact(self.rows).query(rows[left], k)
        return distances * self.frame.scale, indices


class _Distances:
    """Distances given as a matrix: dense, or sparse with the known neighbours of each row.

    scikit-learn's search in sparse graphs takes oneself for the first entry of every row, stored or not, and keeps
    the whole matrix for its size.
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
        # Of new points, what the graph holds will do: `k` is a wish of those who look farther than the neighbourhood.
        stored = int(np.diff(sp.csr_array(X).indptr).min()) if sp.issparse(X) else k
        return _first_columns(*_sorted_entries(X, drop_self=False), X.shape, max(1, min(k, stored)))


class _Transformer:
    """Any object with scikit-learn's `KNeighborsTransformer` interface, asked by `kneighbors` where it has that."""

    def __init__(self, X: Any, transformer: Any):
        self.transformer = clone(transformer).fit(X)

    def of_training(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest others, whether the graph counts a point itself or not."""
        if hasattr(self.transformer, "kneighbors"):
            # Without rows, the training points are meant, each without itself: no row is searched for its own place.
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
    """A graph of distances between the training rows, beside the rows themselves."""

    def __init__(self, X: Any, graph: Any):
        if graph.shape != (X.shape[0], X.shape[0]):
            raise ValueError(
                f"neighbors must be a graph of the {X.shape[0]} rows of X, (n, n), got shape {graph.shape}; pass a "
                "transformer such as KNeighborsTransformer for rows that vary."
            )
        self.rows = Exact(X)
        self.distances, self.indices = self._lists(graph, fewest_neighbors(graph))

    @staticmethod
    def _lists(graph: Any, k: int) -> tuple[NDArray, NDArray]:
        return _first_columns(*_sorted_entries(graph, drop_self=True), graph.shape, max(1, k))

    def of_training(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest others of every training point, shape (n, k)."""
        if k > self.indices.shape[1]:
            raise ValueError(
                f"n_neighbors must be <= {self.indices.shape[1]}, the neighbours that every row of the given graph "
                f"has, got {k}; lower it, or build the graph with more."
            )
        return self.distances[:, :k], self.indices[:, :k]

    def query(self, X: Any, k: int) -> tuple[NDArray, NDArray]:
        """Return the lists of rows that are training rows, each at its own place first."""
        distance, place = self.rows.query(X, 1)
        if distance.any():
            raise ValueError(
                "X must hold training rows, because a graph given as neighbors knows no others, got "
                f"{np.count_nonzero(distance)} new ones; pass a transformer such as KNeighborsTransformer as neighbors."
            )
        place, others = place[:, 0], max(0, k - 1)
        distances = np.hstack([distance, self.distances[place, :others]])
        return distances, np.hstack([place[:, None], self.indices[place, :others]])


def fewest_neighbors(graph: Any) -> int:
    """Neighbours, other than itself, that every row of a graph has."""
    if not sp.issparse(graph):
        return graph.shape[1] - 1
    coo = sp.csr_array(graph).tocoo()
    rows, columns = coo.coords
    return int(np.bincount(rows[rows != columns], minlength=graph.shape[0]).min(initial=graph.shape[1]))


def sorted_lists(graph: Any, *, drop_self: bool) -> NDArray:
    """Columns of every row of a distance matrix or graph by rising distance, padded with -1: (n, m) int32."""
    rows, columns, _ = _sorted_entries(graph, drop_self=drop_self)
    counts, place = _places(rows, graph.shape[0])
    out = np.full((graph.shape[0], max(1, counts.max(initial=0))), -1, dtype=np.int32)
    out[rows, place] = columns
    return out


def with_own_zeros(distances: Any) -> Any:
    """Distances of training points in which each is at its own place."""
    if not sp.issparse(distances):
        distances = distances.copy()
        np.fill_diagonal(distances, 0)
        return distances
    coo, own = distances.tocoo(), np.arange(distances.shape[0])
    keep = coo.coords[0] != coo.coords[1]
    rows, columns = (np.concatenate([index[keep], own]) for index in coo.coords)
    return sp.csr_array((np.concatenate([coo.data[keep], 0.0 * own]), (rows, columns)), shape=distances.shape)


def _sorted_entries(graph: Any, *, drop_self: bool) -> tuple[NDArray, NDArray, NDArray]:
    """Rows, columns and distances of all entries by row, then distance, then column."""
    if sp.issparse(graph):
        # Stored zeros are neighbours at no distance, so nothing may prune them.
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


def _places(rows: NDArray, n: int) -> tuple[NDArray, NDArray]:
    """Entries of every row, and the place of each entry in its row, for sorted `rows`."""
    counts = np.bincount(rows, minlength=n)
    return counts, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def _first_columns(rows: NDArray, columns: NDArray, distances: NDArray, shape: Any, k: int) -> tuple[NDArray, NDArray]:
    """Return distances and indices of the first `k` entries of every row, shape (n, k)."""
    counts, place = _places(rows, shape[0])
    if len(counts) and counts.min() < k:
        raise ValueError(
            f"the neighbour graph must hold at least {k} neighbours of every row, got {counts.min()}; "
            "build it with more neighbours, or lower n_neighbors."
        )
    first = place < k
    return distances[first].reshape(-1, k).astype(np.float64), columns[first].reshape(-1, k)


SEARCHES.update(
    faiss=_Faiss,
    flat=_FaissFlat,
    pynndescent=_PyNNDescent,
    precomputed=_Distances,
    transformer=_Transformer,
    graph=_Graph,
)
RECALLS.update({name: partial(reported_recall, name) for name in ("faiss", "pynndescent")}, flat=RECALLS["exact"])
