"""Search among modules: some are scanned, or a graph on them is walked; all of them rank what was found."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import row_blocks
from polyfold._validation import check_count
from polyfold.ensembles._effort import (
    AROUND,
    Effort,
    Sample,
    detail,
    graph_modules,
    link_effort,
    scan_effort,
    walk_effort,
)
from polyfold.ensembles._rerank import paired, rerank, within
from polyfold.neighbors import Links, Search, make_search, nearest_rows

# Names of the public parameter, and what scans modules then.
ENGINES = {"sklearn": "exact", "faiss": "flat", "hnsw": "flat"}
# Fewer points than these are scanned as quickly as walked to, and exactly.
FEW = 1000
# Candidates beyond those asked for: a point itself, and what single precision may have put in another order.
_SPARE = 5
# Modules to search: all, the first so many as one, or those that are named.
Modules = int | Sequence[int] | None


class ModuleSearch:
    """The modules (n, M, H) of points, and ways to search them.

    Parameters
    ----------
    modules : ndarray of shape (n, M, H)
    engine : {"sklearn", "faiss", "hnsw"}
    """

    def __init__(self, modules: NDArray, engine: str):
        self.modules = modules
        self.engine = engine
        self.effort: Effort | None = None
        self.n_tuned = 0
        self._linking: dict[str, Any] = {}  # how graphs are built
        self._is_cut = False  # a graph that does not lead everywhere
        self._scans: dict[tuple[int, ...], Search] = {}
        self._graphs: dict[int, Links] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Scans are made again from the modules when they are asked for.
        return {**vars(self), "_scans": {}}

    def tune(self, k: int, recall: float) -> Effort:
        """Choose the least effort for a wanted recall of k neighbours."""
        n, M, _ = self.modules.shape
        k = min(k, n - 1)
        if k == 0 or (self.engine == "hnsw" and not self._is_walked()):
            self.effort, self.n_tuned = Effort(M, 1, 1.0, 0.0), 1
            return self.effort
        effort = self._tune_walk(k, recall) if self.engine == "hnsw" else None
        effort = effort or scan_effort(Sample.of(self.modules, k, self._scan_sample), recall, self._scan_sample)
        # What only the choice has needed.
        self._scans = {}
        self.effort, self.n_tuned = effort, k
        return effort

    def _tune_walk(self, k: int, recall: float) -> Effort | None:
        sample = Sample.of(self.modules, k, self._nearest, around=AROUND)
        g, self._linking = graph_modules(sample, recall), {"detail": detail(sample), "effort": link_effort(recall)}
        effort = walk_effort(sample, g, recall, lambda points, beam: self._walk(points, g, beam))
        self._is_cut = effort is None
        return effort

    def query(
        self, Q: NDArray, k: int, *, modules: Modules = None, expand: int | None = None, own: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """Return mean squared distances over the modules that rank, and indices: (n, k); never a row's `own` one."""
        scans, ranking = self.plan(modules)
        width = Q.shape[1] * (Q.shape[2] + (expand or k))
        parts = [
            self._query_block(Q[rows], k, scans, ranking, expand, None if own is None else own[rows])
            for rows in row_blocks(len(Q), width)
        ]
        distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        return distances / len(ranking), indices

    def ranking(self, modules: Modules) -> NDArray:
        """Return the modules that rank."""
        return self.plan(modules)[1]

    def candidates(self, group: tuple[int, ...], Q: NDArray, count: int) -> tuple[NDArray, NDArray]:
        """Return squared distances in some modules scanned as one, and indices: (n, count), or all where fewer."""
        found = self._scan(group, Q, count)
        queries = np.repeat(np.arange(len(Q)), found.shape[1])
        return paired(Q, self.modules, np.array(group), queries, found.ravel()).reshape(found.shape), found

    def within(self, Q: NDArray, radius: float, own: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
        """Return counts, distances and indices of all rows within a radius."""
        return within(Q, self.modules, radius, own)

    def _query_block(
        self, Q: NDArray, k: int, scans: Any, ranking: NDArray, expand: int | None, own: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        spare = 0 if own is None else 1
        if not isinstance(scans, int):
            found = np.hstack([self._scan(group, Q, spare + max(k, expand or k)) for group in scans])
        elif self._is_walked():
            found = self._walk_queries(Q, k, scans, self._expand(k, expand), own)
        else:
            found = self._scan(tuple(range(scans)), Q, spare + max(k, scans * self._expand(k, expand)))
        distances, indices = rerank(Q, self.modules, ranking, found, k, own)
        # Copies can cut a graph: what is not answered is scanned.
        left = np.flatnonzero(indices[:, -1] < 0)
        if len(left):
            found = self._scan(tuple(ranking.tolist()), Q[left], k + spare)
            hidden = None if own is None else own[left]
            distances[left], indices[left] = rerank(Q[left], self.modules, ranking, found, k, hidden)
        return distances, indices

    def plan(self, modules: Modules) -> tuple[Any, NDArray]:
        """Return the number of modules searched as one, or groups to scan, and the modules that rank."""
        return plan(modules, self.modules.shape[1], None if self.effort is None else self.effort.modules)

    def _is_walked(self) -> bool:
        return self.engine == "hnsw" and len(self.modules) >= FEW and not self._is_cut

    def _expand(self, k: int, expand: int | None) -> int:
        """Return candidates per module, or points in view of a walk: as given, as chosen for k, or k."""
        if expand is not None:
            return expand
        return k if self.effort is None else -(-self.effort.expand * k // self.n_tuned)

    def _scan(self, group: tuple[int, ...], Q: NDArray, count: int) -> NDArray:
        if group not in self._scans:
            self._scans[group] = make_search(ENGINES[self.engine], _columns(self.modules, group))
        return self._scans[group].query(_columns(Q, group), min(count, len(self.modules)))[1]

    def _scan_sample(self, points: NDArray, g: int, count: int) -> NDArray:
        """Candidates of training points, without each itself: (s, count)."""
        found = self._scan(tuple(range(g)), self.modules[points], count + 1)
        own = found == points[:, None]
        own[~own.any(axis=1), -1] = True
        return found[~(own & (np.cumsum(own, axis=1) == 1))].reshape(len(points), -1)

    def _nearest(self, points: NDArray, g: int, count: int) -> NDArray:
        """Return the same, and some more, by one pass over the modules that needs no copy of them."""
        first = self._first(self.modules, g)
        found = nearest_rows(first[points], first, min(len(first), count + _SPARE))
        return found if found.min() >= 0 else self._scan_sample(points, g, count)

    def _walk_queries(self, Q: NDArray, k: int, g: int, beam: int, own: NDArray | None) -> NDArray:
        return self._graph(g).query(self._first(Q, g), max(k, beam), begins=own, hidden=own)

    def _walk(self, points: NDArray, g: int, beam: int) -> NDArray:
        """Walk to training points as if they were new."""
        return self._graph(g).query(self._first(self.modules[points], g), beam, hidden=points)

    def _graph(self, g: int) -> Links:
        if g not in self._graphs:
            self._graphs[g] = Links(self._first(self.modules, g), **self._linking)
        return self._graphs[g]

    @staticmethod
    def _first(modules: NDArray, g: int) -> NDArray:
        """Return the first of modules (n, M, H) side by side: (n, g H), a view where they are single or double."""
        first = modules.reshape(len(modules), -1)[:, : g * modules.shape[2]]
        return first if first.dtype in (np.float32, np.float64) else first.astype(np.float64)


def plan(modules: Modules, M: int, tuned: int | None) -> tuple[Any, NDArray]:
    """Return the number of modules searched as one, or groups to scan, and the modules that rank; `tuned` is None's."""
    if modules is None:
        return [(m,) for m in range(M)] if tuned is None else tuned, np.arange(M)
    if not isinstance(modules, Iterable):
        return check_count("modules", modules, maximum=M), np.arange(M)
    chosen = [check_count("modules", m, minimum=0, maximum=M - 1) for m in modules]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"modules must name at least one module and none twice, got {list(modules)!r}.")
    return [(m,) for m in chosen], np.array(chosen)


def _columns(modules: NDArray, group: tuple[int, ...]) -> NDArray:
    """Modules of (n, M, H) as one matrix: a view for neighbouring ones."""
    if len(group) == 1:
        return modules[:, group[0]]
    first, last = group[0], group[-1] + 1
    part = modules[:, first:last] if group == tuple(range(first, last)) else modules[:, list(group)]
    return part.reshape(len(part), -1)
