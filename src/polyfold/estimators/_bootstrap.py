"""Multilayer bootstrap networks [Zhang2016] as a transformer."""

import copy
import os
import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from polyfold._linalg import sample_rows
from polyfold._policy import MAX_REPLICATES, RELIABLE, REPLICATE_CLUSTERINGS, SEARCH_ROWS
from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import n_threads, using_threads
from polyfold._validation import (
    check_count,
    check_not_tiny,
    check_rows,
    draw_seed,
    keeps_state_on_failure,
    outside,
)
from polyfold.bootstrap import (
    Encoder,
    FirstLayer,
    LayerCheckpoint,
    check_settings,
    child_stream,
    fit_encoder,
    fit_output,
    fit_replicates,
    is_auto,
    layer_sizes,
    layers_for,
    make_first_layer,
    stream_seed,
)
from polyfold.clustering import select_feature_fraction
from polyfold.estimators._bootstrap_rows import (
    KINDS,
    Subsample,
    advise_scaling,
    is_text,
    lists_of,
    output_dtype,
    seed_of,
    settings,
    training_rows,
)
from polyfold.estimators._code_neighbors import CodeNeighborsMixin
from polyfold.exceptions import DegenerateDataWarning
from polyfold.sources import by_blocks

METRICS = ("auto", "euclidean", "cosine", "linear", "precomputed")


class MultilayerBootstrapNetwork(
    LongFit, CodeNeighborsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
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
        Rough guess of the number of clusters. Layers shrink while they have at least 1.5 times as many centres, so a
        smaller number adds coarser layers.
    first_layer : float, int or list of int, default=0.5
        Centres per clustering of the first layer: a fraction of the distinct samples or a number; or a list with the
        numbers of all layers. More centres resolve finer structure and take more time.
    decay : float, default=0.5
        Ratio of the number of centres of a layer to that of the layer before. Larger values give more layers.
    n_clusterings : int or "auto", default="auto"
        Clusterings per layer. "auto" fits two independent replicates of 100 clusterings, and two more if the
        similarity of two points still depends on the random draws (`reliability_` below 0.95). Beyond 2,500 points the
        replicates are fitted to a sample, and one network of as many clusterings to all points. A number gives one
        network, as in the paper; use at least 100.
    feature_fraction : float or "auto", default="auto"
        Fraction of the features, and of the clusterings below, that every clustering sees. "auto" selects 0.2, 0.5 or
        0.8 of the features by stability: the adjusted Rand index between replicates on a sample of the rows
        (`feature_fraction_scores_`). Every clustering then sees half of the clusterings below.
    metric : {"auto", "euclidean", "cosine", "linear", "precomputed"}, default="auto"
        Nearness in the first layer: distance, cosine or inner product on the drawn features. "auto" is the cosine
        for text (rows that are nowhere negative and at least 95 % zeros), else the distance. With "precomputed",
        `X` is a sparse graph of neighbours with their distances (or a full matrix of distances), and nearest
        centres are found along it.
    neighbors : {"auto", "exact", "graph"}, int, graph or transformer, default="auto"
        How the first layer finds nearest centres. "exact" gives the result of brute force. "graph" compares, on the
        drawn features, the 20 centres that come first among the nearest neighbours in all features; a number sets
        another count of candidates. A square sparse matrix, or an object such as
        :class:`~sklearn.neighbors.KNeighborsTransformer`, supplies the neighbours. "auto" is exact up to
        5·10⁷ pairs of a point and a centre; with the distance it is exact up to 96 features only.
    max_samples : int or None, default=131072
        Rows that the network learns from. If there are more, it learns from a random sample (`sample_indices_`) and
        transforms the others as new points, block by block. None takes all rows, and so does a precomputed graph.
    random_state : int, RandomState or None, default=None
        The same seed gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    layer_sizes_ : list of int
        Centres per clustering, layer by layer.
    n_clusterings_, feature_fraction_, metric_ : int, float, str
        What "auto" selected, or what was given.
    feature_fraction_scores_ : dict
        Stability (adjusted Rand index between replicates) of every fraction tried; empty if the fraction was given.
    reliability_ : float
        Estimated squared correlation of the similarity of the last layer with that of infinitely many replicates; NaN
        if the number was given. Beyond 2,500 points it is that of a sample. Two or four replicates give a rough value:
        see :doc:`/reliability`.
    assignment_error_ : float
        Estimated fraction of first-layer assignments that differ from the exact ones; 0 if the search is exact.
    neighbor_recall_ : float
        Estimated fraction of true nearest neighbours in the lists of the approximate search; 1 if it is exact.
    embedding_ : ndarray of shape (n_samples, n_components)
        All training points, including those outside the sample.
    sample_indices_ : ndarray of shape (max_samples,) or None
        Rows that the network learned from, ascending; None if it was all of them. Methods call these the training
        points.
    explained_variance_ : ndarray of shape (n_components,)
    encoder_ : Encoder
        The layers: their clusterings and the codes of the training points.
    output_ : Output
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    First layer: O(V n k d) brute force, of which exact search does about a tenth and the graph a fiftieth. Layers
    above: O(V² n). Memory: the training rows, and one or two bytes per sample, clustering and layer. Prediction
    needs all of that; :class:`~polyfold.Compressed` trains a small network to replace it.

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
    [74, 37, 18, 9]
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
        n_clusterings: Any = "auto",
        feature_fraction: Any = "auto",
        metric: str = "auto",
        neighbors: Any = "auto",
        max_samples: int | None = 131072,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_classes = n_classes
        self.first_layer = first_layer
        self.decay = decay
        self.n_clusterings = n_clusterings
        self.feature_fraction = feature_fraction
        self.metric = metric
        self.neighbors = neighbors
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    def fit(self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Fit the network layer by layer.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            Bytes, float32 and float64 are used as they are. A stream is any container of
            :func:`polyfold.sources.as_source`: files, blocks, Dask.
        y : ignored
        checkpoint : path, optional
            Folder to which every finished layer is written. If it holds layers of the same fit, they are read instead
            of computed, and the result is the same as without the interruption.
        """
        with using_threads(self.n_jobs):
            self._learn(X, n_clusters=self.n_classes, checkpoint=checkpoint, transform_rest=True)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None) -> NDArray:
        """Fit, and return the coordinates of the training points, (n_samples, n_components)."""
        return self.fit(X, y, checkpoint=checkpoint).embedding_.copy()

    @by_blocks
    def transform(self, X: Any) -> NDArray:
        """Coordinates of points, (n_samples, n_components)."""
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        with using_threads(self.n_jobs):
            Z = self.output_.transform(self.encoder_.encode(rows, len(self.layer_sizes_) - 1))
        return Z.astype(output_dtype(rows, X), copy=False)

    @by_blocks
    def codes(self, X: Any = None, layer: int = -1) -> NDArray:
        """Nearest centres of points in every clustering of a layer, (n_samples, n_clusterings).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
            The training points if not given; their codes are the model's own, not to be written to.
        layer : int, default=-1
            0 is the first layer, -1 the last one.
        """
        check_is_fitted(self)
        level = self._level(layer)
        if X is not None:
            return self._encode(self._validate(X, reset=False), level).T
        codes = self.encoder_.codes[level].T
        codes.flags.writeable = False
        return codes

    def at_layer(self, layer: int) -> Self:
        """Return a fitted copy that ends at `layer`, with the output learned there.

        Its `embedding_` holds the rows that the network learned from, at most `max_samples`; `transform` takes any.

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
        level = self._level(layer)
        shorter = copy.copy(self)
        shorter.encoder_ = self.encoder_.up_to(level)
        if level + 1 < len(self.layer_sizes_):
            shorter.reliability_ = np.nan  # estimated for the last layer alone
        with using_threads(self.n_jobs):
            return shorter._finish(self._seed, self.embedding_.dtype)

    @shows_progress
    def _learn(
        self,
        X: Any,
        *,
        n_clusters: int | None,
        checkpoint: str | os.PathLike[str] | None = None,
        transform_rest: bool = False,
    ) -> tuple[Encoder | None, Subsample | None]:
        """Fit to all rows, or to a sample; transform the rest of the rows if `transform_rest`.

        `n_clusters` is the number at which clusters are compared, if parameters are selected. Returns the replicates,
        if there are any, and the sample, if it was not all rows.
        """
        self._check_parameters()
        seed = seed_of(self, checkpoint)
        seeds = np.random.SeedSequence(seed)
        rows, subsample = training_rows(self, X, seeds)
        self.sample_indices_ = None if subsample is None else subsample.indices
        sizes = layer_sizes(self, rows)
        stored = None
        if checkpoint is not None:
            stored = LayerCheckpoint(checkpoint, settings(self, rows, sizes), seed=seed)
        if self.metric_ == "euclidean":
            advise_scaling(self, rows)
        with phase("network"):
            self.encoder_, replicates = self._fit_encoder(rows, sizes, n_clusters, seeds, stored)
        with phase("output"):
            self._finish(seed, output_dtype(rows, X))
        with phase("other rows"):
            if subsample is not None and transform_rest:
                last = len(sizes) - 1
                self.embedding_ = subsample.transform_rest(self.encoder_, last, self.output_, self.embedding_)
        return replicates, subsample

    def _fit_encoder(
        self,
        X: Any,
        sizes: list[int],
        n_clusters: int | None,
        seeds: np.random.SeedSequence,
        checkpoint: LayerCheckpoint | None,
    ) -> tuple[Encoder, Encoder | None]:
        """Return the layers, and the replicates if the number of clusterings is selected."""
        first = make_first_layer(X, metric=self.metric_, neighbors=self.neighbors, n_centers=sizes[0], seeds=seeds)
        self.feature_fraction_, self.feature_fraction_scores_ = self._select_fraction(first, n_clusters, seeds)
        rows = first.prepare(X)
        options: dict[str, Any] = {"seeds": seeds, **self._fractions()}
        self.reliability_ = np.nan
        replicates, n_clusterings = None, self.n_clusterings
        if is_auto(self.n_clusterings):
            is_small = X.shape[0] <= SEARCH_ROWS or self.metric_ == "precomputed"
            if is_small:
                replicates, found = fit_replicates(rows, first, sizes, checkpoint=checkpoint, **options)
            else:
                # All replicates, because they also select the layer of clusterers: six pairs instead of one.
                sample = X[sample_rows(X.shape[0], SEARCH_ROWS, child_stream(seeds, "pilot", 2))]
                replicates, found = fit_replicates(*layers_for(first, sample, sizes), fewest=MAX_REPLICATES, **options)
            count = next((count for count, value in found.items() if value >= RELIABLE), MAX_REPLICATES)
            self.reliability_ = found[count]
            if is_small:
                return replicates, replicates
            # One network of as many clusterings: each of them sees twice as many codes as in two replicates.
            n_clusterings = count * REPLICATE_CLUSTERINGS
        encoder = fit_encoder(rows, first, sizes, n_clusterings=n_clusterings, checkpoint=checkpoint, **options)
        return encoder, replicates

    def _fractions(self) -> dict[str, Any]:
        """Fractions of the features and, if that is not half, of the clusterings below that a clustering sees."""
        names = ["feature_fraction"] if is_auto(self.feature_fraction) else ["feature_fraction", "code_fraction"]
        return dict.fromkeys(names, self.feature_fraction_)

    def _select_fraction(
        self, first: FirstLayer, n_clusters: int | None, seeds: np.random.SeedSequence
    ) -> tuple[float, dict[float, float]]:
        if not is_auto(self.feature_fraction):
            return float(self.feature_fraction), {}
        if self.metric_ == "precomputed":
            return 1.0, {}
        return select_feature_fraction(first, n_clusters=n_clusters, seeds=seeds)

    def _finish(self, seed: int, dtype: Any) -> Self:
        encoder = self.encoder_
        self._seed = seed
        self.layer_sizes_ = list(encoder.sizes)
        self.n_clusterings_ = len(encoder.codes[0])
        self.assignment_error_, self.neighbor_recall_ = encoder.assignment_error, encoder.neighbor_recall
        start = stream_seed(child_stream(np.random.SeedSequence(seed), "output"))
        self.output_ = fit_output(encoder.codes[-1], encoder.sizes[-1], self.n_components, seed=start)
        self.embedding_ = self.output_.transform(encoder.codes[-1]).astype(dtype, copy=False)
        self.explained_variance_ = self.output_.variance
        if not self.explained_variance_.any():
            warnings.warn(
                "all rows have the same codes, so the output is zero. Check that the rows differ, or pass more rows.",
                DegenerateDataWarning,
                stacklevel=outside(),
            )
        return self

    def _encode(self, rows: Any, level: int) -> NDArray:
        with using_threads(self.n_jobs):
            return self.encoder_.encode(rows, level)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Check rows; neighbour lists replace a precomputed graph."""
        return self._adapt(check_rows(self, X, reset=reset, minimum=2 if reset else 1, **KINDS), reset=reset)

    def _adapt(self, X: Any, *, reset: bool) -> Any:
        """Return checked rows in the form that the first layer takes."""
        if reset:
            self.metric_ = ("cosine" if is_text(X) else "euclidean") if self.metric == "auto" else self.metric
        if self.metric_ == "precomputed":
            return lists_of(X, reset=reset)
        check_not_tiny(X.data if sp.issparse(X) else X)
        if not reset:
            return self.encoder_.first.adapt(X)
        return sp.csr_array(X) if sp.issparse(X) else X

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        check_settings(self, METRICS, auto=True)
        if self.max_samples is not None:
            check_count("max_samples", self.max_samples, minimum=2, hint="or pass None to learn from all rows")
        n_threads(self.n_jobs)

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


def network_to_fit(
    given: Any, default: MultilayerBootstrapNetwork, rng: np.random.RandomState, *, n_rows: int | None = None
) -> MultilayerBootstrapNetwork:
    """Copy the network that was passed to an estimator, or its default, and set the seed if it has none.

    With `n_rows`, the default has at most one class per two rows, so that a few rows have a network as well.
    """
    if given is not None and not isinstance(given, MultilayerBootstrapNetwork):
        raise TypeError(f"network must be a MultilayerBootstrapNetwork or None, got {given!r}.")
    network = clone(default if given is None else given)
    if given is None and n_rows is not None:
        network.set_params(n_classes=min(network.n_classes, max(1, n_rows // 2)))
    return network if network.random_state is not None else network.set_params(random_state=draw_seed(rng))
