"""Codes of new points: what depends on the network alone is prepared once, whatever is asked afterwards.

A fit gathers the centres of every clustering and builds lists of codes, which for one new point costs a thousand times
more than comparing it with them, and for the blocks of a stream as much as the comparing, again and again. Here the
bottom layer compares a point with training rows where they lie, and the layers above read lists that are kept
(`SharedCodes`). Stacks are networks of their own, and each is asked alone. The codes are those of a fit.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polyfold._threads import threaded
from polyfold.bootstrap._bottom import Bottom, DenseBottom
from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._few import FEW_EXACT, nearest_of_all
from polyfold.bootstrap._listed import nearest_listed
from polyfold.bootstrap._matching import code_dtype
from polyfold.bootstrap._shared import Members, SharedCodes, prefers_shared

# Points up to which gathering centres would cost more than comparing one by one.
FEW = 64
# Points that a thread takes at a time.
BLOCK = 1024
# Stands for endlessly many points: what is prepared once costs none of them anything.
MANY = 2**40


class Prepared:
    """Layers made ready for new points, each when it is first needed.

    Parameters
    ----------
    bottom : Bottom
    sizes : list of int
    draws : list of list of Draw
    codes : list of (V, n) unsigned
    n_stacks : int
        As in `Network`.
    """

    def __init__(
        self, bottom: Bottom, sizes: list[int], draws: list[list[Draw]], codes: list[np.ndarray], n_stacks: int
    ) -> None:
        self.bottom, self.sizes, self.draws, self.codes, self.n_stacks = bottom, sizes, draws, codes, n_stacks
        self._members: Members | None = None
        self._layers: dict[int, list[SharedCodes]] = {}
        self._lock = threading.Lock()

    def assign_bottom(self, X: Any, neighbors: np.ndarray | None, n_jobs: int) -> np.ndarray | None:
        """Codes of rows in the bottom layer, (V, m); None where the search has no short way."""
        bottom, draws = self.bottom, self.draws[0]
        if not isinstance(bottom, DenseBottom) or bottom.metric != "euclidean" or any(len(d.shifted) for d in draws):
            return None
        if neighbors is None:
            return self._few_exactly(X) if len(X) <= FEW_EXACT else None
        members = self._bottom_members()

        def assign(part: slice) -> np.ndarray:
            return nearest_listed(bottom.X, X[part], neighbors[part], members, draws, bottom.n_candidates)

        out = _in_parts(assign, np.empty((len(draws), len(X)), dtype=np.int32), n_jobs)
        for v in np.flatnonzero((out < 0).any(axis=1)):
            missing = np.flatnonzero(out[v] < 0)
            out[v, missing] = bottom.exact(X[missing], draws[v])
        return out

    def assign_upper(self, below: np.ndarray, level: int, n_jobs: int) -> np.ndarray | None:
        """Codes, (V, m), in a layer above, of points given by their codes below; None where it is better done anew."""
        draws, size, n_codes = self.draws[level], self.sizes[level], self.sizes[level - 1]
        if any(len(d.shifted) for d in draws):
            return None
        V, m, n = len(draws) // self.n_stacks, below.shape[1], self.codes[0].shape[1]
        if m > FEW and not prefers_shared(MANY, n, V, size, n_codes):
            return None
        parts = [slice(stack * V, (stack + 1) * V) for stack in range(self.n_stacks)]
        out = np.empty(below.shape, dtype=code_dtype(size))
        for part, index in zip(parts, self._shared(level, parts), strict=True):
            _in_parts(lambda some, part=part, index=index: index.match(below[part, some]), out[part], n_jobs)
        return out

    def _few_exactly(self, X: np.ndarray) -> np.ndarray | None:
        codes = [nearest_of_all(self.bottom.X, row, self.draws[0]) for row in X]
        found = [c for c in codes if c is not None]
        return np.stack(found, axis=1) if len(found) == len(codes) else None

    def _bottom_members(self) -> Members:
        with self._lock:  # blocks of a stream come side by side
            if self._members is None:
                self._members = Members.of(self.draws[0], len(self.bottom.X))
            return self._members

    def _shared(self, level: int, parts: list[slice]) -> list[SharedCodes]:
        with self._lock:
            if level not in self._layers:
                self._layers[level] = [self._share(level, part) for part in parts]
            return self._layers[level]

    def _share(self, level: int, part: slice) -> SharedCodes:
        draws = [replace(d, chosen=d.chosen - np.int32(part.start)) for d in self.draws[level][part]]
        return SharedCodes.of(self.codes[level - 1][part], self.sizes[level - 1], draws)


def _in_parts(assign: Callable[[slice], np.ndarray], out: np.ndarray, n_jobs: int) -> np.ndarray:
    """Fill the columns of `out` (V, m) by threads."""
    parts = [slice(start, start + BLOCK) for start in range(0, out.shape[1], BLOCK)]
    for part, codes in zip(parts, threaded(assign, parts, n_jobs), strict=True):
        out[:, part] = codes
    return out
