"""A graph of links that FAISS builds on the first columns of rows, searched by the distance in all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._running import in_blocks
from polyfold._validation import import_extra
from polyfold.neighbors._engines import _FAR, _openmp, _single
from polyfold.neighbors._search import Frame
from polyfold.neighbors._walk import walk

# Links of a point on the upper levels, twice as many on the lowest, and candidates for them. With fewer candidates
# than FAISS takes (40) fewer are dropped for standing behind another: at these sizes that finds more, not less.
LINKS = 16
EFFORT = 24
# Queries that one thread takes at a time.
_BLOCK = 512


class Links:
    """Rows linked by a hierarchical graph (HNSW) on their first `width` columns.

    One thread builds it, so that the same rows give the same graph; FAISS is not needed afterwards.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    width : int
    """

    def __init__(self, X: NDArray, width: int):
        faiss = import_extra("faiss", "faiss")
        self.frame = Frame.of(X)
        self.rows = _single(self.frame.apply(X))
        self.width = width
        index = faiss.IndexHNSWFlat(width, LINKS)
        index.hnsw.efConstruction = EFFORT
        with _openmp(faiss, 1):
            index.add(np.ascontiguousarray(self.rows[:, :width]))
        self.entry = int(index.hnsw.entry_point)
        self.links, self.places, self.upper = _tables(faiss, index.hnsw)

    def query(
        self,
        X: NDArray,
        k: int,
        *,
        beam: int,
        factor: float,
        begins: NDArray | None = None,
        hidden: NDArray | None = None,
    ) -> NDArray:
        """Return the indices of the nearest rows found, nearest first, -1 where there are none: (n, k).

        Parameters
        ----------
        X : ndarray of shape (n, d)
        k : int
        beam : int
            Points kept in view, at least k.
        factor : float
            The squared distance in all columns is hardly ever below this times that in the first ones.
        begins : ndarray of shape (n,), optional
            Rows to set out from.
        hidden : ndarray of shape (n,), optional
            Rows that are not to be found.
        """
        queries = self.frame.apply(X)
        far = np.abs(queries).max(axis=1) > _FAR  # beyond what single precision can square
        queries = np.where(far[:, None], 0, queries).astype(np.float32)
        out = np.empty((len(queries), k), dtype=np.int64)
        none = np.full(len(queries), -1)
        begins, hidden = none if begins is None else begins, none if hidden is None else hidden

        def fill(part: slice) -> None:
            graph = (self.links, self.places, self.upper, self.entry)
            ends = (begins[part], hidden[part])
            walk(queries[part], self.rows, self.width, np.float32(factor), *graph, *ends, max(k, beam), out[part])

        in_blocks(fill, len(queries), _BLOCK)
        out[far] = -1
        return out


def _tables(faiss: Any, hnsw: Any) -> tuple[NDArray, NDArray, NDArray]:
    """Links of the lowest level (n, 2m), places (n,) in the table of the upper ones (u, levels, m), -1 for none."""
    flat, starts, levels = (faiss.vector_to_array(part) for part in (hnsw.neighbors, hnsw.offsets, hnsw.levels))
    starts, wide, narrow = starts[:-1].astype(np.int64), hnsw.nb_neighbors(0), hnsw.nb_neighbors(1)
    links = flat[starts[:, None] + np.arange(wide)]
    high = np.flatnonzero(levels > 1)
    places = np.full(len(levels), -1)
    places[high] = np.arange(len(high))
    upper = np.full((len(high), max(0, int(levels.max()) - 1), narrow), -1, dtype=np.int32)
    for level in range(upper.shape[1]):
        on = levels[high] > level + 1
        first = starts[high[on]] + wide + level * narrow
        upper[on, level] = flat[first[:, None] + np.arange(narrow)]
    return links, places, upper
