"""Replace a large model by a small network: unsupervised model compression [Zhang2016, app. D]."""

import warnings
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_clusterer,
)
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import single_threaded_libraries
from polyfold._typing import FloatArray, Matrix, RandomState, Table
from polyfold._validation import check_real, check_rows, draw_seed, keeps_state_on_failure, outside
from polyfold.ensembles._student import DropoutNetwork
from polyfold.exceptions import DegenerateDataWarning


def _compresses_clusters(self: "Compressed") -> bool:
    if is_clusterer(self.estimator):
        return True
    raise AttributeError(f"predict is for compressed clusterers, got {self.estimator!r}; use transform.")


def _compresses_coordinates(self: "Compressed") -> bool:
    if not is_clusterer(self.estimator):
        return True
    raise AttributeError(f"transform is for compressed transformers, got {self.estimator!r}; use predict.")


class Compressed(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Train a small network to reproduce a fitted transformer or clusterer.

    The student g minimises the squared error to the teacher's coordinates, or the cross-entropy to indicators of
    its clusters,

    .. math:: \min_g \sum_i \ell(g(x_i), t(x_i)).

    It is fast, and it needs neither the teacher nor its training data: files and copies of a fitted model hold an
    unfitted teacher.

    Parameters
    ----------
    estimator : transformer or clusterer
        The teacher. A fitted one is used as it is; otherwise a copy is fitted first.
    student : estimator, "torch" or None, default=None
        Any scikit-learn regressor (or classifier, for clusterers). None means scikit-learn's network with two layers
        of 256 units. "torch" means the network of the paper: two layers of 2048 units with dropout, with
        sigmoid outputs for clusters and linear outputs for coordinates.
    holdout : float, default=0.1
        Fraction of the rows that are held out of the training and used to measure the fidelity, at least one row.
        With 0, the fidelity is measured on the training rows.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows and of the default students.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    student_ : estimator
    fidelity_ : float
        On the held-out rows: fraction of the teacher's variance, about its mean over all rows, that the student
        explains (R²), or fraction of rows with the teacher's cluster. NaN, with a warning, if the teacher's output
        does not vary there.
    classes_ : ndarray
        The clusters, if the teacher is a clusterer.
    n_features_in_ : int

    Notes
    -----
    Bytes are divided by 255, other features are standardised (sparse ones scaled, not shifted), and coordinates are
    standardised by one common scale, before the student sees them.

    References
    ----------
    [Zhang2016]

    Examples
    --------
    >>> from polyfold import Compressed
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.decomposition import PCA
    >>> X = load_iris().data
    >>> small = Compressed(PCA(2).fit(X), student=Ridge(alpha=1e-6), random_state=0).fit(X)
    >>> round(small.fidelity_, 3)
    1.0
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        student: BaseEstimator | Literal["torch"] | None = None,
        *,
        holdout: float = 0.1,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.student = student
        self.holdout = holdout
        self.random_state = random_state
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Table, y: object = None, *, target: ArrayLike | None = None) -> Self:
        """Train the student.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        target : array-like, optional
            The teacher's output for the rows of `X`, if it is known already (such as ``embedding_``). By default it
            is computed.

        Returns
        -------
        self : object
        """
        check_real("holdout", self.holdout, minimum=0, maximum=0.9)
        rng = check_random_state(self.random_state)
        rows = self._validate(X, reset=True)
        with phase("teacher"):
            targets = self._targets(X, y, target)
        self._fit_scales(rows, targets)
        train, test = self._split(rows.shape[0], rng)
        student = self._student(rng, len(train))
        with phase("student"), single_threaded_libraries():  # the batches are too small for several threads
            self.student_ = student.fit(self._scaled(rows[train]), self._training_targets(targets[train], student))
        self.fidelity_ = self._fidelity(rows[test], targets[test])
        return self

    def transform(self, X: Table) -> FloatArray:
        """Return the student's coordinates of points, (n_samples, n_components)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._coordinates(X).astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)

    @available_if(_compresses_clusters)
    def predict(self, X: Table) -> NDArray:
        """Return the student's cluster of every point, (n_samples,)."""
        check_is_fitted(self)
        return self._clusters(self._validate(X, reset=False))

    def __getstate__(self) -> dict[str, Any]:
        """Store a fitted model without the fitted teacher, which may hold its training rows."""
        state = super().__getstate__()
        return {**state, "estimator": clone(self.estimator)} if "student_" in state else state

    def _targets(self, X: Table, y: object, given: ArrayLike | None) -> NDArray:
        """Return the clusters or coordinates that the student learns: those given, or the output of the teacher."""
        targets = self._teacher_output(X, y) if given is None else np.asarray(given)
        if len(targets) != _num_samples(X):
            raise ValueError(f"target must have one row per sample={_num_samples(X)}, got {len(targets)}.")
        return targets if is_clusterer(self.estimator) else targets.astype(np.float64, copy=False)

    def _teacher_output(self, X: Table, y: object) -> NDArray:
        """Return the output of the teacher; an unfitted teacher is fitted as a copy."""
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            teacher = clone(self.estimator)
            if is_clusterer(teacher):
                return np.asarray(teacher.fit_predict(X, y))
            return np.asarray(teacher.fit_transform(X, y))
        if not is_clusterer(self.estimator):
            return np.asarray(self.estimator.transform(X))
        if not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator must have predict once it is fitted, got {self.estimator!r}; pass it unfitted, or "
                "pass target=estimator.labels_."
            )
        return np.asarray(self.estimator.predict(X))

    def _validate(self, X: Table, *, reset: bool) -> Matrix:
        dtype = [np.float64, np.float32, np.uint8]
        return check_rows(self, X, reset=reset, minimum=2 if reset else 1, dtype=dtype)

    def _fit_scales(self, X: Matrix, targets: NDArray) -> None:
        """Store the scales of the features, and the clusters or the scale of the coordinates."""
        if is_clusterer(self.estimator):
            self.classes_ = np.unique(targets)
        else:
            self._n_outputs = 1 if targets.ndim == 1 else targets.shape[1]
            self._target_mean = targets.mean(axis=0)
            spread = float(np.sqrt(targets.var(axis=0).mean()))
            self._target_scale = spread if spread > _rounding(targets) else 1.0
        self._shift, self._scale = _input_scales(X)

    def _scaled(self, X: Matrix) -> Matrix:
        # Single precision is enough for bytes. Doubles stay: otherwise results would depend on the order of the rows.
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        if sp.issparse(X):
            return sp.csr_matrix(X.multiply(1 / self._scale), dtype=dtype)
        return ((X - self._shift) / self._scale).astype(dtype, copy=False)

    def _split(self, n: int, rng: np.random.RandomState) -> tuple[NDArray, NDArray]:
        """Return the rows for training and at least one held-out row; all rows for both if nothing is held out."""
        order = rng.permutation(n)
        count = max(1, int(self.holdout * n)) if self.holdout > 0 and n > 1 else 0
        return (order[count:], order[:count]) if count else (order, order)

    def _student(self, rng: np.random.RandomState, n_rows: int) -> BaseEstimator:
        seed = draw_seed(rng)
        clusters = is_clusterer(self.estimator)
        if self.student == "torch":
            return DropoutNetwork(output="sigmoid" if clusters else "linear", random_state=seed)
        if self.student is None:
            network = MLPClassifier if clusters else MLPRegressor
            # With few rows, a part held out for early stopping is too small.
            stop = n_rows >= 1000
            return network(hidden_layer_sizes=(256, 256), max_iter=500, early_stopping=stop, random_state=seed)
        if isinstance(self.student, str):
            raise ValueError(f"student must be 'torch', an estimator or None, got {self.student!r}.")
        return clone(self.student)

    def _training_targets(self, targets: NDArray, student: BaseEstimator) -> NDArray:
        """Return the training target of the student: labels, indicators or scaled coordinates."""
        if not is_clusterer(self.estimator):
            scaled = (targets - self._target_mean) / self._target_scale
            return scaled.ravel() if self._n_outputs == 1 else scaled
        if is_classifier(student):
            return targets
        return (targets[:, None] == self.classes_).astype(np.float32)

    def _coordinates(self, X: Matrix) -> NDArray:
        outputs = np.asarray(self.student_.predict(self._scaled(X)), dtype=np.float64).reshape(X.shape[0], -1)
        return outputs * self._target_scale + self._target_mean

    def _clusters(self, X: Matrix) -> NDArray:
        outputs = self.student_.predict(self._scaled(X))
        return outputs if is_classifier(self.student_) else self.classes_[np.argmax(outputs, axis=1)]

    def _fidelity(self, X: Matrix, targets: NDArray) -> float:
        if is_clusterer(self.estimator):
            return float(np.mean(self._clusters(X) == targets))
        targets = targets.reshape(len(targets), -1)
        error = np.square(self._coordinates(X) - targets).sum()
        # About the mean over all rows: a single row has no variance about its own.
        spread = np.square(targets - self._target_mean).sum()
        if spread > targets.size * _rounding(targets) ** 2:
            return float(1 - error / spread)
        warnings.warn(
            "The output of the teacher is the same for all held-out rows, so fidelity_ is NaN. Increase holdout.",
            DegenerateDataWarning,
            stacklevel=outside(),
        )
        return float("nan")

    @property
    def _n_features_out(self) -> int:
        return self._n_outputs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


# After the class: scikit-learn wraps `transform` when the class is created, which would hide the condition.
Compressed.transform = available_if(_compresses_coordinates)(Compressed.transform)  # type: ignore[method-assign]


def _input_scales(X: Matrix) -> tuple[Any, Any]:
    """Return shift and scale of the features: 0 and 255 for bytes, otherwise mean and standard deviation."""
    if sp.issparse(X):
        # Squares of bytes wrap around, and sums in single precision overflow.
        scale = np.sqrt(np.asarray(X.astype(np.float64).power(2).mean(axis=0)).ravel())
        return 0.0, np.where(scale > 0, scale, 1.0)
    if X.dtype == np.uint8:
        return 0.0, 255.0
    scale = X.std(axis=0, dtype=np.float64)
    return X.mean(axis=0, dtype=np.float64), np.where(scale > 0, scale, 1.0)


def _rounding(targets: NDArray) -> float:
    """Return the rounding of the mean of equal outputs."""
    return float(8 * np.finfo(np.float64).eps * np.abs(targets).max(initial=0.0))
