"""Retrieval and votes of one representation: the two tasks of [Reeve2018, Sec. 6.2]."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
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
