"""Clusters of any kernel."""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags

from polyfold._linalg import are_unit_rows, as_dense, n_distinct, sample_rows, unit_rows
from polyfold._policy import N_NEIGHBORS, ROWS_PER_CLUSTER, SEARCH_ROWS, STABILITY_ROWS
from polyfold._typing import RandomState
from polyfold._validation import check_rows
from polyfold.bootstrap import child_stream, stream_seed
from polyfold.clustering import LabelledTree, fit_tree, n_coordinates
from polyfold.estimators._bootstrap_clustering import NetworkRepresentation
from polyfold.estimators._embedding import KernelEmbedding
from polyfold.estimators._tree_clustering import Checkpoint, Representation, TreeClusterer, number_of_rows
from polyfold.exceptions import GraphWarning
from polyfold.kernels import DiffusionMaps, KernelLike, takes_precomputed
from polyfold.sources import as_source, by_blocks, in_memory, is_stream, pick_rows
from polyfold.spectra import Spectrum


class KernelRepresentation(BaseEstimator):
    """Leading coordinates of a kernel, as rows of unit length; see `Representation`."""

    def __init__(self, kernel: KernelLike):
        self.kernel = kernel

    def fit(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence, *, checkpoint: Checkpoint = None
    ) -> tuple[NDArray, slice]:
        """Fit the kernel, and return the coordinates of the rows."""
        if checkpoint is not None:
            raise ValueError(
                f"checkpoint needs kernel='bootstrap_network', got kernel={self.kernel!r}; leave checkpoint out."
            )
        n, seed = number_of_rows(X), stream_seed(child_stream(seeds, "readout"))
        self.model_ = KernelEmbedding(n_coordinates(n, n_clusters), kernel=self.kernel, random_state=seed)
        with warnings.catch_warnings():
            # Clusters may well be unconnected.
            warnings.simplefilter("ignore", GraphWarning)
            self.model_.fit(X)
        self._trivial = _trivial_coordinates(self.model_.spectrum_, self.model_.n_components)
        return self._of_training_rows(X), slice(None)

    @by_blocks
    def transform(self, X: Any) -> NDArray:
        """Return the coordinates of old or new rows."""
        rows, spectrum = self.model_._validate(X, reset=False), self.model_.spectrum_
        if spectrum.operator is None:
            Z = np.asarray(self.model_.transform(X))
            return self._join(np.zeros(len(Z), dtype=np.intp), Z, rows.dtype)
        features, extension = spectrum.features, spectrum.operator.extend(rows)
        functions = extension.values(features.functions, features.eigenvalues, features.intercepts)
        return self._join(extension.components, functions @ spectrum.readout, rows.dtype)

    def sample_trees(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence
    ) -> tuple[LabelledTree, LabelledTree, NDArray]:
        """Build two trees from halves of a sample.

        Halves are disjoint, unless there are too few rows; then they are three quarters and overlap.
        """
        rows = X if is_stream(X) else self.model_._validate(X, reset=False)
        numbers = sample_rows(number_of_rows(rows), SEARCH_ROWS, child_stream(seeds, "rows"))
        is_pairs, n = takes_precomputed(self.kernel), len(numbers)
        sample = some_rows(rows, numbers, is_pairs=is_pairs)
        order = np.random.default_rng(child_stream(seeds, "levels")).permutation(n)
        size = n // 2 if n >= 2 * ROWS_PER_CLUSTER else -(-3 * n // 4)
        wanted = None if n_clusters is None else min(n_clusters, size)

        def half_tree(number: int, half: NDArray) -> LabelledTree:
            representation, streams = clone(self), child_stream(seeds, "levels", number)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the warnings were issued for all rows
                Z, _ = representation.fit(some_rows(sample, half, is_pairs=is_pairs), wanted, streams)
            tree = fit_tree(Z, wanted, seeds=child_stream(streams, "tree"))
            return LabelledTree(tree, tree.assign(representation.transform(sample[:, half] if is_pairs else sample)))

        left, right = (half_tree(i, np.sort(half)) for i, half in enumerate((order[:size], order[-size:])))
        return left, right, numbers

    def _of_training_rows(self, X: Any) -> NDArray:
        """Return `transform` of the training rows; if their values are stored, without searching neighbours again."""
        if not self.model_._has_coordinates_of(X):
            return np.asarray(self.transform(X))
        spectrum, dtype = self.model_.spectrum_, self.model_._validate(X, reset=False).dtype
        components = spectrum.operator.on_rows(spectrum.operator.components)
        return self._join(components, spectrum.training_coordinates(), dtype)

    def _join(self, components: NDArray, Z: NDArray, dtype: Any) -> NDArray:
        """Put the trivial coordinates of connected components before others, and scale rows to unit length."""
        joined = np.hstack([self._trivial[components], Z])[:, : self.model_.n_components]
        return unit_rows(np.ascontiguousarray(joined)).astype(dtype, copy=False)


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
        The fitted :class:`MultilayerBootstrapNetwork` or :class:`KernelEmbedding` that the coordinates come from.
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

    @property
    def model_(self) -> Any:
        """The fitted network, or the fitted embedding by the kernel."""
        return self._representation.model_

    def _new_representation(self, X: Any) -> Representation:
        self.kernel_ = self.kernel
        if isinstance(self.kernel, str) and self.kernel == "auto":
            self.kernel_ = DiffusionMaps(N_NEIGHBORS) if _looks_embedded(self, X) else "bootstrap_network"
        is_network = isinstance(self.kernel_, str) and self.kernel_ == "bootstrap_network"
        return NetworkRepresentation(n_jobs=self.n_jobs) if is_network else KernelRepresentation(self.kernel_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, str) and self.kernel == "auto":
            tags.input_tags.sparse = True
        else:
            tags.input_tags = get_tags(KernelEmbedding(kernel=self.kernel)).input_tags
        return tags


def _trivial_coordinates(spectrum: Spectrum, most: int) -> NDArray:
    """Coordinates of the trivial eigenvectors, for each connected component, the largest components first: (c, ≤ most).

    They are constant on components, and weighted as the first of the other eigenvectors.
    """
    operator = spectrum.operator
    if operator is None:
        sizes = np.array([1 / np.sqrt(spectrum.n_samples)])
    else:
        sums = np.bincount(operator.components, weights=operator.weights)
        sizes = np.sqrt(operator.weights.mean() / sums)
    order = np.argsort(sizes, kind="stable")[:most]
    top = float(np.sqrt(spectrum.eigenvalues[0])) if spectrum.rank else 1.0
    return top * sizes[:, None] * (np.arange(len(sizes))[:, None] == order)


def _looks_embedded(estimator: BaseEstimator, X: Any) -> bool:
    """Whether rows have the length one, up to the rounding of half precision, and enough of them differ for a graph."""
    rows = X if is_stream(X) else check_rows(estimator, X, reset=True, minimum=2)
    sample = some_rows(rows, sample_rows(number_of_rows(rows), STABILITY_ROWS, np.random.SeedSequence(0)))
    return are_unit_rows(as_dense(sample)) and n_distinct(sample) > N_NEIGHBORS


def some_rows(X: Any, numbers: NDArray, *, is_pairs: bool = False) -> Any:
    """Return rows of a checked matrix or a stream, given by ascending numbers."""
    if is_stream(X):
        return in_memory(pick_rows(as_source(X), numbers))
    return X[np.ix_(numbers, numbers)] if is_pairs else X[numbers]
