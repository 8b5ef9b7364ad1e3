"""The image sets that MBM and MAE share, with names that say which of them were made anew."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyfold import datasets

Images = tuple[NDArray, NDArray]
MNIST, RECTANGLES = "MNIST", "Rectangles"
ROTATIONS, RANDOM = "Rotations (regenerated)", "Random (regenerated)"
BACKGROUND, CONVEX = "Background (regenerated)", "Convex (regenerated)"
VARIED: dict[str, Callable[..., NDArray]] = {
    ROTATIONS: datasets.make_rotations,
    RANDOM: datasets.make_random_background,
    BACKGROUND: datasets.make_image_background,
}
NAMES = (MNIST, BACKGROUND, RANDOM, ROTATIONS, CONVEX, RECTANGLES)


@lru_cache(maxsize=1)
def mnist(data: Path | None) -> Images:
    """All of MNIST, read once."""
    return datasets.load_mnist(data, return_X_y=True)


def draw_images(data: Path | None, name: str, rows: int, seed: int) -> Images:
    """Draw images of one set at random and without repeats, in single precision, and their classes.

    Variations of MNIST are made from digits drawn from the pooled 70,000, as [Larochelle2007] did.
    """
    if name == CONVEX:
        X, y = datasets.make_convex(rows, random_state=seed)
    elif name == RECTANGLES:
        X, y = _drawn(datasets.load_rectangles(data, return_X_y=True), rows, seed)
    else:
        X, y = _drawn(mnist(data), rows, seed)
        X = VARIED[name](X, random_state=seed) if name in VARIED else X
    return np.asarray(X, dtype=np.float32), y


def _drawn(images: Images, rows: int, seed: int) -> Images:
    X, y = images
    if rows > len(X):
        raise ValueError(f"rows must be at most {len(X)}, the images there are, got {rows}; ask for fewer.")
    order = np.random.RandomState(seed).permutation(len(X))[:rows]
    return X[order], y[order]
