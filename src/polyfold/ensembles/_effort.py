"""How much of a search is enough: modules, candidates and width of the walk for a wanted recall.

Half of a sample of training points chooses, the other half says what was reached; each looks for its neighbours as if
it were not among the training points itself.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold.ensembles._rerank import rerank
from polyfold.exceptions import GraphWarning

# Points that choose, and as many that judge: the recall of the choice is known to about a hundredth.
SAMPLE = 128
# Candidates, or points in view, in multiples of the neighbours wanted.
MULTIPLES = (1, 1.2, 1.4, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16)
WIDER = (*MULTIPLES, 24, 32, 64, 128)
# A graph is built on the fewest modules whose so many times k nearest hold the k nearest of all modules.
GRAPH_MULTIPLE = 4
# Reading a candidate's row costs what so many columns cost that are scanned in order.
_GATHER = 10
# Share of true neighbours that the walk may miss by their first modules, if they are the last in view.
_MISSED = 0.1

# Indices (n, c) of the candidates that so many modules, scanned as one, find for sample points.
Scan = Callable[[NDArray, int, int], NDArray]
# Indices (n, k) that a walk finds for sample points with so many in view.
Walk = Callable[[NDArray, int], NDArray]


@dataclass(frozen=True)
class Effort:
    """What a search does, and the recall of it, with its standard error."""

    modules: int
    expand: int
    recall: float
    error: float
    factor: float = 1.0


@dataclass(frozen=True)
class Sample:
    """Training points (s,) with their true neighbours (s, k) by all modules, and what is to be found (n, M, H)."""

    modules: NDArray
    points: NDArray
    truth: NDArray

    @classmethod
    def of(cls, modules: NDArray, k: int, scan: Scan) -> "Sample":
        """Take points at even distances in the order of the rows, which may be sorted."""
        n, M, _ = modules.shape
        points = np.unique(np.linspace(0, n - 1, min(n, 2 * SAMPLE)).astype(np.intp))
        found = cls(modules, points, scan(points, M, k))
        return cls(modules, points, found._ranked(found.truth)[1])

    @property
    def n_neighbors(self) -> int:
        """Number of true neighbours of each point."""
        return self.truth.shape[1]

    def halves(self) -> tuple["Sample", "Sample"]:
        """Return those that choose, and those that judge; single points do both."""
        if len(self.points) < 2:
            return self, self
        first, second = (Sample(self.modules, self.points[i::2], self.truth[i::2]) for i in range(2))
        return first, second

    def recall(self, candidates: NDArray) -> tuple[float, float]:
        """Return the mean share of neighbours that are no farther than the true ones, and its standard error."""
        farthest = self._ranked(self.truth)[0][:, -1:]
        # Copies of a point are as good as the point; in double precision nothing else is that near.
        shares = (self._ranked(candidates)[0] <= farthest * (1 + 1e-9)).mean(axis=1)
        return float(shares.mean()), float(shares.std() / max(1, len(shares) - 1) ** 0.5)

    def _ranked(self, candidates: NDArray) -> tuple[NDArray, NDArray]:
        every = np.arange(self.modules.shape[1])
        return rerank(self.modules[self.points], self.modules, every, candidates, self.truth.shape[1], self.points)


def scan_effort(sample: Sample, wanted: float, scan: Scan) -> Effort:
    """Return the cheapest modules and candidates whose recall is surely the wanted one, for modules scanned as one."""
    (n, M, H), k = sample.modules.shape, sample.n_neighbors
    chooser, judge = sample.halves()
    best, cost = (M, k), float("inf")
    for g in range(1, M + 1):
        if n * (g * H + k) > cost:
            break
        count = next(_enough(chooser, wanted, scan(chooser.points, g, min(n - 1, int(MULTIPLES[-1] * k)))), None)
        if count is not None and (own := n * (g * H + count) + _GATHER * count * M * H) < cost:
            best, cost = (g, count), own
    g, count = best
    expand = -(-count // g)
    return Effort(g, expand, *judge.recall(scan(judge.points, g, min(n - 1, g * expand))))


def _enough(sample: Sample, wanted: float, found: NDArray) -> Iterator[int]:
    """Yield numbers of candidates that reach the wanted recall, fewest first."""
    for count in _counts(sample.n_neighbors, MULTIPLES, found.shape[1]):
        recall, error = sample.recall(found[:, :count])
        if recall - error >= wanted:
            yield count


def graph_modules(sample: Sample, wanted: float, scan: Scan) -> int:
    """Return the fewest modules on which a graph is good enough to be walked."""
    n, M, _ = sample.modules.shape
    count = min(n - 1, GRAPH_MULTIPLE * sample.n_neighbors)
    chooser = sample.halves()[0]
    return next((g for g in range(1, M) if chooser.recall(scan(chooser.points, g, count))[0] >= wanted), M)


def walk_factor(sample: Sample, g: int) -> float:
    """Return how many times the squared distance in the first g modules that in all of them nearly always is."""
    squared = (sample.modules[sample.truth].astype(np.float64) - sample.modules[sample.points, None]) ** 2
    by_module = squared.sum(axis=3)
    first, every = by_module[..., :g].sum(axis=2), by_module.sum(axis=2)
    shares = first[every > 0] / every[every > 0]
    largest = np.quantile(shares, 1 - _MISSED) if len(shares) else 1.0
    return float(1 / largest) if largest > 0 else 1.0


def walk_effort(sample: Sample, g: int, factor: float, wanted: float, walk: Walk) -> Effort | None:
    """Return the narrowest walk whose recall is surely the wanted one, if there is one; `walk` takes its width."""
    chooser, judge = sample.halves()
    reached = 0.0
    for beam in _counts(sample.n_neighbors, WIDER, len(sample.modules)):
        reached, error = chooser.recall(walk(chooser.points, beam))
        if reached - error >= wanted:
            return Effort(g, beam, *judge.recall(walk(judge.points, beam)), factor)
    warnings.warn(
        f"recall={wanted:g} is not reached by the graph, which finds {reached:.3f} of the neighbours at best (many "
        "copies cut it); modules are scanned instead. Drop copies, or pass engine='faiss'.",
        GraphWarning,
        stacklevel=6,
    )
    return None


def _counts(k: int, multiples: tuple[float, ...], most: int) -> list[int]:
    return sorted({min(most, max(k, round(multiple * k))) for multiple in multiples})
