"""Which features explain which coordinate: strengths, their null, and the few features that explain it together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import sample_rows
from polyfold._progress import track
from polyfold._threads import threaded
from polyfold.explaining._features import Features, stacked
from polyfold.explaining._joint import CELLS, Candidates, Choice, choose_features
from polyfold.explaining._naming import repeats_of
from polyfold.explaining._strengths import (
    Strengths,
    category_strengths,
    centred,
    joined,
    null_of,
    number_strengths,
    with_permutations,
    word_strengths,
)

# Rows and features of the joint regressions, whose time grows with the square of the rows.
JOINT_ROWS, JOINT_FEATURES = 500, 40
# Net change over total variation of the fitted curve from which it is called rising or falling.
MONOTONE = 0.75


@dataclass(frozen=True)
class AxisStrengths:
    """Strengths of D features for c coordinates; arrays have shape (D, c)."""

    fraction: NDArray
    sign: NDArray
    shape: NDArray  # "rising", "falling", "mixed" or "" for categories
    rank: NDArray  # from 1; features that repeat one another have the same rank
    joint: NDArray  # fraction of the features up to this rank together; nan for features that were not chosen
    leader: NDArray  # number of the feature that this one repeats, or its own
    null: float  # largest fraction of any feature for permuted coordinates

    def ordered(self, k: int) -> NDArray:
        """Return the features that explain coordinate `k` beyond the null, in the order of their ranks."""
        is_leader = self.leader[:, k] == np.arange(len(self.leader))
        explaining = np.flatnonzero(((self.fraction[:, k] > self.null) | np.isfinite(self.joint[:, k])) & is_leader)
        return explaining[np.argsort(self.rank[explaining, k], kind="stable")]


def axis_strengths(features: Features, Z: NDArray, most: int, rng: np.random.RandomState) -> AxisStrengths:
    """Return the strengths of all features for the coordinates `Z` (n, c); at most `most` explain one together."""
    Y = centred(Z)
    c = Y.shape[1]
    strengths = feature_strengths(features, with_permutations(Y, rng))
    null = null_of(strengths.fraction, c)
    fraction, sign = strengths.fraction[:, :c], strengths.sign[:, :c]
    D = len(fraction)
    seeds = rng.randint(np.iinfo(np.int32).max, size=c)

    def ranked(k: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return the leaders, ranks and joint fractions (D,) of all features for coordinate `k`."""
        order = np.argsort(-fraction[:, k], kind="stable")
        leader = _leaders(features, order[fraction[order, k] > null][: 10 * JOINT_FEATURES], D)
        leading = order[leader[order] == order]
        first = np.sort(leading[:JOINT_FEATURES])
        choice = _choice(features, Y[:, k], first, most, np.random.RandomState(seeds[k]))
        chosen = first[choice.order]
        rank, joint = np.zeros(D, dtype=int), np.full(D, np.nan)
        joint[chosen] = choice.joint
        rank[[*chosen, *leading[~np.isin(leading, chosen)]]] = np.arange(1, len(leading) + 1)
        return leader, rank[leader], joint

    parts = list(track(threaded(ranked, range(c)), "coordinates", total=c))
    leader, rank, joint = (np.column_stack(part) for part in zip(*parts, strict=True))
    falling = np.where(sign < 0, "falling", "rising")
    shape = np.where(strengths.monotone[:, :c] >= MONOTONE, falling, "mixed").astype(object)
    shape[np.array(features.kinds(), dtype=object) == "category"] = ""
    return AxisStrengths(fraction, sign, shape, rank, joint, leader, null)


def axis_table(features: Features, strengths: AxisStrengths) -> dict[str, NDArray]:
    """Return the columns of the table of axes."""
    names, kinds = np.array(features.names(), dtype=object), np.array(features.kinds(), dtype=object)
    parts = []
    for k in range(strengths.fraction.shape[1]):
        order = np.lexsort((-strengths.fraction[:, k], strengths.rank[:, k]))
        if len(names) > features.numbers.shape[1] + len(features.category_names):  # of words, only those that matter
            order = order[(strengths.fraction[order, k] > strengths.null) | (kinds[order] != "word")]
        parts.append(
            {
                "axis": [k] * len(order),
                "feature": names[order].tolist(),
                "kind": kinds[order].tolist(),
                "strength": strengths.fraction[order, k].tolist(),
                "sign": strengths.sign[order, k].astype(int).tolist(),
                "shape": strengths.shape[order, k].tolist(),
                "rank": strengths.rank[order, k].tolist(),
                "joint": strengths.joint[order, k].tolist(),
                "null": [strengths.null] * len(order),
                "repeats": [names[strengths.leader[j, k]] if strengths.leader[j, k] != j else "" for j in order],
            }
        )
    return stacked(parts)


def feature_strengths(features: Features, Y: NDArray) -> Strengths:
    """Return the strengths of all features for centred targets `Y` (n, t)."""
    parts = [number_strengths(features.numbers, features.ranks, Y), category_strengths(features.codes, Y)]
    if features.words is not None:
        parts.append(word_strengths(features.words, Y))
    return joined(parts, Y.shape[1])


def _leaders(features: Features, candidates: NDArray, D: int) -> NDArray:
    """Return for each feature the strongest number that it repeats, among the features `near`, strongest first."""
    leader = np.arange(D)
    numbers = candidates[candidates < features.numbers.shape[1]]
    repeats = repeats_of(features.numbers[:, numbers])
    for i, j in enumerate(numbers):
        if leader[j] == j:
            later = np.flatnonzero(repeats[i])
            later = later[later > i]
            free = leader[numbers[later]] == numbers[later]
            leader[numbers[later[free]]] = j
    return leader


def _choice(features: Features, y: NDArray, first: NDArray, most: int, rng: np.random.RandomState) -> Choice:
    """Choose among the features `first`, ascending, on a sample of the rows."""
    rows = sample_rows(len(y), JOINT_ROWS, rng)
    if most == 0 or np.ptp(y[rows]) == 0 or len(rows) < 10:
        return Choice([], [])
    D, K = features.numbers.shape[1], len(features.category_names)
    numbers = features.numbers[rows][:, first[first < D]]
    codes = features.codes[rows][:, first[(first >= D) & (first < D + K)] - D]
    words = None if features.words is None else features.words[rows][:, first[first >= D + K] - D - K]
    part = Features(len(rows), numbers, [""] * numbers.shape[1], codes, [""] * codes.shape[1], [], words)
    present = np.zeros((len(rows), 0)) if words is None else (words > 0).toarray().astype(float)
    levels = [(code[:, None] == np.unique(code)).astype(float) for code in codes.T]
    columns = [centred(values) for values in (*numbers.T[:, :, None], *levels, *present.T[:, :, None])]
    cells = np.hstack([np.minimum((part.ranks * CELLS).astype(int), CELLS - 1), codes % CELLS, present])
    candidates = Candidates(columns, cells.astype(int), lambda Y: feature_strengths(part, Y).fraction)
    return choose_features(y[rows], candidates, most, rng)
