"""Sizes of the layers, and the random draws of every clustering.

Equation → function:

- k_l = δ k_{l-1}, k_L ≥ 1.5 c [Zhang2016, sec. 2.1] → `decaying_sizes`
- random feature selection and random sampling [Zhang2016, sec. 2] → `draw`
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# The last layer must be stronger than guessing [Zhang2016, sec. 5.3.1].
CENTERS_PER_CLASS = 1.5


@dataclass(frozen=True)
class Draw:
    """What one clustering is made of.

    Attributes
    ----------
    rows : (k,) int32
        Training points that are its centres, in random order, so that ties do not follow the order of the data.
    chosen : (u,) int32
        Features (bottom layer) or clusterings of the layer below that it sees, ascending.
    shifted : (s,) int32
        Positions in `chosen` whose values are passed on to the next centre; empty without reconstruction.
    """

    rows: np.ndarray
    chosen: np.ndarray
    shifted: np.ndarray


def decaying_sizes(first: int, decay: float, n_classes: int) -> list[int]:
    """Numbers of centres, layer by layer: floor of `decay` times the one before, never under 1.5 `n_classes`.

    Examples
    --------
    >>> decaying_sizes(2500, 0.5, 10)
    [2500, 1250, 625, 312, 156, 78, 39, 19]
    """
    sizes = [first]
    # A decay close to one must still shrink, or the list would never end.
    while (following := min(int(sizes[-1] * decay), sizes[-1] - 1)) >= max(CENTERS_PER_CLASS * n_classes, 1):
        sizes.append(following)
    return sizes


def chosen_count(fraction: float, total: int) -> int:
    """Share of `total`, rounded down as the sizes of the layers are, at least one.

    With few features this matters: of the five of *new thyroid*, two give the result of [Zhang2016, table 7], three
    do not.
    """
    # The allowance keeps shares such as 0.29 of 100, a little under 29 in binary, from losing one.
    return max(1, int(fraction * total + 1e-9))


def draw(
    seed: Sequence[int], *, n_rows: int, n_centers: int, n_features: int, fraction: float, reconstruction: float
) -> Draw:
    """Draw the centres and features of one clustering; `seed` alone decides, so threads cannot matter."""
    rng = np.random.default_rng(list(seed))
    rows = rng.choice(n_rows, n_centers, replace=False, shuffle=True).astype(np.int32)
    count = chosen_count(fraction, n_features)
    chosen = np.sort(rng.choice(n_features, count, replace=False)).astype(np.int32)
    n_shifted = int(reconstruction * count)
    shifted = np.sort(rng.choice(count, n_shifted, replace=False)).astype(np.int32)
    return Draw(rows, chosen, shifted)
