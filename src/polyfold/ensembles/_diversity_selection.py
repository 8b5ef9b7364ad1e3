"""λ by validation, at the cost of one spectrum per fold."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_array, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split

from polyfold._progress import track
from polyfold._typing import Matrix, Table
from polyfold._validation import check_container
from polyfold.ensembles._classifier import ModularClassifier
from polyfold.ensembles._neighbors import ModularNeighbors
from polyfold.metrics import retrieval_precision
from polyfold.neighbors import make_search, sorted_lists


@dataclass(frozen=True)
class DiversitySelection:
    """Hold the validation scores over λ.

    Parameters
    ----------
    best_diversity : float
        λ of the highest mean score.
    grid : ndarray of shape (g,)
    scores : ndarray of shape (g, folds)
    """

    best_diversity: float
    grid: NDArray
    scores: NDArray

    @property
    def mean(self) -> NDArray:
        """Mean score of every λ, shape (g,)."""
        return self.scores.mean(axis=1)

    @property
    def std(self) -> NDArray:
        """Spread of the folds' scores for every λ, shape (g,)."""
        return self.scores.std(axis=1)


def select_diversity(
    model: BaseEstimator,
    X: Table,
    y: ArrayLike | None = None,
    *,
    grid: Sequence[float] = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999),
    cv: int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] = 3,
    scoring: Literal["retrieval", "accuracy"] | Callable[..., float] | None = None,
) -> DiversitySelection:
    """Choose the diversity λ by cross-validation, with one fit per fold.

    Parameters
    ----------
    model : ModularKernelPCA
        Or any representation with `diversity_path`. Not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Or (n_samples, n_samples), where the model takes kernel values or distances of pairs.
    y : array-like of shape (n_samples,), default=None
        Classes; without them neighbours are retrieved.
    grid : sequence of float, default=(0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999)
    cv : int, splitter or iterable, default=3
        As in scikit-learn; an integer means stratified folds if `y` is given.
    scoring : {"retrieval", "accuracy"} or callable, default=None
        "retrieval": fraction of the 10 nearest neighbours in the original space that the modules find. "accuracy": of
        the vote of 5-nearest-neighbours classifiers. A callable gets ``(model, X_train, X_test, y_train, y_test)``
        with a fitted model. None picks "accuracy" if `y` is given, else "retrieval".

    Returns
    -------
    selection : DiversitySelection

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> selection = pf.select_diversity(pf.ModularKernelPCA(4, 5, random_state=0), X[:300], grid=[0.0, 0.99], cv=2)
    >>> selection.best_diversity
    0.99
    """
    check_container(X)
    X, y = indexable(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]), y)
    y = None if y is None else np.asarray(y)
    score = _scorer(scoring, y)
    grid = [float(diversity) for diversity in grid]
    if not grid:
        raise ValueError("grid must hold at least one diversity, got none.")
    folds = list(check_cv(cv, y, classifier=y is not None).split(X, y))
    scores = np.empty((len(grid), len(folds)))
    for fold, (train, test) in enumerate(track(folds, "folds")):
        # Rows, and of kernel values or distances of pairs the columns too.
        (X_train, y_train), (X_test, y_test) = _safe_split(model, X, y, train), _safe_split(model, X, y, test, train)
        parts = (X_train, X_test, y_train, y_test)
        fitted = clone(model).fit(parts[0])
        scores[:, fold] = [score(candidate, *parts) for candidate in fitted.diversity_path(grid)]
    return DiversitySelection(grid[int(np.argmax(scores.mean(axis=1)))], np.array(grid), scores)


def _scorer(
    scoring: Literal["retrieval", "accuracy"] | Callable[..., float] | None, y: NDArray | None
) -> Callable[..., float]:
    if callable(scoring):
        return scoring
    name = scoring or ("retrieval" if y is None else "accuracy")
    if name == "accuracy" and y is None:
        raise ValueError("scoring='accuracy' needs y, got None; pass the classes or use scoring='retrieval'.")
    scorers = {"retrieval": _retrieval_score, "accuracy": _accuracy_score}
    if name not in scorers:
        raise ValueError(f"scoring must be one of 'retrieval', 'accuracy' or a callable, got {scoring!r}.")
    return scorers[name]


def _retrieval_score(
    model: BaseEstimator, X_train: Table, X_test: Table, y_train: ArrayLike | None, y_test: ArrayLike | None
) -> float:
    k = min(10, X_train.shape[0])
    truth = _nearest(X_train, X_test, k, pairwise=get_tags(model).input_tags.pairwise)
    index = ModularNeighbors(FrozenEstimator(model), n_neighbors=k).fit(X_train)
    return retrieval_precision(index.kneighbors(X_test, return_distance=False), truth)


def _nearest(X_train: Matrix, X_test: Matrix, k: int, *, pairwise: bool) -> NDArray:
    """Rows of the training part nearest to those of the test part, shape (n, k)."""
    if not pairwise:
        return make_search("exact", X_train).query(X_test, k)[1]
    diagonal = X_train.diagonal()
    # Distances have a diagonal of zeros; kernel values do not, and k(y, y) − 2 k(x, y) orders the y by distance.
    if not diagonal.any():
        return sorted_lists(X_test, drop_self=False)[:, :k]
    values = X_test.toarray() if sp.issparse(X_test) else X_test
    return np.argsort(diagonal - 2 * values, axis=1, kind="stable")[:, :k]


def _accuracy_score(
    model: BaseEstimator, X_train: Table, X_test: Table, y_train: ArrayLike | None, y_test: ArrayLike | None
) -> float:
    return float(ModularClassifier(FrozenEstimator(model)).fit(X_train, y_train).score(X_test, y_test))
