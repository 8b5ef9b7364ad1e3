"""Neighbours by the similarity of a fitted bootstrap network, with scikit-learn's interface."""

from collections.abc import Callable
from typing import Any, Literal

import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyfold._policy import N_NEIGHBORS
from polyfold._threads import using_threads
from polyfold._typing import FloatArray, IntArray, Rows
from polyfold._validation import check_choice, check_count
from polyfold.bootstrap import Encoder, level_of, nearest_by_codes
from polyfold.neighbors import GRAPH_MODES, mode_graph
from polyfold.sources import by_blocks


class CodeNeighborsMixin:
    """`kneighbors` and `kneighbors_graph` of an estimator with an `encoder_`."""

    encoder_: Encoder
    layer_sizes_: list[int]
    n_jobs: int | None
    _validate: Callable[..., Any]  # checks rows

    @by_blocks
    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        layer: int | Literal["auto"] = "auto",
    ) -> tuple[FloatArray, IntArray] | IntArray:
        r"""Find the training points that share most codes with points.

        The distance of two points is the fraction of clusterings in which their codes differ,

        .. math:: d(x, y) = 1 - s(x, y),

        the Hamming distance of their codes: a metric, between 0 and 1. Its root is the Euclidean distance of the
        one-of-k vectors, divided by √2 and the root of their number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
            The training points if not given; then no point is its own neighbour.
        n_neighbors : int, default=None
            None means 15, or all others if there are fewer.
        return_distance : bool, default=True
        layer : int or "auto", default="auto"
            The layer whose codes are compared: 0 is the first one, -1 the last. "auto" compares the codes of all
            layers with equal weight, from fine to coarse.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Rising; only if `return_distance`.
        indices : ndarray of shape (n_samples, n_neighbors)
            At equal distance, points that share most codes in all layers come first, then those with the lower index.

        Notes
        -----
        The matrix of all pairs is never formed. Up to 5·10⁷ pairs are all compared. In larger data, candidates come
        from the layers with more than 256 centres and from the neighbours of neighbours.

        Examples
        --------
        >>> import polyfold as pf
        >>> from sklearn.datasets import load_iris
        >>> network = pf.MultilayerBootstrapNetwork(n_classes=3, n_clusterings=50, random_state=0)
        >>> distances, indices = network.fit(load_iris().data).kneighbors(n_neighbors=5)
        >>> distances.shape, bool((distances[:, 0] <= distances[:, 4]).all())
        ((150, 5), True)
        """
        check_is_fitted(self)
        own, layers = X is None, self._ranking_layers(layer)
        k = self._check_neighbors(n_neighbors, self.encoder_.codes[0].shape[1] - own)
        points = self.encoder_.codes if own else self._codes_of(X)
        with using_threads(self.n_jobs):
            found = code_neighbors(self.encoder_, points, k, layers=layers, own=own)
        return found if return_distance else found[1]

    def kneighbors_graph(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        *,
        layer: int | Literal["auto"] = "auto",
    ) -> sp.csr_matrix:
        """Return the graph of nearest training points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
            The training points if not given; then no point is its own neighbour.
        n_neighbors : int, default=None
            None means 15, or all others if there are fewer.
        mode : {"connectivity", "distance"}, default="connectivity"
            Type of the entries: ones, or distances.
        layer : int or "auto", default="auto"
            As in `kneighbors`.

        Returns
        -------
        graph : sparse matrix of shape (n_samples, n_samples_fit), CSR
            The neighbours of every row by rising distance; distances of zero are stored.
        """
        check_choice("mode", mode, GRAPH_MODES)
        distances, indices = self.kneighbors(X, n_neighbors, layer=layer)
        return mode_graph(distances, indices, self.encoder_.codes[0].shape[1], mode)

    def _codes_of(self, X: Rows) -> list[NDArray]:
        """Return the codes of rows in all layers, (V, n) each."""
        rows = self._validate(X, reset=False)
        with using_threads(self.n_jobs):
            return self.encoder_.encode_layers(rows)

    def _ranking_layers(self, layer: int | str) -> list[int]:
        """Return the numbers of the layers whose codes are compared."""
        if isinstance(layer, str):
            check_choice("layer", layer, ("auto",), hint="or pass the number of a layer")
            return list(range(len(self.layer_sizes_)))
        return [self._level(layer)]

    def _level(self, layer: int) -> int:
        return level_of(layer, len(self.layer_sizes_))

    def _check_neighbors(self, n_neighbors: int | None, most: int) -> int:
        if n_neighbors is None:
            return min(N_NEIGHBORS, most)
        return check_count("n_neighbors", n_neighbors, maximum=most, hint=f"there are {most} training points to find")


def code_neighbors(
    encoder: Encoder,
    points: list[NDArray],
    k: int,
    *,
    layers: list[int] | None = None,
    own: bool = False,
) -> tuple[NDArray, NDArray]:
    """Return distances and indices of the `k` training points that share most codes with points, (n, k) each.

    `points` holds the codes of all layers, and `layers` those that are compared, by default all of them. If the points
    are the training points (`own`), no point is its own neighbour.
    """
    layers = list(range(len(encoder.sizes))) if layers is None else layers
    agreements, indices = nearest_by_codes(points, encoder.codes, encoder.sizes, k, layers=layers, own=own)
    return 1 - agreements / sum(len(encoder.codes[layer]) for layer in layers), indices
