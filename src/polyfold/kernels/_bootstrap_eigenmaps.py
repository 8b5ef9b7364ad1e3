"""Laplacian eigenmaps of the neighbour graph of a bootstrap network."""

from typing import Literal, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polyfold._threads import n_threads
from polyfold._typing import Matrix, RandomState
from polyfold.bootstrap import check_layer, level_of, nearest_by_codes
from polyfold.kernels._base import GraphKernel
from polyfold.kernels._operator import Operator
from polyfold.kernels._shared_centers import encoder_of, rows_for
from polyfold.kernels._walks import LaplacianEigenmaps


class BootstrapEigenmaps(GraphKernel):
    """The graph Laplacian of a bootstrap network's neighbours, flipped.

    :class:`LaplacianEigenmaps` with another distance: the fraction of clusterings in which two points have different
    nearest centres. Groups are farther apart in that graph, so that few coordinates separate them.

    Parameters
    ----------
    n_neighbors : int, default=None
        None means 10, or all others if there are fewer.
    layer : int or "auto", default="auto"
        Layer whose codes are compared; 0 is the first one. "auto" compares those of all layers.
    n_classes : int, default=10
    first_layer : float or int, default=0.5
    decay : float, default=0.5
    n_clusterings : int, default=100
    feature_fraction : float, default=0.5
    metric : {"euclidean", "cosine", "linear"}, default="euclidean"
        All as in :class:`~polyfold.MultilayerBootstrapNetwork`.
    random_state : int, RandomState or None, default=0
        An integer, so that the kernel is one function wherever it is evaluated.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Notes
    -----
    For a network of your own, pass ``LaplacianEigenmaps(neighbors=BootstrapNeighborsTransformer(network=…))``.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> from polyfold.kernels import BootstrapEigenmaps
    >>> kernel = BootstrapEigenmaps(n_classes=3, n_neighbors=60)
    >>> pf.KernelEmbedding(2, kernel=kernel).fit_transform(load_iris().data).shape
    (150, 2)
    """

    neighbors = "auto"  # of the network's first layer

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        layer: int | Literal["auto"] = "auto",
        n_classes: int = 10,
        first_layer: float = 0.5,
        decay: float = 0.5,
        n_clusterings: int = 100,
        feature_fraction: float = 0.5,
        metric: Literal["euclidean", "cosine", "linear"] = "euclidean",
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.layer = layer
        self.n_classes = n_classes
        self.first_layer = first_layer
        self.decay = decay
        self.n_clusterings = n_clusterings
        self.feature_fraction = feature_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def operator_on(self, X: Matrix) -> Operator:
        """Build the flipped Laplacian of the network's neighbour graph of `X`."""
        near = _CodeNeighbors(self)
        return LaplacianEigenmaps(self.n_neighbors, step_time="unit", neighbors=near, n_jobs=self.n_jobs).operator_on(X)


class _CodeNeighbors(BaseEstimator):
    """A neighbours transformer by the codes of the network that a kernel describes."""

    def __init__(self, kernel: BootstrapEigenmaps):
        self.kernel = kernel

    def fit(self, X: Matrix) -> Self:
        """Fit the network to the rows of `X`."""
        check_layer(self.kernel.layer)
        self.encoder_ = encoder_of(self.kernel, X)
        return self

    def kneighbors(self, X: Matrix | None = None, n_neighbors: int = 10) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the training points that share most codes, shape (n, n_neighbors)."""
        encoder, jobs = self.encoder_, n_threads(self.kernel.n_jobs)
        points = encoder.codes if X is None else encoder.encode_layers(rows_for(encoder, X), n_jobs=jobs)
        count = len(encoder.sizes)
        layers = range(count) if self.kernel.layer == "auto" else [level_of(self.kernel.layer, count)]
        agreements, indices = nearest_by_codes(
            points, encoder.codes, encoder.sizes, n_neighbors, layers=list(layers), own=X is None, n_jobs=jobs
        )
        return 1 - agreements / sum(len(encoder.codes[layer]) for layer in layers), indices
