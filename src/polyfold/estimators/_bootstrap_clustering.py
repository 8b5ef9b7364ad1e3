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

from polyfold._progress import LongFit, phase, shows_progress, track
from polyfold._threads import n_threads, threaded, using_threads
from polyfold._validation import check_choice, check_count, check_real, draw_seed, keeps_state_on_failure, outside
from polyfold.bootstrap import (
    Cut,
    Early,
    Membership,
    Output,
    check_layer,
    deepest,
    find_number,
    fit_cut,
    fit_early,
    fit_membership,
    fit_output,
    layer_agreement,
    n_directions,
    sample_rows,
)
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, own_network
from polyfold.estimators._bootstrap_border import Placing, rows_of_words
from polyfold.estimators._bootstrap_neighbors import take_feature_names
from polyfold.exceptions import DegenerateDataWarning, GuessWarning
from polyfold.neighbors import n_places
from polyfold.sources import Source, as_source, by_blocks, is_stream

# Rows on which k-means starts.
START_ROWS = 5000
# Agreement of two halves of a network up to which groups are hardly more than chance.
CHANCE = 0.3
READOUTS = ("cut", "pca")


class BootstrapClustering(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Find groups of any shape: a bootstrap network makes them compact, k-means reads them.

    The network says how similar two points are; the leading directions z of that similarity, rows of norm one, are
    near one point for each group, and k-means minimises

    .. math:: \sum_i \min_j \| z(x_i) - m_j \|^2

    over the means m. Which layer is read is decided without labels by what two independent halves of the network agree
    on, and how many groups there are by how many the random walk on its neighbour graph hardly leaves.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" takes the number with the highest score (`n_clusters_scores_`) of those up to 60, and warns when it is
        a guess.
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters. By default one whose parameters are chosen from the data.
    layer : int or "auto", default="auto"
        Layer that is read; 0 is the first one, -1 the last. "auto" takes the layer farthest from the data of those
        in which the halves of the network agree best (`layer_scores_`); the last one if the network is not made of
        stacks (its `n_clusterings` is a number).
    readout : {"cut", "pca"}, default="cut"
        Coordinates for k-means: directions of the random walk on the similarity, or the principal components of the
        paper, which lose small groups. For text (metric "cosine"), the similarity of the "cut" is that of the network
        and the cosine itself, half and half.
    noise : float, default=0
        Points whose mean similarity with their cluster is below this share of what is usual there (the median)
        are labelled -1. 0 labels none; 0.7 finds points strewn between blobs.
    n_init : int, default=50
        Runs of k-means, side by side, of which the one with the smallest objective is kept; on more than 5,000 rows
        they start on a sample, and the best goes on with all.
    random_state : int, RandomState or None, default=None
        Of k-means, and of a network that has none of its own.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one bar for the whole fit, with the time left, on a terminal, and a few lines elsewhere.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
        Clusters found: fewer than asked for where there are fewer different points.
    n_clusters_scores_ : dict
        For every number tried, its score, and the share of forty samples of the points in which it is the highest;
        empty if the number was given. The score is the logarithm of how much sooner a random walk between neighbours
        leaves the parts of a group than the groups, times the root of the bits that the number says.
    layer_ : int
        The layer that is read.
    layer_scores_ : dict
        Agreement of the halves of the network in every layer; empty if the layer was given.
    network_ : MultilayerBootstrapNetwork
    readout_ : Cut or Output
    kmeans_ : KMeans
    inertia_ : float
        Of the rows that the network learned from.
    early_share_ : float
        Share of rows whose neighbours are so much of one group that `predict` asks no further, estimated from the
        training rows; 0 where all go through the network, as they do if its first layer searches exactly.
    early_disagreement_ : float
        Share of those that the whole network would label otherwise, at most (with 95 % confidence); 0 if there are
        none.
    n_features_in_ : int

    Notes
    -----
    Where the first layer uses lists of neighbours, `predict` looks at the training rows in the list of a point first.
    If so many of them have one label that at most 1 in 2,000 such training rows has another, it is the answer, and so
    is the label of a training row of which the point is a copy. `transform`, `labels_` and labels with `noise` take
    the whole way.

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
        readout: str = "cut",
        noise: float = 0.0,
        n_init: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.network = network
        self.layer = layer
        self.readout = readout
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
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask. Of more rows than
            the network's `max_samples`, a sample is clustered, and the others follow as new points do.
        y : ignored
        **options : dict
            Passed on to the network's ``fit``, such as ``checkpoint``.
        """
        rng = check_random_state(self.random_state)
        check_count("n_init", self.n_init)
        check_choice("readout", self.readout, READOUTS)
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
                others = network._learn(X, **options)
            n = len(network.embedding_)
            seed = draw_seed(rng)
            self.n_clusters_scores_: dict[int, tuple[float, float]] = {}
            with phase("number"):
                self.n_clusters_ = wanted or self._choose_number(seed)
            with phase("directions"):
                self.layer_ = self._choose_layer(seed)
                codes, size = self._layer_codes(), self.network_.layer_sizes_[self.layer_]
                directions = min(n_directions(self.n_clusters_), n)
                self.readout_, Z = self._read_layer(codes, size, directions, seed)
                self.embedding_ = Z.astype(self.network_.embedding_.dtype, copy=False)
            with phase("k-means"):
                self._group(codes, size, rng)
                self._learn_early()
            with phase("other rows"):
                if others is not None:
                    placing = Placing(network.network_, self.layer_, self._reading())
                    self.embedding_, self.labels_ = others.place(placing, (self.embedding_, self.labels_))
        take_feature_names(self, self.network_)
        return self

    @by_blocks
    def predict(self, X: Any) -> NDArray:
        """Cluster of every point, -1 for noise: (n_samples,)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            # Older files hold no rule for early answers.
            if (early := getattr(self, "_early", None)) is not None:
                return self._predict_early(early, self.network_._validate(X, reset=False))
            return self._reading()(*self._codes_and_rows(X))[1]

    @by_blocks
    def transform(self, X: Any) -> NDArray:
        """Coordinates of points on which k-means works, (n_samples, n_coordinates)."""
        check_is_fitted(self)
        with using_threads(self.n_jobs):
            return _coordinates(self.readout_, *self._codes_and_rows(X)).astype(self.embedding_.dtype, copy=False)

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
            return own_network(self.network, rng)
        # Where the number is not known, layers of all widths are needed.
        classes = min(wanted or 2, max(1, n_rows // 2))
        options = {"random_state": draw_seed(rng), "n_jobs": self.n_jobs}
        return MultilayerBootstrapNetwork(max(1, min(classes, n_rows - 1)), n_classes=classes, **options)

    def _choose_number(self, seed: int) -> int:
        network = self.network_.network_
        if not self.network_.explained_variance_.any():
            return 1
        found = find_number(network.codes, network.sizes, seed=seed)
        self.n_clusters_scores_ = found.scores
        doubt = found.doubt or (
            "a few columns of X hold nearly all of its variance" if self.network_._is_uneven else ""
        )
        if doubt:
            warnings.warn(
                f"n_clusters='auto' found {found.number} clusters, but this is a guess: {doubt}; look at "
                "n_clusters_scores_, or pass the number that you need.",
                GuessWarning,
                stacklevel=outside(),
            )
        return found.number

    def _choose_layer(self, seed: int) -> int:
        network = self.network_.network_
        self.layer_scores_: dict[int, float] = {}
        if self.layer != "auto":
            return self.network_._level(self.layer)
        if self.network_.n_clusterings != "auto" or self.n_clusters_ < 2:
            return len(network.sizes) - 1
        self.layer_scores_ = layer_agreement(network.codes, network.sizes, self.n_clusters_, seed=seed)
        # A number that is left open has a warning of its own.
        if (best := max(self.layer_scores_.values())) < CHANCE and not self.n_clusters_scores_:
            warnings.warn(
                f"the {self.n_clusters_} clusters are hardly more than chance: in no layer do halves of the network "
                f"agree on them by more than {best:.2f} (adjusted Rand index, layer_scores_), less than {CHANCE}; pass "
                "another n_clusters, or other features.",
                GuessWarning,
                stacklevel=outside(),
            )
        return deepest(self.layer_scores_)

    def _group(self, codes: NDArray, size: int, rng: np.random.RandomState) -> None:
        """Cluster the coordinates, and set apart what is noise."""
        self.kmeans_ = self._best_means(self.embedding_, rng)
        self.n_clusters_ = self.kmeans_.n_clusters
        # Not the labels of k-means itself: where means coincide, `predict` would number groups otherwise.
        self.labels_, self.inertia_ = self.kmeans_.predict(self.embedding_), self.kmeans_.inertia_
        self.membership_: Membership | None = None
        if self.noise:
            self.membership_ = fit_membership(codes, size, self.labels_, self.n_clusters_)
            self.labels_ = self.membership_.without_noise(codes, self.labels_, self.noise)

    def _learn_early(self) -> None:
        """Find out when the neighbours of a point tell its label."""
        lists = self.network_.network_.training_lists(n_jobs=n_threads())
        # What is noise, only the codes tell.
        self._early = None if lists is None or self.noise else fit_early(lists, self.labels_)
        self.early_share_ = 0.0 if self._early is None else self._early.share
        self.early_disagreement_ = 0.0 if self._early is None else self._early.disagreement

    def _predict_early(self, early: Early, rows: NDArray) -> NDArray:
        """Labels of checked rows: what their neighbours tell, and of the others what the network does."""
        network, jobs = self.network_.network_, n_threads(self.network_.n_jobs)
        lists = network.bottom.neighbors(rows, own=False, n_jobs=jobs)
        labels = early.label(network.bottom.X, rows, lists)
        left = np.flatnonzero(labels < 0)
        if len(left):
            codes = network.encode(rows[left], self.layer_, neighbors=lists[left], n_jobs=jobs)
            labels[left] = self._reading()(codes, rows[left])[1]
        return labels

    def _codes_and_rows(self, X: Any) -> tuple[NDArray, Any]:
        rows = self.network_._validate(X, reset=False)
        return self.network_._encode(rows, self.layer_), rows

    def _read_layer(self, codes: NDArray, size: int, directions: int, seed: int) -> tuple[Cut | Output, NDArray]:
        """Coordinates for k-means, and what makes them of codes."""
        if self.readout == "pca":
            output = fit_output(codes, size, directions, seed=seed)
            return output, output.transform(codes)
        rows = rows_of_words(self.network_)
        cut = fit_cut(codes, size, directions, seed=seed, rows=rows, n_jobs=n_threads())
        return cut, cut.transform(codes, rows, n_jobs=n_threads())

    def _layer_codes(self) -> NDArray:
        return self.network_.network_.codes[self.layer_]

    def _reading(self) -> Callable[[NDArray, Any], tuple[NDArray, NDArray]]:
        """Return what makes coordinates and labels of codes and rows; it holds no more than that takes."""
        return partial(_read_codes, self.readout_, self.kmeans_, self.membership_, self.noise, self.embedding_.dtype)

    def _best_means(self, Z: NDArray, rng: np.random.RandomState) -> KMeans:
        """Best of `n_init` runs, side by side, with one thread each: more would change the last digits of sums."""
        rows = sample_rows(len(Z), START_ROWS, draw_seed(rng))
        count = min(self.n_clusters_, n_places(Z[rows]))
        if count < self.n_clusters_:
            warnings.warn(
                f"n_clusters is {self.n_clusters_}, but X has only {count} different points to group, by their codes: "
                f"as many clusters were found. Pass a smaller number.",
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


def _costs(n: int, most: int | None, *, chooses: bool) -> dict[str, float]:
    """Return about what every phase of a fit costs, in rows of a network."""
    learned = n if most is None else min(n, most)
    choice = 600.0 + 0.05 * learned  # on a sample: it hardly grows with the rows
    return {
        "network": float(learned),
        "number": choice if chooses else 0.0,
        "directions": choice,
        "k-means": 0.05 * learned,
        "other rows": float(n - learned),
    }


def _coordinates(readout: Cut | Output, codes: NDArray, rows: Any) -> NDArray:
    """Coordinates of (V, n) codes and their rows, which only a cut may ask for."""
    return readout.transform(codes, rows) if isinstance(readout, Cut) else readout.transform(codes)


def _read_codes(
    readout: Cut | Output,
    means: KMeans,
    membership: Membership | None,
    noise: float,
    dtype: Any,
    codes: NDArray,
    rows: Any,
) -> tuple[NDArray, NDArray]:
    """Coordinates and labels, -1 for noise, of (V, n) codes and their rows."""
    Z = _coordinates(readout, codes, rows).astype(dtype, copy=False)
    labels = means.predict(Z)
    return Z, labels if membership is None else membership.without_noise(codes, labels, noise)
