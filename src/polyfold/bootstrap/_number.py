"""How many groups there are: the number that says most of what two independent networks agree on.

With A and B the groups that the halves of a network find, I their mutual information in bits and H their entropies,
the score of a number is

    I(A, B) − E − 2 (H(A) + H(B) − 2 I(A, B)),

what they agree on beyond chance (E, for groups of these sizes), less twice what they do not: a finer partition wins
only if nearly all that it adds comes again.
Numbers are compared in the layers that suit them, those with a few centres per group.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from polyfold._running import threaded
from polyfold.bootstrap._agreement import SAMPLE, agree, group, n_directions, sample_rows
from polyfold.bootstrap._cut import fit_cut
from polyfold.bootstrap._draws import CENTERS_PER_CLASS
from polyfold.bootstrap._stacks import halves

# Most centres per group in a layer that judges a number; more tell its parts apart.
MOST_CENTERS = 8
# Of numbers that say this share of what the best one says, the smallest is taken.
SIMPLER = 0.95
# Below this agreement, or with a rival this close, a number is a guess.
SURE, RIVAL = 0.95, 0.9
PENALTY = 2.0
# A number is a guess, too, if the halves share more of what one more group says than this.
MOST = 0.5


def number_scores(
    codes: Sequence[np.ndarray], sizes: Sequence[int], numbers: Sequence[int], *, seed: int
) -> dict[int, tuple[float, float]]:
    """Score of every number of groups, in bits, and the agreement (adjusted Rand index) behind it.

    Parameters
    ----------
    codes : list of (V, n)
        Codes of all layers, by stacks.
    sizes : list of int
    numbers : list of int
    seed : int
    """
    rows = sample_rows(codes[0].shape[1], SAMPLE, seed)
    judged = {level: [] for level in range(len(sizes))}
    places = _n_places(codes[0][:, rows])
    for number in [number for number in numbers if number <= places] or [2]:
        for level in _suitable(sizes, number):
            judged[level].append(number)

    def judge(level: int) -> list[tuple[float, float]]:
        found = _found_twice(codes[level][:, rows], sizes[level], judged[level], seed)
        return [(reproduced(left, right), agree(left, right)) for left, right in found]

    levels = [level for level in judged if judged[level]]
    scores: dict[int, tuple[float, float]] = {}
    for level, found in zip(levels, threaded(judge, levels), strict=True):
        for number, score in zip(judged[level], found, strict=True):
            scores[number] = max(score, scores.get(number, score))
    return dict(sorted(scores.items()))


def most_reproduced(scores: dict[int, tuple[float, float]]) -> tuple[int, str]:
    """Return the smallest number whose score is near the best, and why it is a guess: nothing if it stands out."""
    best = max(score for score, _ in scores.values())
    number = min(count for count, (score, _) in scores.items() if score >= best - (1.0 - SIMPLER) * abs(best))
    best, agreement = scores[number]
    if agreement < SURE:
        return number, f"two halves of the network agree to {agreement:.3f} (adjusted Rand index) and not to {SURE}"
    # Of far groups that are cut once more by chance most stays the same; see `splits_again` for larger numbers.
    rivals = {count: score for count, (score, _) in scores.items() if count < number - 1}
    rival = max(rivals, key=rivals.__getitem__, default=number)
    if rivals.get(rival, 0.0) >= RIVAL * best:
        return number, f"{rival} of them score {rivals[rival]:.2f} bits, {number} score {best:.2f}"
    return number, ""


def splits_again(codes: Sequence[np.ndarray], sizes: Sequence[int], number: int, *, seed: int) -> bool:
    """Whether both halves of a network find most of what one more group says, in a layer that suits it."""
    rows = sample_rows(codes[0].shape[1], SAMPLE, seed)
    if _n_places(codes[0][:, rows]) <= number:
        return False

    def share(level: int) -> float:
        pairs = _found_twice(codes[level][:, rows], sizes[level], [number, number + 1], seed)
        (shared, said), (shared_then, said_then) = (_information(left, right) for left, right in pairs)
        added = said_then - said
        return (shared_then - shared) / added if added > 0 else 0.0

    return max(threaded(share, _suitable(sizes, number + 1))) > MOST


def reproduced(left: np.ndarray, right: np.ndarray) -> float:
    """Bits that two partitions share beyond chance, less twice those that they do not.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 5000)
    >>> round(reproduced(labels, 1 - labels), 3)
    1.0
    """
    shared, said = _information(left, right)
    chance = expected_mutual_information(contingency_matrix(left, right), len(left)) / np.log(2.0)
    return float(shared - chance - PENALTY * 2.0 * (said - shared))


def _n_places(codes: np.ndarray) -> int:
    """Count the points of (V, n) codes that differ: no more groups can be found."""
    return np.unique(codes, axis=1).shape[1]


def _found_twice(
    codes: np.ndarray, n_centers: int, numbers: Sequence[int], seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the groups that the two halves of a layer's clusterings find, for each of some numbers of them."""
    parts = [np.ascontiguousarray(half) for half in halves(codes)]
    cuts = [fit_cut(part, n_centers, n_directions(max(numbers)), seed=seed) for part in parts]
    for number in numbers:
        left, right = (group(cut, part, number, seed=seed) for cut, part in zip(cuts, parts, strict=True))
        yield left, right


def _information(left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Bits that two partitions share, and that each of them says, on the mean."""
    table = contingency_matrix(left, right) / len(left)
    joint, a, b = (_entropy(part) for part in (table.ravel(), table.sum(axis=1), table.sum(axis=0)))
    return a + b - joint, (a + b) / 2.0


def _entropy(shares: np.ndarray) -> float:
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def _suitable(sizes: Sequence[int], number: int) -> list[int]:
    """Layers with a few centres per group; the nearest to that if there is none."""
    low, high = CENTERS_PER_CLASS * number, MOST_CENTERS * (number + 1)
    found = [level for level, size in enumerate(sizes) if low <= size <= high]
    return found or [int(np.argmin([abs(size - (low + high) / 2) for size in sizes]))]
