"""Clusters of any kernel."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import _num_samples

from polyfold._linalg import are_unit_rows, as_dense, n_distinct, unit_rows
from polyfold._policy import N_NEIGHBORS, ROWS_PER_CLUSTER, SEARCH_ROWS, STABILITY_ROWS
from polyfold._progress import phase, shows_progress
from polyfold._typing import RandomState, Rows
from polyfold._validation import check_rows, draw_seed, keeps_state_on_failure
from polyfold.bootstrap import child_stream, sample_rows, stream_seed
from polyfold.clustering import Replicate, n_coordinates
from polyfold.estimators._bootstrap_clustering import BootstrapClustering
from polyfold.estimators._bootstrap_rows import take_feature_names
from polyfold.estimators._embedding import KernelEmbedding
from polyfold.estimators._tree_clustering import TreeClusterer
from polyfold.exceptions import GraphWarning
from polyfold.kernels import DiffusionMaps, KernelLike, takes_precomputed
from polyfold.sources import as_source, by_blocks, in_memory, is_stream, pick_rows

# Attributes that a fitted model of any representation has.
_SHARED = (
    *("labels_", "n_clusters_", "levels_", "level_scores_", "level_information_", "tree_"),
    *("cluster_tree_", "embedding_", "leaves_"),
)


class EmbeddingClustering(TreeClusterer):
    """Clusters of one kernel, for `KernelClustering`."""

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        kernel: KernelLike = "laplacian_eigenmaps",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_coordinates(
        self, X: Any, wanted: int | None, seeds: np.random.SeedSequence, **options: Any
    ) -> tuple[NDArray, None]:
        n, seed = number_of_rows(X), stream_seed(child_stream(seeds, "readout"))
        self.model_ = KernelEmbedding(n_coordinates(n, wanted), kernel=self.kernel, random_state=seed)
        with warnings.catch_warnings():
            # Clusters may well be unconnected.
            warnings.simplefilter("ignore", GraphWarning)
            self.model_.fit(X)
        take_feature_names(self, self.model_)
        self._lead = _leading_columns(self.model_)
        return np.asarray(self._coordinates(X)), None

    @by_blocks
    def _coordinates(self, X: Any) -> NDArray:
        """Coordinates of unit length, after those that are constant on connected components."""
        Z = np.asarray(self.model_.transform(X))
        component = np.zeros(len(Z), dtype=np.intp)
        if len(self._lead) > 1:
            rows = self.model_._validate(X, reset=False)
            component = self.model_.spectrum_.features.operator.extend(rows).components
        lead = np.diag(self._lead)[:, np.argsort(self._lead, kind="stable")]
        return unit_rows(np.hstack([lead[component], Z])[:, : Z.shape[1]]).astype(Z.dtype, copy=False)

    def _replicates(
        self, X: Any, wanted: int | None, seeds: np.random.SeedSequence
    ) -> tuple[Replicate, Replicate, NDArray]:
        """Two trees from halves of a sample, and the small clusters of all rows of the sample.

        Halves are disjoint, unless there are too few rows; then they are three quarters and overlap.
        """
        rows = X if is_stream(X) else self.model_._validate(X, reset=False)
        numbers = sample_rows(number_of_rows(rows), SEARCH_ROWS, child_stream(seeds, "rows"))
        is_pairs, n = takes_precomputed(self.kernel), len(numbers)
        sample = some_rows(rows, numbers, is_pairs=is_pairs)
        order = np.random.default_rng(child_stream(seeds, "levels")).permutation(n)
        size = n // 2 if n >= 2 * ROWS_PER_CLUSTER else -(-3 * n // 4)

        def replicate(number: int, half: NDArray) -> Replicate:
            model, wanted_here = clone(self), None if wanted is None else min(wanted, size)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the warnings were issued for all rows
                some = some_rows(sample, half, is_pairs=is_pairs)
                model._fit_tree(some, wanted_here, child_stream(seeds, "levels", number))
            leaves = model.cluster_tree_.assign(model._coordinates(sample[:, half] if is_pairs else sample))
            return Replicate(model.cluster_tree_, leaves)

        left, right = (replicate(i, np.sort(half)) for i, half in enumerate((order[:size], order[-size:])))
        return left, right, self.leaves_[numbers]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(KernelEmbedding(kernel=self.kernel)).input_tags
        return tags


class KernelClustering(TreeClusterer):
    """Find nested clusters in the coordinates of any kernel.

    The leading coordinates of the kernel, as rows of unit length, are grouped into many small clusters, and these
    merge two by two into a tree (spectral clustering [Ng2002] with a hierarchy). Cutting the tree gives any number of
    clusters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number at which the tree is cut. None (or "auto") takes the level with the largest `level_information_`. Look at
        `levels_` and `level_scores_`, and use `labels_at` for another number.
    kernel : str, kernel object or callable, default="auto"
        See :mod:`polyfold.kernels`. "auto" takes diffusion maps with 15 neighbours if all rows have unit length, as
        those of embedding models and of tf-idf, and a bootstrap network (see :class:`BootstrapClustering`) otherwise.
    random_state : int, RandomState or None, default=None
        Seed of all random steps, in the kernel and in the tree.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one progress bar for the whole fit.

    Attributes
    ----------
    labels_, n_clusters_, levels_, level_scores_, level_information_, tree_ : as in :class:`BootstrapClustering`
        Levels are compared between trees of two halves of a sample of the rows.
    kernel_ : str or kernel object
        The kernel given, or the one selected: "bootstrap_network" or :class:`~polyfold.kernels.DiffusionMaps`.
    model_ : estimator
        The fitted clusterer that does the work.
    n_features_in_ : int

    See Also
    --------
    BootstrapClustering : The same with a bootstrap network.

    References
    ----------
    [Ng2002], [Belkin2003], [Coifman2006]

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> clustering = pf.KernelClustering(2, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    >>> len(set(zip(y, clustering.labels_)))
    2
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | None = None,
        *,
        kernel: KernelLike = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
        """Select the kernel, build the tree of clusters, and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask.
        y : ignored
        """
        seeds = np.random.SeedSequence(draw_seed(check_random_state(self.random_state)))
        seed = stream_seed(child_stream(seeds, "sampling"))
        if is_stream(X) and not isinstance(X, np.memmap):
            X = as_source(X)
        self._wanted(number_of_rows(X))  # refuse before any work
        self.kernel_ = self.kernel
        if isinstance(self.kernel, str) and self.kernel == "auto":
            self.kernel_ = DiffusionMaps(N_NEIGHBORS) if _looks_embedded(X) else "bootstrap_network"
        is_network = isinstance(self.kernel_, str) and self.kernel_ == "bootstrap_network"
        candidate = BootstrapClustering() if is_network else EmbeddingClustering(kernel=self.kernel_)
        options = {"n_clusters": self.n_clusters, "random_state": seed, "n_jobs": self.n_jobs}
        with phase("clusters"):
            self.model_ = candidate.set_params(**options).fit(X)
        for name in _SHARED:
            setattr(self, name, getattr(self.model_, name))
        take_feature_names(self, self.model_)
        return self

    def _coordinates(self, X: Any) -> NDArray:
        return self.model_._coordinates(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, str) and self.kernel == "auto":
            tags.input_tags.sparse = True
        else:
            tags.input_tags = get_tags(KernelEmbedding(kernel=self.kernel)).input_tags
        return tags


def _leading_columns(model: KernelEmbedding) -> NDArray:
    """Size of the trivial eigenvector on each connected component, in the units of the coordinates."""
    spectrum = model.spectrum_
    operator = getattr(spectrum.features, "operator", None)
    top = float(np.sqrt(spectrum.eigenvalues[0])) if spectrum.rank else 1.0
    if operator is None:
        return np.array([top / np.sqrt(spectrum.n_samples)])
    sums = np.bincount(operator.components, weights=operator.weights)
    return top * np.sqrt(operator.weights.mean() / sums)


def _looks_embedded(X: Any) -> bool:
    """Whether rows have the length one, up to the rounding of half precision, and enough of them differ for a graph."""
    rows = X if is_stream(X) else check_rows(BaseEstimator(), X, reset=True, minimum=2)
    sample = some_rows(rows, sample_rows(number_of_rows(rows), STABILITY_ROWS, np.random.SeedSequence(0)))
    return are_unit_rows(as_dense(sample)) and n_distinct(sample) > N_NEIGHBORS


def number_of_rows(X: Any) -> int:
    """Count the rows of an array or a stream."""
    return as_source(X).n_rows if is_stream(X) else _num_samples(X)


def some_rows(X: Any, numbers: NDArray, *, is_pairs: bool = False) -> Any:
    """Return rows of a checked matrix or a stream, given by ascending numbers."""
    if is_stream(X):
        return in_memory(pick_rows(as_source(X), numbers))
    return X[np.ix_(numbers, numbers)] if is_pairs else X[numbers]
