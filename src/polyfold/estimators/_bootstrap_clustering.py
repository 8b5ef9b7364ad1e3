"""Clustering on the output of a multilayer bootstrap network [Zhang2016, app. E]."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._running import threaded, using_threads
from polyfold._validation import check_count, draw_seed, keeps_state_on_failure
from polyfold.bootstrap import largest_drop
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork

# Most clusters that are looked for when their number is estimated.
MOST_CLUSTERS = 30


class BootstrapClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Cluster by a bootstrap network and the best of many runs of k-means on its output.

    The network makes groups of any shape compact; k-means then minimises

    .. math:: \sum_i \min_j \| z(x_i) - m_j \|^2

    over the means m of the coordinates z.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" takes the number of directions before the largest drop of the network's variances, plus one. This
        works when groups are clearly apart and is a guess when they are not.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters. By default one with the recommended parameters, whose output
        dimension and number of classes are the number of clusters.
    n_init : int, default=50
        Runs of k-means, side by side, of which the one with the smallest objective is kept.
    random_state : int, RandomState or None, default=None
        Of k-means, and of the default network.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    network_ : MultilayerBootstrapNetwork
    kmeans_ : KMeans
    inertia_ : float
    n_features_in_ : int

    References
    ----------
    [Zhang2016]

    Examples
    --------
    >>> from polyfold import BootstrapClustering, MultilayerBootstrapNetwork
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, n_features=8, centers=4, random_state=0)
    >>> network = MultilayerBootstrapNetwork(4, n_classes=4, n_clusterings=100, random_state=0)
    >>> BootstrapClustering(4, network=network, random_state=0).fit(X).n_clusters_
    4
    """

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        network: Any = None,
        n_init: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.network = network
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    @keeps_state_on_failure
    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit the network and cluster its output.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        **options : dict
            Passed on to the network's ``fit``, such as ``checkpoint``.
        """
        rng = check_random_state(self.random_state)
        check_count("n_init", self.n_init)
        n = _num_samples(X)
        wanted = self._wanted(n) if n > 1 else None  # a single row is refused by the network
        with using_threads(self.n_jobs):
            self.network_ = self._network(n, wanted, rng).fit(X, **options)
            self.n_clusters_ = wanted or largest_drop(self.network_.explained_variance_)
            self.kmeans_ = self._best_means(self._coordinates(self.network_.embedding_), rng)
        self.labels_, self.inertia_ = self.kmeans_.labels_, self.kmeans_.inertia_
        self.n_features_in_ = self.network_.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(self.network_, "feature_names_in_"):
            self.feature_names_in_ = self.network_.feature_names_in_
        return self

    def predict(self, X: Any) -> NDArray:
        """Cluster of every point, (n_samples,)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return self.kmeans_.predict(self._coordinates(self.network_.transform(X)))

    def transform(self, X: Any) -> NDArray:
        """Coordinates of points in the network's output, (n_samples, n_components)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return self.network_.transform(X)

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> NDArray:
        """Fit, and return the coordinates of the training points."""
        return self.fit(X, y, **options).network_.embedding_.copy()

    def _wanted(self, n_rows: int) -> int | None:
        """Return the number of clusters asked for, None if it is to be estimated."""
        if isinstance(self.n_clusters, str):
            if self.n_clusters != "auto":
                raise ValueError(f"n_clusters must be an integer >= 1 or 'auto', got {self.n_clusters!r}.")
            return None
        count = check_count("n_clusters", self.n_clusters)
        if count > n_rows:
            raise ValueError(
                f"n_clusters must be <= n_samples={n_rows}, got {count}; lower it, or pass more samples or 'auto'."
            )
        return count

    def _network(self, n_rows: int, wanted: int | None, rng: np.random.RandomState) -> MultilayerBootstrapNetwork:
        if self.network is not None:
            return clone(self.network)
        options = {"random_state": draw_seed(rng), "n_jobs": self.n_jobs}
        if wanted is not None:
            return MultilayerBootstrapNetwork(wanted, n_classes=wanted, **options)
        # As many groups as there are pairs of rows at most, so that a few rows have a number of groups as well.
        network = MultilayerBootstrapNetwork(min(MOST_CLUSTERS, n_rows - 1), **options)
        return network.set_params(n_classes=min(network.n_classes, max(1, n_rows // 2)))

    def _best_means(self, Z: NDArray, rng: np.random.RandomState) -> KMeans:
        """Best of `n_init` runs, side by side, with one thread each: more would change the last digits of sums."""

        def run(seed: int) -> KMeans:
            return KMeans(self.n_clusters_, n_init=1, random_state=seed).fit(Z)

        seeds = [draw_seed(rng) for _ in range(self.n_init)]
        return min(threaded(run, seeds), key=lambda means: means.inertia_)

    def _coordinates(self, Z: NDArray) -> NDArray:
        """As many leading coordinates as clusters when their number was estimated, else all."""
        Z = np.asarray(Z)
        return Z[:, : self.n_clusters_] if isinstance(self.n_clusters, str) else Z

    @property
    def _n_features_out(self) -> int:
        return self.network_.n_components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        network = MultilayerBootstrapNetwork() if self.network is None else self.network
        tags.input_tags = get_tags(network).input_tags
        return tags
