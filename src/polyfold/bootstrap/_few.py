"""Codes of a few points: what a clustering would prepare for itself is prepared once, for all of them.

Assigning a batch gathers the centres of every clustering, which for one point costs a thousand times more than
comparing it with them. Here the bottom layer compares a point with training rows where they lie, and the layers above
read lists that are kept (`SharedCodes`). The codes are those of the batch.
"""

from typing import Any

import numpy as np
from numba import njit

from polyfold.bootstrap._bottom import Bottom, DenseBottom
from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._rows import nearest_directly, squared_distance, sum_kind, take
from polyfold.bootstrap._shared import Members, SharedCodes

# Points up to which gathering centres would cost more than comparing one by one.
FEW = 64
FEW_EXACT = 8
# Training rows whose squared differences from a point are held at a time.
BLOCK = 1024


class Prepared:
    """Layers made ready for few points, each when it is first needed.

    Parameters
    ----------
    bottom : Bottom
    sizes : list of int
    draws : list of list of Draw
    codes : list of (V, n) unsigned
        As in `Network`.
    """

    def __init__(self, bottom: Bottom, sizes: list[int], draws: list[list[Draw]], codes: list[np.ndarray]) -> None:
        self.bottom, self.sizes, self.draws, self.codes = bottom, sizes, draws, codes
        self._members: Members | None = None
        self._layers: dict[int, SharedCodes] = {}

    def suits(self, X: Any, level: int) -> bool:
        """Whether the rows of `X` are few enough, and the layer's centres are training points as they are."""
        return X.shape[0] <= FEW and not any(len(d.shifted) for d in self.draws[level])

    def assign_bottom(self, X: Any, neighbors: np.ndarray | None) -> np.ndarray | None:
        """Codes of rows in the bottom layer, (V, m); None where the search has no short way."""
        bottom = self.bottom
        if not isinstance(bottom, DenseBottom) or bottom.metric != "euclidean":
            return None
        if neighbors is None:
            if len(X) > FEW_EXACT:
                return None
            codes = [_nearest_of_all(bottom.X, row, self.draws[0]) for row in X]
            found = [c for c in codes if c is not None]
            return np.stack(found, axis=1) if len(found) == len(codes) else None
        out = self._walk(X, neighbors)
        for v in np.flatnonzero((out < 0).any(axis=1)):
            missing = np.flatnonzero(out[v] < 0)
            out[v, missing] = bottom.exact(X[missing], self.draws[0][v])
        return out

    def assign_upper(self, below: np.ndarray, level: int) -> np.ndarray:
        """Codes, (V, m), in a layer above, of points given by their codes below."""
        if level not in self._layers:
            self._layers[level] = SharedCodes.of(self.codes[level - 1], self.sizes[level - 1], self.draws[level])
        return self._layers[level].match(below)

    def _walk(self, X: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
        bottom, draws = self.bottom, self.draws[0]
        if self._members is None:
            self._members = Members.of(draws, len(bottom.X))
        members, chosen = self._members, np.stack([d.chosen for d in draws])
        rows = np.empty((2, chosen.shape[1]), dtype=np.result_type(X, bottom.X))
        table = np.empty((len(draws), neighbors.shape[1]), dtype=np.int32)
        out = np.empty((len(draws), len(X)), dtype=np.int32)
        _walk_lists(
            bottom.X,
            X,
            neighbors,
            members.starts,
            members.clusterings,
            members.positions,
            chosen,
            bottom.n_candidates,
            sum_kind(rows),
            table,
            rows,
            out,
        )
        return out


def _nearest_of_all(X: np.ndarray, point: np.ndarray, draws: list[Draw]) -> np.ndarray | None:
    """Nearest centres of one point in every clustering, exactly: (V,) int32; None where numbers leave their range.

    One product of the chosen features, as zeros and ones, with the squared differences of all training rows gives all
    distances in single precision. Sums of positive numbers have a small relative error, so only the centres within it
    of the smallest are compared again.
    """
    n, d = X.shape
    chosen = np.zeros((len(draws), d), dtype=np.float32)
    for v, one in enumerate(draws):
        chosen[v, one.chosen] = 1.0
    # Squared differences of bytes are exact in single precision; others are divided by the largest, to stay in range.
    exact = X.dtype == point.dtype == np.uint8
    x = point.astype(np.float32 if exact else np.float64)
    scale = 1.0 if exact else _largest_difference(X, x) or 1.0
    if not np.isfinite(scale):
        return None
    distances = np.empty((len(draws), n), dtype=np.float32)
    for start in range(0, n, BLOCK):
        difference = X[start : start + BLOCK] - x
        squares = np.square(difference if exact else difference / scale).astype(np.float32, copy=False)
        distances[:, start : start + BLOCK] = chosen @ squares.T
    eps, tiny = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
    out = np.empty(len(draws), dtype=np.int32)
    for v, one in enumerate(draws):
        near = distances[v, one.rows]
        limit = float(near.min()) * (1 + 4 * (d + 4) * eps) + 4 * d * tiny
        candidates = np.flatnonzero(near <= limit)
        if len(candidates) > 1:
            dtype = np.result_type(X, point)
            centers = take(X, one.rows[candidates], one.chosen).astype(dtype, copy=False)
            mine = point[one.chosen][None].astype(dtype, copy=False)
            candidates = candidates[nearest_directly(mine, centers)]
        out[v] = candidates[0]
    return out


def _largest_difference(X: np.ndarray, x: np.ndarray) -> float:
    return max(float(np.abs(X[s : s + BLOCK] - x).max(initial=0.0)) for s in range(0, len(X), BLOCK))


@njit(cache=True, nogil=True)
def _walk_lists(X, points, neighbors, starts, clusterings, positions, chosen, limit, kind, table, rows, out):
    """Nearest of the first `limit` listed rows that are centres, in every clustering; -1 where none is one.

    Shapes: neighbors (m, l) by rising distance, -1 for none; chosen (V, u); table (V, l) and rows (2, u) to work in;
    out (V, m).
    """
    length = neighbors.shape[1]
    for i in range(len(points)):
        for v in range(len(chosen)):
            for e in range(length):
                table[v, e] = -1
        for e in range(length):
            j = neighbors[i, e]
            if j < 0:
                break
            for s in range(starts[j], starts[j + 1]):
                table[clusterings[s], e] = positions[s]
        for v in range(len(chosen)):
            for f in range(chosen.shape[1]):
                rows[0, f] = points[i, chosen[v, f]]
            found, winner = 0, -1
            best = kind.dtype.type(0)
            for e in range(length):
                place = table[v, e]
                if place < 0:
                    continue
                for f in range(chosen.shape[1]):
                    rows[1, f] = X[neighbors[i, e], chosen[v, f]]
                distance = squared_distance(rows[0], rows[1], kind)
                if winner < 0 or distance < best or (distance == best and place < winner):
                    best, winner = distance, place
                found += 1
                if found == limit:
                    break
            out[v, i] = winner
