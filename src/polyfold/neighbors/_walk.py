"""The compiled walk along a graph of links, judged by distances whose first columns tell most of them apart.

A point of the graph is looked at in two steps. Its squared distance in the first columns, times a factor, is seldom
above the whole one; only where it is among the best so far the other columns are read.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def _squared(a, b, first, last):  # pragma: no cover - compiled
    total = np.float32(0.0)
    for t in range(first, last):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _descend(q, rows, width, entry, hidden, places, upper):  # pragma: no cover - compiled
    """Go to the point nearest in the first columns, level by level, never to the `hidden` one."""
    best = entry
    distance = np.float32(np.inf) if entry == hidden else _squared(q, rows[entry], 0, width)
    for level in range(upper.shape[1] - 1, -1, -1):
        moved = True
        while moved:
            moved = False
            place = places[best]
            for j in range(upper.shape[2] if place >= 0 else 0):
                v = upper[place, level, j]
                if v < 0:
                    break
                if v == hidden:
                    continue
                other = _squared(q, rows[v], 0, width)
                if other < distance:
                    distance, best, moved = other, v, True
    return best


@njit(cache=True, nogil=True, fastmath=_FAST)
def walk(Q, rows, width, factor, links, places, upper, entry, begins, hidden, beam, out):  # pragma: no cover - compiled
    """Fill `out` (n, k) with the nearest points found of every query, nearest first, -1 where there are fewer.

    `begins` holds the point to set out from, or -1 for the way down from `entry`; `hidden` a point that is not to be
    found, nor passed unless one begins there, or -1. `beam` points are kept in view.
    """
    k, columns = out.shape[1], rows.shape[1]
    seen = np.zeros(len(rows), dtype=np.int32)
    points, distances = np.empty(beam + 1, dtype=np.int64), np.empty(beam + 1, dtype=np.float32)
    is_done = np.empty(beam + 1, dtype=np.bool_)
    fresh = np.empty(links.shape[1], dtype=np.int64)
    for i in range(len(Q)):
        q, stamp = Q[i], i + 1
        if hidden[i] >= 0:
            seen[hidden[i]] = stamp
        at = begins[i] if begins[i] >= 0 else _descend(q, rows, width, entry, hidden[i], places, upper)
        size, place = 0, 0
        if at != hidden[i]:
            seen[at] = stamp
            points[0], distances[0], is_done[0], size = at, _squared(q, rows[at], 0, columns), True, 1
        while True:
            count = 0
            for j in range(links.shape[1]):
                v = links[at, j]
                if v < 0:
                    break
                if seen[v] != stamp:
                    seen[v] = stamp
                    fresh[count] = v
                    count += 1
            for j in range(count):
                v = fresh[j]
                distance = _squared(q, rows[v], 0, width)
                if size == beam and distance * factor > distances[size - 1]:
                    continue
                distance += _squared(q, rows[v], width, columns)
                if size < beam:
                    size += 1
                elif distance >= distances[size - 1]:
                    continue
                p = size - 1
                while p > 0 and distances[p - 1] > distance:
                    points[p], distances[p], is_done[p] = points[p - 1], distances[p - 1], is_done[p - 1]
                    p -= 1
                points[p], distances[p], is_done[p] = v, distance, False
                place = min(place, p)
            while place < size and is_done[place]:
                place += 1
            if place == size:
                break
            at = points[place]
            is_done[place] = True
        for j in range(k):
            out[i, j] = points[j] if j < size else -1
