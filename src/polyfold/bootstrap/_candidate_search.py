"""Nearest centres among listed training rows: the candidates of large data, and precomputed neighbour graphs.

The clusterings of a layer compare a row with the same few training rows, each clustering on its own features. The
squared differences from the listed rows are formed once per row, and every clustering sums those of its features.

Deviation from the paper: only the nearest few centres in all features are compared on the selected features.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from polyfold._linalg import distinct_rows, unit_rows
from polyfold._policy import EXACT_ROWS
from polyfold._threads import njit, threaded
from polyfold._validation import check_indices
from polyfold.bootstrap._dense_search import REASSOCIATE, DenseSearch, sum_kind
from polyfold.bootstrap._sampling import ClusteringSpec, child_stream
from polyfold.neighbors import choose_engine, make_search, sorted_lists

# Rows whose neighbours are searched at a time.
BLOCK = 4096
# Lists longer than the codes of a row would dominate the memory.
LONGEST_LIST = 512
# Clusterings and rows compared with exact search, and rows compared with exact neighbours, to estimate errors.
CHECKED_CLUSTERINGS, CHECKED_ROWS = 20, 100
# Distance, in typical ones, to which rows are drawn that lie farther out.
FARTHEST = 2.0**40
# Relative rounding of squared distances.
ROUNDING = 1e-13


@dataclass(frozen=True)
class ListedRows:
    """Rows (n, d) with the training rows near each, (n, m) int32 by rising distance, -1 for none."""

    rows: np.ndarray
    lists: np.ndarray

    def __getitem__(self, part: slice) -> "ListedRows":
        return ListedRows(self.rows[part], self.lists[part])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the rows."""
        return self.rows.shape  # pyright: ignore[reportReturnType]


class CandidateLists:
    """Training rows near any rows: given for the training rows, by a transformer, or searched in principal directions.

    Parameters
    ----------
    exact : DenseSearch
        Training rows, metric and principal directions.
    n_neighbors : int
        Length of the lists.
    given : (n, m) int32, optional
        Neighbours of the training rows, without themselves.
    transformer : optional
        Fitted object whose ``transform`` gives the neighbour graph of new rows.
    """

    def __init__(self, exact: DenseSearch, n_neighbors: int, given: np.ndarray | None = None, transformer: Any = None):
        self.exact, self.n_neighbors, self.given, self.transformer = exact, n_neighbors, given, transformer

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Find the training rows near every row, (n, m); of duplicate training rows only the first is listed."""
        first, inverse = self.duplicates
        if rows is self.exact.X and self.given is not None:
            lists = np.column_stack([np.arange(len(rows), dtype=np.int32), self.given])
        elif self.transformer is not None:
            graph = check_graph(self.transformer.transform(rows), len(rows), len(self.exact.X))
            lists = sorted_lists(graph, drop_self=False)
        else:
            return self._search(rows)
        return np.where(lists < 0, -1, first[inverse[np.maximum(lists, 0)]]).astype(np.int32)

    @cached_property
    def duplicates(self) -> tuple[np.ndarray, np.ndarray]:
        """The first row of every set of equal training rows, and to which set each row belongs."""
        n = len(self.exact.X)
        return distinct_rows(self.exact.X) or (np.arange(n), np.arange(n))

    @cached_property
    def _index(self) -> Any:
        """Search among the distinct training rows, in principal directions."""
        table = self._project(self.exact.X[self.duplicates[0]])
        sizes = _sizes(table)
        self._scale = float(np.median(sizes) or sizes.max()) or 1.0
        return make_search(choose_engine(*table.shape, approximate=len(table) > EXACT_ROWS), self._single(table))

    def _search(self, rows: np.ndarray) -> np.ndarray:
        index, first = self._index, self.duplicates[0]
        count = min(self.n_neighbors + 1, len(first))  # a training row finds itself first

        def search(start: int) -> np.ndarray:
            block = self._single(self._project(rows[start : start + BLOCK]))
            return first[index.query(block, count)[1]].astype(np.int32)

        return np.concatenate(list(threaded(search, range(0, len(rows), BLOCK))))

    def _project(self, rows: np.ndarray) -> np.ndarray:
        unit = self.exact.metric == "cosine"
        blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
        return np.vstack([self.exact.bound.coordinates(unit_rows(b) if unit else b)[0] for b in blocks])

    def _single(self, table: np.ndarray) -> np.ndarray:
        # Rows very far out are drawn nearer, so that single precision can neither overflow nor lose the others.
        table = table / self._scale
        return (table / np.maximum(_sizes(table)[:, None] / FARTHEST, 1.0)).astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_index", "_scale", "duplicates")}


@dataclass
class CandidateSearch:
    """Nearest of the listed centres in all clusterings of the first layer.

    Parameters
    ----------
    find : CandidateLists
    n_candidates : int
        Centres compared per row and clustering.
    specs : list of ClusteringSpec
    """

    find: CandidateLists
    n_candidates: int
    specs: list[ClusteringSpec] = field(default_factory=list, repr=False)
    by_clustering = False

    def __post_init__(self) -> None:
        self.X = self.find.exact.X

    def adapt(self, rows: Any) -> np.ndarray:
        """Return rows as dense rows."""
        return self.find.exact.adapt(rows)

    def prepare(self, rows: np.ndarray) -> ListedRows:
        """Return the rows with their lists of training rows."""
        return ListedRows(rows, self.find(rows))

    def among(self, rows: np.ndarray, n_centers: int) -> "CandidateSearch":
        """Return the same search among other training rows, with lists of its own."""
        length = list_length(len(rows), n_centers, self.n_candidates)
        return CandidateSearch(CandidateLists(self.find.exact.among(rows, n_centers), length), self.n_candidates)

    def assign(self, rows: ListedRows) -> np.ndarray:
        """Nearest listed centre of every row: (v, n) int32; the nearest of all if none is listed."""
        points, X, masks = rows.rows, self.X, self._masks
        check_indices(rows.lists, len(X), minimum=-1)
        check_indices(np.array([points.shape[1] - 1]), X.shape[1], minimum=X.shape[1] - 1)
        cosine = self.find.exact.metric == "cosine"
        d, V, length = X.shape[1], len(self.specs), rows.lists.shape[1]
        kind = np.empty(0) if cosine else sum_kind(np.empty((0, d), dtype=np.result_type(X, points)))
        masks = masks.astype(kind.dtype)
        out = np.empty((len(points), V), dtype=np.int32)
        terms = np.empty((2, length, d), dtype=kind.dtype)
        listed, counts = np.empty((V, length, 2), dtype=np.int32), np.empty(V, dtype=np.int64)
        starts, entries = self._centers
        _nearest_listed(
            X, points, rows.lists, starts, entries, masks, self.n_candidates, cosine, kind, terms, listed, counts, out
        )
        out = np.ascontiguousarray(out.T)
        for v in np.flatnonzero((out < 0).any(axis=1)):
            missing = np.flatnonzero(out[v] < 0)
            exact = DenseSearch(X, self.find.exact.metric, self.find.exact.bound, [self.specs[v]])
            out[v, missing] = exact.assign(points[missing])[0]
        return out

    def quality(self, codes: np.ndarray, *, rows: ListedRows, seeds: np.random.SeedSequence) -> dict[str, float]:
        """Estimate the fraction of wrong assignments and the recall of the lists."""
        rng = np.random.default_rng(child_stream(seeds, "assignment error"))
        sample = rng.choice(len(self.X), min(len(self.X), CHECKED_ROWS), replace=False)
        which = rng.choice(len(self.specs), min(len(self.specs), CHECKED_CLUSTERINGS), replace=False)
        specs = [self.specs[v] for v in which]
        exact = DenseSearch(self.X, self.find.exact.metric, self.find.exact.bound, specs)
        wrong = exact.assign(self.X[sample]) != codes[np.ix_(which, sample)]
        unit = self.find.exact.metric == "cosine"
        distinct = self.find.duplicates[0]
        recall = list_recall(self.X, rows.lists, distinct, unit=unit, seeds=child_stream(seeds, "recall"))
        return {"assignment_error": float(wrong.mean()), "neighbor_recall": recall}

    @cached_property
    def _masks(self) -> np.ndarray:
        masks = np.zeros((len(self.specs), self.X.shape[1]), dtype=np.uint8)
        for mask, spec in zip(masks, self.specs, strict=True):
            mask[spec.features] = 1
        return masks

    @cached_property
    def _centers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the start of the entries of each training row, (n + 1,), and its clusterings and indices, (m, 2)."""
        first, inverse = self.find.duplicates
        n, owners, entries = len(self.X), [], []
        for v, spec in enumerate(self.specs):
            position = np.full(n, -1, dtype=np.int32)
            # Backwards: of duplicate centres the lowest index stays.
            position[first[inverse[spec.rows[::-1]]]] = np.arange(len(spec.rows), dtype=np.int32)[::-1]
            rows = np.flatnonzero(position >= 0)
            owners.append(rows)
            entries.append(np.column_stack([np.full(len(rows), v, dtype=np.int32), position[rows]]))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(n + 1))
        return starts, np.concatenate(entries)[order]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_masks", "_centers")}


@dataclass
class GraphSearch:
    """Nearest centres along given neighbour lists: the first listed neighbour that is a centre.

    A row without a centre among its neighbours takes the centre of its first neighbour that has one, and so on along
    the graph; rows that are not connected to any centre take the first one.

    Parameters
    ----------
    X : (n, m) int32
        Neighbours of the training rows, themselves included, by rising distance, -1 for none.
    specs : list of ClusteringSpec
    """

    X: np.ndarray
    specs: list[ClusteringSpec] = field(default_factory=list, repr=False)
    by_clustering = True

    def adapt(self, rows: np.ndarray) -> np.ndarray:
        """Return the lists."""
        return rows

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Return the lists, checked."""
        check_indices(rows, len(self.X), minimum=-1)
        return rows

    def among(self, rows: np.ndarray, n_centers: int) -> "GraphSearch":
        """Raise: rows of a part of the graph have lost neighbours."""
        raise ValueError("metric='precomputed' does not allow samples of the rows.")

    def quality(self, codes: np.ndarray, **_: Any) -> dict[str, float]:
        """Return no estimates: the lists are given."""
        return {}

    def assign(self, rows: np.ndarray) -> np.ndarray:
        """First centre along the lists of every row: (v, n) int32."""
        return np.stack([self._assign_one(rows, spec) for spec in self.specs])

    def _assign_one(self, rows: np.ndarray, spec: ClusteringSpec) -> np.ndarray:
        position = np.full(len(self.X), -1, dtype=np.int32)
        position[spec.rows] = np.arange(len(spec.rows), dtype=np.int32)
        assigned = np.full(len(self.X), -1, dtype=np.int32)
        _first_centers(self.X, position, assigned)
        _spread(self.X, assigned)
        if rows is self.X:
            return np.maximum(assigned, 0)
        out = np.full(len(rows), -1, dtype=np.int32)
        _first_centers(rows, position, out)
        missing = np.flatnonzero(out < 0)
        inherited = np.full(len(missing), -1, dtype=np.int32)
        _first_centers(rows[missing], assigned, inherited)
        out[missing] = inherited
        return np.maximum(out, 0)


def list_length(n_rows: int, n_centers: int, n_candidates: int) -> int:
    """Return how many training rows are listed so that, on average, `n_candidates` of them are centres."""
    return min(n_rows - 1, LONGEST_LIST, math.ceil(n_candidates * n_rows / n_centers))


def check_graph(graph: Any, n_rows: int, n_columns: int) -> Any:
    """Return the neighbour graph, or raise if its shape is wrong."""
    if graph.shape != (n_rows, n_columns):
        raise ValueError(
            f"neighbors must be a graph of shape ({n_rows}, {n_columns}), one row per sample, got {graph.shape}."
        )
    return graph


def list_recall(
    X: np.ndarray, lists: np.ndarray, distinct: np.ndarray, *, unit: bool, seeds: np.random.SeedSequence
) -> float:
    """Fraction of the true nearest rows, in all features, found in the lists (n, m), on a sample of rows.

    Only one row of every set of duplicates counts: the lists hold no other. A row counts as found if it is as near as
    the last of as many true neighbours as the list has different rows.
    """
    sample = np.random.default_rng(seeds).choice(len(X), min(len(X), CHECKED_ROWS), replace=False)
    points = unit_rows(X[sample]) if unit else X[sample].astype(np.float64)
    origin = np.median(points, axis=0)  # a row far out does not move it
    points -= origin
    distances = np.empty((len(sample), len(distinct)))
    for start in range(0, len(distinct), BLOCK):
        rows = X[distinct[start : start + BLOCK]]
        rows = (unit_rows(rows) if unit else rows.astype(np.float64)) - origin
        distances[:, start : start + BLOCK] = np.einsum("ij,ij->i", rows, rows) - 2 * points @ rows.T
    right, total = 0, 0
    for to_all, numbers in zip(distances, lists[sample], strict=True):
        listed = np.unique(np.searchsorted(distinct, numbers[numbers >= 0]))
        if len(listed):
            # Equal distances differ by rounding.
            limit = np.partition(to_all, len(listed) - 1)[len(listed) - 1] + ROUNDING * np.abs(to_all).max()
            right, total = right + int((to_all[listed] <= limit).sum()), total + len(listed)
    return right / total if total else 0.0


def _sizes(table: np.ndarray) -> np.ndarray:
    return np.abs(table).max(axis=1)


@njit(nogil=True, fastmath=REASSOCIATE)
def _fill_terms(terms, e, a, b, cosine, kind):
    number = kind.dtype.type
    for f in range(len(a)):
        if cosine:
            terms[0, e, f] = number(a[f]) * number(b[f])
            terms[1, e, f] = number(b[f]) * number(b[f])
        else:
            gap = number(number(a[f]) - number(b[f]))
            terms[0, e, f] = number(gap * gap)


@njit(nogil=True, fastmath=REASSOCIATE)
def _masked_sum(terms, mask, kind):
    total = kind.dtype.type(0)
    for f in range(len(terms)):
        total = kind.dtype.type(total + kind.dtype.type(terms[f] * mask[f]))
    return total


@njit(nogil=True)
def _nearest_listed(X, points, lists, starts, entries, masks, limit, cosine, kind, terms, listed, counts, out):
    """Fill `out` (n, V), -1 for none; `terms` (2, m, d), `listed` (V, m, 2), `counts` (V,) are to work in.

    `listed` holds, for every clustering, the listed rows that are its centres, nearest first: position in the list and
    index as a centre. By the cosine, a centre counts if the cosine is positive.
    """
    for i in range(len(points)):
        for v in range(len(masks)):
            counts[v] = 0
        for e in range(lists.shape[1]):
            j = lists[i, e]
            if j < 0:
                break
            _fill_terms(terms, e, points[i], X[j], cosine, kind)
            for s in range(starts[j], starts[j + 1]):
                v = entries[s, 0]
                listed[v, counts[v], 0] = e
                listed[v, counts[v], 1] = entries[s, 1]
                counts[v] += 1
        for v in range(len(masks)):
            winner, best = -1, np.inf
            for c in range(counts[v] if counts[v] < limit else limit):
                e, index = listed[v, c, 0], listed[v, c, 1]
                cost = np.float64(_masked_sum(terms[0, e], masks[v], kind))
                if cosine:
                    if cost <= 0:
                        continue
                    cost = -cost / np.sqrt(np.float64(_masked_sum(terms[1, e], masks[v], kind)))
                if cost < best or (cost == best and index < winner):
                    best, winner = cost, index
            out[i, v] = winner


@njit(nogil=True)
def _first_centers(lists, assigned, out):
    for i in range(len(lists)):
        for e in range(lists.shape[1]):
            if lists[i, e] < 0:
                break
            if assigned[lists[i, e]] >= 0:
                out[i] = assigned[lists[i, e]]
                break


@njit(nogil=True)
def _spread(lists, assigned):
    """Assign the rest of the rows, ring by ring; within a ring only the rings before count."""
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
