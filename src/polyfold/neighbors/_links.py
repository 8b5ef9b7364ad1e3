"""A graph of links between rows, to walk to the nearest ones: few bytes a row, so that most of it stays near."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import row_blocks
from polyfold._threads import in_blocks
from polyfold.neighbors._engines import _FAR, _single
from polyfold.neighbors._linking import link
from polyfold.neighbors._search import Frame
from polyfold.neighbors._walk import walk

# Links of a point at most.
LINKS = 24
# Queries that one thread takes at a time.
_BLOCK = 512
# Columns are filled up to a multiple of what compiled code takes at a time.
_COLUMNS = 32
# Rows are bytes where a step of them is at most this share of the difference of neighbours in a column.
_STEP = 0.5


@dataclass(frozen=True)
class Steps:
    """Columns counted from their least entry, in steps of which the widest has 255."""

    low: NDArray  # (d,)
    step: float

    @classmethod
    def of(cls, X: NDArray) -> "Steps":
        """Measure the columns of `X`; without an extent, or beyond all numbers, the step is 0 or not finite."""
        low = X.min(axis=0)
        with np.errstate(over="ignore"):
            return cls(low, float((X.max(axis=0) - low).max()) / 255)

    def apply(self, X: NDArray) -> NDArray:
        """Return rows in steps, not rounded."""
        return (X - self.low.astype(X.dtype)) / self.step


class Links:
    """Rows linked by a navigable graph (HNSW with tops in place of levels).

    One thread builds it, so that the same rows give the same graph.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    detail : float, default=0.0
        Typical difference of neighbours in one column. Where bytes can tell it, rows are kept in bytes.
    effort : int, default=24
        Points in view when the links of one are chosen.
    """

    def __init__(self, X: NDArray, *, detail: float = 0.0, effort: int = 24):
        steps = Steps.of(X)
        in_bytes = np.finfo(X.dtype).tiny < steps.step <= _STEP * detail
        self.frame: Steps | Frame = steps if in_bytes else Frame.of(X)
        n, d = X.shape
        self.rows = np.zeros((n, -(-d // _COLUMNS) * _COLUMNS), dtype=np.uint8 if in_bytes else np.float32)
        for rows in row_blocks(n, d):
            block = self.frame.apply(X[rows])
            self.rows[rows, :d] = np.rint(block) if in_bytes else _single(block)
        order = np.random.RandomState(0).permutation(n).astype(np.int32)
        self.tops = order[: max(1, int(n**0.5))].copy()
        self.links = np.full((n, LINKS), -1, dtype=np.int32)
        link(self.rows, order, self.tops, self.rows[self.tops], effort, self.links)

    def query(self, X: NDArray, beam: int, *, begins: NDArray | None = None, hidden: NDArray | None = None) -> NDArray:
        """Return the indices of the nearest rows found, nearest first, -1 where there are none: (n, beam).

        Parameters
        ----------
        X : ndarray of shape (n, d)
        beam : int
            Points kept in view.
        begins : ndarray of shape (n,), optional
            Rows to set out from.
        hidden : ndarray of shape (n,), optional
            Rows that are not to be found.
        """
        with np.errstate(over="ignore"):
            queries = self.frame.apply(X)
        far = ~(np.abs(queries).max(axis=1) <= _FAR)  # beyond what single precision can square
        padded = np.zeros((len(X), self.rows.shape[1]), dtype=np.float32)
        padded[:, : X.shape[1]] = np.where(far[:, None], 0, queries) if far.any() else queries
        out = np.empty((len(X), beam), dtype=np.int64)
        none = np.full(len(X), -1)
        begins, hidden = none if begins is None else begins, none if hidden is None else hidden
        tops = (self.tops, self.rows[self.tops])

        def fill(part: slice) -> None:
            walk(padded[part], self.rows, self.links, *tops, begins[part], hidden[part], out[part])

        in_blocks(fill, len(X), _BLOCK)
        out[far] = -1
        return out

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Compiled code follows links unchecked.
        n, links, tops = (len(state["rows"]), state["links"], state["tops"])
        if len(links) != n or not (links.min() >= -1 and links.max() < n and tops.min() >= 0 and tops.max() < n):
            raise ValueError(f"links must lead from row to row of {n} rows, got others.")
        vars(self).update(state)
