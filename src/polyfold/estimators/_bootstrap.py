"""Multilayer bootstrap networks [Zhang2016] as a transformer."""

import copy
import itertools
import os
import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polyfold._running import n_threads, using_threads
from polyfold._validation import (
    check_choice,
    check_count,
    check_real,
    check_rows,
    draw_seed,
    keeps_state_on_failure,
    own_rows,
)
from polyfold.bootstrap import (
    Checkpoint,
    Network,
    SparseBottom,
    choose_bottom,
    decaying_sizes,
    fit_network,
    fit_output,
)
from polyfold.estimators._code_neighbors import CodeNeighborsMixin
from polyfold.exceptions import DegenerateDataWarning
from polyfold.neighbors import sorted_lists, with_own_zeros

METRICS = ("euclidean", "cosine", "linear", "precomputed")


class MultilayerBootstrapNetwork(CodeNeighborsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Reduce dimensions by layers of random nearest-centre clusterings.

    Every layer holds V clusterings. A clustering draws k points as its centres and some of the features, and
    replaces each point by the index of its nearest centre, its *code*. Two points are similar in a layer if they
    share many codes,

    .. math:: s(x, y) = \frac{1}{V} \, \#\{ v : c_v(x) = c_v(y) \},

    and the next layer, with fewer centres, clusters by that similarity. The output is the centred principal
    components of the codes of the last layer, so that inner products are the centred similarity.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the output.
    n_classes : int, default=10
        Rough guess of the number of groups in the data; layers shrink while they have at least 1.5 times as many
        centres.
    first_layer : float, int or list of int, default=0.5
        Centres per clustering of the first layer, as a share of the samples or a number; or those of all layers.
    decay : float, default=0.5
        Factor from one layer's number of centres to the next one's.
    n_clusterings : int, default=400
        Clusterings per layer; at least 100 are advised.
    feature_fraction : float, default=0.5
        Share of the features, or of the clusterings below, that every clustering sees.
    metric : {"euclidean", "cosine", "linear", "precomputed"}, default="euclidean"
        Nearness in the first layer: distance, cosine or inner product on the drawn features. With "precomputed",
        `X` is a sparse graph of neighbours with their distances (or a full matrix of distances), and nearest
        centres are found along it.
    neighbors : {"auto", "exact", "graph"}, int, graph or transformer, default="auto"
        How the first layer finds nearest centres. "exact" gives what brute force gives. "graph" compares, on the
        drawn features, the 20 centres that come first among the nearest neighbours in all features; a number asks
        for another count of candidates. A square sparse matrix, or an object such as
        :class:`~sklearn.neighbors.KNeighborsTransformer`, supplies the neighbours. "auto" is exact up to
        5·10⁷ pairs of a point and a centre.
    reconstruction : float, default=0.0
        Share of its features that every centre takes from another one, which makes clusterings more diverse.
    random_state : int, RandomState or None, default=None
        The same seed gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.

    Attributes
    ----------
    layer_sizes_ : list of int
        Centres per clustering, layer by layer.
    disagreement_ : float
        Estimated share of first-layer assignments that differ from the exact ones; 0 if the search is exact.
    neighbor_recall_ : float
        Estimated share of true nearest neighbours in the lists of the approximate search; 1 if it is exact.
    embedding_ : ndarray of shape (n_samples, n_components)
        The training points.
    explained_variance_ : ndarray of shape (n_components,)
    network_ : Network
    output_ : Output
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    First layer: O(V n k d) brute force, of which exact search does about a tenth and the graph a fiftieth. Layers
    above: O(V² n). Memory: the training rows, and one or two bytes per sample, clustering and layer. Prediction
    needs all of that; :class:`~polyfold.Compressed` teaches it to a small network.

    References
    ----------
    [Zhang2016]

    Examples
    --------
    >>> from polyfold import MultilayerBootstrapNetwork
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> network = MultilayerBootstrapNetwork(n_classes=3, n_clusterings=50, random_state=0).fit(X)
    >>> network.layer_sizes_
    [75, 37, 18, 9]
    >>> network.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_classes: int = 10,
        first_layer: Any = 0.5,
        decay: float = 0.5,
        n_clusterings: int = 400,
        feature_fraction: float = 0.5,
        metric: str = "euclidean",
        neighbors: Any = "auto",
        reconstruction: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.n_classes = n_classes
        self.first_layer = first_layer
        self.decay = decay
        self.n_clusterings = n_clusterings
        self.feature_fraction = feature_fraction
        self.metric = metric
        self.neighbors = neighbors
        self.reconstruction = reconstruction
        self.random_state = random_state
        self.n_jobs = n_jobs

    @keeps_state_on_failure
    def fit(self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Fit the network layer by layer.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Bytes, float32 and float64 are used as they are.
        y : ignored
        checkpoint : path, optional
            Folder to which every finished layer is written. If it holds layers of the same fit, they are read
            instead of computed, and the result is the same as without the interruption.

        Returns
        -------
        self
        """
        self._check_parameters()
        rows = own_rows(self._validate(X, reset=True), X)
        sizes = self._layer_sizes(rows.shape[0])
        seed, folder = draw_seed(self.random_state), None
        if checkpoint is not None:
            fixed = self.random_state is not None
            folder = Checkpoint(checkpoint, self._settings(rows, sizes), seed=seed, fixed=fixed)
            seed = folder.seed
        with using_threads(self.n_jobs):
            self.network_ = self._fit_network(rows, sizes, seed, folder)
            return self._finish(seed, _output_dtype(rows, X))

    def fit_transform(self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None) -> NDArray:
        """Fit, and return the coordinates of the training points, (n_samples, n_components)."""
        return self.fit(X, y, checkpoint=checkpoint).embedding_.copy()

    def transform(self, X: Any) -> NDArray:
        """Coordinates of points, (n_samples, n_components)."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        codes = self._encode(rows, len(self.layer_sizes_) - 1)
        Z = self.output_.transform(codes, n_jobs=n_threads(self.n_jobs))
        return Z.astype(_output_dtype(rows, X), copy=False)

    def codes(self, X: Any = None, layer: int = -1) -> NDArray:
        """Nearest centres of points in every clustering of a layer, (n_samples, n_clusterings).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
            The training points if not given.
        layer : int, default=-1
            0 is the first layer, -1 the last one.
        """
        check_is_fitted(self)
        level = self._level(layer)
        return (self.network_.codes[level] if X is None else self._encode(self._validate(X, reset=False), level)).T

    def at_layer(self, layer: int) -> Self:
        """Return a fitted copy that ends at `layer`, with the output learned there: how the data look halfway up.

        Parameters
        ----------
        layer : int
            0 is the first layer, -1 the last one.

        Examples
        --------
        >>> import polyfold as pf
        >>> from sklearn.datasets import load_iris
        >>> network = pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=50, random_state=0)
        >>> _ = network.fit(load_iris().data)
        >>> [network.at_layer(layer).embedding_.shape for layer in range(4)]
        [(150, 2), (150, 2), (150, 2), (150, 2)]
        """
        check_is_fitted(self)
        stop = self._level(layer) + 1
        shorter = copy.copy(self)
        network = copy.copy(self.network_)
        network.sizes, network.draws, network.codes = network.sizes[:stop], network.draws[:stop], network.codes[:stop]
        shorter.network_ = network
        return shorter._finish(self._output_seed, self.embedding_.dtype)

    def _fit_network(self, X: Any, sizes: list[int], seed: int, folder: Checkpoint | None) -> Network:
        shared = {"reconstruction": self.reconstruction, "seed": seed}
        bottom = choose_bottom(X, metric=self.metric, neighbors=self.neighbors, n_centers=sizes[0], **shared)
        return fit_network(
            X,
            bottom,
            sizes,
            n_clusterings=self.n_clusterings,
            feature_fraction=self.feature_fraction,
            n_jobs=n_threads(self.n_jobs),
            checkpoint=folder,
            **shared,
        )

    def _finish(self, seed: int, dtype: Any) -> Self:
        network, jobs = self.network_, n_threads(self.n_jobs)
        self._output_seed = seed
        self.layer_sizes_ = list(network.sizes)
        self.disagreement_ = network.disagreement
        self.neighbor_recall_ = network.recall
        self.output_ = fit_output(network.codes[-1], network.sizes[-1], self.n_components, seed=seed, n_jobs=jobs)
        self.embedding_ = self.output_.transform(network.codes[-1], n_jobs=jobs).astype(dtype, copy=False)
        self.explained_variance_ = self.output_.variance
        if not self.explained_variance_.any():
            warnings.warn(
                "every sample has the same codes, so the output is zero; the samples may all be equal, or too few.",
                DegenerateDataWarning,
                stacklevel=3,
            )
        return self

    def _encode(self, rows: Any, level: int) -> NDArray:
        with using_threads(self.n_jobs):
            return self.network_.encode(rows, level, n_jobs=n_threads(self.n_jobs))

    def _level(self, layer: int) -> int:
        count = len(self.layer_sizes_)
        if not isinstance(layer, Integral) or not -count <= layer < count:
            raise ValueError(f"layer must be an integer >= {-count} and < {count}, got {layer!r}.")
        return int(layer) % count

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Check rows at the border; neighbour lists take the place of a precomputed graph."""
        dtype = [np.float64, np.float32, np.uint8]
        X = check_rows(self, X, reset=reset, minimum=2 if reset else 1, dtype=dtype, order="C")
        if self.metric == "precomputed":
            return self._lists(X, reset=reset)
        sparse_fit = sp.issparse(X) if reset else isinstance(self.network_.bottom, SparseBottom)
        if sparse_fit:
            return sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else X

    def _lists(self, X: Any, *, reset: bool) -> NDArray:
        if reset and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square graph or matrix with metric='precomputed', got shape {X.shape}.")
        return sorted_lists(with_own_zeros(X) if reset else X, drop_self=False)

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        check_count("n_classes", self.n_classes)
        check_real("decay", self.decay, minimum=0, maximum=1, open_minimum=True)
        check_count("n_clusterings", self.n_clusterings)
        check_real("feature_fraction", self.feature_fraction, minimum=0, maximum=1, open_minimum=True)
        check_choice("metric", self.metric, METRICS)
        check_real("reconstruction", self.reconstruction, minimum=0, maximum=1)
        n_threads(self.n_jobs)

    def _layer_sizes(self, n: int) -> list[int]:
        if self.n_classes > n:
            raise ValueError(
                f"n_classes must be <= n_samples={n}, got {self.n_classes}; lower it or pass more samples."
            )
        if isinstance(self.first_layer, list | tuple | np.ndarray):
            return _check_list(self.first_layer, n)
        if isinstance(self.first_layer, Integral) and not isinstance(self.first_layer, bool):
            first = check_count("first_layer", self.first_layer, maximum=n - 1, hint=_identity_hint(n))
        else:
            share = check_real("first_layer", self.first_layer, minimum=0, maximum=1, open_minimum=True)
            first = int(share * n)
            if first >= n:
                raise ValueError(f"first_layer must be < 1, got {self.first_layer!r}; {_identity_hint(n)}.")
            # One centre tells nothing apart: a share means two at least, where there are that many besides a sample.
            first = min(n - 1, max(2, first))
        return decaying_sizes(first, self.decay, self.n_classes)

    def _settings(self, X: Any, sizes: list[int]) -> dict[str, Any]:
        """Collect what a stored layer depends on."""
        return {
            "data": X,
            "sizes": sizes,
            "n_clusterings": self.n_clusterings,
            "feature_fraction": self.feature_fraction,
            "metric": self.metric,
            "neighbors": self.neighbors,
            "reconstruction": self.reconstruction,
        }

    @property
    def _n_features_out(self) -> int:
        return self.output_.components.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        exact = isinstance(self.neighbors, str) and self.neighbors in ("auto", "exact")
        tags.input_tags.sparse = exact or self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _output_dtype(rows: Any, given: Any) -> type[np.floating]:
    """Single precision for single-precision rows, or distances in place of which there are lists, else double."""
    return np.float32 if np.float32 in (rows.dtype, getattr(given, "dtype", None)) else np.float64


def _check_list(layers: Any, n: int) -> list[int]:
    sizes = [check_count("first_layer", k, maximum=n - 1, hint=_identity_hint(n)) for k in layers]
    if not sizes or any(b >= a for a, b in itertools.pairwise(sizes)):
        raise ValueError(f"first_layer must be a list of falling numbers of centres, got {list(layers)!r}.")
    return sizes


def _identity_hint(n: int) -> str:
    return f"with {n} centres for {n} samples every sample would be its own centre"
