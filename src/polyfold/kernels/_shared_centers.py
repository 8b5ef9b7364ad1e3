"""The similarity of a bootstrap network as a kernel for every solver."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold._threads import using_threads
from polyfold._typing import Matrix, RandomState
from polyfold._validation import check_not_tiny, check_range, draw_seed, own_rows, sum_duplicates
from polyfold.bootstrap import (
    Encoder,
    check_settings,
    fit_encoder,
    layer_sizes,
    level_of,
    make_first_layer,
    shared_centers,
)
from polyfold.kernels._base import Kernel, KernelColumns, PointFeatures
from polyfold.sources import Source, Survey

METRICS = ("euclidean", "cosine", "linear")


class SharedCenters(Kernel):
    """Compare rows by how often random clusterings give them the same centre.

    The kernel of a multilayer bootstrap network [Zhang2016]: positive semi-definite, because it is the mean over
    clusterings of the inner products of indicator vectors, and one for equal points.

    Parameters
    ----------
    layer : int, default=-1
        Layer whose codes are compared; 0 is the first one.
    n_classes : int, default=10
    first_layer : float or int, default=0.5
    decay : float, default=0.5
    n_clusterings : int, default=400
    feature_fraction : float, default=0.5
    metric : {"euclidean", "cosine", "linear"}, default="euclidean"
    neighbors : {"auto", "exact", "graph"} or int, default="auto"
        All as in :class:`~polyfold.MultilayerBootstrapNetwork`.
    random_state : int, RandomState or None, default=0
        An integer, so that the kernel is one function wherever it is evaluated.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polyfold.kernels import SharedCenters
    >>> X = load_iris().data
    >>> kernel = SharedCenters(n_classes=3, n_clusterings=50).resolve(X)
    >>> kernel(X[:2], X[:2]).diagonal()
    array([1., 1.])
    """

    needs_rows = True

    def __init__(
        self,
        layer: int = -1,
        *,
        n_classes: int = 10,
        first_layer: float = 0.5,
        decay: float = 0.5,
        n_clusterings: int = 400,
        feature_fraction: float = 0.5,
        metric: Literal["euclidean", "cosine", "linear"] = "euclidean",
        neighbors: int | Literal["auto", "exact", "graph"] = "auto",
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ):
        self.layer = layer
        self.n_classes = n_classes
        self.first_layer = first_layer
        self.decay = decay
        self.n_clusterings = n_clusterings
        self.feature_fraction = feature_fraction
        self.metric = metric
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _resolve(self, X: Matrix | Source | Survey) -> None:
        """Fit the network whose codes are compared."""
        with using_threads(self.n_jobs):
            encoder = _encoder_of(self, X)
        level_of(self.layer, len(encoder.sizes))
        self.encoder_ = encoder

    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the fractions for all pairs of rows, shape (n, m)."""
        left = self.codes(X)
        return shared_centers(left, left if Y is X else self.codes(Y)) / self.n_clusterings

    def columns(self, X: Matrix) -> PointFeatures:
        """Return the features of a point: its similarity with the rows of `X`, whose codes are computed once."""
        return _CodeColumns(self, X, self.codes(X))

    def codes(self, X: Matrix) -> NDArray:
        """Codes of rows, as new points have them, shape (V, n)."""
        if not hasattr(self, "encoder_"):
            raise ValueError("SharedCenters depends on all of the data; call resolve(X) before evaluating it.")
        level = level_of(self.layer, len(self.encoder_.sizes))
        with using_threads(self.n_jobs):
            return self.encoder_.encode(_rows_for(self.encoder_, X), level)


@dataclass(frozen=True)
class _CodeColumns(KernelColumns):
    """Similarity with landmarks whose codes are known."""

    codes: NDArray  # (V, R)

    def transform(self, X: Matrix) -> NDArray:
        """Return the similarities, shape (n, R)."""
        return shared_centers(self.kernel.codes(X), self.codes) / self.codes.shape[0]


def _encoder_of(kernel: SharedCenters, X: Matrix) -> Encoder:
    """Fit the network that a kernel's parameters describe."""
    check_settings(kernel, METRICS)
    X = own_rows(_usable(X), X)
    sizes = layer_sizes(kernel, X)
    seeds = np.random.SeedSequence(draw_seed(kernel.random_state))
    first = make_first_layer(X, metric=kernel.metric, neighbors=kernel.neighbors, n_centers=sizes[0], seeds=seeds)
    return fit_encoder(
        first.prepare(X),
        first,
        sizes,
        n_clusterings=kernel.n_clusterings,
        feature_fraction=kernel.feature_fraction,
        code_fraction=kernel.feature_fraction,
        seeds=seeds,
    )


def _rows_for(encoder: Encoder, X: Matrix) -> Matrix:
    """Return rows in the form in which a network encodes them."""
    X, n_features = _usable(X), encoder.first.X.shape[1]
    if X.shape[1] != n_features:
        raise ValueError(f"X must have the {n_features} columns of the training rows, got {X.shape[1]}.")
    return encoder.first.adapt(X)


def _usable(X: Matrix) -> Matrix:
    if sp.issparse(X):
        X = sum_duplicates(sp.csr_array(X))
    else:
        X = np.asarray(X)
        X = np.ascontiguousarray(X if X.dtype in (np.uint8, np.float32, np.float64) else X.astype(np.float64))
    check_range(X)
    check_not_tiny(X)
    return X
