"""One classifier per module, and their vote."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._progress import LongFit, phase, shows_progress, track
from polyfold._threads import threaded, using_threads
from polyfold._typing import FloatArray, Matrix, Rows
from polyfold._validation import check_choice, check_container, check_rows, keeps_state_on_failure
from polyfold.sources import by_blocks


class ModularClassifier(LongFit, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Classify by the vote of one classifier per module [Reeve2018]_.

    Parameters
    ----------
    representation : estimator
        A modular representation with `transform_modules`, such as :class:`polyfold.ModularKernelPCA`. A copy is
        fitted; wrap a fitted one in scikit-learn's ``FrozenEstimator`` to keep it as it is.
    estimator : classifier, default=None
        Fitted to every module; None is a 5-nearest-neighbours classifier.
    voting : {"hard", "soft"}, default="hard"
        Most frequent class, ties broken by the mean probability if there is one; or highest mean probability.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    representation_ : estimator
    estimators_ : list of classifiers
        One per module, on encoded labels.
    classes_ : ndarray
    n_features_in_ : int

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> modules = pf.ModularKernelPCA(5, 8, diversity=0.9, random_state=0)
    >>> model = pf.ModularClassifier(modules).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    """

    def __init__(
        self,
        representation: BaseEstimator,
        estimator: BaseEstimator | None = None,
        *,
        voting: Literal["hard", "soft"] = "hard",
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.representation = representation
        self.estimator = estimator
        self.voting = voting
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Fit the representation, then one classifier per module.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : object
        """
        check_choice("voting", self.voting, ("hard", "soft"))
        check_container(X)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self._encoder = LabelEncoder().fit(y)
        self.classes_ = self._encoder.classes_
        estimator = KNeighborsClassifier(min(5, X.shape[0])) if self.estimator is None else self.estimator
        if self.voting == "soft" and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba with voting='soft', got {estimator!r}; use voting='hard'."
            )
        labels = self._encoder.transform(y)
        with using_threads(self.n_jobs):
            with phase("representation"):
                self.representation_ = clone(self.representation).fit(X, None)
            with phase("classifiers"):
                modules = self.representation_.transform_modules(X)
                found = threaded(lambda Z: clone(estimator).fit(Z, labels), modules)
                self.estimators_ = list(track(found, "classifiers", total=len(modules)))
        return self

    @by_blocks
    def predict(self, X: Rows) -> NDArray:
        """Return the class that the modules agree on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        y : ndarray of shape (n,)
        """
        winners = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[winners]

    @by_blocks
    def predict_proba(self, X: Rows) -> FloatArray:
        """Return the fraction of votes (hard) or the mean probability (soft) of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            With hard voting, shares that differ by less than 1e-6 are ties, ordered by mean probability.
        """
        modules = self._modules(X)
        if self.voting == "soft":
            return self._mean_probability(modules)
        votes = self._votes(modules)
        tied = np.sum(votes == votes.max(axis=1, keepdims=True), axis=1) > 1
        if tied.any() and all(hasattr(estimator, "predict_proba") for estimator in self.estimators_):
            # Far below one vote of any number of modules: it decides ties and nothing else.
            votes[tied] = (1 - 1e-6) * votes[tied] + 1e-6 * self._mean_probability(modules[:, tied])
        return votes

    def module_scores(self, X: Rows, y: ArrayLike) -> FloatArray:
        """Return the accuracy of every module's own classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
        y : array-like of shape (n,)

        Returns
        -------
        scores : ndarray of shape (n_modules,)
        """
        labels = np.asarray(y)
        predictions = self._predictions(self._modules(X))
        return np.mean(self.classes_[predictions] == labels, axis=1)

    def _modules(self, X: Matrix) -> NDArray:
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        with using_threads(self.n_jobs):
            return self.representation_.transform_modules(X)

    def _each(self, method: str, modules: NDArray) -> list[NDArray]:
        pairs = zip(self.estimators_, modules, strict=True)
        return list(threaded(lambda pair: getattr(pair[0], method)(pair[1]), pairs, self.n_jobs))

    def _predictions(self, modules: NDArray) -> NDArray:
        return np.array(self._each("predict", modules))

    def _mean_probability(self, modules: NDArray) -> NDArray:
        return np.mean(self._each("predict_proba", modules), axis=0)

    def _votes(self, modules: NDArray) -> NDArray:
        predictions = self._predictions(modules)
        return np.mean(predictions[:, :, None] == np.arange(len(self.classes_)), axis=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.representation).input_tags  # folds are cut as the representation needs
        return tags
