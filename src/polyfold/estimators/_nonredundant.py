"""Spectral embeddings whose coordinates are not functions of one another."""

from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from polyfold._linalg import as_dense, sample_rows
from polyfold._policy import SEARCH_ROWS
from polyfold._progress import LongFit, phase, shows_progress
from polyfold._regression import novelty
from polyfold._threads import in_blocks, using_threads
from polyfold._typing import FloatArray, Matrix, RandomState, Rows
from polyfold._validation import (
    check_choice,
    check_count,
    check_real,
    check_rows,
    draw_seed,
    keeps_state_on_failure,
)
from polyfold.estimators._spectral import warn_of_empty_columns
from polyfold.kernels import GraphKernel, Kernel, KernelLike, Operator, as_kernel, has_fixed_rows, takes_precomputed
from polyfold.nonredundant import (
    KernelChoice,
    SequenceSettings,
    Step,
    extend,
    select_on_sample,
    values_of,
    warn_if_saturated,
)
from polyfold.sources import all_or_some, as_source, by_blocks, is_stream, rows_to_fit
from polyfold.spectra import EIGEN_SOLVERS

# Rows that one thread transforms at a time.
_BLOCK = 16_384


class NonRedundantEmbedding(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed points so that no coordinate can be predicted from the earlier ones.

    .. math:: \max_{f_i} f_i^T K f_i \quad \text{with} \quad \|f_i\| = 1, \; 1^T f_i = 0, \;
              \mathbb{E}[f_i \mid f_1, \dots, f_{i-1}] = 0

    Coordinates of plain spectral embeddings are only uncorrelated, so they often repeat the longest direction of the
    data (its "harmonics") before they show a shorter one [Blau2017]_.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of coordinates. "auto" adds coordinates until one explains too little: it lowers the unexplained
        fraction of the variance of `X` by a smaller factor than the same coordinate, permuted, raises it. The number is
        at most 15, and at most the number of columns of `X`.
    kernel : str or kernel object, default="auto"
        Any of :mod:`polyfold.kernels`: "laplacian_eigenmaps", "lle", "hessian_lle", "ltsa", "isomap", "diffusion",
        "rbf", …, objects with their own parameters, callables, or "precomputed". "auto" compares, in this order,
        "laplacian_eigenmaps", "isomap", "lle" and "ltsa" (with as many directions as the data have intrinsic
        dimensions). A kernel replaces the one before it if it leaves at least a third less of the variance of `X`
        unexplained.
    n_neighbors : int, default=None
        Neighbours of the graph kernels. More neighbours are more robust to noise, but can connect parts that are
        separate. None takes the kernel's own setting.
    bandwidth : float or "auto", default="auto"
        Bandwidth α of the regression, relative to the root mean squared norm of the earlier coordinates (0.1 to 0.6 in
        the paper). A smaller bandwidth excludes more functions of the earlier coordinates. For each coordinate "auto"
        takes, of ∞ (only uncorrelated), 0.6, 0.35, 0.2 and 0.12, the one with the lowest unexplained fraction, or the
        widest within its standard error. With "auto", the coordinates after the first are also rotated, so that the
        leading ones have the lowest unexplained fraction, if it falls by three standard errors. Isomap and kernels of
        two points keep their axes. A number is the paper's algorithm to the letter.
    eigen_solver : {"auto", "lanczos", "inverse", "multigrid", "dense"}, default="auto"
        "inverse" factorises the kernel by a sparse LU. "multigrid" (extra ``pyamg``) is for random walks on many
        points of low intrinsic dimension; its last digits can differ between values of `n_jobs`. "auto" takes
        "inverse" if the LU stays sparse, "multigrid" for random walks on more than 20,000 points of at most 5
        intrinsic dimensions if pyamg is installed, and "lanczos" otherwise.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks of the smoother and of the start of the eigensolver.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one bar for the whole fit on a terminal, and a few lines elsewhere.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training points, mean 0; of the landmarks if a stream was fitted by landmarks. Their variance
        is 1 for graph kernels; for Isomap and kernels of two points it is the eigenvalue over n, as in
        `KernelEmbedding`, so that distances mean what they mean there.
    n_components_ : int
    rotation_ : ndarray of shape (n_directions, n_directions)
        Rotation of the coordinates that were found; the identity if they were not rotated.
    eigenvalues_ : ndarray of shape (n_components,)
        f'Kf of every coordinate before the rotation, in the kernel's measure.
    kernel_ : str or kernel object
        Name of the selected kernel, or `kernel` if it was given.
    kernel_scores_ : dict of str to float
        Unexplained fraction of every kernel that was compared; nan if it needs more neighbours, or another eigensolver.
        Empty if `kernel` was given.
    component_scores_ : ndarray
        Unexplained fraction of the variance of `X` after 1, 2, … coordinates: the residual variance if each row is
        predicted from its 10 nearest rows in the standardised coordinates, relative to the total variance. They are
        the scores of the selection, before the rotation. With ``n_components="auto"`` the last entry belongs to the
        first coordinate that was rejected.
    permuted_scores_ : ndarray
        The same with the last of the coordinates permuted.
    bandwidths_ : ndarray of shape (n_components,)
        α of every coordinate before the rotation: nan for the first, inf if it is only uncorrelated with the earlier
        ones.
    ranks_ : ndarray of shape (n_components,)
        Number of functions of the earlier coordinates that were excluded, for every coordinate before the rotation.
    novelty_ : ndarray of shape (n_components,)
        Residual of every coordinate in a leave-one-out regression on the earlier ones with the bandwidth that predicts
        best, relative to its standard deviation: 1 is new, 0 is a function of the earlier coordinates.
    residuals_ : ndarray of shape (n_components,)
        Norm of the residual of each eigenvector equation, relative to the cost or the eigenvalue; of the coordinates
        before the rotation.
    neighbor_recall_ : float
        Fraction of the true neighbours in the graph, on 256 rows; 1 for exact search, nan if there is no search.
    landmarks_ : ndarray or None
        Numbers of the 50,000 rows that were fitted, if there were too many rows to fit all of them.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    Time O(n·m²) per coordinate and memory O(n·m), with m the rank of the smoother (tens to hundreds), and the
    neighbour graph. Isomap keeps geodesics to at most 1,000 landmarks above 2,000 points. "auto" settings are selected
    on at most 2,500 rows, unless the kernel has a precomputed graph or matrix, which cannot be subsampled.

    Walks are solved on all rows of an array, and of a stream that fits the memory budget. Beyond it, on Dask, and for
    Isomap, LLE, LTSA and Hessian LLE, 50,000 landmarks are used, and the other rows are transformed like new ones.

    If the graph is not connected, a warning is issued, and coordinates have mean zero in every component. Duplicates
    count once in a graph, and get the same coordinates. If a kernel has fewer directions than `n_components`, the other
    coordinates are zero, with a warning.

    References
    ----------
    .. [Blau2017] Blau, Michaeli: Non-Redundant Spectral Dimensionality Reduction.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import make_swiss_roll
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> model = pf.NonRedundantEmbedding(n_components=2, random_state=0).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        kernel: KernelLike = "auto",
        n_neighbors: int | None = None,
        bandwidth: float | str = "auto",
        eigen_solver: str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.eigen_solver = eigen_solver
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
        """Fit to the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            Distances or kernel values, of shape (n_samples, n_samples), where the kernel takes precomputed input. A
            stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        with using_threads(self.n_jobs):
            seed = draw_seed(self.random_state)
            kernel = self._given_kernel()
            rows, self.landmarks_ = self._rows_to_fit(X, kernel, seed)
            settings = self._settings(rows.shape[0], seed)
            with phase("selection"):
                chosen = select_on_sample(kernel, rows, settings)
            # The selected kernel may take landmarks instead of very many rows.
            if kernel is None and chosen.kernel.takes_few and self.landmarks_ is None:
                rows, self.landmarks_ = all_or_some(rows, few=True, seed=seed)
            with phase("coordinates"):
                operator, steps = chosen.fit(rows)
            if settings.bandwidth is not None:
                warn_if_saturated(steps, operator.n_samples)
            with phase("scores"):
                self._store(chosen, operator, steps, rows)
                if self.landmarks_ is not None and not is_stream(X):
                    self.embedding_ = self._transform_rows(self._validate(X, reset=False))
            return self

    def fit_transform(self, X: Rows, y: object = None) -> FloatArray:
        """Fit to the rows of `X` and return their coordinates.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Lazy for Dask.
        """
        self.fit(X)
        transforms = is_stream(X) and (self.landmarks_ is not None or as_source(X).is_lazy)
        return self.transform(X) if transforms else self.embedding_.copy()

    @by_blocks
    def transform(self, X: Rows) -> FloatArray:
        """Return the coordinates of old or new points.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features)

        Returns
        -------
        Z : ndarray of shape (n, n_components)
            Lazy for Dask.
        """
        check_is_fitted(self, "embedding_")
        return self._transform_rows(self._validate(X, reset=False))

    def _transform_rows(self, X: Matrix) -> NDArray:
        """Return coordinates of checked rows, block by block to bound the memory."""
        Z = np.zeros((X.shape[0], len(self.eigenvalues_)), dtype=X.dtype)

        def fill(rows: slice) -> None:
            F = extend(self._fitted_operator, self._steps, X[rows])
            Z[rows, : len(self._steps)] = F @ self.rotation_ * self._scales

        with using_threads(self.n_jobs):
            in_blocks(fill, X.shape[0], _BLOCK)
        return Z

    def _store(self, chosen: KernelChoice, operator: Operator, steps: list[Step], rows: Matrix) -> None:
        """Store the selection, the coordinates and what describes each of them; columns not found are empty."""
        self.kernel_, self.kernel_scores_ = chosen.name or self.kernel, chosen.kernel_scores
        self.component_scores_, self.permuted_scores_ = chosen.found.scores, chosen.found.permuted
        seed, count = chosen.settings.seed, chosen.settings.n_components
        self.n_components_ = self._n_features_out = max(1, len(steps)) if count is None else count
        empty = self.n_components_ - len(steps)
        if empty:
            warn_of_empty_columns(self.n_components_, len(steps))
        self._fitted_operator = operator
        self._steps = [step.slim() for step in steps]
        self.eigenvalues_ = np.array([step.eigenvalue for step in steps] + empty * [0.0])
        self.bandwidths_ = np.array([np.nan if step.alpha is None else step.alpha for step in steps] + empty * [np.nan])
        self.ranks_ = np.array([step.rank for step in steps] + empty * [0])
        self.residuals_ = np.array([step.residual for step in steps] + empty * [np.nan])
        self.neighbor_recall_ = operator.neighbor_recall
        F = values_of(steps, operator)
        self.rotation_ = chosen.rotation(operator, F, rows)
        F = F @ self.rotation_
        points = sample_rows(len(F), SEARCH_ROWS, np.random.RandomState(seed))
        self.novelty_ = np.concatenate([novelty(F[points], seed), np.full(empty, np.nan)])
        self._scales = _natural_scales(operator, self.eigenvalues_[: len(steps)])
        Z = operator.on_rows(np.pad(F * self._scales, ((0, 0), (0, empty))))
        self.embedding_ = Z.astype(rows.dtype, copy=False)

    def _given_kernel(self) -> Kernel | GraphKernel | None:
        """Return the kernel with the parameters of the estimator; None if it is to be selected."""
        if isinstance(self.kernel, str) and self.kernel == "auto":
            return None
        return as_kernel(self.kernel, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)

    def _rows_to_fit(self, X: Rows, kernel: Kernel | GraphKernel | None, seed: int) -> tuple[Matrix, NDArray | None]:
        """Return checked rows, or landmarks and their numbers if there are too many rows."""
        validate = partial(self._validate, reset=True, minimum=3)
        if kernel is None:
            return rows_to_fit(X, validate, seed=seed)
        return rows_to_fit(X, validate, few=kernel.takes_few, fixed=has_fixed_rows(kernel), seed=seed)

    def _settings(self, n: int, seed: int) -> SequenceSettings:
        """Return the checked parameters, None for "auto"."""
        check_choice("eigen_solver", self.eigen_solver, EIGEN_SOLVERS)
        count = alpha = None
        if isinstance(self.n_components, str):
            check_choice("n_components", self.n_components, ("auto",), hint="or pass an integer >= 1")
        else:
            hint = f"X has {n} samples, and their mean takes one direction"
            count = check_count("n_components", self.n_components, maximum=max(1, n - 1), hint=hint)
        if isinstance(self.bandwidth, str):
            check_choice("bandwidth", self.bandwidth, ("auto",))
        else:
            alpha = check_real("bandwidth", self.bandwidth, minimum=0, open_minimum=True, hint="or pass 'auto'")
        return SequenceSettings(count, alpha, self.n_neighbors, self.eigen_solver, seed)

    def _validate(self, X: Rows, *, reset: bool, minimum: int = 1) -> Matrix:
        rows = check_rows(self, X, reset=reset, minimum=minimum)
        # Kernel values of all pairs of rows; distances may be sparse.
        return as_dense(rows) if takes_precomputed(self.kernel) and as_kernel(self.kernel).is_pointwise else rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = takes_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _natural_scales(operator: Operator, eigenvalues: NDArray) -> NDArray:
    """Return the standard deviations of the coordinates: 1, or those of kernel PCA if the kernel has a scale."""
    if not operator.has_units or len(eigenvalues) == 0:
        return np.ones(len(eigenvalues))
    # Isomap's kernel is indefinite: a late coordinate may have a negative eigenvalue.
    positive = np.maximum(eigenvalues, 1e-6 * eigenvalues[0])
    return np.sqrt(positive / operator.n_samples)
