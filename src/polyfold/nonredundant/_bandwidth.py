"""How wide the smoother should be: a criterion without labels.

[Blau2017, section 5] sets h = α (Σ‖f_j‖²/N)^½ and tunes α by labels or by eye. No single α will do: on a long Swiss
roll α = 0.6 sees five functions of the first coordinate, so the next one is its sixth harmonic; on digits α = 0.3
excludes what classifiers need. The criterion used here asks the result instead:

    take the widest smoother whose next coordinate is news, where news is what a leave-one-out regression on the
    earlier coordinates cannot explain *with the bandwidth that predicts best*.

From one earlier coordinate such a regression explains everything that is predictable, so there a coordinate must be
news to at least `CLEAR`. From several coordinates a fine regression explains part of any smooth function that a
coarse smoother left, and the factor found in the plane is kept unless a coordinate is nearly nothing but that
(`EMPTY`). A further coordinate that is news to less than `NEWS` ends ``n_components="auto"``, and so does one of which
the mean over neighbours in the data leaves more than `NOISE`: it is news, but not of the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyfold._regression import lowest_residual

__all__ = ["ALPHAS", "CLEAR", "EMPTY", "NEWS", "NOISE", "enough", "narrower", "unexplained"]

ALPHAS = (0.6, 0.4, 0.2, 0.1)
CLEAR = 0.85
EMPTY = 0.1
NEWS = 0.55
NOISE = 0.5
_REFERENCES = 2500
_QUERIES = 300


def unexplained(F: NDArray, y: NDArray, seed: int = 0) -> float:
    """Share of the spread of `y` that no bandwidth explains from `F`, by locally linear leave-one-out regression."""
    rng = np.random.RandomState(seed)
    n = len(F)
    chosen = np.arange(n) if n <= _REFERENCES else rng.choice(n, _REFERENCES, replace=False)
    queries = np.arange(len(chosen)) if len(chosen) <= _QUERIES else rng.choice(len(chosen), _QUERIES, replace=False)
    return lowest_residual(F[chosen], y[chosen], queries=queries, regressor="locally_linear")[0]


def enough(n_earlier: int) -> float:
    """Return what the next coordinate must have unexplained for its smoother to be fine enough."""
    return CLEAR if n_earlier == 1 else EMPTY


def narrower(alpha: float, n_earlier: int) -> tuple[float, ...]:
    """Factors to try after `alpha`: the rest of the grid with one earlier coordinate, half of it with more."""
    if n_earlier == 1:
        return tuple(a for a in ALPHAS if a < alpha)
    return (alpha / 2,) if alpha / 2 >= ALPHAS[-1] else ()
