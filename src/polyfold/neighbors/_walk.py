"""The compiled walk along a graph of links: what is on the way is read ahead.

Most of a step is waiting for rows that lie anywhere in memory; all that a step will look at is asked for first, and
looked at afterwards.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_FAST = {"reassoc", "contract", "nsz"}
# Bytes that memory gives at a time.
_LINE = 64
# Marks of points that were passed, one number for every walk: bytes, of which more stay near than of wider numbers.
MARKS = 255


@intrinsic
def _ask_for(typing_context, address):  # pragma: no cover - compiled
    """Have a line of memory brought, without waiting for it."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(prefetch, [pointer, number(0), number(3), number(1)])  # to be read, soon, as data
        return context.get_dummy_value()

    return types.void(types.intp), generate


@njit(cache=True, nogil=True, inline="always")
def ask_for_row(rows, v):  # pragma: no cover - compiled
    """Have a row of a matrix brought."""
    start = np.intp(rows.ctypes.data) + v * rows.strides[0]
    for offset in range(0, rows.strides[0], _LINE):
        _ask_for(start + offset)  # pyright: ignore[reportCallIssue]


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def squared(q, row):  # pragma: no cover - compiled
    """Squared distance of a row in single precision from one in that or in bytes."""
    total = np.float32(0.0)
    for t in range(len(q)):
        difference = q[t] - np.float32(row[t])
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def nearest_top(q, top_rows, count):  # pragma: no cover - compiled
    """Return which of the first tops is nearest."""
    best, least = 0, np.float32(np.inf)
    for j in range(count):
        distance = squared(q, top_rows[j])
        if distance < least:
            best, least = j, distance
    return best


@njit(cache=True, nogil=True, fastmath=_FAST)
def follow(q, rows, links, at, seen, mark, points, distances, is_done, fresh):  # pragma: no cover - compiled
    """Walk from a point to the nearest ones of `q`; keep as many in view as there is room in `points`.

    Points whose `seen` is `mark` are not passed: the one to begin with is found only if it is not among them. Returns
    how many were found, nearest first.
    """
    beam, size, place = len(points), 0, 0
    if seen[at] != mark:
        seen[at] = mark
        points[0], distances[0], is_done[0], size = at, squared(q, rows[at]), True, 1
    while True:
        count = 0
        for j in range(links.shape[1]):
            v = links[at, j]
            if v < 0:
                break
            if seen[v] != mark:
                seen[v] = mark
                fresh[count] = v
                count += 1
                ask_for_row(rows, v)
        for j in range(count):
            v = fresh[j]
            distance = squared(q, rows[v])
            if size < beam:
                size += 1
            elif distance >= distances[size - 1]:
                continue
            ask_for_row(links, v)
            p = size - 1
            while p > 0 and distances[p - 1] > distance:
                points[p], distances[p], is_done[p] = points[p - 1], distances[p - 1], is_done[p - 1]
                p -= 1
            points[p], distances[p], is_done[p] = v, distance, False
            place = min(place, p)
        while place < size and is_done[place]:
            place += 1
        if place == size:
            return size
        at = points[place]
        is_done[place] = True


@njit(cache=True, nogil=True)
def walk(Q, rows, links, tops, top_rows, begins, hidden, out):  # pragma: no cover - compiled
    """Fill `out` (n, beam) with the nearest points found of every query, nearest first, -1 where there are fewer.

    `begins` holds the point to set out from, or -1 for the nearest top; `hidden` a point that is not to be found, nor
    passed unless one begins there, or -1.
    """
    beam = out.shape[1]
    seen = np.zeros(len(rows), dtype=np.uint8)
    points, distances = np.empty(beam, dtype=np.int32), np.empty(beam, dtype=np.float32)
    is_done, fresh = np.empty(beam, dtype=np.bool_), np.empty(links.shape[1], dtype=np.int32)
    for i in range(len(Q)):
        mark = np.uint8(i % MARKS + 1)
        if mark == 1:
            seen[:] = 0
        if hidden[i] >= 0:
            seen[hidden[i]] = mark
        at = begins[i] if begins[i] >= 0 else tops[nearest_top(Q[i], top_rows, len(tops))]
        size = follow(Q[i], rows, links, at, seen, mark, points, distances, is_done, fresh)
        out[i, :size] = points[:size]
        out[i, size:] = -1
