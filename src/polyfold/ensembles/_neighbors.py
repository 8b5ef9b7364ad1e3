"""Retrieval on modules: the paper's rule, and a search that can stop early."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._progress import LongFit, shows_progress
from polyfold._validation import check_choice, check_count, check_real, import_extra, keeps_state_on_failure
from polyfold.ensembles._coverage import Coverage, SearchResult
from polyfold.ensembles._graphs import pieces, sparse_graph
from polyfold.ensembles._module_search import ENGINES, Modules
from polyfold.ensembles._placing import by_point, modules_of, place, readable
from polyfold.ensembles._sharded_search import ShardedSearch
from polyfold.sources import by_blocks, check_stream, is_stream

MODES = ("distance", "connectivity")
# What a graph is tuned to where nothing else is asked for.
RECALL = 0.95


class ModularNeighbors(LongFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator):
    """Find nearest neighbours with a modular representation.

    By default every module gives its own nearest neighbours, and of their union those are kept that are nearest
    on average over the modules [Reeve2018]_. With `modules` and `expand`, or a wanted `recall`, only some modules are
    scanned and give more candidates each: near the precision of a search in all dimensions at a fraction of its cost,
    and without any index to build. ``engine="hnsw"`` builds one, on the first modules, and walks it to the candidates.

    Fitted to a Dask array or data frame while a ``distributed.Client`` is there, it keeps its rows on the workers, in
    shards, which are searched side by side. A worker that is lost, or answers late, costs its part and not the answer:
    `search` says what has answered within the `deadline`, and the other methods warn of what has not.

    As a transformer it gives the graph of neighbours, with the interface of scikit-learn's `KNeighborsTransformer`.

    Parameters
    ----------
    representation : estimator
        A modular representation with `transform_modules`. A copy is fitted; wrap a fitted one in scikit-learn's
        ``FrozenEstimator`` to keep it as it is.
    n_neighbors : int, default=10
    engine : {"auto", "sklearn", "faiss", "hnsw"}, default="auto"
        What searches modules. The first three scan: FAISS where it is installed, else scikit-learn. "hnsw" walks a
        graph on the first modules, built in one thread; the points in view at the end are ranked by all modules. Fewer
        than 1000 points are scanned, by FAISS.
    recall : float in (0, 1], default=None
        The share of the `n_neighbors` nearest over all modules that is to be found. Modules, candidates and the width
        of the walk are then chosen on a sample of the training points; a graph is built with the more effort, the less
        may be missed. None keeps to the paper's rule, and means 0.95 for "hnsw".
    mode : {"distance", "connectivity"}, default="distance"
        What `transform` gives: distances, each training point itself on top of its `n_neighbors`, or ones.
    deadline : float, default=None
        On a cluster: seconds after which a search, or that of one block of a stream, answers with what has come. A
        part that has not answered after half of them is asked elsewhere. None waits until all rows have answered.
    module_groups : int, default=None
        On a cluster: groups of neighbouring modules that are kept on different workers; `n_modules` of the
        representation is the paper's way, every module on a machine of its own. None makes as many as there are
        workers for every shard of rows, and 1 with a `recall`.
    verbose : int, default=0
        1 shows one bar for the whole fit, with the time left, on a terminal, and a few lines elsewhere.

    Attributes
    ----------
    representation_ : estimator
    engine_ : str
        The engine in use.
    recall_, recall_error_ : float
        Estimate of the recall on points that had no part in the choice, and its standard error; only where one is
        asked for.
    modules_, expand_ : int
        The choice: modules scanned as one, or linked, and candidates per module, or points in view of the walk.
    n_samples_fit_ : int
    n_features_in_ : int

    Notes
    -----
    A graph of n points takes 96 n bytes, and its copy of the first g modules g H n, or four times as many where bytes
    cannot tell neighbours apart.

    On a cluster every shard is kept once, and made again from the rows where its worker is lost; with all of them the
    neighbours are those of one machine. Rows of which some modules are missing are ranked by the others.

    Examples
    --------
    >>> import polyfold as pf
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> index = pf.ModularNeighbors(pf.ModularKernelPCA(5, 8, random_state=0), n_neighbors=3).fit(X)
    >>> index.kneighbors(X[:1], return_distance=False)[0, 0]
    np.int64(0)
    >>> index.kneighbors(X[:100], modules=2, expand=20, return_distance=False).shape
    (100, 3)
    >>> index.kneighbors_graph(mode="distance").shape
    (1797, 1797)
    """

    _search: Any  # a ModuleSearch, or a ShardedSearch

    def __init__(
        self,
        representation: Any,
        *,
        n_neighbors: int = 10,
        engine: str = "auto",
        recall: float | None = None,
        mode: str = "distance",
        deadline: float | None = None,
        module_groups: int | None = None,
        verbose: int = 0,
    ):
        self.representation = representation
        self.n_neighbors = n_neighbors
        self.engine = engine
        self.recall = recall
        self.mode = mode
        self.deadline = deadline
        self.module_groups = module_groups
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the representation, keep the modules of `X`, and choose the effort where a recall is asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        recall = self._check_parameters()
        if not hasattr(self.representation, "transform_modules"):
            raise TypeError(
                "representation must have modules (a method transform_modules), got "
                f"{self.representation!r}; pass a ModularKernelPCA, a ModularAutoencoder or one of the baselines."
            )
        X = self._validate(X, reset=True)
        self.representation_ = clone(self.representation).fit(readable(self.representation, X), None)
        self.n_samples_fit_ = X.shape[0]
        wanted = None if recall is None else (self.n_neighbors, recall)
        self._search, effort = place(self.representation_, X, self.engine, self.module_groups, wanted)
        self.engine_ = self._search.engine
        for name in ("recall_", "recall_error_", "modules_", "expand_"):
            vars(self).pop(name, None)
        if effort is not None:
            self.recall_, self.recall_error_ = effort.recall, effort.error
            self.modules_, self.expand_ = effort.modules, effort.expand
        return self

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        *,
        modules: Modules = None,
        expand: int | None = None,
        return_distance: bool = True,
    ) -> tuple[NDArray, NDArray] | NDArray:
        """Return the nearest training points of the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features), default=None
            None stands for the training points, none of which is its own neighbour.
        n_neighbors : int, default=None
            None takes the value of the constructor.
        modules : int or sequence of int, default=None
            None searches as chosen for `recall`, else every module on its own. An integer searches the first so many
            as one, their distances added up. A sequence names the modules that are still there: they alone are
            scanned, each on its own, and they alone rank the candidates.
        expand : int, default=None
            Candidates from each module scanned (an integer `modules` gives ``modules * expand`` together), or points
            in view of a walk; None takes what was chosen for `recall`, else `n_neighbors`. Candidates are ranked by
            the mean squared distance over the modules.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Root of the mean squared distance over the modules, only where `return_distance`.
        indices : ndarray of shape (n, n_neighbors)
        """
        distances, indices, coverage = self.search(X, n_neighbors, modules=modules, expand=expand)
        coverage.warn()
        return (distances, indices) if return_distance else indices

    def search(
        self, X: Any = None, n_neighbors: int | None = None, *, modules: Modules = None, expand: int | None = None
    ) -> SearchResult:
        """Return the nearest training points of the rows of `X`, and which rows and modules have answered.

        Parameters
        ----------
        X, n_neighbors, modules, expand
            As in `kneighbors`.

        Returns
        -------
        result : SearchResult
            `distances`, `indices` and `coverage`. Those of an index on a cluster are in memory even for rows of Dask.
        """
        check_is_fitted(self)
        k = self._check_neighbors(self.n_neighbors if n_neighbors is None else n_neighbors, X is None)
        expand = None if expand is None else check_count("expand", expand)
        if isinstance(self._search, ShardedSearch):
            options = {"modules": modules, "expand": expand, "deadline": self._deadline()}
            return self._search.search(self._query_blocks(X), k, **options)
        found = self._nearest(X, k, modules, expand)
        return SearchResult(*found, Coverage.whole(self.n_samples_fit_, self._search.ranking(modules)))

    @by_blocks
    def _nearest(self, X: Any, k: int, modules: Modules, expand: int | None) -> tuple[NDArray, NDArray]:
        """Search in memory."""
        queries, own = self._queries(X)
        squared, indices = self._search.query(queries, k, modules=modules, expand=expand, own=own)
        return np.sqrt(squared), indices

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: str = "connectivity",
        *,
        modules: Modules = None,
        expand: int | None = None,
    ) -> Any:
        """Return the graph of the nearest training points of the rows of `X`.

        Parameters
        ----------
        X, n_neighbors, modules, expand
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances; those of copies are stored zeros.

        Returns
        -------
        graph : CSR matrix of shape (n, n_samples_fit)
        """
        check_choice("mode", mode, MODES)
        distances, indices = self.kneighbors(X, n_neighbors, modules=modules, expand=expand)
        there = indices >= 0  # all, unless a cluster has lost nearly all rows
        return sparse_graph(there.sum(axis=1), distances[there], indices[there], self.n_samples_fit_, mode)

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, *, return_distance: bool = True, sort_results: bool = False
    ) -> tuple[NDArray, NDArray] | NDArray:
        """Return all training points within a radius of the rows of `X`, exactly whatever the engine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features), default=None
            None stands for the training points, none of which is its own neighbour.
        radius : float
            In the unit of the distances of `kneighbors`.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Whether the nearest come first; otherwise points come by index.

        Returns
        -------
        distances : ndarray of shape (n,) of arrays
            Only where `return_distance`.
        indices : ndarray of shape (n,) of arrays
        """
        counts, distances, indices = self._within(X, radius)
        if sort_results:
            order = np.lexsort((indices, distances, np.repeat(np.arange(len(counts)), counts)))
            distances, indices = distances[order], indices[order]
        ends = np.cumsum(counts)
        return (pieces(distances, ends), pieces(indices, ends)) if return_distance else pieces(indices, ends)

    def radius_neighbors_graph(self, X: Any = None, radius: float | None = None, mode: str = "connectivity") -> Any:
        """Return the graph of all training points within a radius of the rows of `X`.

        Parameters
        ----------
        X, radius
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"

        Returns
        -------
        graph : CSR matrix of shape (n, n_samples_fit)
        """
        check_choice("mode", mode, MODES)
        return sparse_graph(*self._within(X, radius), self.n_samples_fit_, mode)

    def transform(self, X: Any) -> Any:
        """Return the graph of the nearest training points, with one more, for the point itself, among distances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)

        Returns
        -------
        graph : CSR matrix of shape (n, n_samples_fit)
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, self._n_entries(), self.mode)

    @keeps_state_on_failure
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the graph of the training points, in which each is at its own place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        graph : CSR matrix of shape (n_samples, n_samples)
        """
        n = self.fit(X).n_samples_fit_
        own = np.arange(n)[:, None]
        others = self._n_entries() - 1
        check_count("n_neighbors", self.n_neighbors, maximum=n - (self.mode == "distance"), hint="there are no others")
        distances, indices = self.kneighbors(None, others) if others else (np.empty((n, 0)), np.empty((n, 0), int))
        entries = (np.hstack([0.0 * own, distances]), np.hstack([own, indices]))
        return sparse_graph(np.full(n, others + 1), *entries, n, self.mode)

    def _within(self, X: Any, radius: float | None) -> tuple[NDArray, NDArray, NDArray]:
        check_is_fitted(self)
        radius = check_real("radius", radius, minimum=0, hint="it has the unit of the distances of kneighbors")
        if not isinstance(self._search, ShardedSearch):
            queries, own = self._queries(X)
            return self._search.within(queries, radius, own)
        *found, coverage = self._search.within_blocks(self._query_blocks(X), radius, self._deadline())
        coverage.warn()
        return tuple(found)

    def _queries(self, X: Any) -> tuple[NDArray, NDArray | None]:
        """Modules of the rows, and the numbers of training points among themselves."""
        modules = self._search.modules
        if X is None:
            return modules, np.arange(len(modules))
        return by_point(self.representation_, self._validate(X)).astype(modules.dtype, copy=False), None

    def _query_blocks(self, X: Any) -> Iterator[tuple[NDArray | None, NDArray | None]]:
        """Modules of rows and own numbers, for an index on a cluster."""
        if X is None:
            yield from self._search.training(self._deadline())
            return
        for block in modules_of(self.representation_, self._validate(X)):
            yield block.astype(self._search.dtype, copy=False), None

    def _validate(self, X: Any, reset: bool = False) -> Any:
        """Return checked rows, or the source of a stream."""
        if is_stream(X):
            return check_stream(self, X, reset=reset)
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _deadline(self) -> float | None:
        if self.deadline is None:
            return None
        return check_real("deadline", self.deadline, minimum=0, open_minimum=True, hint="it is in seconds")

    def _check_parameters(self) -> float | None:
        """Return the recall to be reached."""
        check_count("n_neighbors", self.n_neighbors)
        check_choice("engine", self.engine, ("auto", *ENGINES))
        check_choice("mode", self.mode, MODES)
        self._deadline()
        if self.module_groups is not None:
            check_count("module_groups", self.module_groups)
        if self.engine == "hnsw":
            import_extra("faiss", "faiss")
        if self.recall is None:
            return RECALL if self.engine == "hnsw" else None
        return check_real("recall", self.recall, minimum=0, maximum=1, open_minimum=True)

    def _check_neighbors(self, k: int, own: bool) -> int:
        most = self.n_samples_fit_ - own
        hint = "a training point has no more others" if own else "it cannot be more than the rows of the fitted data"
        return check_count("n_neighbors", k, maximum=most, hint=hint)

    def _n_entries(self) -> int:
        return self.n_neighbors + (self.mode == "distance")

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.representation).input_tags  # folds are cut as the representation needs
        tags.transformer_tags.preserves_dtype = []
        return tags
