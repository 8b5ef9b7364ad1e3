"""The neighbour graph of a bootstrap network as a transformer."""

from os import PathLike
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._progress import LongFit, shows_progress
from polyfold._threads import n_threads
from polyfold._typing import FloatArray, IntArray, RandomState, Rows
from polyfold._validation import check_choice, check_count, keeps_state_on_failure
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, network_to_fit
from polyfold.estimators._bootstrap_rows import take_feature_names
from polyfold.neighbors import GRAPH_MODES, mode_graph
from polyfold.sources import in_memory


class BootstrapNeighborsTransformer(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform rows into the neighbour graph of a bootstrap network.

    An adapter with the interface of :class:`~sklearn.neighbors.KNeighborsTransformer` over the network's
    `kneighbors_graph`: near points share nearest centres, from fine to coarse. It works with everything that takes a
    precomputed graph of neighbours, such as ``scanpy.pp.neighbors(transformer=…)``.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of each point; in mode "distance" one more, the point itself.
    mode : {"distance", "connectivity"}, default="distance"
        Type of the entries: distances (fractions of differing codes), or ones.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters; by default one with the recommended parameters.
    random_state : int, RandomState or None, default=None
        Seed of a network that has none of its own.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one progress bar for the whole fit.

    Attributes
    ----------
    network_ : MultilayerBootstrapNetwork
    n_samples_fit_ : int
    effective_metric_ : str
        "hamming": the fraction of differing codes.
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    See Also
    --------
    MultilayerBootstrapNetwork.kneighbors : Neighbours as arrays, by any layer.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.pipeline import make_pipeline
    >>> X, _ = make_blobs(150, n_features=8, centers=3, random_state=0)
    >>> network = pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=50, feature_fraction=0.5, random_state=0)
    >>> near = pf.BootstrapNeighborsTransformer(10, network=network)
    >>> labels = make_pipeline(near, DBSCAN(eps=0.8, metric="precomputed")).fit_predict(X)
    >>> len(set(labels))
    3
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        mode: Literal["connectivity", "distance"] = "distance",
        network: MultilayerBootstrapNetwork | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.network = network
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None, *, checkpoint: str | PathLike[str] | None = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        checkpoint : path, optional
            Passed on to the network's ``fit``.

        Returns
        -------
        self : object
        """
        check_choice("mode", self.mode, GRAPH_MODES)
        check_count("n_neighbors", self.n_neighbors)
        X = in_memory(X)
        n_threads(self.n_jobs)
        rng = check_random_state(self.random_state)
        network = network_to_fit(self.network, self._default_network(), rng, n_rows=_num_samples(X))
        self.network_ = network.set_params(max_samples=None).fit(X, checkpoint=checkpoint)
        self.n_samples_fit_ = self.network_.codes().shape[0]
        self.effective_metric_ = "hamming"
        take_feature_names(self, self.network_)
        most = self.n_samples_fit_ - (self.mode == "distance")
        check_count("n_neighbors", self.n_neighbors, maximum=most, hint="there are no more training points to find")
        return self

    def fit_transform(
        self, X: Rows, y: object = None, *, checkpoint: str | PathLike[str] | None = None
    ) -> sp.csr_matrix:
        """Fit, and return the graph of the training points.

        Returns
        -------
        graph : sparse matrix of shape (n_samples, n_samples), CSR
        """
        n, others = self.fit(X, y, checkpoint=checkpoint).n_samples_fit_, self._n_entries() - 1
        own = np.arange(n)[:, None]
        distances, indices = self.kneighbors(None, others) if others else (np.empty((n, 0)), np.empty((n, 0), int))
        return self._graph(np.hstack([0.0 * own, distances]), np.hstack([own, indices]))

    def transform(self, X: Rows) -> sp.csr_matrix:
        """Return the graph of points and their nearest training points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        graph : sparse matrix of shape (n_samples, n_samples_fit), CSR
            In mode "distance", training points are their own first neighbours, except duplicates.
        """
        check_is_fitted(self)
        return self._graph(*self.kneighbors(X, self._n_entries()))

    def kneighbors(
        self, X: Rows | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Find the nearest training points, of the training points themselves (without each) if `X` is not given."""
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return self.network_.kneighbors(X, k, return_distance)

    def kneighbors_graph(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sp.csr_matrix:
        """Return the graph of nearest training points, with ones or (mode "distance") distances."""
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        return self.network_.kneighbors_graph(X, k, mode)

    def _graph(self, distances: NDArray, indices: NDArray) -> sp.csr_matrix:
        graph = mode_graph(distances, indices, self.n_samples_fit_, self.mode)
        return graph.astype(self.network_.embedding_.dtype, copy=False)

    def _n_entries(self) -> int:
        """Entries of a row: with distances one more, the point itself, as in scikit-learn."""
        return self.n_neighbors + (self.mode == "distance")

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def _default_network(self) -> MultilayerBootstrapNetwork:
        return MultilayerBootstrapNetwork(max_samples=None, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.network or MultilayerBootstrapNetwork()).input_tags
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
