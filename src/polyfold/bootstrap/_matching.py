"""Nearest centres in the space of codes: the layers above the bottom one.

Points and centres are columns of integer codes, one per clustering below. Their similarity is the number of
chosen clusterings in which the codes agree, which is the inner product of the one-of-k vectors of
[Zhang2016, sec. 2] without ever forming them.

Equation → function:

- arg max_j w_jᵀ x over one-of-k vectors, ties to the lowest index → `match`
- number of shared nearest centres of two points → `shared_centers`

Two kernels do the same work. *Lanes* compares a tile of points with one centre after another; its inner loop
runs over points, so it fills vector registers and its cost grows with the number of centres. *Lists* keeps,
for every code of every chosen clustering, the centres that carry it, and counts only real agreements; its
cost hardly depends on the number of centres.
"""

import numpy as np
from numba import njit

# Points per tile; with lists, as many as have their counters in the second-level cache.
LANES = 256
TILE_BYTES = 2**20
# Counts compared at once when the largest is looked for.
CHUNK = 256


def code_dtype(n_codes: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type that holds the codes 0 … n_codes - 1."""
    if n_codes <= 2**8:
        return np.uint8
    return np.uint16 if n_codes <= 2**16 else np.uint32


def prefers_lanes(n_points: int, n_centers: int, n_codes: int) -> bool:
    """Whether comparing with every centre is cheaper than building and reading lists.

    The constants are nanoseconds per chosen clustering, measured with AVX-512; only their ratios matter.
    """
    lanes = -(-n_points // 32) * 32 * n_centers * (0.02 if n_codes <= 256 else 0.03)
    lists = 2.6 * n_points + 3.0 * n_centers + 0.3 * n_codes
    return lanes <= lists


def match(
    codes: np.ndarray,
    chosen: np.ndarray,
    centers: np.ndarray,
    n_codes: int,
    *,
    lanes: bool | None = None,
) -> np.ndarray:
    """Assign every column of `codes` to the centre with which it agrees most often.

    Parameters
    ----------
    codes : (V, n) unsigned
        Codes of the points in the layer below.
    chosen : (u,) integers
        Clusterings of the layer below that are compared.
    centers : (u, k) unsigned
        Codes of the centres in the chosen clusterings.
    n_codes : int
        Number of codes in the layer below, k of that layer.
    lanes : bool, optional
        Which kernel to use; by default the cheaper one.

    Returns
    -------
    (n,) unsigned
        Index of the centre with most agreements, the lowest one of several.

    Notes
    -----
    O(n u) time with lists, O(n u k) vectorised operations with lanes; O(u (k + n_codes)) memory.
    """
    n, k = codes.shape[1], centers.shape[1]
    out = np.empty(n, dtype=code_dtype(k))
    # Only the type matters: a count may reach the number of chosen clusterings.
    counter = np.empty(0, dtype=np.uint8 if len(chosen) < 2**8 else np.uint32)
    if lanes is None:
        lanes = prefers_lanes(n, k, n_codes)
    if lanes:
        _match_lanes(codes, chosen, np.ascontiguousarray(centers.T), counter, out)
    else:
        slots = np.full((len(chosen), n_codes, 2), k, dtype=code_dtype(k + 1))
        following = np.empty((len(chosen), k), dtype=slots.dtype)
        _build_lists(centers, slots, following)
        _match_lists(codes, chosen, slots, following, counter, out)
    return out


def shared_centers(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Count, for all pairs of columns of two code matrices, the rows in which they agree.

    Parameters
    ----------
    left : (V, n) unsigned
    right : (V, m) unsigned

    Returns
    -------
    (n, m) int32
    """
    out = np.zeros((left.shape[1], right.shape[1]), dtype=np.int32)
    _count_pairs(np.ascontiguousarray(left.T), right, out)
    return out


@njit(cache=True, nogil=True)
def _match_lanes(codes, chosen, centers, counter, out):
    n, k = codes.shape[1], len(centers)
    width = min(n, LANES)
    tile = np.empty((len(chosen), width), codes.dtype)
    count = np.empty(width, counter.dtype)
    best = np.empty(width, counter.dtype)
    winner = np.empty(width, out.dtype)
    for start in range(0, n, width):
        size = min(n - start, width)
        for u in range(len(chosen)):
            tile[u, :size] = codes[chosen[u], start : start + size]
        best[:] = 0
        winner[:] = 0
        for j in range(k):
            _count_lanes(tile, centers[j], count)
            _keep_better(count, best, winner, j)
        out[start : start + size] = winner[:size]


@njit(cache=True, nogil=True)
def _count_lanes(tile, center, count):
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


@njit(cache=True, nogil=True)
def _keep_better(count, best, winner, j):
    for p in range(len(count)):
        better = count[p] > best[p]
        best[p] = count[p] if better else best[p]
        winner[p] = j if better else winner[p]


@njit(cache=True, nogil=True)
def _build_lists(centers, slots, following):
    """Chain the centres of every code: `slots` holds the first two, `following` the successor of each; k ends."""
    u_count, k = centers.shape
    for u in range(u_count):
        # Backwards, so that every chain ascends.
        for j in range(k - 1, -1, -1):
            c = centers[u, j]
            following[u, j] = slots[u, c, 0]
            slots[u, c, 1] = slots[u, c, 0]
            slots[u, c, 0] = j


@njit(cache=True, nogil=True)
def _match_lists(codes, chosen, slots, following, counter, out):
    n, k = codes.shape[1], following.shape[1]
    # Index k collects the visits of empty lists, so that the common case has no branch.
    stride = k + 1
    tile = min(max(TILE_BYTES // (stride * counter.itemsize), 32), 512)
    counts = np.empty(tile * stride, counter.dtype)
    where = np.empty(tile + 1, np.uint64)
    center = np.empty(tile + 1, np.uint64)
    for start in range(0, n, tile):
        size = min(n - start, tile)
        counts[:] = 0
        for u in range(len(chosen)):
            row = codes[chosen[u], start : start + size]
            _count_lists(row, slots[u], following[u], np.uint64(k), counts, where, center)
        for p in range(size):
            out[start + p] = _first_maximum(counts[p * stride : p * stride + k])


@njit(cache=True, nogil=True)
def _count_lists(row, slots, following, k, counts, where, center):
    """Add one agreement for every centre on the list of every point's code.

    Points whose list goes on are compacted without a branch and visited again: mispredicted branches would
    cost more than all the counting.
    """
    offset = np.uint64(0)
    waiting = 0
    for p in range(len(row)):
        c = np.uint64(row[p])
        counts[offset + np.uint64(slots[c, 0])] += np.uint8(1)
        second = np.uint64(slots[c, 1])
        where[waiting] = offset
        center[waiting] = second
        waiting += second != k
        offset += k + np.uint64(1)
    while waiting > 0:
        still = 0
        for w in range(waiting):
            offset, j = where[w], center[w]
            counts[offset + j] += np.uint8(1)
            j = np.uint64(following[j])
            where[still] = offset
            center[still] = j
            still += j != k
        waiting = still


@njit(cache=True, nogil=True)
def _first_maximum(counts):
    """Lowest index of the largest count; the maximum of a chunk is found in vector registers."""
    best, where = counts[0], 0
    for start in range(0, len(counts), CHUNK):
        part = counts[start : start + CHUNK]
        top = part[0]
        for e in range(len(part)):
            x = part[e]
            top = x if x > top else top
        if top > best:
            best, where = top, start
    while counts[where] != best:
        where += 1
    return where


@njit(cache=True, nogil=True)
def _count_pairs(left, right, out):
    for i in range(len(left)):
        for v in range(len(right)):
            c = left[i, v]
            for j in range(right.shape[1]):
                out[i, j] += np.int32(right[v, j] == c)
