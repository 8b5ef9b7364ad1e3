"""The few features that explain a coordinate together, chosen one after the other.

Every step regresses the residual of the coordinate on each remaining feature. The best feature joins the others if it
explains more of the residual than any feature explains of permuted residuals, and adds more than that to the fraction
of all. If no single feature does, pairs of features are tried, which finds products such as x₁·x₂ that no feature
explains alone. In the end, features that the others make superfluous are removed. The joint fraction is that of a
locally linear leave-one-out regression on all chosen features.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._regression import bandwidth_grid, loo_predict
from polyfold.explaining._strengths import _group_errors, centred, null_of, with_permutations

# Bandwidths of the joint regression, features that are combined in pairs, and cells along each feature of a pair.
GRID, PAIRED, CELLS = 4, 40, 4


@dataclass(frozen=True)
class Candidates:
    """Features that may be chosen, on the same n rows."""

    columns: list[NDArray]  # (n, p) of each, standardised
    cells: NDArray  # (n, D), integers below CELLS
    strengths: Callable[[NDArray], NDArray]  # centred targets (n, t) to fractions (D, t)


@dataclass(frozen=True)
class Choice:
    """Chosen features in their order, and the fraction of variance that the first ones explain together."""

    order: list[int]
    joint: list[float]


def choose_features(y: NDArray, candidates: Candidates, most: int, rng: np.random.RandomState) -> Choice:
    """Choose at most `most` features that explain `y` (n,) together."""
    regress = _Regressions(candidates.columns, centred(y[:, None])[:, 0])
    order: list[int] = []
    null = 0.0
    while len(order) < most:
        for added, null in _proposals(regress.residual(order), candidates, order, rng):
            if regress.fraction([*order, *added]) - regress.fraction(order) > null:
                order = [*order, *added]
                break
        else:
            break
    for j in order[::-1]:
        others = [i for i in order if i != j]
        if others and regress.fraction(order) - regress.fraction(others) <= null:
            order = others
    order = order[:most]
    return Choice(order, [regress.fraction(order[: i + 1]) for i in range(len(order))])


class _Regressions:
    """Leave-one-out regressions of `y` on sets of features, each computed once."""

    def __init__(self, columns: list[NDArray], y: NDArray):
        self._columns, self._y = columns, y
        self._known: dict[frozenset[int], NDArray] = {frozenset(): y}

    def residual(self, chosen: list[int]) -> NDArray:
        """Return the errors with the best bandwidth of a grid."""
        key = frozenset(chosen)
        if key not in self._known:
            F = np.hstack([self._columns[j] for j in sorted(chosen)])
            grid = bandwidth_grid(F, size=GRID, lowest=0.15)
            errors = [self._y - loo_predict(F, self._y[:, None], h, regressor="locally_linear")[:, 0] for h in grid]
            self._known[key] = min(errors, key=lambda e: float(np.sum(e**2)))
        return self._known[key]

    def fraction(self, chosen: list[int]) -> float:
        """Return the fraction of variance that the features explain together."""
        return max(0.0, 1 - float(np.sum(self.residual(chosen) ** 2) / np.sum(self._y**2)))


def _proposals(
    residual: NDArray, candidates: Candidates, taken: list[int], rng: np.random.RandomState
) -> Iterator[tuple[list[int], float]]:
    """Yield the feature, then the pair, that explains most of the residual, if that is more than chance explains.

    With each comes the fraction that chance explains: the largest fraction of any feature, or pair, of permuted
    residuals.
    """
    targets = with_permutations(centred(residual[:, None]), rng)
    fractions = candidates.strengths(targets)
    fractions[taken] = 0
    null, best = null_of(fractions, 1), int(np.argmax(fractions[:, 0]))
    if fractions[best, 0] > null:
        yield [best], null
    tried = list(range(len(fractions)))
    if len(tried) > PAIRED:  # features of a product change the size of the residual
        squares = candidates.strengths(centred(residual[:, None] ** 2))[:, 0]
        tried = np.sort(np.argsort(-squares, kind="stable")[:PAIRED]).tolist()
    pairs = [(i, j) for i, j in combinations(tried, 2) if i not in taken or j not in taken]
    if pairs:
        fractions = _pair_fractions(candidates.cells, pairs, targets)
        null, best = null_of(fractions, 1), int(np.argmax(fractions[:, 0]))
        if fractions[best, 0] > null:
            yield [int(j) for j in pairs[best] if j not in taken], null


def _pair_fractions(cells: NDArray, pairs: Sequence[tuple[int, int]], Y: NDArray) -> NDArray:
    """Return the fractions that the leave-one-out means of the cells of each pair explain, shape (pairs, t)."""
    n, size = len(cells), CELLS**2
    first, second = np.array(pairs).T
    codes = cells[:, first] * CELLS + cells[:, second] + size * np.arange(len(pairs))
    rows = np.repeat(np.arange(n), len(pairs))
    member = sp.csr_array((np.ones(codes.size), (codes.ravel(), rows)), shape=(size * len(pairs), n))
    errors = _group_errors(np.asarray(member @ np.ones((n, 1))), member @ Y, member @ Y**2, n)
    return 1 - errors.reshape(len(pairs), size, -1).sum(axis=1) / np.maximum(np.sum(Y**2, axis=0), 1e-300)
