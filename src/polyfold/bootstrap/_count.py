"""How many groups the output of a network shows."""

from numpy.typing import NDArray


def largest_drop(variances: NDArray) -> int:
    """Suggest a number of groups from falling variances: c groups span c - 1 directions, then they drop.

    Points that do not vary are one group.

    Examples
    --------
    >>> import numpy as np
    >>> largest_drop(np.array([5.0, 4.8, 4.6, 1.0, 0.9]))
    4
    """
    if not variances.any():
        return 1
    if len(variances) < 2:
        return 2
    drops = variances[:-1] - variances[1:]
    return int(drops.argmax()) + 2
