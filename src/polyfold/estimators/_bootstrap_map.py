"""A map of data: the neighbour graph of a bootstrap network in the plane."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import using_threads
from polyfold._validation import check_choice, check_count, check_real, draw_seed, keeps_state_on_failure
from polyfold.bootstrap import check_layer
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork
from polyfold.estimators._bootstrap_neighbors import new_network, take_feature_names
from polyfold.estimators._layouts import (
    LAYOUTS,
    NEIGHBORS,
    Lists,
    choose_layout,
    count_neighbors,
    eigenmaps,
    place,
    require_layout,
    tsne_layout,
    umap_layout,
)
from polyfold.neighbors import Neighborhoods, distinct_rows, find_neighbors, unit_rows
from polyfold.sources import in_memory

# Of the default network: neighbours need fewer clusterings than clusters do, and no search for the share of features.
CLUSTERINGS, FEATURE_FRACTION = 100, 0.5
# Above so many points the network would take most of the time: half of the clusterings, at some loss of accuracy.
MANY_POINTS, CLUSTERINGS_MANY = 3000, 50
# Share of the input's neighbours; where a few columns hold nearly all of the variance, it is these that say who is near
# there, and the network, whose clusterings often do not see them, counts more.
INPUT_SHARE, UNEVEN_SHARE = 0.95, 0.7
# Metrics by which rows have neighbours without a network.
INPUT_METRICS = ("euclidean", "cosine")
# Neighbours that place a new point.
PLACING = 10


class BootstrapMap(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Draw a map in which points lie together that a bootstrap network finds similar.

    The network's neighbour graph is laid out by its own eigenmaps, or by t-SNE or UMAP started from them, so that far
    groups lie as they do there.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters; by default one of 100 clusterings per layer (50 for more than
        3,000 points), each of half of the features.
    layout : {"auto", "spectral", "umap", "tsne"}, default="auto"
        "spectral" needs no further package and takes no steps; "umap" needs umap-learn and "tsne" openTSNE (the
        extra ``map``). "auto" takes t-SNE for up to 20,000 points in at most two dimensions, else UMAP, and what is
        installed.
    layer : int or "auto", default="auto"
        Layer of the network whose codes count; "auto" counts those of all layers.
    input_share : float or "auto", default="auto"
        Share of the neighbours in the input itself, beside those of the network, in "umap" and "tsne": 0 takes the
        network's alone. Some of them keep neighbours where they were. "auto" is 0.95, and 0.7 where a tenth of the
        columns, or one, hold nearly all of the variance (the network warns then).
    random_state : int, RandomState or None, default=None
        The same seed gives the same map for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one bar for the whole fit, with the time left, on a terminal, and a few lines elsewhere.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The training points.
    layout_ : str
        The layout that was used.
    input_share_ : float
        The share of the input's neighbours; 0 where the metric, "linear" or "precomputed", has none.
    network_ : MultilayerBootstrapNetwork
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    New points: eigenmaps have an extension of their own; in the other layouts a point lies at the mean of its ten
    nearest training points, the nearest counting most. Points that share all codes of all layers have one place.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> pf.BootstrapMap(layout="spectral", random_state=0).fit_transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        network: Any = None,
        layout: str = "auto",
        layer: Any = "auto",
        input_share: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.network = network
        self.layout = layout
        self.layer = layer
        self.input_share = input_share
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit the network and lay out its neighbour graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        **options : dict
            Passed on to the network's ``fit``, such as ``checkpoint``.
        """
        self._check_parameters()
        rng = check_random_state(self.random_state)
        X = in_memory(X)
        with using_threads(self.n_jobs):
            n = _num_samples(X)
            self.layout_ = choose_layout(self.layout, n, self.n_components)
            with phase("network"):
                check_layer(self.layer)
                self.network_ = self._new_network(n, rng).fit(X, **options)
                self.network_._ranking_layers(self.layer)
                self.input_share_ = choose_input_share(self.input_share, self.network_)
            with phase("start"):
                # As many neighbours as the layout takes; eigenmaps take the first of them.
                near = self._near(count_neighbors(self.layout_, n))
                self._spectrum, start = self._start(near)
            with phase("layout"):
                plain = self.layout_ == "spectral" or not self._has_news()
                Z = start if plain else self._lay_out(near, start, draw_seed(rng))
        take_feature_names(self, self.network_)
        self.embedding_ = self._one_place(Z).astype(self.network_.embedding_.dtype, copy=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> NDArray:
        """Fit, and return the map of the training points, (n_samples, n_components)."""
        return self.fit(X, y, **options).embedding_.copy()

    def transform(self, X: Any) -> NDArray:
        """Place points, old or new, on the map: (n_samples, n_components)."""
        check_is_fitted(self)
        k = min(PLACING, len(self.embedding_))
        with using_threads(self.n_jobs):
            points = self.network_._codes_of(X)
            distances, indices = self.network_._nearest(points, k, "auto", own=False, return_distance=True)
            Z = place(distances, indices, self.embedding_)
            new = distances[:, 0] > 0
            if self.layout_ == "spectral" and new.any():
                Z[new] = self._extended([codes[:, new] for codes in points])
        return Z.astype(self.embedding_.dtype, copy=False)

    def _extended(self, points: list[NDArray]) -> NDArray:
        """Coordinates of new points by the extension of the eigenmaps, or of the network's output."""
        if self._spectrum is None:
            return self.network_.output_.transform(points[-1])
        found = self._spectrum.coordinates(_code_rows(points))
        return np.pad(found, ((0, 0), (0, self.n_components - found.shape[1])))

    def _near(self, k: int) -> Lists:
        """Neighbours by the network."""
        distances, indices = self.network_.kneighbors(n_neighbors=k, layer=self.layer)
        return Lists(distances, indices)

    def _start(self, near: Lists) -> tuple[Any, NDArray]:
        """Eigenmaps of the network's graph, with more neighbours until it is connected; else principal components."""
        n = len(near.indices)
        k = min(NEIGHBORS["spectral"], n - 1)
        copies = distinct_rows(_code_rows(self.network_.network_.codes))
        # A few places span no eigenmaps: the walk between them is a matter of rounding.
        places = n if copies is None else len(copies[0])
        while self._has_news() and places > self.n_components + 1 and k < min(n, 16 * NEIGHBORS["spectral"]):
            if k > near.indices.shape[1]:
                near = self._near(k)
            lists = near.first(k)
            search = _CodeSearch(self.network_, self.layer)
            spectrum = eigenmaps(Neighborhoods(lists.distances, lists.indices, search), self.n_components)
            if spectrum is not None:
                Z = np.zeros((n, self.n_components))
                Z[:, : spectrum.rank] = spectrum.features.functions @ spectrum.readout
                return spectrum, Z
            k = 2 * k if 2 * k < n else max(k + 1, n - 1)
        return None, self.network_.embedding_.astype(np.float64)

    def _lay_out(self, near: Lists, start: NDArray, seed: int) -> NDArray:
        # Points at one place would never part.
        start = start + 1e-4 * np.abs(start).max(initial=1e-12) * np.random.default_rng(seed).standard_normal(
            start.shape
        )
        graphs = self._graphs(near)
        if self.layout_ == "umap":
            return umap_layout(graphs, start, seed=seed)
        return tsne_layout(graphs, start, seed=seed)

    def _graphs(self, near: Lists) -> list[Lists]:
        """Neighbours by the network, and in the input where those count as well."""
        # The root of the share of differing codes is the Euclidean distance of the one-of-k vectors.
        distances = np.sqrt(near.distances)
        graphs = [Lists(distances, near.indices, 1 - self.input_share_)]
        if self.input_share_ > 0:
            found = find_neighbors(_input_rows(self.network_), near.indices.shape[1])
            graphs.append(Lists(found.distances, found.indices, self.input_share_))
        return [graph for graph in graphs if graph.weight > 0]

    def _has_news(self) -> bool:
        """Whether the network tells any points apart."""
        return bool(self.network_.explained_variance_.any())

    def _one_place(self, Z: NDArray) -> NDArray:
        """Give points that share all codes the place of the first of them."""
        copies = distinct_rows(_code_rows(self.network_.network_.codes))
        return Z if copies is None else Z[copies[0]][copies[1]]

    def _new_network(self, n_rows: int, rng: np.random.RandomState) -> MultilayerBootstrapNetwork:
        network = new_network(self.network, n_rows, rng, self.n_jobs).set_params(n_components=self.n_components)
        if self.network is not None:
            return network
        clusterings = CLUSTERINGS if n_rows <= MANY_POINTS else CLUSTERINGS_MANY
        return network.set_params(n_clusterings=clusterings, feature_fraction=FEATURE_FRACTION)

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        check_choice("layout", self.layout, LAYOUTS)
        if self.input_share != "auto":
            check_real("input_share", self.input_share, minimum=0, maximum=1, hint="or pass 'auto'")
        if self.layout == "tsne" and self.n_components > 2:
            raise ValueError(
                f"n_components must be <= 2 with layout='tsne', got {self.n_components}; pass layout='umap' or "
                "'spectral'."
            )
        if self.layout in ("tsne", "umap"):
            require_layout(self.layout)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        network = MultilayerBootstrapNetwork() if self.network is None else self.network
        tags.input_tags = get_tags(network).input_tags
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def choose_input_share(wanted: Any, network: MultilayerBootstrapNetwork) -> float:
    """Return what "auto" stands for, and zero where the input has no neighbours of its own."""
    if network.metric_ not in INPUT_METRICS:
        return 0.0
    if wanted != "auto":
        return float(wanted)
    return UNEVEN_SHARE if network._is_uneven else INPUT_SHARE


@dataclass(frozen=True)
class _CodeSearch:
    """Search among the training points of a network, for points that are given by their codes side by side."""

    network: MultilayerBootstrapNetwork
    layer: Any

    def query(self, X: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest training points, shape (n, k)."""
        codes = self.network.network_.codes
        parts = np.split(X.T, np.cumsum([len(layer) for layer in codes])[:-1])
        points = [part.astype(layer.dtype) for part, layer in zip(parts, codes, strict=True)]
        return self.network._nearest(points, k, self.layer, own=False, return_distance=True)


def _code_rows(codes: list[NDArray]) -> NDArray:
    """Codes of all layers side by side, (n, V·L)."""
    return np.hstack([layer.T for layer in codes])


def _input_rows(network: MultilayerBootstrapNetwork) -> Any:
    """Rows whose Euclidean distances say who is near in the input."""
    rows = network.network_.bottom.X
    if network.metric_ == "cosine":
        return _directions(rows)
    # Single precision holds small whole numbers and their differences, and takes half of the time.
    return rows.astype(np.float32) if rows.dtype.kind in "iu" and rows.dtype.itemsize <= 2 else rows


def _directions(rows: Any) -> Any:
    """Rows of norm one; empty ones have a direction of their own, or they would be nearer to many than rows are."""
    unit = unit_rows(rows)
    empty = np.asarray(abs(unit).sum(axis=1)).reshape(-1, 1) == 0
    if not empty.any():
        return unit
    return sp.hstack([unit, empty.astype(np.float64)], format="csr") if sp.issparse(unit) else np.hstack([unit, empty])
