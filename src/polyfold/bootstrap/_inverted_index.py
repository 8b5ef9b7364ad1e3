"""Exact nearest centres of sparse rows by an inverted index: for each term, the centres that contain it.

Only terms that a row and a centre share add to their inner product, so a row reads, for each of its terms, the list of
centres with that term. All metrics are one score to be maximised, x·w − b_w: b = 0 for `linear`, rows scaled to norm
one for `cosine`, b = ‖w‖²/2 for `euclidean`.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyfold._threads import njit
from polyfold.bootstrap._sampling import ClusteringSpec

# Scores closer than this, relative to the larger one, count as equal: parallel rows differ only by rounding.
TIE = 1e-12


@dataclass
class SparseSearch:
    """Nearest centres of sparse rows in all clusterings of the first layer, exactly; `X` is a CSR matrix."""

    X: Any
    metric: str
    specs: list[ClusteringSpec] = field(default_factory=list, repr=False)
    by_clustering = True

    def adapt(self, rows: Any) -> Any:
        """Return rows as CSR rows."""
        return sp.csr_array(rows)

    def prepare(self, rows: Any) -> Any:
        """Return the rows: nothing else is needed."""
        return rows

    def among(self, rows: Any, n_centers: int) -> "SparseSearch":
        """Return the same search among other training rows."""
        return SparseSearch(rows, self.metric)

    def quality(self, codes: np.ndarray, **_: Any) -> dict[str, float]:
        """Return no estimates: the search is exact."""
        return {}

    def assign(self, rows: Any) -> np.ndarray:
        """Nearest centre of every row: (v, n) int32."""
        return np.stack([self._assign_one(rows, spec) for spec in self.specs])

    def _assign_one(self, rows: Any, spec: ClusteringSpec) -> np.ndarray:
        return nearest_sparse(rows[:, spec.features], self.X[spec.rows][:, spec.features], self.metric)


def nearest_sparse(points: Any, centers: Any, metric: str) -> np.ndarray:
    """Index of the best centre of every sparse point, the lowest one of several: (n,) int32.

    Notes
    -----
    Time is the number of shared terms plus n·k additions; memory is one row of k scores and the lists.
    """
    squares = _row_sums(centers, np.square(centers.data, dtype=np.float64))
    lists = centers.tocsc()
    weights = lists.data.astype(np.float64)
    bias = np.zeros(len(squares))
    if metric == "cosine":
        norms = np.sqrt(squares)
        weights = weights / np.where(norms > 0, norms, 1.0)[lists.indices]
    elif metric == "euclidean":
        bias = squares / 2
    out = np.empty(points.shape[0], dtype=np.int32)
    _best_scores(points.data, points.indices, points.indptr, weights, lists.indices, lists.indptr, bias, out)
    return out


def _row_sums(rows: Any, entries: np.ndarray) -> np.ndarray:
    """Sum of `entries`, one per stored entry of `rows`, over every row: (k,)."""
    owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    # Without any entries the sums would be integers.
    return np.bincount(owners, weights=entries, minlength=rows.shape[0]).astype(np.float64, copy=False)


# No score is NaN, so that several can be compared at a time.
@njit(nogil=True, fastmath={"nnan", "nsz"})
def _largest(scores):
    best = scores[0]
    for j in range(1, len(scores)):
        best = max(best, scores[j])
    return best


@njit(nogil=True)
def _best_scores(data, indices, indptr, weights, owners, starts, bias, out):
    scores = np.empty(len(bias))
    for i in range(len(out)):
        scores[:] = -bias
        for e in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[e])
            t = indices[e]
            for f in range(starts[t], starts[t + 1]):
                scores[owners[f]] += x * weights[f]
        best = _largest(scores)
        limit, winner = best - TIE * abs(best), 0
        while winner < len(scores) - 1 and scores[winner] < limit:
            winner += 1
        out[i] = winner
