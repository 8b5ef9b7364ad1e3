"""Search in modules: some of them give candidates, by a scan or a graph, and all of them rank the candidates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from polyfold._linalg import row_blocks
from polyfold._threads import in_blocks, njit
from polyfold._validation import check_count, check_indices
from polyfold.ensembles._recall_tuning import SearchBudget, probe_rows, tune
from polyfold.neighbors import Search, make_search

# Public names of engines, and the search that scans modules.
ENGINES = {"sklearn": "exact", "faiss": "flat", "hnsw": "flat"}
# Pairs of a query and a row whose distances one thread computes at a time.
_PAIRS = 32_768
# Modules to search: all, the first ones as one index, or a list of modules.
Modules = int | Sequence[int] | None
# Numbers of modules that are searched as one index.
Group = tuple[int, ...]
# For every group of modules: squared distances, rows, and squared distances in the ranking modules, (n, count) each.
Candidates = list[tuple[NDArray, NDArray, NDArray]]


class SearchResult(NamedTuple):
    """Hold neighbours, and the fraction of the rows that were searched.

    Attributes
    ----------
    distances : ndarray of shape (n, n_neighbors)
        Infinite if too few rows were searched.
    indices : ndarray of shape (n, n_neighbors)
        -1 if too few rows were searched.
    coverage : float
        Fraction of the rows that were searched before the deadline: 1.0 in memory, and without a deadline.
    """

    distances: NDArray
    indices: NDArray
    coverage: float


@dataclass(frozen=True)
class SearchPlan:
    """Groups of modules that give `count` candidates each, and the modules that rank them.

    Candidates come from a graph or a scan. The graph has all rows, or without `has_probes` all but the probes.
    """

    groups: list[Group]
    count: int
    ranking: NDArray
    is_graph: bool = False
    has_probes: bool = True


def make_search_plan(
    modules: Modules, k: int, expand: int | None, n_modules: int, budget: SearchBudget | None, *, is_training: bool
) -> SearchPlan:
    """Return what a search for k neighbours does; a `budget` replaces defaults."""
    own = int(is_training)  # a training row finds itself
    if isinstance(modules, Iterable):
        chosen = [check_count("modules", m, minimum=0, maximum=n_modules - 1) for m in modules]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"modules must name at least one module and none twice, got {list(modules)!r}.")
        return SearchPlan([(m,) for m in chosen], max(k, expand or k) + own, np.array(chosen))
    ranking = np.arange(n_modules)
    if modules is None and budget is None:
        return SearchPlan([(m,) for m in range(n_modules)], max(k, expand or k) + own, ranking)
    wanted = modules if modules is not None or budget is None else budget.modules
    g = check_count("modules", wanted, maximum=n_modules)
    expand = expand or (k if budget is None else budget.expand_for(k))
    is_graph = budget is not None and budget.is_graph
    return SearchPlan([tuple(range(g))], max(k, expand if is_graph else g * expand) + own, ranking, is_graph)


def make_probe_plan(g: int, count: int, n_modules: int, *, graph: bool) -> SearchPlan:
    """Return a search for probes in the first `g` modules, as `Tunable` describes."""
    return SearchPlan([tuple(range(g))], count, np.arange(n_modules), graph, has_probes=False)


class ModuleSearch:
    """Search among rows with modules (n, M, H) in memory.

    Parameters
    ----------
    modules : ndarray of shape (n, M, H)
    engine : {"sklearn", "faiss", "hnsw"}
    probes : ndarray of int, optional
        Rows that are added to graphs last, so that the recall of new rows can be estimated before.
    """

    def __init__(self, modules: NDArray, engine: str, probes: NDArray | None = None):
        self.modules = modules
        self.engine = engine
        self.probes = probe_rows(len(modules)) if probes is None else probes
        self.budget: SearchBudget | None = None
        self._graphs: dict[int, Any] = {}  # by the number of modules
        self._prepare()

    def _prepare(self) -> None:
        n = len(self.modules)
        # A graph needs a first row.
        last = self.probes if len(self.probes) < n else self.probes[1:]
        self._order = np.concatenate([np.delete(np.arange(n), last), last])
        self._n_first = n - len(last)
        self._scans: dict[Group, Search] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        # Scans are rebuilt from the modules when they are needed.
        return {name: getattr(self, name) for name in ("modules", "engine", "probes", "budget", "_graphs")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of rows, modules and dimensions of a module."""
        n, M, H = self.modules.shape
        return n, M, H

    def tune(self, k: int, recall: float) -> None:
        """Choose the cheapest budget for a wanted recall of k neighbours."""
        self.budget = tune(self, k, recall)
        self._scans = {}  # copies of modules that only the choice needed

    def rows(self, numbers: NDArray) -> NDArray:
        """Return the modules (s, M, H) of some rows."""
        return self.modules[numbers]

    def probe(self, Q: NDArray, g: int, count: int, *, graph: bool) -> tuple[NDArray, NDArray]:
        """Return squared distances over all modules and indices of candidates, as `Tunable` describes."""
        ((_, indices, totals),) = self.candidates(Q, make_probe_plan(g, count, self.shape[1], graph=graph))
        return totals, indices

    def candidates(self, Q: NDArray, plan: SearchPlan) -> Candidates:
        """Return the candidates of every group, with fewer columns if there are fewer rows."""
        out = []
        for group in plan.groups:
            indices = self._nearest(Q, group, plan)
            squared, totals = (self._distances(Q, indices, each) for each in (np.array(group), plan.ranking))
            out.append((squared, indices, totals))
        return out

    def _distances(self, Q: NDArray, indices: NDArray, modules: NDArray) -> NDArray:
        """Return squared distances of queries (n, M, H) from rows (n, count), summed over modules: (n, count)."""
        queries = np.repeat(np.arange(len(Q)), indices.shape[1])
        return paired_distances(Q, self.modules, modules, queries, indices.ravel()).reshape(indices.shape)

    def query(
        self, Q: NDArray, k: int, *, modules: Modules = None, expand: int | None = None, exclude: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """Return mean squared distances over the modules that rank, and indices: (n, k).

        `exclude` (n,) has a row for every query that is not its neighbour: the query itself.
        """
        plan = make_search_plan(modules, k, expand, self.shape[1], self.budget, is_training=exclude is not None)
        parts = []
        for block in row_blocks(len(Q), len(plan.groups) * (self.shape[2] + plan.count)):
            queries, excluded = Q[block], None if exclude is None else exclude[block]
            rows = np.hstack([self._nearest(queries, group, plan) for group in plan.groups])
            parts.append(rank_candidates(rows, self._distances(queries, rows, plan.ranking), k, excluded))
        totals, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        return totals / len(plan.ranking), indices

    def within(self, Q: NDArray, radius: float, exclude: NDArray | None) -> tuple[list[NDArray], list[NDArray]]:
        """Return distances and indices of all rows within a radius, in order of their indices: an array per query.

        scikit-learn finds them; distances are computed again from differences, as those of `query` are.
        """
        n, M, _ = self.shape
        rows = self.modules.reshape(n, -1).astype(np.float64, copy=False)
        # Squared distances from products are off by rounding of the squared norms.
        reach = radius * M**0.5 * (1 + 1e-6) + 1e-7 * float(np.linalg.norm(rows, axis=1).max())
        search = NearestNeighbors(radius=reach, algorithm="brute", n_jobs=1).fit(rows)
        distances, indices = [], []
        for i, candidates in enumerate(search.radius_neighbors(Q.reshape(len(Q), -1), return_distance=False)):
            others = np.sort(candidates if exclude is None else candidates[candidates != exclude[i]])
            squared = np.square(rows[others] - Q[i].ravel()).sum(axis=1) / M
            is_within = squared <= radius**2
            distances.append(np.sqrt(squared[is_within]))
            indices.append(others[is_within])
        return distances, indices

    def _nearest(self, Q: NDArray, group: Group, plan: SearchPlan) -> NDArray:
        """Return the indices of the nearest rows in a group of modules: (n, count) or all rows."""
        if not plan.is_graph:
            return self._scan(group).query(_columns(Q, group), min(plan.count, len(self.modules)))[1]
        index = self._graph(len(group), plan.has_probes)
        return self._order[index.query(_columns(Q, group), min(plan.count, index.n_rows))[1]]

    def _scan(self, group: Group) -> Search:
        if group not in self._scans:
            self._scans[group] = make_search(ENGINES[self.engine], _columns(self.modules, group))
        return self._scans[group]

    def _graph(self, g: int, has_probes: bool) -> Any:
        """Return the graph of the first `g` modules; the probes are added when they are first needed."""
        columns = _columns(self.modules, tuple(range(g)))
        with self._lock:  # threads of a Dask worker share it
            if g not in self._graphs:
                self._graphs[g] = make_search("candidates", columns[self._order[: self._n_first]])
            graph = self._graphs[g]
            if has_probes and graph.n_rows < len(self.modules):
                graph.add(columns[self._order[self._n_first :]])
        return graph


def _columns(modules: NDArray, group: Group) -> NDArray:
    """Return some modules of (n, M, H) side by side as one matrix, a view if they are adjacent."""
    if len(group) == 1:
        return modules[:, group[0]]
    first, last = group[0], group[-1] + 1
    part = modules[:, first:last] if group == tuple(range(first, last)) else modules[:, list(group)]
    return part.reshape(len(part), -1)


def rank_candidates(rows: NDArray, totals: NDArray, k: int, exclude: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return distances and rows of the k nearest of some candidates (n, c), given their distances: (n, k) each.

    They are infinite and -1 if there are fewer. `exclude` (n,) has a row for every query that is not its neighbour.
    """
    nearest, indices = np.full((len(rows), k), np.inf), np.full((len(rows), k), -1)
    order = np.lexsort((rows, totals), axis=1)
    rows, totals = np.take_along_axis(rows, order, axis=1), np.take_along_axis(totals, order, axis=1)
    dropped = np.zeros(rows.shape, dtype=bool) if exclude is None else rows == exclude[:, None]
    dropped[:, 1:] |= rows[:, 1:] == rows[:, :-1]  # found by several modules
    totals[dropped], rows[dropped] = np.inf, -1
    first = np.argsort(totals, axis=1, kind="stable")[:, :k]
    nearest[:, : first.shape[1]] = np.take_along_axis(totals, first, axis=1)
    indices[:, : first.shape[1]] = np.take_along_axis(rows, first, axis=1)
    return nearest, indices


def paired_distances(Q: NDArray, Z: NDArray, modules: NDArray, queries: NDArray, rows: NDArray) -> NDArray:
    """Return squared distances between queries and rows, summed over the given modules, without copying rows.

    Parameters
    ----------
    Q : ndarray of shape (n, M, H)
    Z : ndarray of shape (N, M, H)
    modules : ndarray of int of shape (r,)
    queries, rows : ndarray of int of shape (p,)

    Returns
    -------
    squared : ndarray of shape (p,)
    """
    if Q.shape[1:] != Z.shape[1:]:
        raise ValueError(f"queries must have modules of shape {Z.shape[1:]}, got {Q.shape[1:]}; the model is damaged.")
    for numbers, count in ((modules, Z.shape[1]), (queries, len(Q)), (rows, len(Z))):
        check_indices(numbers, count, minimum=-count)
    Q, Z, out = np.ascontiguousarray(Q), np.ascontiguousarray(Z), np.empty(len(rows))
    in_blocks(lambda part: _pair_up(Q, Z, modules, queries[part], rows[part], out[part]), len(rows), _PAIRS)
    return out


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _pair_up(Q, Z, modules, queries, rows, out):  # pragma: no cover - compiled
    """Sum squared differences in double precision, because squares of small numbers underflow."""
    for pair in range(len(out)):
        total = 0.0
        for m in modules:
            q, z = Q[queries[pair], m], Z[rows[pair], m]
            for t in range(len(q)):
                difference = np.float64(q[t]) - np.float64(z[t])
                total += difference * difference
        out[pair] = total
