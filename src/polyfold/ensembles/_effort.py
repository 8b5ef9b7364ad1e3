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
WIDER = tuple(sorted({*MULTIPLES, 1.8, 2.2, 2.8, 3.5, 4.5, 24, 32, 64, 128}))
# A graph is built on the fewest modules whose so many times k nearest hold the k nearest of all modules, as far as so
# many times k points around tell: farther ones, which few modules may take for near, are not asked.
GRAPH_MULTIPLE = 1.75
AROUND = 10
# Reading a candidate's row costs what so many columns cost that are scanned in order.
_GATHER = 10
# Points in view when the links of one are chosen, at least and at most.
LINK_EFFORTS = (16, 64)
# Share of true neighbours that are nearer than what is told apart.
_NEARER = 0.1

# Indices (n, c) of the candidates that so many modules, scanned as one, find for sample points.
Scan = Callable[[NDArray, int, int], NDArray]
# Indices (n, c) of the c points in view when a walk to sample points ends.
Walk = Callable[[NDArray, int], NDArray]


@dataclass(frozen=True)
class Effort:
    """What a search does, and the recall of it, with its standard error."""

    modules: int
    expand: int
    recall: float
    error: float


@dataclass(frozen=True)
class Sample:
    """Training points (s,), the nearest around each (s, c) by all modules, and what is to be found (n, M, H).

    The first `n_neighbors` of those around are the true neighbours.
    """

    modules: NDArray
    points: NDArray
    around: NDArray
    n_neighbors: int

    @classmethod
    def of(cls, modules: NDArray, k: int, scan: Scan, *, around: int = 1) -> "Sample":
        """Take points at even distances in the order of the rows, which may be sorted, and `around` times k others."""
        n, M, _ = modules.shape
        points = np.unique(np.linspace(0, n - 1, min(n, 2 * SAMPLE)).astype(np.intp))
        count = min(n - 1, around * k)
        found = cls(modules, points, scan(points, M, count), k)
        return cls(modules, points, found._ranked(found.around, count)[1], k)

    @property
    def truth(self) -> NDArray:
        """True neighbours, (s, k)."""
        return self.around[:, : self.n_neighbors]

    def halves(self) -> tuple["Sample", "Sample"]:
        """Return those that choose, and those that judge; single points do both."""
        if len(self.points) < 2:
            return self, self
        first, second = (Sample(self.modules, self.points[i::2], self.around[i::2], self.n_neighbors) for i in range(2))
        return first, second

    def recall(self, candidates: NDArray) -> tuple[float, float]:
        """Return the mean share of neighbours that are no farther than the true ones, and its standard error."""
        k = self.n_neighbors
        farthest = self._ranked(self.truth, k)[0][:, -1:]
        # Copies of a point are as good as the point; in double precision nothing else is that near.
        shares = (self._ranked(candidates, k)[0] <= farthest * (1 + 1e-9)).mean(axis=1)
        return float(shares.mean()), float(shares.std() / max(1, len(shares) - 1) ** 0.5)

    def by_module(self, others: NDArray) -> NDArray:
        """Squared distances of every point from others (s, c) in every module: (s, c, M)."""
        return np.stack(
            [
                ((self.modules[row].astype(np.float64) - self.modules[point]) ** 2).sum(axis=2)
                for point, row in zip(self.points, others, strict=True)
            ]
        )

    def _ranked(self, candidates: NDArray, k: int) -> tuple[NDArray, NDArray]:
        every = np.arange(self.modules.shape[1])
        return rerank(self.modules[self.points], self.modules, every, candidates, k, self.points)


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


def graph_modules(sample: Sample, wanted: float) -> int:
    """Return the fewest modules on which a graph is good enough to be walked."""
    chooser = sample.halves()[0]
    (s, c), k, M = chooser.around.shape, sample.n_neighbors, sample.modules.shape[1]
    count = min(c, round(GRAPH_MULTIPLE * k))
    first = chooser.by_module(chooser.around).cumsum(axis=2)
    for g in range(1, M):
        nearest = np.argpartition(first[..., g - 1], count - 1, axis=1)[:, :count]
        if np.count_nonzero(nearest < k) >= wanted * s * k:
            return g
    return M


def link_effort(wanted: float) -> int:
    """Return the points in view when links are chosen: e for a recall of 1 - 1/e, within bounds."""
    least, most = LINK_EFFORTS
    return most if wanted >= 1 - 1 / most else max(least, round(1 / (1 - wanted)))


def detail(sample: Sample) -> float:
    """Return the difference in one column, root mean square, that nearly all neighbours have; copies have none."""
    differences = np.sqrt(sample.by_module(sample.truth).sum(axis=2) / sample.modules[0].size)
    return float(np.quantile(differences[differences > 0], _NEARER)) if differences.any() else 0.0


def walk_effort(sample: Sample, g: int, wanted: float, walk: Walk) -> Effort | None:
    """Return the narrowest walk whose recall is surely the wanted one, if there is one; `walk` takes its width."""
    chooser, judge = sample.halves()
    reached = 0.0
    for beam in _counts(sample.n_neighbors, WIDER, len(sample.modules)):
        reached, error = chooser.recall(walk(chooser.points, beam))
        if reached - error >= wanted:
            return Effort(g, beam, *judge.recall(walk(judge.points, beam)))
    warnings.warn(
        f"recall={wanted:g} is not reached by the graph, which finds {reached:.3f} of the neighbours at best (many "
        "copies cut it); modules are scanned instead. Drop copies, or pass engine='faiss'.",
        GraphWarning,
        stacklevel=6,
    )
    return None


def _counts(k: int, multiples: tuple[float, ...], most: int) -> list[int]:
    return sorted({min(most, max(k, round(multiple * k))) for multiple in multiples})
