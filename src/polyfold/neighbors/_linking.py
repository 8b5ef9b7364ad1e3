"""The compiled construction of a graph of links, one point after the other.

[Malkov2020, Algorithm 1] → `link`, [Malkov2020, Algorithm 4] → `_choose`. Deviations:

1. Instead of levels there are tops, some points that are compared with every new one to find where its walk begins.
2. As FAISS has it, a new point is linked with all that `_choose` keeps, a list that is full is chosen anew, and what
   was dropped is not taken up again.
"""

import numpy as np
from numba import njit

from polyfold.neighbors._walk import MARKS, ask_for_row, follow, nearest_top, squared

_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def link(rows, order, tops, top_rows, effort, links):  # pragma: no cover - compiled
    """Fill `links` (n, m), all -1, with the links of every row, by rows that come in `order`, tops first.

    `effort` is the number of points in view from which a new point's links are chosen.
    """
    m, width = links.shape[1], rows.shape[1]
    seen = np.zeros(len(rows), dtype=np.uint8)
    points, distances = np.empty(effort, dtype=np.int32), np.empty(effort, dtype=np.float32)
    is_done, fresh = np.empty(effort, dtype=np.bool_), np.empty(m, dtype=np.int32)
    chosen, q = np.empty(m, dtype=np.int32), np.empty(width, dtype=np.float32)
    room = _room(m, width)
    for i in range(1, len(order)):
        v, mark = order[i], np.uint8(i % MARKS + 1)
        if mark == 1:
            seen[:] = 0
        q[:] = rows[v]
        at = tops[nearest_top(q, top_rows, min(i, len(tops)))]
        size = follow(q, rows, links, at, seen, mark, points, distances, is_done, fresh)
        count = _choose(rows, points[:size], distances, chosen, room[0])
        links[v, :count] = chosen[:count]
        for j in range(count):
            _add(rows, links, chosen[j], v, room)


@njit(cache=True, nogil=True)
def _room(m, width):  # pragma: no cover - compiled
    """Room to choose a list of links in: rows, points, distances, the choice."""
    kept, own = np.empty((m, width), dtype=np.float32), np.empty(width, dtype=np.float32)
    return kept, own, np.empty(m + 1, dtype=np.int32), np.empty(m + 1, dtype=np.float32), np.empty(m, dtype=np.int32)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _choose(rows, points, distances, chosen, kept):  # pragma: no cover - compiled
    """Choose, of points by rising distance, those that are not nearer to one chosen before; return how many."""
    count = 0
    for j in range(len(points)):
        row, is_behind = rows[points[j]], False
        for s in range(count):
            if squared(kept[s], row) < distances[j]:  # [Malkov2020, Algorithm 4, line 11]
                is_behind = True
                break
        if is_behind:
            continue
        chosen[count] = points[j]
        count += 1
        if count == len(chosen):
            break
        kept[count - 1] = row
    return count


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add(rows, links, v, new, room):  # pragma: no cover - compiled
    """Add a link to the list of a point, chosen anew where it is full."""
    kept, own, points, distances, chosen = room
    m = links.shape[1]
    for j in range(m):
        if links[v, j] < 0:
            links[v, j] = new
            return
    for j in range(m):
        ask_for_row(rows, links[v, j])
    own[:] = rows[v]
    for j in range(m + 1):
        other = links[v, j] if j < m else new
        distance, p = squared(own, rows[other]), j
        while p > 0 and distances[p - 1] > distance:
            points[p], distances[p] = points[p - 1], distances[p - 1]
            p -= 1
        points[p], distances[p] = other, distance
    count = _choose(rows, points, distances, chosen, kept)
    links[v, :count] = chosen[:count]
    links[v, count:] = -1
