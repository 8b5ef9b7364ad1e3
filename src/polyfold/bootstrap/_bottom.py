"""The bottom layer: nearest centres in the space of the data, exactly or by a neighbour graph.

Equation → method:

- arg min_i ‖w_i − x̂‖² on the chosen features [Zhang2016, sec. 2] → `DenseBottom.assign`, `SparseBottom.assign`

Deviations from the paper: a centre is known to be its own nearest centre and is not searched; with a neighbour
graph only the nearest few centres in the whole feature space are compared on the chosen features.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numba import njit

from polyfold._threads import threaded
from polyfold.bootstrap._checkpoint import NEIGHBORS, Checkpoint, Parts
from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._postings import first_equal_sparse, nearest_sparse, take_sparse
from polyfold.bootstrap._rows import first_equal, nearest_candidate, nearest_directly, sum_kind, take
from polyfold.bootstrap._screen import nearest, nearest_linear
from polyfold.neighbors import PrincipalIndex, Screen, sorted_lists, unit_rows

# Rows copied at a time: the copy of the chosen features stays small whatever the number of points.
BLOCK = 8192
# Up to so many points, all distances cost less than preparing the bound.
FEW = 64


class Bottom(Protocol):
    """Assignment of points to the centres of one clustering of the bottom layer.

    `neighbors` are lists of training rows near each point, needed by the approximate searches; `own` says that
    the points are the training points, in order.
    """

    def neighbors(self, X: Any, *, own: bool, n_jobs: int, checkpoint: Checkpoint | None = None) -> np.ndarray | None:
        """Find lists for the rows of `X`; None if the search needs none."""
        ...

    def assign(self, X: Any, draw: Draw, neighbors: Any, *, own: bool) -> np.ndarray:
        """Index of the nearest centre of every row of `X`: (n,) int32."""
        ...


@dataclass
class DenseBottom:
    """Nearest centres of dense rows.

    Parameters
    ----------
    X : (n, d) uint8, float32 or float64
        Training rows; kept, not copied.
    metric : {"euclidean", "cosine", "linear"}
    screen : Screen
        Principal directions of the rows.
    n_candidates : int
        Centres compared per point when neighbour lists are used; 0 for exact search.
    n_neighbors : int
        Length of the neighbour lists; 0 for exact search.
    lists : (n, m) int32, optional
        Neighbours of the training rows, found elsewhere.
    searcher : optional
        Object whose ``transform`` gives the neighbour graph of new rows, found elsewhere.
    """

    X: np.ndarray
    metric: str
    screen: Screen
    n_candidates: int = 0
    n_neighbors: int = 0
    lists: np.ndarray | None = field(default=None, repr=False)
    searcher: Any = field(default=None, repr=False)
    _index: PrincipalIndex | None = field(default=None, repr=False)

    @property
    def unit(self) -> bool:
        """Whether rows are scaled to norm one, on the chosen features."""
        return self.metric == "cosine"

    @property
    def searches(self) -> bool:
        """Whether the lists of training rows and of new ones come from one search, its own."""
        return bool(self.n_candidates) and self.lists is None and self.searcher is None

    def neighbors(
        self, X: np.ndarray, *, own: bool, n_jobs: int, checkpoint: Checkpoint | None = None
    ) -> np.ndarray | None:
        """Training rows near every row of `X`, or None in exact mode."""
        if not self.n_candidates:
            return None
        if own and self.lists is not None:
            return self.lists
        if self.searcher is not None:
            return sorted_lists(check_graph(self.searcher.transform(X), len(X), len(self.X)), drop_self=False)
        if self._index is None:
            self._index = PrincipalIndex(self.X, self.screen, unit=self.unit)
        # A training row that is asked for again finds itself first: one more keeps the lists the same.
        k = self.n_neighbors + (not own)
        return _principal_lists(self._index, X, k, own=own, n_jobs=n_jobs, checkpoint=checkpoint)

    def assign(self, X: np.ndarray, draw: Draw, neighbors: np.ndarray | None, *, own: bool) -> np.ndarray:
        """Index of the nearest centre of every row of `X`: (n,) int32."""
        # Bytes are compared as integers only with bytes.
        dtype = np.float64 if self.unit else np.result_type(X, self.X)
        centers = self._centers(draw).astype(dtype, copy=False)
        position = draw_positions(draw, len(self.X))
        out = np.empty(len(X), dtype=np.int32)
        rows, first = np.arange(len(X)), np.arange(len(centers), dtype=np.int32)
        if own and self.metric != "linear" and not len(draw.shifted):
            first = self._own_centers(centers)
            out[draw.rows] = first
            rows = np.flatnonzero(position < 0)
        if self.unit:
            position[draw.rows[~centers.any(axis=1)]] = -1  # without a direction they are candidates for nobody
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            points = take(X, block, draw.chosen, unit=self.unit).astype(dtype, copy=False)
            if neighbors is None:
                out[block] = self._search(points, centers, draw.chosen)
            else:
                # Of equal centres any may be listed: the first of them stands for all.
                out[block] = first[self._walk(points, centers, draw.chosen, neighbors[block], position)]
        return out

    def exact(self, X: np.ndarray, draw: Draw) -> np.ndarray:
        """Nearest centres by exact search, whatever the mode."""
        points = take(X, slice(None), draw.chosen, unit=self.unit)
        return self._search(points, self._centers(draw), draw.chosen)

    def _centers(self, draw: Draw) -> np.ndarray:
        centers = take(self.X, draw.rows, draw.chosen)
        centers[:, draw.shifted] = np.roll(centers[:, draw.shifted], 1, axis=0)
        return unit_rows(centers) if self.unit else centers

    def _own_centers(self, centers: np.ndarray) -> np.ndarray:
        own = first_equal(centers)
        if self.unit:
            own[~centers.any(axis=1)] = 0
        return own

    def _search(self, points: np.ndarray, centers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        if self.metric == "linear":
            return nearest_linear(points, centers)
        return self._search_unit(points, centers, chosen) if self.unit else self._near(points, centers, chosen)

    def _search_unit(self, points: np.ndarray, centers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Nearest centres by the cosine, which is 0 with an empty row: by the distance those would be the nearest."""
        full = np.flatnonzero(centers.any(axis=1))
        if not len(full):
            return np.zeros(len(points), dtype=np.int32)
        winners = full[self._near(points, centers[full], chosen)].astype(np.int32)
        # Where nothing is shared with the nearest, rounded distances would choose; the first of the largest counts.
        apart = np.flatnonzero(np.einsum("ij,ij->i", points, centers[winners]) <= 0)
        if len(apart):
            winners[apart] = (points[apart] @ centers.T).argmax(axis=1)
        return winners

    def _near(self, points: np.ndarray, centers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        if len(points) <= FEW:
            return nearest_directly(points, centers)
        return nearest(points, centers, self.screen.restrict(chosen))

    def _walk(
        self,
        points: np.ndarray,
        centers: np.ndarray,
        chosen: np.ndarray,
        neighbors: np.ndarray,
        position: np.ndarray,
    ) -> np.ndarray:
        out = np.empty(len(points), dtype=np.int32)
        nearest_candidate(points, centers, neighbors, position, self.n_candidates, sum_kind(points), out)
        if self.unit:
            out[~points.any(axis=1)] = 0  # as in the search among all
        missing = np.flatnonzero(out < 0)
        if len(missing):
            out[missing] = self._search(points[missing], centers, chosen)
        return out


@dataclass
class SparseBottom:
    """Nearest centres of sparse rows, exactly; `X` is a CSR matrix."""

    X: Any
    metric: str

    def neighbors(self, X: Any, *, own: bool, n_jobs: int, checkpoint: Checkpoint | None = None) -> None:
        """No lists are needed: the search is exact."""

    def assign(self, X: Any, draw: Draw, neighbors: None, *, own: bool) -> np.ndarray:
        """Index of the nearest centre of every row of `X`: (n,) int32."""
        centers = take_sparse(self.X, draw.rows, draw.chosen)
        if len(draw.shifted):
            centers = _roll_columns(centers, draw.shifted)
        out = np.empty(X.shape[0], dtype=np.int32)
        rows = np.arange(X.shape[0])
        if own and self.metric != "linear" and not len(draw.shifted):
            out[draw.rows] = first_equal_sparse(centers, self.metric)
            rows = np.flatnonzero(draw_positions(draw, len(rows)) < 0)
        out[rows] = nearest_sparse(take_sparse(X, rows, draw.chosen), centers, self.metric)
        return out


@dataclass
class PrecomputedBottom:
    """Nearest centres along given neighbour lists: the first listed neighbour that is a centre.

    A point none of whose neighbours is a centre takes the centre of its first neighbour that has one, and so on
    along the graph; what is not connected to any centre goes to the first one.

    Parameters
    ----------
    lists : (n, m) int32
        Neighbours of the training points, themselves included, by rising distance, -1 for none.
    """

    lists: np.ndarray

    def neighbors(self, X: np.ndarray, *, own: bool, n_jobs: int, checkpoint: Checkpoint | None = None) -> np.ndarray:
        """Return `X` itself, which holds the lists."""
        return X

    def assign(self, X: np.ndarray, draw: Draw, neighbors: np.ndarray | None, *, own: bool) -> np.ndarray:
        """Index of the nearest centre of every row of `X`: (n,) int32."""
        position = draw_positions(draw, len(self.lists))
        assigned = np.full(len(position), -1, dtype=np.int32)
        # Of points at one place, copies too, the first listed counts for all.
        _first_centers(self.lists, position, assigned)
        _spread(self.lists, assigned)
        if own:
            return np.maximum(assigned, 0)
        out = np.full(len(X), -1, dtype=np.int32)
        _first_centers(X, position, out)
        missing = np.flatnonzero(out < 0)
        inherited = np.full(len(missing), -1, dtype=np.int32)
        _first_centers(X[missing], assigned, inherited)
        out[missing] = inherited
        return np.maximum(out, 0)


def _principal_lists(
    index: PrincipalIndex, X: np.ndarray, k: int, *, own: bool, n_jobs: int, checkpoint: Checkpoint | None
) -> np.ndarray:
    """Find `k` training rows for every row of `X`, in blocks of bounded memory: (n, k) int32."""

    def search(start: int) -> np.ndarray:
        return index.nearest(X[start : start + index.block], k, own=start if own else None)

    lists = np.empty((len(X), min(k, len(index.table))), dtype=np.int32)
    parts = None if checkpoint is None else Parts(checkpoint, NEIGHBORS)
    done = 0 if parts is None else parts.fill(lists)
    for found in threaded(search, range(done, len(X), index.block), n_jobs):
        lists[done : done + len(found)] = found
        done += len(found)
        if parts is not None:
            parts.keep(lists, done)
    return lists


def check_graph(graph: Any, n_rows: int, n_columns: int) -> Any:
    """Return the neighbour graph, or raise where its entries would point at rows that are not there."""
    if graph.shape != (n_rows, n_columns):
        raise ValueError(
            f"neighbors must be a graph of shape ({n_rows}, {n_columns}), one row per sample, got {graph.shape}."
        )
    return graph


def draw_positions(draw: Draw, n: int) -> np.ndarray:
    """Index of every training point among the centres of a clustering, -1 for the others."""
    position = np.full(n, -1, dtype=np.int32)
    position[draw.rows] = np.arange(len(draw.rows), dtype=np.int32)
    return position


def _roll_columns(centers: Any, shifted: np.ndarray) -> Any:
    """Pass the entries of some columns on to the next row, cyclically."""
    coo = centers.tocoo()
    moved = np.isin(coo.col, shifted)
    rows = np.where(moved, (coo.row + 1) % centers.shape[0], coo.row)
    return sp.csr_array((coo.data, (rows, coo.col)), shape=centers.shape)


@njit(cache=True, nogil=True)
def _first_centers(lists, assigned, out):
    for i in range(len(lists)):
        for e in range(lists.shape[1]):
            if lists[i, e] < 0:
                break
            if assigned[lists[i, e]] >= 0:
                out[i] = assigned[lists[i, e]]
                break


@njit(cache=True, nogil=True)
def _spread(lists, assigned):
    """Assign the rest of the points, ring by ring; within a ring only the rings before count."""
    changed = True
    while changed:
        changed = False
        before = assigned.copy()
        for i in range(len(lists)):
            if before[i] >= 0:
                continue
            for e in range(lists.shape[1]):
                if lists[i, e] < 0:
                    break
                if before[lists[i, e]] >= 0:
                    assigned[i] = before[lists[i, e]]
                    changed = True
                    break
