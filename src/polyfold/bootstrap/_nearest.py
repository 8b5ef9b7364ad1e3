"""Nearest points by shared codes, without the matrix of all pairs.

The similarity of two points is the number of clusterings, in the layers that rank, in which their codes agree. Those
that agree equally often are told apart by the agreements in all layers, then by their number.

Both are one whole number, base · (agreements that rank) + (agreements in all layers), so that counting and choosing
happen once. A layer adds to the scores of a tile of points in one of two ways, as in `_matching`: *lists* of the
points that carry each code, where codes are many and lists short; or *lanes*, all points side by side in vector
registers, where codes are few.

Where counting all pairs would take long, only the layers of many codes are counted (each point then meets few others);
the best of these *candidates* are compared in full, and in turn give their own neighbours as candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from polyfold._threads import threaded
from polyfold.bootstrap._matching import LANES, TILE_BYTES, code_dtype

# Nanoseconds to reach a list, of every agreement on it, and of a comparison in vector registers; ratios matter.
LIST_START, LIST_COST = 30.0, 2.0
LANE_COST = {1: 0.05, 2: 0.09, 4: 0.18}
# Points that a thread takes at a time.
BLOCK = 1024
# Seconds of counting on one core up to which all pairs are counted.
EXACT_SECONDS = 5.0
# Candidates per neighbour asked for, and at least; the share of the exact cost that finding them may have.
CANDIDATES_EACH = 3
FEWEST_CANDIDATES = 60
SCREEN_SHARE = 0.2
# How often neighbours of neighbours become candidates, and how many of whom.
ROUNDS = 2
FRIENDS = 15
# Comparisons of 8 bits count that far.
BYTE_ROWS = 252


@dataclass(frozen=True)
class Ranking:
    """How agreements become one number.

    Attributes
    ----------
    weights : (L,) int64
        What an agreement in each layer adds.
    base : int
        What an agreement in a layer that ranks adds on top; 0 where all layers rank, and nothing is left to ties.
    most : int
        Agreements in the layers that rank when two points share all codes.
    """

    weights: np.ndarray
    base: int
    most: int

    @classmethod
    def of(cls, n_clusterings: Sequence[int], layers: Sequence[int]) -> "Ranking":
        """Rank by some of the layers, of which each has so many clusterings."""
        weights = np.ones(len(n_clusterings), dtype=np.int64)
        most = int(sum(n_clusterings[layer] for layer in layers))
        if len(layers) == len(n_clusterings):
            return cls(weights, 0, most)
        base = int(sum(n_clusterings)) + 1
        weights[list(layers)] += base
        return cls(weights, base, most)

    @property
    def dtype(self) -> type[np.unsignedinteger]:
        """Type that holds the largest score."""
        largest = self.most * self.base + (self.base or self.most)
        return np.uint32 if largest < 2**32 else np.uint64

    def agreements(self, scores: np.ndarray) -> np.ndarray:
        """Agreements in the layers that rank."""
        return scores // self.base if self.base else scores


def nearest_by_codes(
    points: Sequence[np.ndarray],
    training: Sequence[np.ndarray],
    sizes: Sequence[int],
    n_neighbors: int,
    *,
    layers: Sequence[int],
    own: bool,
    exact: bool | None = None,
    n_jobs: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the training points that share most codes with each point.

    Parameters
    ----------
    points : list of (V, q) unsigned
        Codes of the points, layer by layer.
    training : list of (V, n) unsigned
        Codes of the training points.
    sizes : list of int
        Number of codes of every layer.
    n_neighbors : int
    layers : list of int
        Layers that rank; the others break ties.
    own : bool
        Whether the points are the training points, of which none is its own neighbour.
    exact : bool, optional
        Whether all pairs are counted; by default where that is quick.
    n_jobs : int
        Threads.

    Returns
    -------
    agreements : (q, n_neighbors) int64
        Clusterings, of the layers that rank, in which codes agree; falling.
    indices : (q, n_neighbors) int64

    Notes
    -----
    O(q n V / k) by lists and O(q n V) vectorised by lanes, for k codes; O(n V) memory, beside 1 MB a thread.
    """
    n_clusterings, (n, q) = [len(codes) for codes in training], (training[0].shape[1], points[0].shape[1])
    ranking = Ranking.of(n_clusterings, layers)
    costs = np.array([counting_cost(V, n, k, q) for V, k in zip(n_clusterings, sizes, strict=True)])
    if exact is None:
        exact = float(costs.sum()) <= EXACT_SECONDS
    if exact:
        scores, indices = _count_and_choose(points, training, sizes, ranking, n_neighbors, own, n_jobs)
    else:
        scores, indices = _search(points, training, sizes, ranking, n_neighbors, own, n_jobs, costs)
    return ranking.agreements(scores).astype(np.int64), indices


def counting_cost(n_clusterings: int, n: int, n_codes: int, n_points: int) -> float:
    """Seconds, on one core, in which a layer is counted."""
    return 1e-9 * n_clusterings * n_points * min(_list_cost(n, n_codes), _lane_cost(n, n_codes))


def _list_cost(n: int, n_codes: int) -> float:
    return LIST_START + LIST_COST * n / n_codes


def _lane_cost(n: int, n_codes: int) -> float:
    return n * LANE_COST[np.dtype(code_dtype(n_codes)).itemsize]


def _count_and_choose(points, training, sizes, ranking, k, own, n_jobs):
    """Scores and indices, (q, k) each, of the best training points of every point, all pairs counted."""
    q, n = points[0].shape[1], training[0].shape[1]
    counters = [_counter(codes, size) for codes, size in zip(training, sizes, strict=True)]
    scores, indices = np.zeros((q, k), dtype=ranking.dtype), np.zeros((q, k), dtype=np.int64)
    tile = int(np.clip(TILE_BYTES // (n * scores.itemsize), 4, 64))

    def fill(block: int) -> None:
        whole = np.empty((tile, n), dtype=ranking.dtype)
        for start in range(block, min(block + BLOCK, q), tile):
            part = slice(start, min(start + tile, block + BLOCK, q))
            table = whole[: part.stop - start]
            table[:] = 0
            for codes, count, weight in zip(points, counters, ranking.weights, strict=True):
                count(codes[:, part], table.dtype.type(weight), table)
            _choose(table, start if own else -1, scores[part], indices[part])

    for _ in threaded(fill, range(0, q, BLOCK), n_jobs):
        pass
    return scores, indices


def _counter(codes: np.ndarray, size: int):
    """Return the cheaper way to add the agreements with these training points to a table of scores."""
    if _list_cost(codes.shape[1], size) < _lane_cost(codes.shape[1], size):
        order, starts = _code_lists(codes, size)
        # One type of codes, so that the loop is compiled once.
        return lambda points, weight, table: _add_lists(points.astype(np.int32), order, starts, weight, table)
    return lambda points, weight, table: _add_lanes(np.ascontiguousarray(points.T), codes, weight, table)


def _search(points, training, sizes, ranking, k, own, n_jobs, costs):
    """Scores and indices of neighbours among candidates, (q, k) each."""
    n = training[0].shape[1]
    width = min(max(CANDIDATES_EACH * k, FEWEST_CANDIDATES), n - own)
    screen = _screen(costs)
    rough = Ranking.of([len(training[layer]) for layer in screen], range(len(screen)))
    few, known, codes = ([layers[layer] for layer in screen] for layers in (points, training, sizes))
    _, candidates = _count_and_choose(few, known, codes, rough, width, own, n_jobs)
    scores = _rescore(points, training, ranking, candidates, n_jobs)
    best = _sorted_best(scores, candidates, k)
    for _ in range(ROUNDS if own else 0):
        wider = _friends(best[1], n)
        best = _sorted_best(_rescore(points, training, ranking, wider, n_jobs), wider, k)
    return best


def _screen(costs: np.ndarray) -> list[int]:
    """Layers, cheapest first, that together cost a share of what all of them do; one at least."""
    order = np.argsort(costs, kind="stable")
    affordable = int(np.sum(np.cumsum(costs[order]) <= SCREEN_SHARE * costs.sum()))
    return sorted(order[: max(1, affordable)].tolist())


def _friends(indices: np.ndarray, n: int) -> np.ndarray:
    """Neighbours, and theirs, of every point, without itself and each once; padded with -1: (n, m)."""
    own, friends = np.arange(n)[:, None], indices[:, :FRIENDS]
    every = np.concatenate([indices, friends[friends].reshape(n, -1)], axis=1)
    every[every == own] = -1
    every.sort(axis=1)
    every[:, 1:][every[:, 1:] == every[:, :-1]] = -1
    return every


def _rescore(points, training, ranking, candidates, n_jobs):
    """Full scores of candidates, (q, m); 0 for the padding."""
    scores = np.zeros(candidates.shape, dtype=ranking.dtype)
    for codes, known, weight in zip(points, training, ranking.weights, strict=True):
        rows, known_rows = np.ascontiguousarray(codes.T), np.ascontiguousarray(known.T)

        def fill(start: int, rows=rows, known_rows=known_rows, weight=weight) -> None:
            part = slice(start, start + BLOCK)
            _add_pairs(rows[part], known_rows, candidates[part], scores.dtype.type(weight), scores[part])

        for _ in threaded(fill, range(0, len(rows), BLOCK), n_jobs):
            pass
    return scores


def _sorted_best(scores: np.ndarray, candidates: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best candidates of every point: highest score, then lowest index."""
    # Padding comes last: its score is 0 and its index no lower than any.
    far = np.where(candidates < 0, np.iinfo(np.int64).max, candidates)
    falling = scores.max(initial=0) - scores.astype(np.int64) + (candidates < 0)
    order = np.lexsort((far, falling), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(candidates, order, axis=1)


@njit(cache=True, nogil=True)
def _code_lists(codes, n_codes):
    """Points by code, in every clustering: their order (V, n), and where each code starts (V, n_codes + 1)."""
    V, n = codes.shape
    order = np.empty((V, n), np.int32)
    starts = np.zeros((V, n_codes + 1), np.int32)
    for v in range(V):
        place = starts[v]
        for i in range(n):
            place[np.int64(codes[v, i]) + 1] += 1
        for c in range(n_codes):
            place[c + 1] += place[c]
        filled = place[:-1].copy()
        for i in range(n):
            c = codes[v, i]
            order[v, filled[c]] = i
            filled[c] += 1
    return order, starts


@njit(cache=True, nogil=True)
def _add_lists(points, order, starts, weight, table):
    for v in range(len(points)):
        for t in range(points.shape[1]):
            c = points[v, t]
            row = table[t]
            for e in range(starts[v, c], starts[v, c + 1]):
                row[order[v, e]] += weight


@njit(cache=True, nogil=True)
def _add_lanes(rows, codes, weight, table):
    V, n = codes.shape
    tile = np.empty((min(V, BYTE_ROWS), LANES), codes.dtype)
    count = np.empty(LANES, np.uint8)
    for start in range(0, n, LANES):
        size = min(n - start, LANES)
        for first in range(0, V, BYTE_ROWS):
            height = min(V - first, BYTE_ROWS)
            for u in range(height):
                for p in range(size):  # one by one: an assignment of slices compiles for seconds
                    tile[u, p] = codes[first + u, start + p]
            for t in range(len(rows)):
                _count_lanes(tile[:height], rows[t, first : first + height], count)
                for p in range(size):
                    table[t, start + p] += weight * table.dtype.type(count[p])


@njit(cache=True, nogil=True)
def _add_pairs(rows, known, candidates, weight, scores):
    for i in range(len(rows)):
        mine = rows[i]
        for e in range(candidates.shape[1]):
            j = candidates[i, e]
            if j >= 0:
                other = known[j]
                count = 0
                for v in range(len(mine)):
                    count += mine[v] == other[v]
                scores[i, e] += weight * count


@njit(cache=True, nogil=True)
def _choose(table, first_own, scores, indices):
    """Keep the largest scores of every row, falling, the lower index first; point t is not its own, `first_own` + t."""
    n, k = table.shape[1], scores.shape[1]
    for t in range(len(table)):
        row, kept, places = table[t], scores[t], indices[t]
        own = first_own + t if first_own >= 0 else -1
        held = 0
        for start in range(0, n, LANES):
            part = row[start : start + LANES]
            top = part[0]
            for x in part:
                top = x if x > top else top
            if held == k and top <= kept[k - 1]:
                continue
            for p in range(len(part)):
                x = part[p]
                if start + p == own or (held == k and x <= kept[k - 1]):
                    continue
                e = held if held < k else k - 1
                held = min(held + 1, k)
                while e > 0 and kept[e - 1] < x:
                    kept[e], places[e] = kept[e - 1], places[e - 1]
                    e -= 1
                kept[e], places[e] = x, start + p


@njit(cache=True, nogil=True)
def _count_lanes(tile, center, count):
    """Count, for every column of a tile, the rows in which it agrees with one."""
    count[:] = 0
    whole = len(center) // 4 * 4
    # Four rows at a time, so that the counts are read and written a quarter as often.
    for u in range(0, whole, 4):
        a, b, c, d = center[u], center[u + 1], center[u + 2], center[u + 3]
        rows = tile[u : u + 4]
        for p in range(len(count)):
            count[p] += (
                np.uint8(rows[0, p] == a)
                + np.uint8(rows[1, p] == b)
                + np.uint8(rows[2, p] == c)
                + np.uint8(rows[3, p] == d)
            )
    for u in range(whole, len(center)):
        a = center[u]
        for p in range(len(count)):
            count[p] += np.uint8(tile[u, p] == a)
