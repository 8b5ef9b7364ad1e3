"""How wide the smoother should be: a criterion without labels.

[Blau2017, section 5] sets h = α (Σ‖f_j‖²/N)^½ and tunes α by labels or by eye. No single α will do: on a long Swiss
roll α = 0.6 sees five functions of the first coordinate, so the next one is its sixth harmonic; on digits α = 0.3
excludes what classifiers need. The criterion used here asks the result instead:

    take the widest smoother whose next coordinate is news, where news is what a leave-one-out regression on the
    earlier coordinates cannot explain *with the bandwidth that predicts best*.

The widest of all, tried on manifolds, is `LINEAR`: it sees hardly more than a mean and a slope, so that the next
coordinate is nearly the plain one. If that is unpredictable already (`PLAIN`: 90 % of its variance), it meets the
constraint and costs least of all that do; a narrower smoother would only take off what a regression sees in a finite
sample.

How much news is enough: on a manifold (`polyfold.nonredundant._even.is_manifold`) a regression explains everything that
is predictable, so a coordinate must be news to at least `CLEAR`. Of other data, with one earlier coordinate, `NEWS` is
enough: a harmonic is news to a tenth or so, while the second coordinates of a dozen samples of digits were news to 0.67
to 0.97 at α = 0.6, and what narrower smoothers took off there was of use. From several coordinates a fine regression
explains part of any smooth function that a coarse smoother left, and the factor found in the plane is kept unless a
coordinate is nearly nothing but that (`EMPTY`). On a manifold, narrowing ends where it yields noise: a coordinate of
which the mean over neighbours leaves more than `NOISE`.

``n_components="auto"`` ends before a coordinate that is noise or news to less than `NEWS`; on a manifold, where widths
were lowered in search of news, to less than `NEW_DIRECTION`. On strips, rolls and rings, true directions were news to
0.85 or more and left about 0.2 at most; what came after them was news to 0.66 at most, or noise, but for LLE of noisy
data, where a smooth remnant was news to 0.87.
"""

import numpy as np
from numpy.typing import NDArray

from polyfold._regression import lowest_residual

LINEAR = 3.0
PLAIN = 0.95
ALPHAS = (0.6, 0.4, 0.2, 0.1)
CLEAR = 0.85
EMPTY = 0.1
NEWS = 0.55
NEW_DIRECTION = 0.75
NOISE = 0.3
_REFERENCES = 2500
_QUERIES = 300


def unexplained(F: NDArray, y: NDArray, seed: int = 0) -> float:
    """Share of the spread of `y` that no bandwidth explains from `F`, by locally linear leave-one-out regression."""
    rng = np.random.RandomState(seed)
    n = len(F)
    chosen = np.arange(n) if n <= _REFERENCES else rng.choice(n, _REFERENCES, replace=False)
    queries = np.arange(len(chosen)) if len(chosen) <= _QUERIES else rng.choice(len(chosen), _QUERIES, replace=False)
    return lowest_residual(F[chosen], y[chosen], queries=queries, regressor="locally_linear")[0]


def enough(alpha: float, n_earlier: int, *, manifold: bool) -> float:
    """Return what the next coordinate must have unexplained for its smoother, of factor `alpha`, to be fine enough."""
    if alpha == LINEAR:
        return PLAIN
    if manifold:
        return CLEAR
    return NEWS if n_earlier == 1 else EMPTY


def candidates(alpha: float, n_earlier: int, *, manifold: bool) -> tuple[float, ...]:
    """Factors to try, widest first, where `alpha` served the coordinate before."""
    if n_earlier == 1:
        return (LINEAR, *ALPHAS) if manifold else ALPHAS
    if manifold:
        return alpha, *(a for a in ALPHAS if alpha / 4 < a < alpha)
    return (alpha, alpha / 2) if alpha / 2 >= ALPHAS[-1] else (alpha,)
