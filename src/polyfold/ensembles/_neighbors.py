"""Nearest neighbours by the mean squared distance over modules."""

import importlib.util
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from polyfold._progress import LongFit, shows_progress
from polyfold._typing import FloatArray, IntArray, Matrix, Rows, Table
from polyfold._validation import (
    check_choice,
    check_count,
    check_real,
    check_rows,
    import_extra,
    keeps_state_on_failure,
    outside,
)
from polyfold.ensembles._dask_search import DaskSearch
from polyfold.ensembles._module_search import ENGINES, Modules, ModuleSearch, SearchResult
from polyfold.exceptions import CoverageWarning
from polyfold.neighbors import GRAPH_MODES, mode_graph
from polyfold.sources import (
    Source,
    as_block,
    by_blocks,
    check_block,
    check_stream,
    current_client,
    in_memory,
    is_stream,
    method_rows,
    with_names,
)


class ModularNeighbors(LongFit, MetaEstimatorMixin, BaseEstimator):
    """Find nearest neighbours with a modular representation.

    By default every module returns its own nearest neighbours, and the union of them is ranked by the mean squared
    distance over all modules [Reeve2018]_. With `modules` and `expand`, or a `recall`, only the first modules are
    searched for more candidates. This is nearly as precise as a search in all dimensions, and costs less.
    ``engine="hnsw"`` finds the candidates with a graph index (FAISS) on the first modules.

    If you fit it to a Dask array or data frame while a ``distributed.Client`` is active, the rows stay on the workers
    and every search runs there. If workers are lost, a search only takes longer. With a `deadline`, it returns what
    has arrived, and `search` returns the fraction of rows searched.

    Parameters
    ----------
    representation : estimator
        A modular representation with `transform_modules`. A copy is fitted; wrap a fitted one in scikit-learn's
        ``FrozenEstimator`` to keep it as it is.
    n_neighbors : int, default=10
        Neighbours that a search returns unless it is called with another number.
    engine : {"auto", "sklearn", "faiss", "hnsw"}, default="auto"
        Search in the modules. "sklearn" and "faiss" scan them; "auto" is "faiss" if it is installed. "hnsw" builds a
        graph index of FAISS on the first modules, with one thread, so that the same data give the same graph. Up to
        7,000 rows are scanned.
    recall : float in (0, 1], default=None
        Required fraction of the `n_neighbors` nearest rows over all modules. The number of modules and candidates are
        then chosen on a sample of the training rows. None follows the paper, and means 0.95 for "hnsw".
    deadline : float, default=None
        On a cluster: seconds after which a search returns what has arrived. None waits for all rows.
    verbose : int, default=0
        1 shows a progress bar for the whole fit on a terminal, and a line every ten seconds elsewhere.

    Attributes
    ----------
    representation_ : estimator
    engine_ : str
        The engine in use.
    recall_, recall_error_ : float
        Estimated recall and its standard error, only if `recall` is given. It is estimated on rows that were not used
        to choose the budget, and holds for training rows and for new rows like them. Ties are not misses.
    modules_, expand_ : int
        The chosen budget: modules searched as one index, and candidates per module (all candidates for "hnsw").
    n_samples_fit_ : int
    n_features_in_ : int

    Notes
    -----
    A graph on g modules of H dimensions takes 4 g H + 145 bytes per row, next to the modules.

    A graph finds its own rows more easily than new ones. `recall_` is the mean of both recalls, and `recall_error_`
    includes half their difference.

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

    _search: ModuleSearch | DaskSearch

    def __init__(
        self,
        representation: BaseEstimator,
        *,
        n_neighbors: int = 10,
        engine: Literal["auto", "sklearn", "faiss", "hnsw"] = "auto",
        recall: float | None = None,
        deadline: float | None = None,
        verbose: int = 0,
    ):
        self.representation = representation
        self.n_neighbors = n_neighbors
        self.engine = engine
        self.recall = recall
        self.deadline = deadline
        self.verbose = verbose

    @keeps_state_on_failure
    @shows_progress
    def fit(self, X: Rows, y: object = None) -> Self:
        """Fit the representation and index the modules of `X`.

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
        self.representation_ = clone(self.representation).fit(_fittable_rows(self.representation, X), None)
        self.n_samples_fit_ = X.shape[0]
        self._search = _build_index(self.representation_, X, self.engine, self.n_neighbors, recall)
        self.engine_ = self._search.engine
        for name in ("recall_", "recall_error_", "modules_", "expand_"):
            vars(self).pop(name, None)
        budget = self._search.budget
        if budget is not None:
            self.recall_, self.recall_error_ = budget.recall, budget.error
            self.modules_, self.expand_ = budget.modules, budget.expand
        return self

    def kneighbors(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        *,
        modules: Modules = None,
        expand: int | None = None,
        return_distance: bool = True,
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Return the nearest training points of the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix, stream} of shape (n, n_features), default=None
            None means the training rows; then no row is its own neighbour.
        n_neighbors : int, default=None
            None takes the value of the constructor.
        modules : int or sequence of int, default=None
            An integer searches the first modules as one index, by the sum of their distances. A sequence searches the
            given modules separately, and ranks by them alone: pass the modules that are left if some are lost. None
            uses the budget chosen for `recall`, or searches every module separately.
        expand : int, default=None
            Candidates from each module; an integer `modules` gives ``modules * expand`` candidates, a graph `expand`.
            None takes the budget chosen for `recall`, or `n_neighbors`. Candidates are ranked by the mean squared
            distance over the modules.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Root of the mean squared distance over the modules, only if `return_distance`.
        indices : ndarray of shape (n, n_neighbors)
        """
        distances, indices, coverage = self.search(X, n_neighbors, modules=modules, expand=expand)
        if coverage < 1:
            warnings.warn(
                f"Only {coverage:.1%} of the rows were searched before the deadline. Increase `deadline`, or search "
                "again.",
                CoverageWarning,
                stacklevel=outside(),
            )
        return (distances, indices) if return_distance else indices

    def search(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        *,
        modules: Modules = None,
        expand: int | None = None,
    ) -> SearchResult:
        """Return the nearest training rows of the rows of `X`, and the fraction of rows that were searched.

        Parameters
        ----------
        X, n_neighbors, modules, expand
            As in `kneighbors`.

        Returns
        -------
        result : SearchResult
            `distances`, `indices` and `coverage`. An index on a cluster returns arrays in memory, even for Dask rows.
        """
        check_is_fitted(self)
        k = self._check_neighbors(self.n_neighbors if n_neighbors is None else n_neighbors, X is None)
        expand = None if expand is None else check_count("expand", expand)
        if isinstance(self._search, DaskSearch):
            blocks = None if X is None else _modules_of(self.representation_, self._validate(X))
            options = {"modules": modules, "expand": expand, "deadline": self._deadline()}
            squared, indices, coverage = self._search.query_blocks(blocks, k, **options)
            return SearchResult(np.sqrt(squared), indices, coverage)
        distances, indices = self._search_in_memory(X, k, modules, expand)
        return SearchResult(distances, indices, 1.0)

    @by_blocks
    def _search_in_memory(
        self, X: Rows | None, k: int, modules: Modules, expand: int | None
    ) -> tuple[NDArray, NDArray]:
        assert isinstance(self._search, ModuleSearch)
        queries, exclude = self._queries(X)
        squared, indices = self._search.query(queries, k, modules=modules, expand=expand, exclude=exclude)
        return np.sqrt(squared), indices

    def kneighbors_graph(
        self,
        X: Rows | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        *,
        modules: Modules = None,
        expand: int | None = None,
    ) -> sp.csr_matrix:
        """Return the graph of the nearest training points of the rows of `X`.

        Parameters
        ----------
        X, n_neighbors, modules, expand
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances. Duplicate rows have stored zeros.

        Returns
        -------
        graph : CSR matrix of shape (n, n_samples_fit)
        """
        check_choice("mode", mode, GRAPH_MODES)
        distances, indices = self.kneighbors(X, n_neighbors, modules=modules, expand=expand)
        return mode_graph(distances, indices, self.n_samples_fit_, mode)

    def radius_neighbors(
        self,
        X: Rows | None = None,
        radius: float | None = None,
        *,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> tuple[NDArray, NDArray] | NDArray:
        """Return all training rows within a radius of the rows of `X`; the search is exact with every engine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features), default=None
            None means the training rows; then no row is its own neighbour.
        radius : float
            On the scale of the distances of `kneighbors`.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Whether to sort by distance instead of index.

        Returns
        -------
        distances : ndarray of shape (n,) of arrays
            Only if `return_distance`.
        indices : ndarray of shape (n,) of arrays
        """
        check_is_fitted(self)
        radius = check_real("radius", radius, minimum=0, hint="it has the scale of the distances of kneighbors")
        if isinstance(self._search, DaskSearch):
            raise TypeError(
                "radius_neighbors needs an index in memory, but the rows of this one are on a cluster. Use kneighbors, "
                "or fit the index to rows in memory."
            )
        queries, exclude = self._queries(X)
        distances, indices = self._search.within(queries, radius, exclude)
        if sort_results:
            orders = [np.argsort(each, kind="stable") for each in distances]
            distances, indices = (
                [each[order] for each, order in zip(lists, orders, strict=True)] for lists in (distances, indices)
            )
        return (_as_objects(distances), _as_objects(indices)) if return_distance else _as_objects(indices)

    def _queries(self, X: Rows | None) -> tuple[NDArray, NDArray | None]:
        """Return the modules of the rows, and their row numbers if they are the training rows."""
        assert isinstance(self._search, ModuleSearch)
        modules = self._search.modules
        if X is None:
            return modules, np.arange(len(modules))
        return _by_point(self.representation_, self._validate(X)).astype(modules.dtype, copy=False), None

    def _validate(self, X: Rows, reset: bool = False) -> Table | Source:
        """Return validated rows, or the source of a stream."""
        if is_stream(X):
            return check_stream(self, X, reset=reset)
        rows = check_rows(self, X, reset=reset)
        # A representation that was fitted to names of columns checks them again.
        has_names = hasattr(self.representation if reset else self.representation_, "feature_names_in_")
        return with_names(rows, self.feature_names_in_) if has_names and hasattr(self, "feature_names_in_") else rows

    def _deadline(self) -> float | None:
        if self.deadline is None:
            return None
        return check_real("deadline", self.deadline, minimum=0, open_minimum=True, hint="it is in seconds")

    def _check_parameters(self) -> float | None:
        """Check the parameters, and return the wanted recall."""
        check_count("n_neighbors", self.n_neighbors)
        check_choice("engine", self.engine, ("auto", *ENGINES))
        self._deadline()
        if self.engine == "hnsw":
            import_extra("faiss", "faiss")
        if self.recall is None:
            return 0.95 if self.engine == "hnsw" else None
        return check_real("recall", self.recall, minimum=0, maximum=1, open_minimum=True)

    def _check_neighbors(self, k: int, is_training: bool) -> int:
        most = self.n_samples_fit_ - is_training
        hint = "a row has no more other rows" if is_training else "the index has no more rows"
        return check_count("n_neighbors", k, maximum=most, hint=hint)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.representation).input_tags  # folds are cut as the representation needs
        return tags


def _by_point(representation: Any, X: Table) -> NDArray:
    """Return the modules of rows as (n, M, H), contiguous; a view if the representation stores them so."""
    return np.ascontiguousarray(representation.transform_modules(X).transpose(1, 0, 2))


def _fittable_rows(representation: BaseEstimator, X: Matrix | Source) -> Rows:
    """Return rows in a form that the representation can be fitted to; some need them in memory."""
    reads_blocks = isinstance(representation, FrozenEstimator) or hasattr(representation, "_sums_blocks")
    return X if reads_blocks else in_memory(X)


def _modules_of(representation: BaseEstimator, X: Matrix | Source) -> Iterator[NDArray]:
    """Yield the modules of an array, or of a source block by block; Dask rows are transformed on the workers."""
    if not isinstance(X, Source):
        yield _by_point(representation, X)
    elif X.is_lazy:
        yield from X.fetch(partial(_by_point, representation))  # type: ignore[attr-defined]
    else:
        for start, block in X.blocks(method_rows(X)):
            check_block(block, start)
            yield _by_point(representation, X.named(block))


def _build_index(
    representation: BaseEstimator, X: Matrix | Source, engine: str, n_neighbors: int, recall: float | None
) -> ModuleSearch | DaskSearch:
    """Return a search among the rows of `X`, an array or a source, tuned to a recall if one is given."""
    if engine == "auto":
        engine = "sklearn" if importlib.util.find_spec("faiss") is None else "faiss"
    if isinstance(X, Source) and X.is_lazy and current_client() is not None:
        search = DaskSearch(current_client(), X, partial(_chunk_modules, representation, X), engine)
    else:
        modules_of = partial(_by_point, representation)
        modules = X.map(modules_of, method_rows(X)) if isinstance(X, Source) else modules_of(X)
        search = ModuleSearch(np.asarray(modules), engine)  # Dask rows without a cluster are computed here
    if recall is not None:
        search.tune(n_neighbors, recall)
    return search


def _chunk_modules(representation: BaseEstimator, source: Source, start: int, chunk: Matrix) -> NDArray:
    """Return the modules of a chunk that begins at row `start`."""
    block = as_block(chunk, source.dtype)
    check_block(block, start)
    return _by_point(representation, source.named(block))


def _as_objects(arrays: list[NDArray]) -> NDArray:
    """Return an array (n,) of arrays."""
    out = np.empty(len(arrays), dtype=object)
    out[:] = arrays
    return out
