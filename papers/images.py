"""The image sets that MBM and MAE share, and the two tasks of [Reeve2018, Sec. 6.2]: retrieval and votes."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from papers.data import load_dataset
from polyfold import ModularClassifier, ModularNeighbors, datasets
from polyfold.metrics import retrieval_precision

SCORES = ("precision, %", "accuracy, %")
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
    return load_dataset("mnist", data, return_X_y=True)


def draw_images(data: Path | None, name: str, rows: int, seed: int) -> Images:
    """Draw images of one set at random and without repeats, in single precision, and their classes.

    Variations of MNIST are made from digits drawn from the pooled 70,000, as [Larochelle2007] did.
    """
    if name == CONVEX:
        X, y = datasets.make_convex(rows, random_state=seed)
    elif name == RECTANGLES:
        X, y = _drawn(load_dataset("rectangles", data, return_X_y=True), rows, seed)
    else:
        X, y = _drawn(mnist(data), rows, seed)
        X = VARIED[name](X, random_state=seed) if name in VARIED else X
    return np.asarray(X, dtype=np.float32), y


def _drawn(images: Images, rows: int, seed: int) -> Images:
    X, y = images
    if rows > len(X):
        raise ValueError(f"rows must be at most {len(X)}, the number of images, got {rows}.")
    order = np.random.RandomState(seed).permutation(len(X))[:rows]
    return X[order], y[order]


class Tasks:
    """Training and test images, and the true neighbours in pixel space.

    Parameters
    ----------
    X, y : arrays
        Training images and classes.
    Q, y_test : arrays
        Test images and classes.
    n_neighbors : int, default=10
    """

    def __init__(self, X: NDArray, y: NDArray, Q: NDArray, y_test: NDArray, *, n_neighbors: int = 10):
        self.X, self.y, self.Q, self.y_test, self.n_neighbors = X, y, Q, y_test, n_neighbors
        exact = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(X)
        self.truth = exact.kneighbors(Q, return_distance=False)

    def answers(self, model: Any) -> tuple[NDArray, NDArray]:
        """Return what every query finds by the paper's rule, and the class that its 5 nearest neighbours vote for."""
        Z, queries = model.transform(self.X), model.transform(self.Q)  # once for both tasks
        modules = SideBySide(len(model.transform_modules(self.Q[:1])))
        index = ModularNeighbors(modules, n_neighbors=self.n_neighbors).fit(Z)
        vote = ModularClassifier(modules).fit(Z, self.y)
        return index.kneighbors(queries, return_distance=False), vote.predict(queries)

    def scores(self, model: Any) -> dict[str, float]:
        """Return precision by the paper's rule and accuracy of the hard vote of 5-nearest-neighbours classifiers."""
        return self.judged(*self.answers(model))

    def judged(self, found: NDArray, voted: NDArray, queries: slice = slice(None)) -> dict[str, float]:
        """Return the scores of answers to some of the queries."""
        precision = retrieval_precision(found[queries], self.truth[queries])
        right = np.mean(voted[queries] == self.y_test[queries])
        return dict(zip(SCORES, (100 * precision, 100 * float(right)), strict=True))


class SideBySide(BaseEstimator):
    """Modules that are there already, side by side in the columns."""

    def __init__(self, n_modules: int):
        self.n_modules = n_modules

    def fit(self, Z: NDArray, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def transform_modules(self, Z: NDArray) -> NDArray:
        """Split the columns into modules."""
        return np.ascontiguousarray(Z.reshape(len(Z), self.n_modules, -1).transpose(1, 0, 2))
