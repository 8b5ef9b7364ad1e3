"""Clustering on the similarity of a multilayer bootstrap network [Zhang2016, app. E]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from polyfold._linalg import sample_rows
from polyfold._policy import ROWS_PER_CLUSTER, SEARCH_ROWS
from polyfold._progress import phase
from polyfold.bootstrap import (
    Encoder,
    SpectralReadout,
    check_layer,
    child_stream,
    fit_spectral_readout,
    stream_seed,
)
from polyfold.clustering import (
    LabelledTree,
    code_trees,
    layer_stability,
    n_coordinates,
    row_trees,
    select_layer,
)
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, network_to_fit
from polyfold.estimators._tree_clustering import Checkpoint, TreeClusterer


class NetworkRepresentation(BaseEstimator):
    """Spectral coordinates of one layer of a bootstrap network; see `Representation`."""

    def __init__(self, network: Any = None, layer: Any = "auto", n_jobs: int | None = None):
        self.network = network
        self.layer = layer
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence, *, checkpoint: Checkpoint = None
    ) -> tuple[NDArray, NDArray | slice]:
        """Fit the network, select its layer, and return the coordinates of the rows."""
        check_layer(self.layer)
        seed = stream_seed(child_stream(seeds, "sampling"))
        default = default_network(n_clusters, self.n_jobs).set_params(random_state=seed)
        self.model_ = network_to_fit(self.network, default, np.random.RandomState(seed))
        with phase("network"):
            replicates, subsample = self.model_._learn(X, n_clusters=n_clusters, checkpoint=checkpoint)
        with phase("layer"):
            self.layer_, self.layer_scores_ = self._select_layer(replicates, n_clusters, seeds)
        encoder = self.model_.encoder_
        codes = encoder.codes[self.layer_]
        count, streams = n_coordinates(codes.shape[1], n_clusters), child_stream(seeds, "readout")
        self.readout_ = fit_spectral_readout(codes, encoder.sizes[self.layer_], count, seeds=streams)
        Z = self._read(codes)
        if subsample is None:
            return Z, slice(None)
        with phase("other rows"):
            Z = subsample.transform_rest(encoder, self.layer_, self.readout_, Z)
        return Z, subsample.indices

    def transform(self, X: Any) -> NDArray:
        """Return the coordinates of old or new rows."""
        return self._read(self.model_._encode(self.model_._validate(X, reset=False), self.layer_))

    def sample_trees(
        self, X: Any, n_clusters: int | None, seeds: np.random.SeedSequence
    ) -> tuple[LabelledTree, LabelledTree, NDArray | slice]:
        """Build two trees: from halves of a sample of the rows or, if there are too few, of the clusterings."""
        network, encoder = self.model_, self.model_.encoder_
        codes, sizes = encoder.codes[self.layer_], encoder.sizes[: self.layer_ + 1]
        n = codes.shape[1]
        if network.metric_ == "precomputed" or n < 2 * ROWS_PER_CLUSTER:
            # Half of a neighbour graph has lost neighbours, and half of a few rows is too few.
            left, right = code_trees(codes, sizes[-1], n_clusters, seeds=seeds)
            return left, right, slice(None)
        numbers = sample_rows(n, SEARCH_ROWS, child_stream(seeds, "rows"))
        rows, fractions = encoder.first.X[numbers], network._fractions()
        return *row_trees(encoder.first, rows, sizes, n_clusters, seeds=seeds, **fractions), numbers

    def _read(self, codes: NDArray) -> NDArray:
        Z = self.readout_.transform(codes)
        return Z.astype(self.model_.embedding_.dtype, copy=False)

    def _select_layer(
        self, replicates: Encoder | None, n_clusters: int | None, seeds: np.random.SeedSequence
    ) -> tuple[int, dict[int, float]]:
        """Return the layer to be clustered, and the stability of those that were compared."""
        n_layers = len(self.model_.encoder_.sizes)
        if self.layer != "auto":
            return self.model_._level(self.layer), {}
        if replicates is None or n_clusters == 1:
            return n_layers - 1, {}
        # Replicates of a sample lack the first layers, which are the widest (`layers_for`).
        lacking, count = n_layers - len(replicates.sizes), replicates.n_replicates
        found = layer_stability(replicates.codes, replicates.sizes, n_clusters, n_replicates=count, seeds=seeds)
        scores = {lacking + layer: score for layer, score in found.items()}
        return select_layer(scores), scores


def default_network(n_clusters: int | None, n_jobs: int | None) -> MultilayerBootstrapNetwork:
    """Return the network of clusterers; if the number of clusters is not known, it has layers of all widths."""
    return MultilayerBootstrapNetwork(2, n_classes=n_clusters or 2, n_jobs=n_jobs)


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

    _representation: NetworkRepresentation  # pyright: ignore[reportIncompatibleVariableOverride]

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

    @property
    def network_(self) -> MultilayerBootstrapNetwork:
        """The fitted network."""
        return self._representation.model_

    @property
    def layer_(self) -> int:
        """The layer whose similarity is clustered."""
        return self._representation.layer_

    @property
    def layer_scores_(self) -> dict[int, float]:
        """Stability of every layer; empty if the layer was given."""
        return self._representation.layer_scores_

    @property
    def embedding_model_(self) -> SpectralReadout:
        """From codes to coordinates."""
        return self._representation.readout_

    def _new_representation(self, X: Any) -> NetworkRepresentation:
        return NetworkRepresentation(self.network, self.layer, self.n_jobs)

    def _default_network(self) -> MultilayerBootstrapNetwork:
        return default_network(self.n_clusters if isinstance(self.n_clusters, int) else None, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.network or MultilayerBootstrapNetwork()).input_tags
        return tags
