"""Nearest centres in the space of codes: the layers above the first one, for all clusterings of a layer at once.

Rows and centres are lists of integer codes, one per clustering below. Their similarity is the number of selected
clusterings in which the codes agree, which is the inner product of the one-of-k vectors of [Zhang2016, sec. 2] without
ever forming them.

Equation → function:

- arg max_j w_jᵀ x over one-of-k vectors, ties to the lowest index → `CodeSearch.assign`
- number of shared nearest centres of two points → `shared_centers`

An inverted index lists, for every code of every clustering below, the centres that have this code. The lists of a row
give the centres that agree with it somewhere and, as bits, the clusterings below in which they agree. Every clustering
counts the bits of its own selection.
"""

import numpy as np

from polyfold._threads import njit
from polyfold.bootstrap._sampling import ClusteringSpec

# Low half of a key: a count above it, and the complement of a centre's index in it, so that the largest key is the
# largest count, ties going to the lowest index.
LOW = 0xFFFFFFFF


def code_dtype(n_codes: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type that holds the codes 0 … n_codes - 1."""
    if n_codes <= 2**8:
        return np.uint8
    return np.uint16 if n_codes <= 2**16 else np.uint32


def two_bytes(codes: np.ndarray) -> np.ndarray:
    """Return codes of one byte as two bytes, so that a loop is compiled for fewer types."""
    return codes.astype(np.uint16) if codes.dtype == np.uint8 else codes


def check_codes(codes: np.ndarray, n_clusterings: int, n_codes: int) -> None:
    """Raise if (V, n) codes would lead compiled loops outside their arrays."""
    largest = int(codes.max(initial=0))
    if len(codes) != n_clusterings or largest >= n_codes:
        raise ValueError(
            f"codes must be those of {n_clusterings} clusterings with {n_codes} centres, got {len(codes)} clusterings "
            f"and the code {largest}; the model is damaged."
        )


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
    check_codes(left, len(right), 2**32)
    out = np.zeros((left.shape[1], right.shape[1]), dtype=np.int32)
    _count_pairs(np.ascontiguousarray(two_bytes(left).T), two_bytes(right), out)
    return out


class CodeSearch:
    """Nearest centres of rows given by their codes, in all clusterings of one upper layer, by an inverted index.

    Only training rows that are centres are indexed, and they are numbered among themselves.

    Parameters
    ----------
    codes : (V, n) unsigned
        Codes of the training rows in the layer below.
    n_codes : int
        Number of centres of the layer below.
    specs : list of ClusteringSpec

    Attributes
    ----------
    owned : (c + 1,) int64
        Where the entries of every centre begin.
    entries : (V·k, 2) unsigned
        Clusterings that it belongs to, and its index there.
    starts : (V, n_codes + 1) int32
        Where the list of every code of every clustering below begins.
    lists : (V, c) unsigned
        Centres by code.
    masks : (V, w) uint64
        Bits of the clusterings below that every clustering selects, from the second bit on; the first bit of all marks
        a centre that has been met.

    Notes
    -----
    O(V c / n_codes) time per row for c different centres, O(V (c + n_codes)) memory.
    """

    by_clustering = False

    def __init__(self, codes: np.ndarray, n_codes: int, specs: list[ClusteringSpec]) -> None:
        self.n_codes, self.specs = n_codes, specs
        V, k = len(specs), len(specs[0].rows)
        rows = np.concatenate([spec.rows for spec in specs])
        order = np.argsort(rows, kind="stable")
        centers, begins = np.unique(rows[order], return_index=True)
        self.owned = np.append(begins, len(rows)).astype(np.int64)
        clustering, index = np.divmod(order, k)
        dtype = np.uint16 if max(V, k) <= 2**16 else np.uint32
        self.entries = np.column_stack([clustering, index]).astype(dtype)
        self.lists = np.empty((len(codes), len(centers)), dtype=np.uint16 if len(centers) <= 2**16 else np.uint32)
        self.starts = np.zeros((len(codes), n_codes + 1), dtype=np.int32)
        for u, row in enumerate(codes):
            center_codes = row[centers]
            self.lists[u] = np.argsort(center_codes, kind="stable")
            np.cumsum(np.bincount(center_codes, minlength=n_codes), out=self.starts[u, 1:])
        self.masks = np.zeros((V, -(-(1 + len(codes)) // 64)), dtype=np.uint64)
        for mask, spec in zip(self.masks, specs, strict=True):
            bits = (1 + spec.features).astype(np.uint64)
            np.bitwise_or.at(mask, bits >> np.uint64(6), np.uint64(1) << (bits & np.uint64(63)))

    def assign(self, rows: np.ndarray) -> np.ndarray:
        """Index of the centre with most agreements, the lowest one of several, of (n, V) codes: (v, n)."""
        check_codes(rows.T, len(self.lists), self.n_codes)
        rows = np.ascontiguousarray(two_bytes(rows))
        c, words = self.lists.shape[1], self.masks.shape[1]
        out = np.empty((len(rows), len(self.masks)), dtype=self.entries.dtype)
        bits = np.zeros((c, words), dtype=np.uint64)
        active, best = np.empty(c + 1, dtype=np.uint64), np.empty(len(self.masks), dtype=np.uint64)
        _match_index(rows, self.starts, self.lists, self.owned, self.entries, self.masks, bits, active, best, out)
        return out.T


@njit(nogil=True)
def _popcount(word):
    """Count the set bits of a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True)
def _match_index(rows, starts, lists, owned, entries, masks, bits, active, best, out):
    """Fill `out` (n, V); `bits` (c, w), zero before and after, mark where a row and a centre agree.

    The first bit is set with any other. Plain loops on unsigned numbers: slices and array functions would take most of
    the time of compilation, and indices that may be negative a third of the time of the rest.
    """
    zero, one, low = np.uint64(0), np.uint64(1), np.uint64(LOW)
    width = np.uint64(masks.shape[1])
    for p in range(len(rows)):
        found = zero
        for u in range(rows.shape[1]):
            word, bit = np.uint64(1 + u) >> np.uint64(6), one << (np.uint64(1 + u) & np.uint64(63))
            first = one | bit if word == zero else one
            c = np.uint64(rows[p, u])
            for e in range(np.uint64(starts[u, c]), np.uint64(starts[u, c + one])):
                j = np.uint64(lists[u, e])
                before = bits[j, zero]
                active[found] = j
                found += np.uint64(before == zero)
                bits[j, zero] = before | first
                if word > zero:
                    bits[j, word] |= bit
        for v in range(len(best)):
            best[v] = low
        for a in range(found):
            j = active[a]
            head = bits[j, zero]
            bits[j, zero] = zero
            for e in range(np.uint64(owned[j]), np.uint64(owned[j + one])):
                v = np.uint64(entries[e, 0])
                count = _popcount(head & masks[v, zero])
                for w in range(one, width):
                    count += _popcount(bits[j, w] & masks[v, w])
                key = (count << np.uint64(32)) | (low - np.uint64(entries[e, 1]))
                best[v] = key if key > best[v] else best[v]
            for w in range(one, width):
                bits[j, w] = zero
        for v in range(len(best)):
            out[p, v] = low - (best[v] & low)


@njit(nogil=True)
def _count_pairs(left, right, out):
    for i in range(len(left)):
        for v in range(len(right)):
            c = left[i, v]
            for j in range(right.shape[1]):
                out[i, j] += np.int32(right[v, j] == c)
