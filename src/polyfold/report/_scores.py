"""Scores of models: what a representation keeps of the data, how its parts repeat one another, predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from polyfold._typing import Matrix, RandomState, Table
from polyfold.metrics import clustering_accuracy, correlations, majority_vote, nmi, redundancy, retrieval_precision
from polyfold.neighbors import make_search, without_self
from polyfold.report._views import Model, Views, unwrap, views_of

PRECISION, ACCURACY, SINGLE, CORRELATION = "precision at 10", "vote accuracy", "single modules", "module correlation"
# Points whose neighbours are searched, and points compared by distance correlation: errors are about one per cent.
_QUERIES, _COMPARED = 1000, 300


def nearest(rows: Matrix, queries: NDArray, k: int) -> NDArray:
    """Return the `k` nearest other rows of those in `queries`, shape (len(queries), k), by exact search."""
    distances, indices = make_search("exact", rows).query(_safe_indexing(rows, queries), min(k + 1, rows.shape[0]))
    return without_self(distances, indices, queries)[1]


class Scorer:
    """Scores representations of the same rows, of which at most a thousand are queries, themselves left out.

    Parameters
    ----------
    X : {array, sparse matrix} or None
        The data, whose neighbours are the true ones; None if there are no rows to compare with.
    n : int
        Number of points.
    labels : ndarray of int of shape (n,), default=None
        Classes, which neighbours vote for.
    rng : RandomState
    """

    def __init__(self, X: Matrix | None, n: int, labels: NDArray | None, rng: np.random.RandomState):
        self.queries = np.sort(rng.permutation(n)[:_QUERIES])
        self.compared = np.sort(rng.permutation(n)[:_COMPARED])
        self.labels = labels
        self.k = min(10, n - 1)
        self.truth = None if X is None else nearest(X, self.queries, self.k)

    def figures(self, views: Views, bars: dict[str, float]) -> dict[str, float]:
        """Return the scores of these views and their bars, by name; fractions are between 0 and 1."""
        neighbors = nearest(views.whole, self.queries, self.k)
        out = {} if self.truth is None else {PRECISION: retrieval_precision(neighbors, self.truth)}
        if self.labels is not None:
            votes = np.array([self._votes(Z) for Z in ([views.whole] if views.modules is None else views.modules)])
            right = self.labels[self.queries]
            out[ACCURACY] = float(np.mean(majority_vote(votes) == right))
            if len(votes) > 1:
                out[SINGLE] = float(np.mean(votes == right))
        if views.modules is not None:
            out[CORRELATION] = float(np.mean(list(bars.values())))
        return out

    def bars(self, views: Views) -> tuple[str, dict[str, float]]:
        """Return what is compared, and one number between 0 and 1 for every part of the representation, by name."""
        if views.modules is not None:
            pairs = correlations(list(views.modules[:, self.compared]))
            np.fill_diagonal(pairs, 0)
            values = pairs.sum(axis=1) / max(1, len(pairs) - 1)
            return "distance correlation with the other modules", _numbered("module", values)
        if views.kind == "coordinates":
            return "novelty: unpredictable from the earlier coordinates", _numbered("coordinate", _novelty(views.whole))
        if self.labels is not None:
            return "same class among the 10 nearest", {v.name: self._same_class(v.rows) for v in views.views}
        return "neighbours kept from the data", {v.name: self._kept(v.rows) for v in views.views}

    def _votes(self, rows: NDArray) -> NDArray:
        """Majority of the classes of the five nearest other points."""
        return majority_vote(self.labels[nearest(rows, self.queries, min(5, self.k))].T)  # type: ignore[index]

    def _same_class(self, rows: NDArray) -> float:
        neighbors = nearest(rows, self.queries, self.k)
        return float(np.mean(self.labels[neighbors] == self.labels[self.queries][:, None]))  # type: ignore[index]

    def _kept(self, rows: NDArray) -> float:
        neighbors = nearest(rows, self.queries, self.k)
        return 0.0 if self.truth is None else retrieval_precision(neighbors, self.truth)


def _numbered(part: str, values: NDArray) -> dict[str, float]:
    return {f"{part} {i}": float(value) for i, value in enumerate(values)}


def _novelty(Z: NDArray) -> NDArray:
    """Leave-one-out residual of every coordinate on the earlier ones; a constant one gets 0."""
    varying = np.ptp(Z, axis=0) > 0
    out = np.zeros(Z.shape[1])
    if varying.any():
        out[varying] = redundancy(Z[:, varying], n_queries=500)
    return out


def true_rows(model: Model, X: Table) -> Matrix | None:
    """Return the rows whose neighbours are the true ones, or None: given kernels and distances have no rows."""
    tags = getattr(model, "__sklearn_tags__", None)
    if tags is not None and tags().input_tags.pairwise:
        return None
    rows = X if hasattr(X, "toarray") else np.asarray(X)
    numeric = rows.dtype.kind in "fiub" and rows.ndim == 2 and _num_samples(rows) > 1
    return rows.tocsr() if numeric and hasattr(rows, "toarray") else rows if numeric else None


def score_model(model: Model, X: Table, y: NDArray | None, *, random_state: RandomState = 0) -> dict[str, Any]:
    """Return scores of a fitted model on rows, by name: of its predictions, or of its clusters and coordinates."""
    estimator, rows = unwrap(model, X, keeps=lambda _: True)
    predicted = np.asarray(model.predict(X)) if hasattr(model, "predict") else None
    if is_regressor(estimator):
        return {"r2": float(r2_score(y, predicted))}
    if is_classifier(estimator):
        scores: dict[str, Any] = {"accuracy": float(np.mean(predicted == y))}
        if hasattr(estimator, "module_scores"):
            each = estimator.module_scores(rows, y)
            scores["accuracy of single modules"] = [float(each.min()), float(each.max())]
        return scores
    codes = None if y is None else np.unique(y, return_inverse=True)[1]
    scores = {} if predicted is None else {"clusters": len(np.unique(predicted))}
    if predicted is not None and codes is not None:
        scores |= {"accuracy": clustering_accuracy(codes, predicted), "nmi": nmi(codes, predicted)}
    if hasattr(model, "transform"):
        # Targets are not classes if most of them occur once.
        is_class = codes is not None and 0 < codes.max() < len(codes) / 2
        scores |= _score_coordinates(model, X, codes if is_class else None, random_state)
    return scores


def _score_coordinates(model: Model, X: Table, classes: NDArray | None, random_state: RandomState) -> dict[str, float]:
    inner, rows = unwrap(model, X)
    scorer = Scorer(true_rows(inner, rows), _num_samples(rows), classes, check_random_state(random_state))
    views = views_of(inner, rows, most=1)
    return scorer.figures(views, {} if views.modules is None else scorer.bars(views)[1])
