"""Clustering on the similarity of a multilayer bootstrap network [Zhang2016, app. E]."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._linalg import n_distinct
from polyfold._progress import LongFit, phase, shows_progress, track
from polyfold._threads import n_threads, threaded, using_threads
from polyfold._validation import check_count, check_real, draw_seed, keeps_state_on_failure, outside
from polyfold.bootstrap import check_layer, child_stream, sample_rows, stream_seed
from polyfold.clustering import (
    Membership,
    SpectralReadout,
    estimate_number,
    fit_membership,
    fit_spectral_readout,
    layer_stability,
    n_directions,
    select_layer,
)
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, clone_network, take_feature_names
from polyfold.estimators._bootstrap_rows import RowReader
from polyfold.exceptions import DegenerateDataWarning, GuessWarning
from polyfold.sources import Source, as_source, by_blocks, is_stream

# Rows on which k-means starts; the best run continues with all rows.
START_ROWS = 5000


class BootstrapClustering(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Find clusters of any shape by spectral clustering of a bootstrap network's similarity.

    The leading eigenvectors z of the normalised similarity of a layer, as rows of norm one, lie near one point for each
    cluster, and k-means minimises

    .. math:: \sum_i \min_j \| z(x_i) - m_j \|^2

    over the means m. The layer is selected without labels by its stability, and the number of clusters, if it is not
    given, by the eigengap of the random walk on the network's neighbour graph.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" takes the number up to 60 with the highest score (`n_clusters_scores_`), and warns if it is a guess.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters. By default one whose parameters are selected from the data.
    layer : int or "auto", default="auto"
        Layer whose similarity is clustered; 0 is the first one, -1 the last. "auto" takes the layer farthest from the
        data among the most stable ones (`layer_scores_`), or the last one if the network has no replicates (its
        `n_clusterings` is a number).
    noise : float, default=0
        Points whose mean similarity with their cluster is below this fraction of the median there are labelled -1.
        0 labels none; 0.7 finds points scattered between blobs.
    n_init : int, default=50
        Runs of k-means, of which the one with the smallest objective is kept. With more than 5,000 rows they run on a
        sample, and the best one continues with all rows.
    random_state : int, RandomState or None, default=None
        Seed of k-means, and of a network that has none of its own.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one progress bar for the whole fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
        Clusters found: fewer than asked for if there are fewer distinct points.
    n_clusters_scores_ : dict
        For every number tried, its score and the fraction of forty samples of the points in which it is the highest;
        empty if the number was given. The score is the eigengap of the random walk between neighbours, on a logarithmic
        scale, times the root of log₂ of the number.
    layer_ : int
        The layer whose similarity is clustered.
    layer_scores_ : dict
        Stability of every layer: adjusted Rand index between two halves of the replicates; empty if the layer was
        given.
    network_ : MultilayerBootstrapNetwork
    embedding_model_ : SpectralReadout
    kmeans_ : KMeans
    inertia_ : float
        Objective of k-means on the rows that the network learned from.
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
    """

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        network: Any = None,
        layer: Any = "auto",
        noise: float = 0.0,
        n_init: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.network = network
        self.layer = layer
        self.noise = noise
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit the network and cluster its similarity.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask. If there are more
            rows than the network's `max_samples`, a sample is clustered, and the others are predicted.
        y : ignored
        **options : dict
            Passed on to the network's ``fit``, such as ``checkpoint``.
        """
        rng = check_random_state(self.random_state)
        check_count("n_init", self.n_init)
        check_real("noise", self.noise, minimum=0, maximum=1)
        check_layer(self.layer)
        if is_stream(X) and not isinstance(X, np.memmap):
            X = as_source(X)  # once: counting the rows may take a pass
        n = X.n_rows if isinstance(X, Source) else _num_samples(X)
        wanted = self._wanted(n) if n > 1 else None  # a single row is refused by the network
        network = self._network(n, wanted, rng)
        with using_threads(self.n_jobs):
            with phase("network"):
                self.network_ = network
                subsample = network._learn(X, **options)
            n = len(network.embedding_)
            seeds = np.random.SeedSequence(draw_seed(rng))
            self.n_clusters_scores_: dict[int, tuple[float, float]] = {}
            with phase("number"):
                self.n_clusters_ = wanted or self._estimate_number(seeds)
            with phase("directions"):
                self.layer_ = self._select_layer(seeds)
                codes, size = network.encoder_.codes[self.layer_], network.layer_sizes_[self.layer_]
                self.embedding_model_ = fit_spectral_readout(
                    codes,
                    size,
                    min(n_directions(self.n_clusters_), n),
                    seed=stream_seed(child_stream(seeds, "readout")),
                    n_jobs=n_threads(),
                )
                Z = self.embedding_model_.transform(codes, n_jobs=n_threads())
                self.embedding_ = Z.astype(self.network_.embedding_.dtype, copy=False)
            with phase("k-means"):
                self._cluster(codes, size, rng)
            with phase("other rows"):
                if subsample is not None:
                    reader = RowReader(network.encoder_, self.layer_, self._read())
                    known = self.embedding_, self.labels_
                    self.embedding_, self.labels_ = subsample.transform_rest(reader, known)
        take_feature_names(self, self.network_)
        return self

    @by_blocks
    def predict(self, X: Any) -> NDArray:
        """Cluster of every point, -1 for noise: (n_samples,)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return self._read()(self._codes(X))[1]

    @by_blocks
    def transform(self, X: Any) -> NDArray:
        """Coordinates of points on which k-means works, (n_samples, n_coordinates)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return self._read()(self._codes(X))[0]

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> NDArray:
        """Fit, and return the coordinates of the training points."""
        return self.fit(X, y, **options).embedding_.copy()

    def _wanted(self, n_rows: int) -> int | None:
        """Return the number of clusters asked for, None if it is to be estimated."""
        if isinstance(self.n_clusters, str):
            if self.n_clusters != "auto":
                raise ValueError(f"n_clusters must be an integer >= 1 or 'auto', got {self.n_clusters!r}.")
            return None
        count = check_count("n_clusters", self.n_clusters, hint="or pass 'auto'")
        if count > n_rows:
            raise ValueError(
                f"n_clusters must be <= n_samples={n_rows}, got {count}; lower it, or pass more samples or 'auto'."
            )
        return count

    def _network(self, n_rows: int, wanted: int | None, rng: np.random.RandomState) -> MultilayerBootstrapNetwork:
        if self.network is not None:
            return clone_network(self.network, rng)
        # If the number is not known, layers of all widths are needed.
        classes = min(wanted or 2, max(1, n_rows // 2))
        options = {"random_state": draw_seed(rng), "n_jobs": self.n_jobs}
        return MultilayerBootstrapNetwork(max(1, min(classes, n_rows - 1)), n_classes=classes, **options)

    def _estimate_number(self, seeds: np.random.SeedSequence) -> int:
        encoder = self.network_.encoder_
        if not self.network_.explained_variance_.any():
            return 1
        estimate = estimate_number(encoder.codes, encoder.sizes, seeds=seeds)
        self.n_clusters_scores_ = estimate.scores
        doubt = estimate.doubt or (
            "a few columns of X hold nearly all of its variance" if self.network_._is_uneven else ""
        )
        if doubt:
            warnings.warn(
                f"n_clusters='auto' found {estimate.number} clusters, but this is a guess: {doubt}; look at "
                "n_clusters_scores_, or pass the number that you need.",
                GuessWarning,
                stacklevel=outside(),
            )
        return estimate.number

    def _select_layer(self, seeds: np.random.SeedSequence) -> int:
        encoder = self.network_.encoder_
        self.layer_scores_: dict[int, float] = {}
        if self.layer != "auto":
            return self.network_._level(self.layer)
        if encoder.n_replicates < 2 or self.n_clusters_ < 2:
            return len(encoder.sizes) - 1
        self.layer_scores_ = layer_stability(encoder.codes, encoder.sizes, self.n_clusters_, seeds=seeds)
        return select_layer(self.layer_scores_)

    def _cluster(self, codes: NDArray, size: int, rng: np.random.RandomState) -> None:
        """Cluster the coordinates, and label noise."""
        self.kmeans_ = self._best_means(self.embedding_, rng)
        self.n_clusters_ = self.kmeans_.n_clusters
        # Not the labels of k-means itself: if means coincide, `predict` would number clusters differently.
        self.labels_, self.inertia_ = self.kmeans_.predict(self.embedding_), self.kmeans_.inertia_
        self.membership_: Membership | None = None
        if self.noise:
            self.membership_ = fit_membership(codes, size, self.labels_, self.n_clusters_)
            self.labels_ = self.membership_.without_noise(codes, self.labels_, self.noise)

    def _codes(self, X: Any) -> NDArray:
        return self.network_._encode(self.network_._validate(X, reset=False), self.layer_)

    def _read(self) -> Callable[[NDArray], tuple[NDArray, NDArray]]:
        """Return a function from codes to coordinates and labels, which holds no more than it needs."""
        return partial(
            _read_codes, self.embedding_model_, self.kmeans_, self.membership_, self.noise, self.embedding_.dtype
        )

    def _best_means(self, Z: NDArray, rng: np.random.RandomState) -> KMeans:
        """Best of `n_init` runs, with one thread each: more would change the last digits of sums."""
        rows = sample_rows(len(Z), START_ROWS, np.random.SeedSequence(draw_seed(rng)))
        count = min(self.n_clusters_, n_distinct(Z[rows]))
        if count < self.n_clusters_:
            warnings.warn(
                f"n_clusters is {self.n_clusters_}, but X has only {count} distinct points by their codes, so only "
                f"{count} clusters were found. Pass a smaller number.",
                DegenerateDataWarning,
                stacklevel=outside(),
            )

        def run(seed: int) -> KMeans:
            return KMeans(count, n_init=1, random_state=seed).fit(Z[rows])

        seeds = [draw_seed(rng) for _ in range(self.n_init)]
        runs = track(threaded(run, seeds), "k-means", total=len(seeds))
        best = min(runs, key=lambda means: means.inertia_)
        if len(rows) == len(Z):
            return best
        return KMeans(count, n_init=1, init=best.cluster_centers_, random_state=seeds[0]).fit(Z)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        network = MultilayerBootstrapNetwork() if self.network is None else self.network
        tags.input_tags = get_tags(network).input_tags
        return tags


def _read_codes(
    readout: SpectralReadout, means: KMeans, membership: Membership | None, noise: float, dtype: Any, codes: NDArray
) -> tuple[NDArray, NDArray]:
    """Coordinates and labels, -1 for noise, of (V, n) codes."""
    Z = readout.transform(codes, n_jobs=n_threads()).astype(dtype, copy=False)
    labels = means.predict(Z)
    return Z, labels if membership is None else membership.without_noise(codes, labels, noise)
