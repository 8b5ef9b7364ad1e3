"""The few features that explain a coordinate together, chosen one after the other.

Every step regresses the residual of the coordinate on each remaining feature. The best feature joins the others if it
explains more of the residual than any feature explains of permuted residuals. If no single feature does, pairs of
features are tried, which finds products such as x₁·x₂ that no feature explains alone. The joint share is that of a
locally linear leave-one-out regression on all chosen features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._regression import bandwidth_grid, loo_predict
from polyfold.explaining._strengths import _group_errors, centred, null_of, with_permutations

# Bandwidths of the joint regression, features that are combined in pairs, and cells along each feature of a pair.
GRID, PAIRED, CELLS = 5, 40, 6


@dataclass(frozen=True)
class Candidates:
    """Features that may be chosen, on the same n rows."""

    columns: list[NDArray]  # (n, p) of each, standardised
    cells: NDArray  # (n, D), integers below CELLS
    strengths: Callable[[NDArray], NDArray]  # centred targets (n, t) to shares (D, t)


@dataclass(frozen=True)
class Choice:
    """Chosen features in their order, and the share of variance that the first ones explain together."""

    order: list[int]
    joint: list[float]


def choose_features(y: NDArray, candidates: Candidates, most: int, rng: np.random.RandomState) -> Choice:
    """Choose at most `most` features that explain `y` (n,) together."""
    y = centred(y[:, None])[:, 0]
    order: list[int] = []
    joint: list[float] = []
    residual, share = y, 0.0
    while len(order) < most and share < 1:
        added, least = _next_features(residual, candidates, order, rng)
        if not added:
            break
        guess = _best_prediction([candidates.columns[j] for j in [*order, *added]], y)
        new = 1 - float(np.sum((y - guess) ** 2) / np.sum(y**2))
        if new - share <= least * float(np.mean(residual**2)):
            break
        order += added
        joint += [new] * len(added)
        residual, share = y - guess, new
    return Choice(order[:most], joint[:most])


def _next_features(
    residual: NDArray, candidates: Candidates, taken: list[int], rng: np.random.RandomState
) -> tuple[list[int], float]:
    """Return the feature, or the pair, that explains most of the residual, and the share that chance explains."""
    targets = with_permutations(centred(residual[:, None]), rng)
    shares = candidates.strengths(targets)
    shares[taken] = 0
    null, best = null_of(shares, 1), int(np.argmax(shares[:, 0]))
    if shares[best, 0] > null:
        return [best], null
    squares = candidates.strengths(centred(residual[:, None] ** 2))[:, 0]
    tried = np.sort(np.argsort(-squares, kind="stable")[:PAIRED])
    pairs = [(i, j) for i, j in combinations(tried, 2) if i not in taken or j not in taken]
    if not pairs:
        return [], null
    shares = _pair_shares(candidates.cells, pairs, targets)
    null, best = null_of(shares, 1), int(np.argmax(shares[:, 0]))
    return ([int(j) for j in pairs[best] if j not in taken] if shares[best, 0] > null else []), null


def _pair_shares(cells: NDArray, pairs: list[tuple[int, int]], Y: NDArray) -> NDArray:
    """Return the shares that the leave-one-out means of the cells of each pair explain, shape (pairs, t)."""
    n, size = len(cells), CELLS**2
    first, second = np.array(pairs).T
    codes = cells[:, first] * CELLS + cells[:, second] + size * np.arange(len(pairs))
    rows = np.repeat(np.arange(n), len(pairs))
    member = sp.csr_array((np.ones(codes.size), (codes.ravel(), rows)), shape=(size * len(pairs), n))
    errors = _group_errors(np.asarray(member @ np.ones((n, 1))), member @ Y, member @ Y**2, n)
    return 1 - errors.reshape(len(pairs), size, -1).sum(axis=1) / np.maximum(np.sum(Y**2, axis=0), 1e-300)


def _best_prediction(columns: list[NDArray], y: NDArray) -> NDArray:
    """Return the leave-one-out prediction with the best bandwidth of a grid."""
    F = np.hstack(columns)
    grid = bandwidth_grid(F, size=GRID, lowest=0.1)
    guesses = [loo_predict(F, y[:, None], h, regressor="locally_linear")[:, 0] for h in grid]
    return min(guesses, key=lambda guess: float(np.sum((y - guess) ** 2)))
