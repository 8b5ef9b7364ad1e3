"""Black and white shapes by the recipes of [Larochelle2007]: convex or not, tall or wide.

Deviation from the recipe: the parts of a non-convex region have at least three half-planes. The recipe requires
equal numbers of white pixels in the two classes; its printed numbers alone give 153 against 88 (mean grey
value), with three it is about 96 against 89.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2
from sklearn.utils import check_random_state

from polyfold._typing import RandomState
from polyfold._validation import check_count

_WHITE = np.uint8(255)
_BATCH = 4096  # most regions drawn at a time: bounds the memory
# Parameter of the geometric number of half-planes, how many there are at least, and fewest pixels of a set.
_CONVEX = (0.195, 1, 19)
_PART = (0.07, 3, 10)


def make_convex(
    n_samples: int = 1000, *, side: int = 28, random_state: RandomState = None
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Draw white regions that are convex (1) or not (0), half of each.

    A convex region is an intersection of half-planes through uniform points in uniform directions, their
    number geometric; any other is a union of two to four such regions that fails the test of convexity: some
    pixel half-way between two pixels of the region lies outside it.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    side : int, default=28
        Height and width of an image.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, side * side), uint8
        Images of 0 and 255.
    y : ndarray of shape (n_samples,), int32
        1 for convex.

    References
    ----------
    [Larochelle2007]

    Examples
    --------
    >>> from polyfold.datasets import make_convex
    >>> X, y = make_convex(10, random_state=0)
    >>> X.shape, int(y.sum())
    ((10, 784), 5)
    """
    check_count("n_samples", n_samples)
    check_count("side", side, minimum=8)
    rng = check_random_state(random_state)
    n_convex = n_samples // 2
    convex = _collect(lambda n: _convex_regions(n, side, *_CONVEX, rng), n_convex, side)
    other = _collect(lambda n: _concave_regions(n, side, rng), n_samples - n_convex, side)
    y = np.repeat(np.array([1, 0], dtype=np.int32), [n_convex, n_samples - n_convex])
    order = rng.permutation(n_samples)
    return _paint(np.concatenate([convex, other]))[order], y[order]


def make_rectangles(
    n_samples: int = 1000, *, side: int = 28, random_state: RandomState = None
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Draw outlines of rectangles that are tall (1) or wide (0).

    Height and width are uniform from 4 to `side` and differ by at least 3, and the position is uniform, as in
    the published Rectangles set.

    Arguments, results and reference are those of :func:`make_convex`.
    """
    check_count("n_samples", n_samples)
    check_count("side", side, minimum=8)
    rng = check_random_state(random_state)
    pairs = np.array([(h, w) for h in range(4, side + 1) for w in range(4, side + 1) if abs(h - w) >= 3])
    height, width = pairs[rng.randint(len(pairs), size=n_samples)].T[:, :, None, None]
    top = rng.randint(0, side - height + 1)
    left = rng.randint(0, side - width + 1)
    row, column = np.mgrid[:side, :side]
    outer = (row >= top) & (row < top + height) & (column >= left) & (column < left + width)
    inner = (row > top) & (row < top + height - 1) & (column > left) & (column < left + width - 1)
    return _paint(outer & ~inner), (height > width).ravel().astype(np.int32)


def _paint(regions: np.ndarray) -> np.ndarray:
    return regions.reshape(len(regions), -1) * _WHITE


def _collect(draw: Callable[[int], np.ndarray], n: int, side: int) -> np.ndarray:
    """Call `draw`, which returns as many regions as pass its tests, until there are n."""
    kept: list[np.ndarray] = [np.zeros((0, side, side), dtype=bool)]
    while (missing := n - sum(map(len, kept))) > 0:
        kept.append(draw(min(max(2 * missing, 64), _BATCH)))
    return np.concatenate(kept)[:n]


def _convex_regions(
    n: int, side: int, parameter: float, least: int, fewest: int, rng: np.random.RandomState
) -> np.ndarray:
    """Intersect random half-planes; of n draws, those with enough pixels are returned."""
    counts = rng.geometric(parameter, size=n) + least - 1
    regions = np.ones((n, side, side), dtype=bool)
    row, column = np.mgrid[:side, :side]
    for step in range(counts.max()):
        # Regions only shrink, so one that is too small is never looked at again.
        active = np.flatnonzero((counts > step) & (counts > 0))
        if len(active) == 0:
            break
        point = rng.uniform(-0.5, side - 0.5, size=(len(active), 2, 1, 1))
        angle = rng.uniform(0, 2 * np.pi, size=(len(active), 1, 1))
        half = (row - point[:, 0]) * np.cos(angle) + (column - point[:, 1]) * np.sin(angle) >= 0
        regions[active] &= half
        counts[active[regions[active].sum(axis=(1, 2)) < fewest]] = 0
    return regions[counts > 0]


def _concave_regions(n: int, side: int, rng: np.random.RandomState) -> np.ndarray:
    """Unite two to four convex regions; of n draws, those that are not convex are returned."""
    counts = rng.randint(2, 5, size=n)
    parts = _collect(lambda m: _convex_regions(m, side, *_PART, rng), counts.sum(), side)
    starts = np.cumsum(counts) - counts
    unions = np.logical_or.reduceat(parts, starts, axis=0)
    return unions[~is_convex(unions)]


def is_convex(regions: np.ndarray) -> np.ndarray:
    """Tell for (n, h, w) masks whether every pixel half-way between two of the region is in it, too.

    The self-convolution of a mask counts, at 2m, the pairs of its pixels with midpoint m: all pairs at once.
    """
    _, height, width = regions.shape
    shape = (2 * height, 2 * width)
    spectrum = np.asarray(rfft2(regions.astype(np.float32), s=shape))
    pairs = np.asarray(irfft2(spectrum * spectrum, s=shape))[:, ::2, ::2]
    return np.logical_not(((pairs > 0.5) & ~regions).any(axis=(1, 2)))
