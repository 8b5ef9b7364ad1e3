"""Nearest training rows by shared codes, without the matrix of all pairs.

The similarity of two rows is the number of clusterings, in the ranking layers, in which their codes agree. Ties are
broken by the agreements in all layers, then by the index. Both counts are one integer, base · (agreements in the
ranking layers) + (agreements in all layers), so that counting and selecting happen once.

Codes of one byte are compared with those of all training rows, side by side in vector registers: 1.7 times as fast as
an inverted index, which the larger codes use. Up to 5·10⁷ pairs of rows are all counted. Beyond, the layers of large
codes alone give *candidates*, which are compared in full, and so are the neighbours of these candidates.
"""

from collections.abc import Callable, Sequence

import numpy as np

from polyfold._policy import EXACT_PAIRS, N_NEIGHBORS
from polyfold._threads import in_blocks, njit
from polyfold.bootstrap._code_search import check_codes

# Rows that a thread takes at a time, bytes of a table of scores, and training rows compared at a time.
BLOCK, TILE_BYTES, LANES = 1024, 2**20, 256
# Codes of one byte, and comparisons that a byte can count.
BYTE, BYTE_ROWS = 256, 252


def nearest_by_codes(
    points: Sequence[np.ndarray],
    training: Sequence[np.ndarray],
    sizes: Sequence[int],
    n_neighbors: int,
    *,
    layers: Sequence[int],
    own: bool,
    exact: bool | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the training rows that share most codes with each row.

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
        Ranking layers; the others break ties.
    own : bool
        Whether the rows are the training rows; then no row is its own neighbour.
    exact : bool, optional
        Whether all pairs are counted; by default up to 5·10⁷ pairs.

    Returns
    -------
    agreements : (q, n_neighbors) int64
        Clusterings, of the ranking layers, in which codes agree; falling.
    indices : (q, n_neighbors) int64

    Notes
    -----
    O(q n V / k) by the index and O(q n V) vectorised for codes of one byte; O(n V) memory and 1 MB per thread.
    """
    for codes, known, size in zip(points, training, sizes, strict=True):
        check_codes(codes, len(known), size)
        check_codes(known, len(known), size)
    base = sum(len(codes) for codes in training) + 1
    # The largest score is below base². One type for all weights, in which no score overflows.
    weights = np.ones(len(training), dtype=np.uint32 if base < 2**16 else np.uint64)
    weights[list(layers)] += weights.dtype.type(base)
    if exact is None:
        exact = training[0].shape[1] * points[0].shape[1] <= EXACT_PAIRS
    find = _count_and_choose if exact else _search
    scores, indices = find(points, training, sizes, weights, n_neighbors, own)
    return (scores // base).astype(np.int64), indices


def _count_and_choose(points, training, sizes, weights, k, own):
    """Scores and indices, (q, k) each, of the best training points of every point, all pairs counted."""
    q, n = points[0].shape[1], training[0].shape[1]
    counters = [_counter(codes, size) for codes, size in zip(training, sizes, strict=True)]
    scores, indices = np.zeros((q, k), dtype=weights.dtype), np.zeros((q, k), dtype=np.int64)
    tile = int(np.clip(TILE_BYTES // (n * scores.itemsize), 4, 64))

    def fill(block: slice) -> None:
        whole = np.empty((tile, n), dtype=weights.dtype)
        for start in range(block.start, block.stop, tile):
            part = slice(start, min(start + tile, block.stop))
            table = whole[: part.stop - start]
            table[:] = 0
            for codes, count, weight in zip(points, counters, weights, strict=True):
                count(codes[:, part], weight, table)
            _choose(table, start if own else -1, scores[part], indices[part])

    in_blocks(fill, q, BLOCK)
    return scores, indices


def _counter(codes: np.ndarray, size: int) -> Callable[..., None]:
    """Return what adds the agreements with these training rows to a table of scores."""
    if size > BYTE:
        order, starts = _code_lists(codes, size)
        # One type of codes, so that the loop is compiled once.
        return lambda points, weight, table: _add_lists(points.astype(np.int32), order, starts, weight, table)
    return lambda points, weight, table: _add_lanes(np.ascontiguousarray(points.T), codes, weight, table)


def _search(points, training, sizes, weights, k, own):
    """Scores and indices of neighbours among candidates, (q, k) each."""
    n = training[0].shape[1]
    width = min(4 * max(k, N_NEIGHBORS), n - own)
    layers = [layer for layer, size in enumerate(sizes) if size > BYTE] or [0]
    few, known, codes = ([every[layer] for layer in layers] for every in (points, training, sizes))
    _, candidates = _count_and_choose(few, known, codes, np.ones(len(layers), dtype=np.uint32), width, own)
    scores = _rescore(points, training, weights, candidates)
    best = _sorted_best(scores, candidates, k)
    for _ in range(2 if own else 0):
        wider = _neighbors_of_neighbors(best[1], n)
        best = _sorted_best(_rescore(points, training, weights, wider), wider, k)
    return best


def _neighbors_of_neighbors(indices: np.ndarray, n: int) -> np.ndarray:
    """Neighbours, and theirs, of every row, without itself and each once; padded with -1: (n, m)."""
    own, nearest = np.arange(n)[:, None], indices[:, :N_NEIGHBORS]
    every = np.concatenate([indices, nearest[nearest].reshape(n, -1)], axis=1)
    every[every == own] = -1
    every.sort(axis=1)
    every[:, 1:][every[:, 1:] == every[:, :-1]] = -1
    return every


def _rescore(points, training, weights, candidates):
    """Full scores of candidates, (q, m); 0 for the padding."""
    scores = np.zeros(candidates.shape, dtype=weights.dtype)
    for codes, known, weight in zip(points, training, weights, strict=True):
        rows, known_rows = np.ascontiguousarray(codes.T), np.ascontiguousarray(known.T)

        def fill(part: slice, rows=rows, known_rows=known_rows, weight=weight) -> None:
            _add_pairs(rows[part], known_rows, candidates[part], weight, scores[part])

        in_blocks(fill, len(rows), BLOCK)
    return scores


def _sorted_best(scores: np.ndarray, candidates: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best candidates of every point: highest score, then lowest index."""
    # Padding comes last: its score is 0 and its index no lower than any.
    far = np.where(candidates < 0, np.iinfo(np.int64).max, candidates)
    falling = scores.max(initial=0) - scores.astype(np.int64) + (candidates < 0)
    order = np.lexsort((far, falling), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(candidates, order, axis=1)


@njit(nogil=True)
def _code_lists(codes, n_codes):
    """Points by code, in every clustering: their order (V, n), and where each code starts (V, n_codes + 1)."""
    V, n = codes.shape
    order = np.empty((V, n), np.int32)
    starts = np.zeros((V, n_codes + 1), np.int32)
    for v in range(V):
        counts = starts[v]
        for i in range(n):
            counts[np.int64(codes[v, i]) + 1] += 1
        for c in range(n_codes):
            counts[c + 1] += counts[c]
        filled = counts[:-1].copy()
        for i in range(n):
            c = codes[v, i]
            order[v, filled[c]] = i
            filled[c] += 1
    return order, starts


@njit(nogil=True)
def _add_lists(points, order, starts, weight, table):
    for v in range(len(points)):
        for t in range(points.shape[1]):
            c = points[v, t]
            row = table[t]
            for e in range(starts[v, c], starts[v, c + 1]):
                row[order[v, e]] += weight


@njit(nogil=True)
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


@njit(nogil=True)
def _add_pairs(rows, known, candidates, weight, scores):
    for i in range(len(rows)):
        codes = rows[i]
        for e in range(candidates.shape[1]):
            j = candidates[i, e]
            if j >= 0:
                other = known[j]
                count = 0
                for v in range(len(codes)):
                    count += codes[v] == other[v]
                scores[i, e] += weight * count


@njit(nogil=True)
def _choose(table, first_own, scores, indices):
    """Keep the largest scores of every row, falling, the lower index first; point t is not its own, `first_own` + t."""
    n, k = table.shape[1], scores.shape[1]
    for t in range(len(table)):
        row, kept, positions = table[t], scores[t], indices[t]
        own = first_own + t if first_own >= 0 else -1
        filled = 0
        for start in range(0, n, LANES):
            part = row[start : start + LANES]
            top = part[0]
            for x in part:
                top = x if x > top else top
            if filled == k and top <= kept[k - 1]:
                continue
            for p in range(len(part)):
                x = part[p]
                if start + p == own or (filled == k and x <= kept[k - 1]):
                    continue
                e = filled if filled < k else k - 1
                filled = min(filled + 1, k)
                while e > 0 and kept[e - 1] < x:
                    kept[e], positions[e] = kept[e - 1], positions[e - 1]
                    e -= 1
                kept[e], positions[e] = x, start + p


@njit(nogil=True)
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
