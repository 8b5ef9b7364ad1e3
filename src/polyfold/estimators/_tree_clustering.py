"""What clusterers share: a tree of clusters on the coordinates of a representation, its levels, and where it is cut."""

import warnings
from os import PathLike
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import using_threads
from polyfold._typing import Rows
from polyfold._validation import check_count, draw_seed, keeps_state_on_failure, outside
from polyfold.bootstrap import child_stream
from polyfold.clustering import (
    ClusterTree,
    LabelledTree,
    cluster_stability,
    fit_tree,
    information,
    select_levels,
    stability_curve,
)
from polyfold.estimators._bootstrap_rows import take_feature_names
from polyfold.exceptions import DegenerateDataWarning, GuessWarning
from polyfold.sources import as_source, by_blocks, is_stream

# Folder of the checkpoints of a fit.
Checkpoint: TypeAlias = str | PathLike[str] | None
# A cluster of the tree: the cluster that it merges into, its own number, its training rows, and its stability.
TREE_FIELDS = np.dtype([("parent", np.int32), ("child", np.int32), ("size", np.int64), ("stability", np.float64)])


class Representation(Protocol):
    """Coordinates of unit length in which clusters are looked for: of a bootstrap network or of another kernel.

    `model_` is the fitted estimator that they come from.
    """

    model_: Any

    def fit(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence, *, checkpoint: Checkpoint = None
    ) -> tuple[NDArray, NDArray | slice]:
        """Return the coordinates of all rows, (n, p), and the numbers of the rows that were learned from."""
        ...

    def transform(self, X: Any) -> NDArray:
        """Return the coordinates of rows, (n, p); those of the training rows are the ones that `fit` returned."""
        ...

    def sample_trees(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence
    ) -> tuple[LabelledTree, LabelledTree, NDArray | slice]:
        """Return two trees from halves of a sample, and where the sample is among the rows that were learned from."""
        ...


class TreeClusterer(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the clusterers; they choose the representation, by `_new_representation`."""

    n_clusters: Any
    random_state: Any
    n_jobs: int | None
    _representation: Representation
    cluster_tree_: ClusterTree

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None, *, checkpoint: Checkpoint = None) -> Self:
        """Build the tree of clusters, and cut it.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask. If there are too many
            rows to learn from at once, a sample is clustered, and the others are predicted.
        y : ignored
        checkpoint : path, optional
            Passed on to the ``fit`` of the bootstrap network; other kernels have no checkpoints.
        """
        seeds = np.random.SeedSequence(draw_seed(check_random_state(self.random_state)))
        if is_stream(X) and not isinstance(X, np.memmap):
            X = as_source(X)  # once: counting the rows may take a pass
        wanted = self._wanted(number_of_rows(X))
        with using_threads(self.n_jobs):
            self._representation = self._new_representation(X)
            with phase("coordinates"):
                self.embedding_, learned = self._representation.fit(X, wanted, seeds, checkpoint=checkpoint)
            take_feature_names(self, self._representation.model_)
            with phase("tree"):
                self.cluster_tree_ = fit_tree(self.embedding_[learned], wanted, seeds=child_stream(seeds, "tree"))
                self.leaves_ = self.cluster_tree_.assign(self.embedding_)
            with phase("levels"):
                left, right, sample = self._representation.sample_trees(X, wanted, child_stream(seeds, "levels"))
                self._find_levels(wanted, left, right, self.leaves_[learned][sample])
            self.labels_ = self.labels_at(self.n_clusters_)
            self.levels_ = [self.labels_at(n) for n in self.level_scores_]
        return self

    @by_blocks
    def predict(self, X: Rows, n_clusters: int | None = None) -> NDArray:
        """Cluster of every point: (n_samples,).

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
        n_clusters : int, optional
            Where the tree is cut; by default as for `labels_`.
        """
        check_is_fitted(self)
        cut = self._cut(n_clusters)
        with using_threads(self.n_jobs):
            return cut[self.cluster_tree_.assign(self._representation.transform(X))]

    @by_blocks
    def transform(self, X: Rows) -> NDArray:
        """Coordinates of points in which clusters are looked for, of unit length: (n_samples, n_coordinates)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return self._representation.transform(X)

    def fit_transform(self, X: Rows, y: object = None, *, checkpoint: Checkpoint = None) -> NDArray:
        """Fit, and return the coordinates of the training points."""
        return self.fit(X, y, checkpoint=checkpoint).embedding_.copy()

    def labels_at(self, n_clusters: int) -> NDArray:
        """Labels of the training points with another number of clusters, from the same tree.

        Clusters are numbered by size, the largest first. Those of a smaller number are unions of these.

        Parameters
        ----------
        n_clusters : int
        """
        check_is_fitted(self)
        return self._cut(n_clusters)[self.leaves_]

    def _cut(self, n_clusters: int | None) -> NDArray:
        count = self.n_clusters_ if n_clusters is None else check_count("n_clusters", n_clusters)
        if count > self.cluster_tree_.n_small:
            raise ValueError(
                f"n_clusters must be <= {self.cluster_tree_.n_small}, the number of small clusters that the tree was "
                f"built from, got {count}; pass n_clusters={count} to the constructor and fit again."
            )
        return self.cluster_tree_.cut(count)

    def _wanted(self, n_rows: int) -> int | None:
        """Return the required number of clusters, None if there is none."""
        if self.n_clusters is None or (isinstance(self.n_clusters, str) and self.n_clusters == "auto"):
            return None
        if isinstance(self.n_clusters, str):
            raise ValueError(f"n_clusters must be an integer >= 1, None or 'auto', got {self.n_clusters!r}.")
        count = check_count("n_clusters", self.n_clusters, hint="or pass None")
        if n_rows > 1 and count > n_rows:  # a single row is refused later
            raise ValueError(
                f"n_clusters must be <= n_samples={n_rows}, got {count}; lower it, or pass more samples or None."
            )
        return count

    def _find_levels(self, wanted: int | None, left: LabelledTree, right: LabelledTree, leaves: NDArray) -> None:
        """Compare two trees: scores of the levels, the number of clusters, stability of every cluster."""
        tree = self.cluster_tree_
        curve = {n: score for n, score in stability_curve(left, right).items() if n <= tree.n_small}
        if wanted is not None and wanted > tree.n_small:
            warnings.warn(
                f"n_clusters is {wanted}, but only {tree.n_small} distinct points were found, so there are only "
                f"{tree.n_small} clusters. Pass a smaller number.",
                DegenerateDataWarning,
                stacklevel=outside(),
            )
        given = None if wanted is None else min(wanted, tree.n_small)
        levels = select_levels(curve, given)
        self.level_scores_ = {n: float(curve.get(n, np.nan)) for n in levels}
        self.level_information_ = {n: information(left, right, n) for n in levels if n in curve}
        self.n_clusters_ = given or max(self.level_information_, key=self.level_information_.__getitem__, default=1)
        stability = cluster_stability(tree, leaves, [left, right])
        self.tree_ = _table(tree, stability)
        if wanted is None and max(self.level_information_.values(), default=1.0) <= 0:
            warnings.warn(
                "at every level, two halves of the rows agree on less than half of the information in their clusters, "
                "so the clusters may be random. Look at level_scores_, scale the columns, or try another "
                "representation.",
                GuessWarning,
                stacklevel=outside(),
            )

    def _new_representation(self, X: Any) -> Representation:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def number_of_rows(X: Any) -> int:
    """Count the rows of an array or a stream."""
    return as_source(X).n_rows if is_stream(X) else _num_samples(X)


def _table(tree: ClusterTree, stability: NDArray) -> NDArray:
    """Return one record per cluster but the last, which holds all rows."""
    count = tree.n_small
    table = np.zeros(2 * count - 2, dtype=TREE_FIELDS)
    table["child"] = np.arange(2 * count - 2)
    table["parent"][tree.merges.ravel()] = np.repeat(np.arange(count, 2 * count - 1), 2)
    table["size"], table["stability"] = (tree.members() @ tree.sizes)[:-1], stability[:-1]
    return table
