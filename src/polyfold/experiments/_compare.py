"""Retrieval and votes of one representation: the two tasks of [Reeve2018, Sec. 6.2]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

from polyfold.ensembles import ModularClassifier, ModularNeighbors
from polyfold.metrics import retrieval_precision

SCORES = ("precision, %", "accuracy, %")


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

    def scores(self, model: Any) -> dict[str, float]:
        """Return precision by the paper's rule and accuracy of the hard vote of 5-nearest-neighbours classifiers."""
        frozen = FrozenEstimator(model)
        index = ModularNeighbors(frozen, n_neighbors=self.n_neighbors).fit(self.X)
        found = index.kneighbors(self.Q, return_distance=False)
        vote = ModularClassifier(frozen).fit(self.X, self.y)
        figures = (100 * retrieval_precision(found, self.truth), 100 * float(vote.score(self.Q, self.y_test)))
        return dict(zip(SCORES, figures, strict=True))


def lost_modules(n_modules: int, draws: int = 20) -> list[NDArray]:
    """Return which modules are left where half of them are lost, in some random draws."""
    rng = np.random.RandomState(0)
    return [np.sort(rng.permutation(n_modules)[n_modules // 2 :]) for _ in range(draws)]


def half_lost(tasks: Tasks, model: Any, n_modules: int, n_components: int) -> float:
    """Precision of exact search in what half of the modules leave, mean of some draws; one module is cut into parts."""
    Z, Q = model.transform(tasks.X), model.transform(tasks.Q)
    found = []
    for left in lost_modules(n_modules):
        kept = np.isin(np.arange(n_modules * n_components) // n_components, left)
        index = NearestNeighbors(n_neighbors=tasks.n_neighbors, algorithm="brute").fit(Z[:, kept])
        found.append(retrieval_precision(index.kneighbors(Q[:, kept], return_distance=False), tasks.truth))
    return 100 * float(np.mean(found))
