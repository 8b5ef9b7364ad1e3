"""Nearest centres among listed training rows, for all clusterings of the bottom layer at once.

The clusterings of a layer compare a point with the same few training rows, each on its own features. Here the squared
differences from those rows are formed once per point, and every clustering sums those it sees: no centre is copied, and
a batch costs per point what it costs in any other batch.
"""

import numpy as np
from numba import njit

from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._rows import REASSOCIATE, sum_kind
from polyfold.bootstrap._shared import Members


def nearest_listed(
    X: np.ndarray, points: np.ndarray, neighbors: np.ndarray, members: Members, draws: list[Draw], limit: int
) -> np.ndarray:
    """Nearest of the first `limit` listed rows that are centres, in every clustering: (V, m) int32, -1 for none.

    Parameters
    ----------
    X : (n, d)
        Training rows.
    points : (m, d)
    neighbors : (m, l) int32
        Training rows by rising distance, -1 for none.
    members : Members
    draws : list of Draw
    limit : int
    """
    length, d = neighbors.shape[1], X.shape[1]
    kind = sum_kind(np.empty((0, d), dtype=np.result_type(X, points)))
    masks = np.zeros((len(draws), d), dtype=kind.dtype)
    for mask, draw in zip(masks, draws, strict=True):
        mask[draw.chosen] = 1
    out = np.empty((len(points), len(draws)), dtype=np.int32)
    squares, heard = np.empty((length, d), dtype=kind.dtype), np.empty((len(draws), length, 2), dtype=np.int32)
    counts, entries = np.empty(len(draws), dtype=np.int64), (members.starts, members.entries)
    _nearest_listed(X, points, neighbors, *entries, masks, limit, kind, squares, heard, counts, out)
    return out.T


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _fill_squares(squares, a, b, kind):
    for f in range(len(squares)):
        difference = kind.dtype.type(kind.dtype.type(a[f]) - kind.dtype.type(b[f]))
        squares[f] = kind.dtype.type(difference * difference)


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _masked_sum(squares, mask, kind):
    total = kind.dtype.type(0)
    for f in range(len(squares)):
        total = kind.dtype.type(total + kind.dtype.type(squares[f] * mask[f]))
    return total


@njit(cache=True, nogil=True)
def _nearest_listed(X, points, neighbors, starts, entries, masks, limit, kind, squares, heard, counts, out):
    """Fill `out` (m, V); `squares` (l, d), `heard` (V, l, 2), `counts` (V,) are to work in.

    `heard` holds, for every clustering, the listed rows that are its centres, nearest first: number and index there.
    """
    for i in range(len(points)):
        for v in range(len(masks)):
            counts[v] = 0
        for e in range(neighbors.shape[1]):
            j = neighbors[i, e]
            if j < 0:
                break
            _fill_squares(squares[e], points[i], X[j], kind)
            for s in range(starts[j], starts[j + 1]):
                v = entries[s, 0]
                heard[v, counts[v], 0] = e
                heard[v, counts[v], 1] = entries[s, 1]
                counts[v] += 1
        for v in range(len(masks)):
            winner, best = -1, kind.dtype.type(0)
            for c in range(counts[v] if counts[v] < limit else limit):
                place = heard[v, c, 1]
                distance = _masked_sum(squares[heard[v, c, 0]], masks[v], kind)
                if winner < 0 or distance < best or (distance == best and place < winner):
                    best, winner = distance, place
            out[i, v] = winner
