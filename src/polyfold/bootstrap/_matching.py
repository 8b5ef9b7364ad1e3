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
# Codes compared in a clustering up to which every kernel takes no time: lists are then all that is compiled.
FEW_CODES = 10**5


def code_dtype(n_codes: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type that holds the codes 0 … n_codes - 1."""
    if n_codes <= 2**8:
        return np.uint8
    return np.uint16 if n_codes <= 2**16 else np.uint32


def two_bytes(codes: np.ndarray) -> np.ndarray:
    """Codes of one byte as two: kernels for which that costs little are compiled for one kind of code."""
    return codes.astype(np.uint16) if codes.dtype == np.uint8 else codes


def is_small(n_points: int, n_chosen: int) -> bool:
    """Whether compiling another kernel would take longer than all that it saves."""
    return n_points * n_chosen <= FEW_CODES


def prefers_lanes(n_points: int, n_centers: int, n_codes: int) -> bool:
    """Whether comparing bytes with every centre is cheaper than building and reading lists.

    The constants are nanoseconds per chosen clustering, measured with AVX-512; only their ratios matter. Codes of two
    bytes are left to the lists, or they would have to be compiled for both.
    """
    lanes = -(-n_points // 32) * 32 * n_centers * 0.02
    lists = 2.6 * n_points + 3.0 * n_centers + 0.3 * n_codes
    return n_codes <= 2**8 and lanes <= lists


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
    # Only the type matters: a count may reach the number of chosen clusterings.
    counter = np.uint8 if len(chosen) < 2**8 else np.uint32
    if lanes is None:
        lanes = not is_small(n, len(chosen)) and prefers_lanes(n, k, n_codes)
    if lanes:
        out = np.empty(n, dtype=code_dtype(k))
        width, rows = min(n, LANES), -(-len(chosen) // 4) * 4
        tile, counts = np.zeros((rows, width), codes.dtype), np.empty((2, width), counter)
        # Rows beyond the chosen ones never agree: 0 in the tile, 1 here.
        padded = np.ones((k, rows), dtype=centers.dtype)
        padded[:, : len(chosen)] = centers.T
        _match_lanes(codes, chosen, padded, tile, counts, np.empty(width, out.dtype), out)
        return out
    if codes.dtype == np.uint8:
        codes, centers = two_bytes(codes[chosen]), two_bytes(centers)
        chosen = np.arange(len(chosen), dtype=chosen.dtype)
    slots = np.full((len(chosen), n_codes, 2), k, dtype=np.uint16 if k < 2**16 else np.uint32)
    following = np.empty((len(chosen), k), dtype=slots.dtype)
    out = np.empty(n, dtype=slots.dtype)
    size = min(max(TILE_BYTES // ((k + 1) * np.dtype(counter).itemsize), 32), 512)
    counts, waiting = np.empty(size * (k + 1), counter), np.empty((2, size + 1), np.uint64)
    _match_lists(codes, chosen, centers, slots, following, counts, waiting, out)
    return out.astype(code_dtype(k), copy=False)


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
    _count_pairs(np.ascontiguousarray(two_bytes(left).T), two_bytes(right), out)
    return out


# The kernels are plain loops on arrays made outside: slices and array functions inside would take most of the time of
# the compilation.
@njit(cache=True, nogil=True)
def _match_lanes(codes, chosen, centers, tile, counts, winner, out):
    n, width = len(out), len(winner)
    for start in range(0, n, width):
        size = n - start if n - start < width else width
        for u in range(len(chosen)):
            row = chosen[u]  # outside, so that the copy is made in vector registers
            for p in range(size):
                tile[u, p] = codes[row, start + p]
        for p in range(width):
            counts[1, p] = 0
            winner[p] = 0
        for j in range(len(centers)):
            for p in range(width):
                counts[0, p] = 0
            # Four rows at a time, so that the counts are read and written a quarter as often.
            for u in range(0, len(tile), 4):
                a, b, c, d = centers[j, u], centers[j, u + 1], centers[j, u + 2], centers[j, u + 3]
                for p in range(width):
                    counts[0, p] += (
                        np.uint8(tile[u, p] == a)
                        + np.uint8(tile[u + 1, p] == b)
                        + np.uint8(tile[u + 2, p] == c)
                        + np.uint8(tile[u + 3, p] == d)
                    )
            for p in range(width):
                better = counts[0, p] > counts[1, p]
                counts[1, p] = counts[0, p] if better else counts[1, p]
                winner[p] = j if better else winner[p]
        for p in range(size):
            out[start + p] = winner[p]


@njit(cache=True, nogil=True, error_model="numpy")
def _match_lists(codes, chosen, centers, slots, following, counts, waiting, out):
    """Chain the centres of every code, then count along the chains.

    `slots` holds the first two centres of every code, `following` the successor of each; k ends a chain, and collects
    the visits of empty ones, so that the common case has no branch.
    """
    n, k = len(out), following.shape[1]
    for u in range(len(chosen)):
        # Backwards, so that every chain ascends.
        for j in range(k - 1, -1, -1):
            c = centers[u, j]
            following[u, j] = slots[u, c, 0]
            slots[u, c, 1] = slots[u, c, 0]
            slots[u, c, 0] = j
    stride = k + 1
    tile = len(counts) // stride
    for start in range(0, n, tile):
        size = n - start if n - start < tile else tile
        for e in range(len(counts)):
            counts[e] = 0
        for u in range(len(chosen)):
            _count_lists(codes, chosen[u], start, size, slots, following, u, np.uint64(k), counts, waiting)
        for p in range(size):
            out[start + p] = _first_maximum(counts, p * stride, p * stride + k) - p * stride


@njit(inline="always")
def _count_lists(codes, row, start, size, slots, following, u, k, counts, waiting):
    """Add one agreement for every centre on the list of every point's code.

    Points whose list goes on are compacted without a branch and visited again: mispredicted branches would
    cost more than all the counting.
    """
    offset = np.uint64(0)
    left = 0
    for p in range(size):
        c = np.uint64(codes[row, start + p])
        counts[offset + np.uint64(slots[u, c, 0])] += np.uint8(1)
        second = np.uint64(slots[u, c, 1])
        waiting[0, left] = offset
        waiting[1, left] = second
        left += second != k
        offset += k + np.uint64(1)
    while left > 0:
        still = 0
        for w in range(left):
            offset, j = waiting[0, w], waiting[1, w]
            counts[offset + j] += np.uint8(1)
            j = np.uint64(following[u, j])
            waiting[0, still] = offset
            waiting[1, still] = j
            still += j != k
        left = still


@njit(inline="always")
def _first_maximum(counts, begin, end):
    """Place of the first largest of some counts; the maximum of a chunk is found in vector registers."""
    best, where = counts[begin], begin
    for start in range(begin, end, CHUNK):
        top = counts[start]
        for e in range(start, start + CHUNK if start + CHUNK < end else end):
            x = counts[e]
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
