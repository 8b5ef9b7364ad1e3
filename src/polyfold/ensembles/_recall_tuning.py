"""Select the modules and candidates that reach a wanted recall, and estimate the recall of the selection.

A random sample of training rows, the probes, are searched for. One half of them selects the budget, the other half
estimates its recall, so that the estimate is not biased by the selection.

A graph finds rows that are part of it more easily than new rows. So the probes are held out of the graph until the
recall of new rows is estimated, and other rows give the recall of training rows. The estimate is the mean of both, and
its error includes half their difference.
"""

import warnings
from bisect import bisect_left
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import sample_rows
from polyfold._policy import CANDIDATES_PER_NEIGHBOR, EXACT_PAIRS
from polyfold._validation import outside
from polyfold.exceptions import GraphWarning
from polyfold.neighbors import RECALL_ROWS, without_self

# Distances in double precision that differ by less than this fraction are ties.
_TIE = 1e-9


@dataclass(frozen=True)
class SearchBudget:
    """Modules and candidates of a search for `n_neighbors`, and its estimated recall with the standard error.

    `expand` counts candidates per module for scans, and all candidates for graphs.
    """

    modules: int
    expand: int
    n_neighbors: int
    is_graph: bool
    recall: float
    error: float

    def expand_for(self, k: int) -> int:
        """Return `expand` for another number of neighbours, in proportion."""
        return -(-self.expand * k // self.n_neighbors)


class Tunable(Protocol):
    """Search in rows with modules, wherever they are."""

    engine: str
    probes: NDArray
    budget: SearchBudget | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of rows, modules and dimensions of a module."""
        ...

    def rows(self, numbers: NDArray) -> NDArray:
        """Return the modules (s, M, H) of some rows."""
        ...

    def probe(self, Q: NDArray, g: int, count: int, *, graph: bool) -> tuple[NDArray, NDArray]:
        """Return squared distances over all modules, and indices, of candidates from the first `g` modules: (s, count).

        Candidates are sorted by their distance in these modules. Graphs do not contain the probes.
        """
        ...

    def query(
        self, Q: NDArray, k: int, *, modules: int | None, expand: int | None, exclude: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Return mean squared distances and indices: (s, k)."""
        ...


def probe_rows(n: int) -> NDArray:
    """Draw the rows that are searched for, sorted."""
    return sample_rows(n, RECALL_ROWS, np.random.default_rng(0))


@dataclass(frozen=True)
class Probes:
    """Probes with their modules (s, M, H) and the squared distance over all modules to the k-th neighbour (s,)."""

    rows: NDArray
    modules: NDArray
    limits: NDArray
    k: int

    def halves(self) -> tuple["Probes", "Probes"]:
        """Return the probes that select, and those that estimate; a single probe does both."""
        if len(self.rows) < 2:
            return self, self
        first, second = (Probes(self.rows[i::2], self.modules[i::2], self.limits[i::2], self.k) for i in range(2))
        return first, second

    def hits(self, totals: NDArray) -> NDArray:
        """Fraction of the k neighbours found for every probe, given the squared distances of candidates (s, c).

        A candidate is a hit if it is no farther than the k-th neighbour, so that ties are not misses.
        """
        nearest = np.sort(totals, axis=1)[:, : self.k]
        return (nearest <= self.limits[:, None] * (1 + _TIE)).mean(axis=1)

    def scan(self, search: Tunable, g: int, count: int) -> NDArray:
        """Return squared distances of the candidates of a scan of `g` modules, without the probe: (s, count)."""
        count = min(count, search.shape[0] - 1)
        return without_self(*search.probe(self.modules, g, count + 1, graph=False), self.rows)[0]


def estimate(hits: NDArray, k: int, selecting: NDArray | None = None) -> tuple[float, float]:
    """Return mean and standard error of the hits.

    The selecting half of the probes may estimate the spread, though not the mean: a sample with few misses has both a
    high mean and a small spread. The error counts one more probe that misses two neighbours, for the same reason.
    """
    mean = float(hits.mean())
    both = hits if selecting is None else np.append(hits, selecting)
    deviations = np.append(both - both.mean(), min(2 / k, 1.0))
    return mean, float(np.sqrt(np.mean(deviations**2) / max(1, len(hits) - 1)))


def tune(search: Tunable, k: int, wanted: float) -> SearchBudget:
    """Return the fewest modules, and the fewest candidates from them, that reach a wanted recall of k neighbours."""
    n, M, _ = search.shape
    k = min(k, n - 1)
    # Samples cannot show that nothing is missed: all neighbours are found by a scan of all modules only.
    if k == 0 or wanted == 1 or (search.engine == "hnsw" and n * n <= EXACT_PAIRS):
        return SearchBudget(M, max(1, -(-k // M)), max(1, k), False, 1.0, 0.0)
    budget = _tune_graph(search, k, wanted) if search.engine == "hnsw" else None
    return budget or _tune_scan(search, k, wanted)


def _with_limits(search: Tunable, rows: NDArray, k: int, excluded: NDArray | None = None) -> Probes:
    """Return rows with the distance to the k-th nearest row, not counting the row itself or `excluded` rows."""
    n, M, _ = search.shape
    Q, n_excluded = search.rows(rows), 0 if excluded is None else len(excluded)
    # A few more, because rounding can change the order of the last ones.
    totals, indices = search.probe(Q, M, min(n, k + n_excluded + 5), graph=False)
    is_dropped = indices == rows[:, None] if excluded is None else np.isin(indices, excluded)
    totals = np.where(is_dropped, np.inf, totals)
    return Probes(rows, Q, np.partition(totals, k - 1, axis=1)[:, k - 1], k)


def _fewest_modules(search: Tunable, selecting: Probes, wanted: float) -> int:
    """Return the fewest modules whose nearest candidates contain the wanted fraction of the neighbours."""
    M, count = search.shape[1], CANDIDATES_PER_NEIGHBOR * selecting.k
    return next((g for g in range(1, M) if _reaches(selecting, selecting.scan(search, g, count), wanted)), M)


def _tune_scan(search: Tunable, k: int, wanted: float) -> SearchBudget:
    """Choose the modules and candidates of a scan."""
    selecting, estimating = _with_limits(search, search.probes, k).halves()
    g = _fewest_modules(search, selecting, wanted)
    totals = selecting.scan(search, g, CANDIDATES_PER_NEIGHBOR * k)
    counts = range(k, totals.shape[1])
    count = k + bisect_left(counts, True, key=lambda count: _reaches(selecting, totals[:, :count], wanted))
    expand = -(-count // g)
    hits, selecting_hits = (half.hits(half.scan(search, g, max(k, g * expand))) for half in (estimating, selecting))
    recall, error = estimate(hits, k, selecting_hits)
    # A scan of all modules is exact.
    return SearchBudget(g, expand, k, False, recall, 0.0 if g == search.shape[1] else error)


def _tune_graph(search: Tunable, k: int, wanted: float) -> SearchBudget | None:
    """Choose the modules and candidates of a graph; None if no number of candidates reaches the wanted recall."""
    n, M, _ = search.shape
    selecting, estimating = _with_limits(search, search.probes, k, search.probes).halves()
    g = _fewest_modules(search, selecting, wanted)
    # Ranking more candidates by all M modules takes longer than scanning one module of all rows.
    lowest, count, most = k, k, max(k, n // M)
    while not _reaches(selecting, totals := search.probe(selecting.modules, g, count, graph=True)[0], wanted):
        if count == most:
            _warn_of_low_recall(wanted, selecting.hits(totals).mean())
            return None
        lowest, count = count + 1, min(2 * count, most)

    def reaches(count: int) -> bool:
        return _reaches(selecting, search.probe(selecting.modules, g, count, graph=True)[0], wanted)

    chosen = lowest + bisect_left(range(lowest, count), True, key=reaches)
    return _graph_budget(search, g, chosen, selecting, estimating)


def _warn_of_low_recall(wanted: float, reached: float) -> None:
    warnings.warn(
        f"The graph does not reach recall={wanted:g}: it finds {reached:.3f} of the neighbours at most (duplicate rows "
        "can disconnect it). Modules are scanned instead. Drop duplicate rows, or pass engine='faiss'.",
        GraphWarning,
        stacklevel=outside(),
    )


def _graph_budget(search: Tunable, g: int, count: int, selecting: Probes, new: Probes) -> SearchBudget:
    """Return the budget with the recall of new rows and training rows."""
    (n, M, _), k = search.shape, new.k
    hits, selecting_hits = (half.hits(search.probe(half.modules, g, count, graph=True)[0]) for half in (new, selecting))
    new_recall, new_error = estimate(hits, k, selecting_hits)
    # Rows that were added last are as hard to find as new ones, so other rows represent the training rows.
    others = np.delete(np.arange(n), search.probes)
    known = _with_limits(search, np.sort(np.random.default_rng(1).choice(others, len(new.rows), replace=False)), k)
    search.budget = SearchBudget(g, count, k, True, 1.0, 0.0)
    squared = search.query(known.modules, k, modules=None, expand=None, exclude=known.rows)[0]
    known_recall, known_error = estimate(known.hits(squared * M), k)
    error = np.sqrt(new_error**2 + known_error**2 + (known_recall - new_recall) ** 2) / 2
    return SearchBudget(g, count, k, True, (new_recall + known_recall) / 2, float(error))


def _reaches(probes: Probes, totals: NDArray, wanted: float) -> bool:
    """Whether the mean of the hits is above the wanted recall by at least its standard error."""
    hits = probes.hits(totals)
    return bool(hits.mean() - hits.std() / max(1, len(hits) - 1) ** 0.5 >= wanted)
