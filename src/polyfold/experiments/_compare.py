"""Retrieval and votes of one representation: the two tasks of [Reeve2018, Sec. 6.2]."""

from typing import Any

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
