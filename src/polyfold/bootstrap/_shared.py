"""Nearest centres in the space of codes, for all clusterings of a layer at once.

A point shares codes with few training points when there are many codes. Lists of the training points that carry each
code give those points and, as bits, the clusterings in which they agree with it. Every clustering above counts the
bits it sees, only for those of its centres that agree somewhere, most agreements first; what agrees less often in all
clusterings than the best so far in some of them cannot win. The result is that of `match`, for every clustering.

Building the lists costs more than one point, so that a network keeps them for small batches; nothing else is specific
to a batch.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit, types
from numba.extending import intrinsic

from polyfold._running import threaded, track
from polyfold.bootstrap._checkpoint import Parts
from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._matching import code_dtype, prefers_lanes

# Points of a batch at a time.
BLOCK = 1024
# Low half of a key: a count above it, and the complement of a centre's index in it, so that the largest key is the
# largest count, ties going to the lowest index.
LOW = 0xFFFFFFFF


def prefers_shared(n_points: int, n_training: int, n_clusterings: int, n_centers: int, n_codes: int) -> bool:
    """Whether one pass over all clusterings is cheaper than one for each of them.

    The constants are nanoseconds per point and clustering; only their ratios matter.
    """
    lists = 2.5 * n_clusterings + 0.22 * n_centers
    shared = 300 + 1.25 * n_clusterings + 5 * n_training / n_codes + 4 * n_training / n_points
    return shared < lists and not prefers_lanes(n_points, n_centers, n_codes)


@dataclass(frozen=True)
class Members:
    """The clusterings in which every training point is a centre, and its index there.

    Attributes
    ----------
    starts : (n + 1,) int64
        Where the entries of every training point begin.
    clusterings, positions : (V·k,) unsigned
    """

    starts: np.ndarray
    clusterings: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, draws: list[Draw], n: int) -> "Members":
        """Collect the centres of all clusterings of a layer."""
        k = len(draws[0].rows)
        rows = np.concatenate([d.rows for d in draws])
        places = np.tile(np.arange(k, dtype=np.int32), len(draws))
        ends = np.arange(len(draws) + 1, dtype=np.int64) * k
        by_point = sp.csr_array((places, rows, ends), shape=(len(draws), n)).tocsc()
        small = np.uint16 if max(k, len(draws)) <= 2**16 else np.uint32
        return cls(by_point.indptr.astype(np.int64), by_point.indices.astype(small), by_point.data.astype(small))


@dataclass(frozen=True)
class SharedCodes:
    """Assignment of points to the centres of all clusterings of one upper layer.

    Attributes
    ----------
    members : Members
    starts : (V, k_below + 1) int32
        Where the list of every code of every clustering below begins.
    lists : (V, c) unsigned
        Training points that are centres of any clustering, by code.
    masks : (V, w) uint64
        Bits of the clusterings below that every clustering sees.
    """

    members: Members
    starts: np.ndarray
    lists: np.ndarray
    masks: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_codes: int, draws: list[Draw]) -> "SharedCodes":
        """Prepare a layer from the (V, n) codes of the training points below.

        Notes
        -----
        O(V n) time; 2 V n + 4 V (k + k_below) bytes, with four in place of the two above 65536 points.
        """
        n = codes.shape[1]
        members = Members.of(draws, n)
        centers = np.flatnonzero(np.diff(members.starts)).astype(np.uint16 if n <= 2**16 else np.uint32)
        lists = np.empty((len(codes), len(centers)), dtype=centers.dtype)
        starts = np.zeros((len(codes), n_codes + 1), dtype=np.int32)
        for u, row in enumerate(codes):
            carried = row[centers]
            lists[u] = centers[np.argsort(carried, kind="stable")]
            np.cumsum(np.bincount(carried, minlength=n_codes), out=starts[u, 1:])
        return cls(members, starts, lists, _masks(draws, len(codes)))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        members = self.members
        arrays = (members.starts, members.clusterings, members.positions, self.starts, self.lists, self.masks)
        return sum(array.nbytes for array in arrays)

    def match(self, codes: np.ndarray) -> np.ndarray:
        """Index of the centre with most agreements, in every clustering, of the (V, m) codes of points: (V, m)."""
        n, members = len(self.members.starts) - 1, self.members
        width = self.masks.shape[1]
        # Rows are points, so that the codes of a point lie side by side.
        points = np.ascontiguousarray(codes.T, dtype=np.uint16 if self.starts.shape[1] <= 2**16 + 1 else np.uint32)
        out = np.empty((len(points), len(self.masks)), dtype=members.positions.dtype)
        _match_shared(
            points,
            self.starts,
            self.lists,
            members.starts,
            members.clusterings,
            members.positions,
            self.masks,
            np.zeros((n, width + 1), dtype=np.uint64),
            np.empty((2, self.lists.shape[1]), dtype=np.int64),
            np.empty(len(codes) + 2, dtype=np.int64),
            np.empty(len(self.masks), dtype=np.int64),
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
    """Bits of the chosen clusterings: (V, ⌈n_below / 64⌉) uint64."""
    bits = np.zeros((len(draws), -(-n_below // 64) * 64), dtype=bool)
    for v, d in enumerate(draws):
        bits[v, d.chosen] = True
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


@intrinsic
def popcount(typingctx, word):
    """Count the set bits of a word."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@njit(cache=True, nogil=True)
def _match_shared(points, starts, lists, owned, clusterings, positions, masks, bits, active, heads, best, out):
    """Fill `out` (m, V); `bits` (n, 1 + w) hold a count and the bits of every training point, zero before and after.

    Plain loops only: slices and array functions would take most of the time of compilation.
    """
    n_below, width = points.shape[1], masks.shape[1]
    for p in range(len(points)):
        found = 0
        for u in range(n_below):
            c = np.int64(points[p, u])
            word = 1 + u // 64
            bit = np.uint64(1) << np.uint64(u % 64)
            for e in range(starts[u, c], starts[u, c + 1]):
                j = np.int64(lists[u, e])
                active[0, found] = j
                found += bits[j, 0] == np.uint64(0)
                bits[j, 0] += np.uint64(1)
                bits[j, word] |= bit
        # Sorted by counting, most agreements first.
        for t in range(n_below + 2):
            heads[t] = 0
        for a in range(found):
            heads[n_below + 1 - np.int64(bits[active[0, a], 0])] += 1
        for t in range(n_below + 1):
            heads[t + 1] += heads[t]
        for a in range(found):
            t = n_below - np.int64(bits[active[0, a], 0])
            active[1, heads[t]] = active[0, a]
            heads[t] += 1
        for v in range(len(best)):
            best[v] = LOW
        for a in range(found):
            j = active[1, a]
            if a % 32 == 31:
                lowest = best[0]
                for v in range(len(best)):
                    lowest = min(lowest, best[v])
                if np.int64(bits[j, 0]) < lowest >> 32:
                    break
            for e in range(owned[j], owned[j + 1]):
                v = np.int64(clusterings[e])
                count = np.int64(0)
                for w in range(width):
                    count += popcount(bits[j, 1 + w] & masks[v, w])  # pyright: ignore[reportCallIssue]  (a numba intrinsic)
                best[v] = max(best[v], (count << 32) | (LOW - np.int64(positions[e])))
        for v in range(len(best)):
            out[p, v] = LOW - (best[v] & LOW)
        for a in range(found):
            for w in range(width + 1):
                bits[active[0, a], w] = np.uint64(0)
