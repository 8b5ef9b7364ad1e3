"""Nearest centres in the space of codes, for all clusterings of a layer at once.

A point shares codes with few training points when there are many codes. Lists of the training points that carry each
code give those points and, as bits, the clusterings in which they agree with it. Every clustering above counts the
bits it sees, only for those of its centres that agree somewhere. The result is that of `match`, for every clustering.

Building the lists costs more than one point, so that a network keeps them for small batches; nothing else is specific
to a batch.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit, types
from numba.extending import intrinsic

from polyfold._progress import track
from polyfold._threads import threaded
from polyfold.bootstrap._checkpoint import Parts
from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._matching import code_dtype, is_small, prefers_lanes

# Points of a batch at a time.
BLOCK = 1024
# Low half of a key: a count above it, and the complement of a centre's index in it, so that the largest key is the
# largest count, ties going to the lowest index.
LOW = 0xFFFFFFFF


def prefers_shared(n_points: int, n_training: int, n_clusterings: int, n_centers: int, n_codes: int) -> bool:
    """Whether one pass over all clusterings is cheaper than one for each of them.

    The constants are nanoseconds per point and clustering, measured with AVX2; only their ratios matter.
    """
    lists = 40 + 2.0 * n_clusterings + 0.17 * n_centers
    listed = min(n_training, n_clusterings * n_centers)
    shared = 220 + 3 * listed / n_codes + 4 * n_training / n_points
    small = is_small(n_points, n_clusterings // 2)
    return shared < lists and not small and not prefers_lanes(n_points, n_centers, n_codes)


@dataclass(frozen=True)
class Members:
    """The clusterings in which every training point is a centre, and its index there.

    Attributes
    ----------
    starts : (n + 1,) int64
        Where the entries of every training point begin.
    entries : (V·k, 2) unsigned
        Clustering and index, side by side in memory.
    """

    starts: np.ndarray
    entries: np.ndarray

    @classmethod
    def of(cls, draws: list[Draw], n: int) -> "Members":
        """Collect the centres of all clusterings of a layer."""
        k = len(draws[0].rows)
        rows = np.concatenate([d.rows for d in draws])
        places = np.tile(np.arange(k, dtype=np.int32), len(draws))
        ends = np.arange(len(draws) + 1, dtype=np.int64) * k
        by_point = sp.csr_array((places, rows, ends), shape=(len(draws), n)).tocsc()
        entries = np.empty((len(rows), 2), dtype=np.uint16 if max(k, len(draws)) <= 2**16 else np.uint32)
        entries[:, 0], entries[:, 1] = by_point.indices, by_point.data
        return cls(by_point.indptr.astype(np.int64), entries)


@dataclass(frozen=True)
class SharedCodes:
    """Assignment of points to the centres of all clusterings of one upper layer.

    Only training points that are centres count here, and are numbered among themselves: what is kept of them while a
    point is compared is small enough for the second-level cache.

    Attributes
    ----------
    owned : (c + 1,) int64
        Where the entries of every centre begin.
    entries : (V·k, 2) unsigned
        Clusterings that it belongs to, and its index there, as in `Members`.
    starts : (V, k_below + 1) int32
        Where the list of every code of every clustering below begins.
    lists : (V, c) unsigned
        Centres by code.
    masks : (V, w) uint64
        Bits of the clusterings below that every clustering sees; the first bit of all stands for none.
    """

    owned: np.ndarray
    entries: np.ndarray
    starts: np.ndarray
    lists: np.ndarray
    masks: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_codes: int, draws: list[Draw]) -> "SharedCodes":
        """Prepare a layer from the (V, n) codes of the training points below.

        Notes
        -----
        O(V n) time; 2 V c + 4 V (k + k_below) bytes for c centres, with four in place of the two above 65536 of them.
        """
        members = Members.of(draws, codes.shape[1])
        centers = np.flatnonzero(np.diff(members.starts))
        lists = np.empty((len(codes), len(centers)), dtype=np.uint16 if len(centers) <= 2**16 else np.uint32)
        starts = np.zeros((len(codes), n_codes + 1), dtype=np.int32)
        for u, row in enumerate(codes):
            carried = row[centers]
            lists[u] = np.argsort(carried, kind="stable")
            np.cumsum(np.bincount(carried, minlength=n_codes), out=starts[u, 1:])
        owned = np.append(members.starts[centers], len(members.entries))
        return cls(owned, members.entries, starts, lists, _masks(draws, len(codes)))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in (self.owned, self.entries, self.starts, self.lists, self.masks))

    def match(self, codes: np.ndarray) -> np.ndarray:
        """Index of the centre with most agreements, in every clustering, of the (V, m) codes of points: (V, m)."""
        c = self.lists.shape[1]
        # Rows are points, so that the codes of a point lie side by side.
        points = np.ascontiguousarray(codes.T, dtype=np.uint16 if self.starts.shape[1] <= 2**16 + 1 else np.uint32)
        out = np.empty((len(points), len(self.masks)), dtype=self.entries.dtype)
        _match_shared(
            points,
            self.starts,
            self.lists,
            self.owned,
            self.entries,
            self.masks,
            np.zeros((c, self.masks.shape[1]), dtype=np.uint64),
            np.empty(c + 1, dtype=np.uint64),
            np.empty(len(self.masks), dtype=np.uint64),
            out,
        )
        return out.T


def match_blocks(
    index: SharedCodes,
    codes: np.ndarray,
    n_centers: int,
    n_jobs: int,
    what: str | None,
    parts: Parts | None = None,
) -> np.ndarray:
    """Match a batch of (V, m) codes by threads: (V, m), those that `parts` holds from an earlier run.

    `what` names the blocks in the progress.
    """
    out = np.empty((len(index.masks), codes.shape[1]), dtype=code_dtype(n_centers))
    every = range(0, codes.shape[1], BLOCK)
    known = 0 if parts is None else -(-parts.fill(out.T) // BLOCK)
    starts = every[known:]
    results = threaded(lambda s: index.match(codes[:, s : s + BLOCK]), starts, n_jobs)
    if what is not None:
        results = track(results, what, total=len(every), known=known)
    for start, result in zip(starts, results, strict=True):
        out[:, start : start + BLOCK] = result
        if parts is not None:
            parts.keep(out.T, min(start + BLOCK, codes.shape[1]))
    return out


def _masks(draws: list[Draw], n_below: int) -> np.ndarray:
    """Bits of the chosen clusterings, from the second on: (V, w) uint64."""
    bits = np.zeros((len(draws), -(-(1 + n_below) // 64) * 64), dtype=bool)
    for v, d in enumerate(draws):
        bits[v, 1 + d.chosen] = True
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


@intrinsic
def popcount(typingctx, word):
    """Count the set bits of a word."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@njit(cache=True, nogil=True)
def _match_shared(points, starts, lists, owned, entries, masks, bits, active, best, out):
    """Fill `out` (m, V); `bits` (c, w), zero before and after, say where a point and a centre agree.

    The first bit is set with any other. Plain loops on unsigned numbers: slices and array functions would take most of
    the time of compilation, and indices that may be negative a third of the time of the rest.
    """
    zero, one, low = np.uint64(0), np.uint64(1), np.uint64(LOW)
    width = np.uint64(masks.shape[1])
    for p in range(len(points)):
        found = zero
        for u in range(points.shape[1]):
            word, bit = np.uint64(1 + u) >> np.uint64(6), one << (np.uint64(1 + u) & np.uint64(63))
            first = one | bit if word == zero else one
            c = np.uint64(points[p, u])
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
                count = np.uint64(popcount(head & masks[v, zero]))  # pyright: ignore[reportCallIssue]  (an intrinsic)
                for w in range(one, width):
                    count += np.uint64(popcount(bits[j, w] & masks[v, w]))  # pyright: ignore[reportCallIssue]
                key = (count << np.uint64(32)) | (low - np.uint64(entries[e, 1]))
                best[v] = key if key > best[v] else best[v]
            for w in range(one, width):
                bits[j, w] = zero
        for v in range(len(best)):
            out[p, v] = low - (best[v] & low)
