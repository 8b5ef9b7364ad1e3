"""Figures of a representation: what it keeps of the data, and how its parts repeat one another."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from polyfold._typing import Matrix, RandomState, Table
from polyfold.metrics import correlations, majority_vote, redundancy, retrieval_precision
from polyfold.neighbors import choose_engine, make_search, without_self
from polyfold.report._views import Model, Views, unwrap, views_of

PRECISION, ACCURACY, SINGLE, CORRELATION = "precision at 10", "vote accuracy", "single modules", "module correlation"
# Points whose neighbours are searched, and points compared by distance correlation: errors are about one per cent.
_QUERIES, _COMPARED = 1000, 300


def nearest(rows: Matrix, queries: NDArray, k: int) -> NDArray:
    """Return the `k` nearest other rows of those in `queries`, shape (len(queries), k), by exact search."""
    engine = choose_engine(*rows.shape, sparse=hasattr(rows, "toarray"), approximate=False)
    distances, indices = make_search(engine, rows).query(_safe_indexing(rows, queries), min(k + 1, rows.shape[0]))
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


def score_representation(
    model: Model, X: Table, labels: NDArray | None = None, *, random_state: RandomState = 0
) -> dict[str, float]:
    """Return the scores of a fitted representation on rows, by name; `labels` are numbers of classes."""
    inner, rows = unwrap(model, X)
    scorer = Scorer(true_rows(inner, rows), _num_samples(rows), labels, check_random_state(random_state))
    views = views_of(inner, rows, most=1)
    return scorer.figures(views, {} if views.modules is None else scorer.bars(views)[1])
