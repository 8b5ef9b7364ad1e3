"""Maps: the neighbour graph of a bootstrap network in two or three dimensions."""

from dataclasses import dataclass
from os import PathLike
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._linalg import distinct_rows
from polyfold._policy import CODE_FRACTION, N_NEIGHBORS, REPLICATE_CLUSTERINGS
from polyfold._progress import LongFit, phase, shows_progress
from polyfold._threads import using_threads
from polyfold._typing import FloatArray, RandomState, Rows
from polyfold._validation import check_choice, check_count, draw_seed, keeps_state_on_failure
from polyfold.estimators._bootstrap import MultilayerBootstrapNetwork, network_to_fit
from polyfold.estimators._bootstrap_rows import take_feature_names
from polyfold.estimators._code_neighbors import code_neighbors
from polyfold.estimators._layouts import (
    LAYOUTS,
    connected_eigenmaps,
    count_neighbors,
    interpolate,
    lay_out,
    require_layout,
)
from polyfold.neighbors import Neighborhoods
from polyfold.sources import by_blocks, in_memory
from polyfold.spectra import Spectrum


class BootstrapMap(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Draw a map of the neighbour graph of a bootstrap network.

    t-SNE or UMAP, with the defaults of openTSNE or umap-learn, lay out the neighbours by shared codes, started from the
    Laplacian eigenmaps of the same graph. The eigenmaps alone are a layout, too.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map, at most 2 for "tsne".
    network : MultilayerBootstrapNetwork, optional
        The network to fit, with its own parameters; by default one of 100 clusterings per layer, each of half of the
        features.
    layout : {"tsne", "umap", "spectral"}, default="tsne"
        "tsne" needs openTSNE and "umap" umap-learn (the extra ``map``); "spectral" needs no further package.
    random_state : int, RandomState or None, default=None
        The same seed gives the same map for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads: -1 for all cores, -2 for all but one. None is every core that the process may use, or one inside a
        worker of joblib or Dask. The result does not depend on it.
    verbose : int, default=0
        1 shows one progress bar for the whole fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The training points.
    network_ : MultilayerBootstrapNetwork
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Notes
    -----
    New points: eigenmaps have an extension of their own; in the other layouts a point is interpolated between its 15
    nearest training points. Points that share all codes of all layers have the same coordinates.

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
        network: MultilayerBootstrapNetwork | None = None,
        layout: Literal["tsne", "umap", "spectral"] = "tsne",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.network = network
        self.layout = layout
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None, *, checkpoint: str | PathLike[str] | None = None) -> Self:
        """Fit the network and lay out its neighbour graph.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
            A stream is any container of :func:`polyfold.sources.as_source`: files, blocks, Dask.
            It is loaded into memory.
        y : ignored
        checkpoint : path, optional
            Passed on to the network's ``fit``.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        rng = check_random_state(self.random_state)
        X = in_memory(X)
        with using_threads(self.n_jobs):
            n = _num_samples(X)
            with phase("network"):
                network = network_to_fit(self.network, self._default_network(), rng, n_rows=n)
                network.set_params(n_components=self.n_components, max_samples=None)
                self.network_ = network.fit(X, checkpoint=checkpoint)
            duplicates = distinct_rows(_code_rows(self.network_.encoder_.codes))
            with phase("start"):
                near = self._neighborhoods(count_neighbors(self.layout, n))
                self._spectrum, Z = self._start(near, n if duplicates is None else len(duplicates[0]))
            with phase("layout"):
                if self.layout != "spectral" and self._has_structure():
                    Z = lay_out(self.layout, near, Z, draw_seed(rng))
        take_feature_names(self, self.network_)
        # Points that share all codes have the coordinates of the first of them.
        Z = Z if duplicates is None else Z[duplicates[0]][duplicates[1]]
        self.embedding_ = Z.astype(self.network_.embedding_.dtype, copy=False)
        return self

    def fit_transform(self, X: Rows, y: object = None, *, checkpoint: str | PathLike[str] | None = None) -> FloatArray:
        """Fit, and return the map of the training points, (n_samples, n_components)."""
        return self.fit(X, y, checkpoint=checkpoint).embedding_.copy()

    @by_blocks
    def transform(self, X: Rows) -> FloatArray:
        """Return coordinates of points on the map: (n_samples, n_components).

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        k = min(N_NEIGHBORS, len(self.embedding_))
        with using_threads(self.n_jobs):
            points = self.network_._codes_of(X)
            distances, indices = code_neighbors(self.network_.encoder_, points, k)
            Z = interpolate(distances, indices, self.embedding_)
            new = distances[:, 0] > 0
            if self.layout == "spectral" and new.any():
                Z[new] = self._extended([codes[:, new] for codes in points])
        return Z.astype(self.embedding_.dtype, copy=False)

    def _extended(self, points: list[NDArray]) -> NDArray:
        """Coordinates of new points by the extension of the eigenmaps, or of the network's output."""
        if self._spectrum is None:
            return self.network_.output_.transform(points[-1])
        return self._padded(self._spectrum.coordinates(_code_rows(points)))

    def _padded(self, Z: NDArray) -> NDArray:
        """Add columns of zeros if the graph has fewer eigenmaps than `n_components`."""
        return np.pad(Z, ((0, 0), (0, self.n_components - Z.shape[1])))

    def _neighborhoods(self, k: int) -> Neighborhoods:
        """Return the neighbours of the training points by shared codes."""
        distances, indices = self.network_.kneighbors(n_neighbors=k)
        return Neighborhoods(distances, indices, _CodeNeighborSearch(self.network_))

    def _start(self, near: Neighborhoods, n_distinct: int) -> tuple[Spectrum | None, NDArray]:
        """Return the eigenmaps of the graph and their coordinates; without eigenmaps, None and the network's output."""
        # With a few distinct points the eigenmaps are decided by rounding.
        if self._has_structure() and n_distinct > self.n_components + 1:
            spectrum = connected_eigenmaps(near, self._neighborhoods, self.n_components)
            if spectrum is not None:
                return spectrum, self._padded(spectrum.training_coordinates())
        return None, self.network_.embedding_.astype(np.float64)

    def _has_structure(self) -> bool:
        """Whether the codes differ between any points."""
        return bool(self.network_.explained_variance_.any())

    def _default_network(self) -> MultilayerBootstrapNetwork:
        options = {"n_clusterings": REPLICATE_CLUSTERINGS, "feature_fraction": CODE_FRACTION, "max_samples": None}
        return MultilayerBootstrapNetwork(self.n_components, **options, n_jobs=self.n_jobs)

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        check_choice("layout", self.layout, LAYOUTS)
        if self.layout == "tsne" and self.n_components > 2:
            raise ValueError(
                f"n_components must be <= 2 with layout='tsne', got {self.n_components}; pass layout='umap' or "
                "'spectral'."
            )
        if self.layout != "spectral":
            require_layout(self.layout)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.network or MultilayerBootstrapNetwork()).input_tags
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class _CodeNeighborSearch:
    """Search among the training points of a network, for points given by their codes of all layers."""

    network: MultilayerBootstrapNetwork

    def query(self, X: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return distances and indices of the `k` nearest training points, shape (n, k)."""
        codes = self.network.encoder_.codes
        parts = np.split(X.T, np.cumsum([len(layer) for layer in codes])[:-1])
        points = [part.astype(layer.dtype) for part, layer in zip(parts, codes, strict=True)]
        return code_neighbors(self.network.encoder_, points, k)


def _code_rows(codes: list[NDArray]) -> NDArray:
    """Codes of all layers side by side, (n, V·L)."""
    return np.hstack([layer.T for layer in codes])
