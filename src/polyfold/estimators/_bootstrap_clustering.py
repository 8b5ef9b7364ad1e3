"""Clustering on the similarity of a multilayer bootstrap network [Zhang2016, app. E]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from polyfold._policy import ROWS_PER_CLUSTER, SEARCH_ROWS
from polyfold._progress import phase
from polyfold._threads import n_threads
from polyfold.bootstrap import (
    Encoder,
    SpectralReadout,
    check_layer,
    child_stream,
    fit_spectral_readout,
    sample_rows,
    stream_seed,
)
from polyfold.clustering import (
    ClusterTree,
    Replicate,
    code_replicates,
    layer_stability,
    n_coordinates,
    row_replicates,
    select_layer,
)
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, clone_network
from polyfold.estimators._bootstrap_rows import RowReader, Subsample, take_feature_names
from polyfold.estimators._tree_clustering import TreeClusterer


class BootstrapClustering(TreeClusterer):
    r"""Find nested clusters of any shape in the similarity of a bootstrap network.

    The leading eigenvectors of the normalised similarity of a layer, as rows of unit length, lie near one point for
    each cluster. They are grouped into many small clusters, and these merge two by two into a tree. Cutting the tree
    gives any number of clusters. The layer is selected without labels by its stability.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number at which the tree is cut. None (or "auto") takes the level with the largest `level_information_`. Look at
        `levels_` and `level_scores_`, and use `labels_at` for another number.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters. By default one whose parameters are selected from the data.
    layer : int or "auto", default="auto"
        Layer whose similarity is clustered; 0 is the first one, -1 the last. "auto" takes the layer farthest from the
        data among the most stable ones (`layer_scores_`), or the last one if the network has no replicates (its
        `n_clusterings` is a number).
    random_state : int, RandomState or None, default=None
        Seed of the tree, and of a network that has none of its own.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one progress bar for the whole fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters are numbered by size, the largest first.
    n_clusters_ : int
        Number of clusters in `labels_`: fewer than `n_clusters` if there are fewer distinct points.
    levels_ : list of ndarray of shape (n_samples,)
        Nested labels, at most eight levels from coarse to fine: the most stable number of clusters in every doubling.
    level_scores_ : dict
        For the number of clusters of every level, its stability: the adjusted Rand index between the clusters that are
        found in two halves of the points.
    level_information_ : dict
        For every level, the bits that the two halves have in common beyond chance, minus those that only one has.
    tree_ : structured array
        All clusters of the tree: `parent`, `child`, `size` and `stability` (overlap with the most similar cluster that
        is found in half of the points, 1 if it is the same). The first clusters are the small ones.
    layer_ : int
        The layer whose similarity is clustered.
    layer_scores_ : dict
        Stability of every layer; empty if the layer was given. Beyond 2,500 points, layers are compared on a sample,
        except those with more centres than half of it.
    network_ : MultilayerBootstrapNetwork
    embedding_model_ : SpectralReadout
    cluster_tree_ : ClusterTree
    n_features_in_ : int

    References
    ----------
    [Zhang2016], [Ng2002]

    Examples
    --------
    >>> from polyfold import BootstrapClustering
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, n_features=8, centers=4, random_state=0)
    >>> clustering = BootstrapClustering(random_state=0).fit(X)
    >>> clustering.n_clusters_
    4
    >>> clustering.predict(X[:3]).shape
    (3,)
    >>> len(set(clustering.labels_at(2)))
    2
    """

    def __init__(
        self,
        n_clusters: Any = None,
        *,
        network: Any = None,
        layer: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.network = network
        self.layer = layer
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_coordinates(
        self, X: Any, wanted: int | None, seeds: np.random.SeedSequence, **options: Any
    ) -> tuple[NDArray, Subsample | None]:
        check_layer(self.layer)
        self.network_ = network = self._network(wanted, seeds)
        with phase("network"):
            replicates, subsample = network._learn(X, n_clusters=wanted, **options)
        take_feature_names(self, network)
        encoder = network.encoder_
        with phase("layer"):
            self.layer_ = self._select_layer(replicates, wanted, seeds)
        codes = encoder.codes[self.layer_]
        count = n_coordinates(codes.shape[1], wanted)
        self.embedding_model_ = fit_spectral_readout(
            codes, encoder.sizes[self.layer_], count, seeds=child_stream(seeds, "readout"), n_jobs=n_threads()
        )
        self._dtype = network.embedding_.dtype
        return self._read(codes), subsample

    def _coordinates(self, X: Any) -> NDArray:
        return self._read(self._codes(X))

    def _read(self, codes: NDArray) -> NDArray:
        return self.embedding_model_.transform(codes, n_jobs=n_threads()).astype(self._dtype, copy=False)

    def _replicates(
        self, X: Any, wanted: int | None, seeds: np.random.SeedSequence
    ) -> tuple[Replicate, Replicate, NDArray]:
        network, encoder = self.network_, self.network_.encoder_
        codes, sizes = encoder.codes[self.layer_], encoder.sizes[: self.layer_ + 1]
        n = codes.shape[1]
        if network.metric_ == "precomputed" or n < 2 * ROWS_PER_CLUSTER:
            # Half of a neighbour graph has lost neighbours, and half of a few rows is too few: compare halves of the
            # clusterings.
            left, right = code_replicates(codes, sizes[-1], wanted, seeds=seeds)
            return left, right, self.leaves_
        numbers = sample_rows(n, SEARCH_ROWS, child_stream(seeds, "rows"))
        options = network._fractions() | {"seeds": seeds, "n_jobs": n_threads()}
        return *row_replicates(encoder.first, encoder.first.X[numbers], sizes, wanted, **options), self.leaves_[numbers]

    def _finish(self, subsample: Subsample | None) -> None:
        encoder = self.network_.encoder_
        if subsample is not None:
            read = CodeReader(self.embedding_model_, self.cluster_tree_, self._dtype)
            reader, known = RowReader(encoder, self.layer_, read), (self.embedding_, self.leaves_)
            self.embedding_, self.leaves_ = subsample.transform_rest(reader, known)

    def _network(self, wanted: int | None, seeds: np.random.SeedSequence) -> MultilayerBootstrapNetwork:
        rng = np.random.RandomState(stream_seed(child_stream(seeds, "sampling")))
        if self.network is not None:
            return clone_network(self.network, rng)
        # If the number is not known, layers of all widths are needed.
        return MultilayerBootstrapNetwork(2, n_classes=wanted or 2, random_state=rng, n_jobs=self.n_jobs)

    def _select_layer(self, replicates: Encoder | None, wanted: int | None, seeds: np.random.SeedSequence) -> int:
        encoder = self.network_.encoder_
        self.layer_scores_: dict[int, float] = {}
        if self.layer != "auto":
            return self.network_._level(self.layer)
        if replicates is None or wanted == 1:
            return len(encoder.sizes) - 1
        # Replicates of a sample lack the widest layers.
        lacking = len(encoder.sizes) - len(replicates.sizes)
        count = replicates.n_replicates
        scores = layer_stability(replicates.codes, replicates.sizes, wanted, n_replicates=count, seeds=seeds)
        self.layer_scores_ = {lacking + layer: score for layer, score in scores.items()}
        return select_layer(self.layer_scores_)

    def _codes(self, X: Any) -> NDArray:
        return self.network_._encode(self.network_._validate(X, reset=False), self.layer_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        network = MultilayerBootstrapNetwork() if self.network is None else self.network
        tags.input_tags = get_tags(network).input_tags
        return tags


@dataclass(frozen=True)
class CodeReader:
    """From (V, n) codes to coordinates and small clusters; holds no more than it needs."""

    readout: SpectralReadout
    tree: ClusterTree
    dtype: Any

    def __call__(self, codes: NDArray) -> tuple[NDArray, NDArray]:
        """Return coordinates (n, p) and small clusters (n,)."""
        Z = self.readout.transform(codes, n_jobs=n_threads()).astype(self.dtype, copy=False)
        return Z, self.tree.assign(Z)
