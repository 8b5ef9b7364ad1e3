"""Retrieval on modules: the paper's rule, and a search that can stop early."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from polyfold._validation import check_choice, check_count, keeps_state_on_failure
from polyfold.ensembles._rerank import rerank
from polyfold.neighbors import Search, choose_engine, make_search

# Names of the public parameter, and the exact engines they stand for.
ENGINES = {"sklearn": "exact", "faiss": "flat"}


class ModularNeighbors(MetaEstimatorMixin, BaseEstimator):
    """Find nearest neighbours with a modular representation.

    By default every module gives its own nearest neighbours, and of their union those are kept that are nearest
    on average over the modules [Reeve2018]_. With `modules` and `expand` only some modules are scanned and give
    more candidates each: near the precision of a search in all dimensions at a fraction of its cost, and without
    any index to build.

    Parameters
    ----------
    representation : estimator
        A modular representation with `transform_modules`. A copy is fitted; wrap a fitted one in scikit-learn's
        ``FrozenEstimator`` to keep it as it is.
    n_neighbors : int, default=10
    engine : {"auto", "sklearn", "faiss"}, default="auto"
        What searches a module: FAISS where it is installed, else scikit-learn.

    Attributes
    ----------
    representation_ : estimator
    engine_ : str
        The engine in use.
    n_samples_fit_ : int
    n_features_in_ : int

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
    """

    def __init__(self, representation: Any, *, n_neighbors: int = 10, engine: str = "auto"):
        self.representation = representation
        self.n_neighbors = n_neighbors
        self.engine = engine

    @keeps_state_on_failure
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the representation and keep the modules of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        check_count("n_neighbors", self.n_neighbors)
        check_choice("engine", self.engine, ("auto", *ENGINES))
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.representation_ = clone(self.representation).fit(X, None)
        self._modules = _by_point(self.representation_.transform_modules(X))
        self.engine_ = self._choose_engine()
        self._searches: dict[tuple[int, ...], Search] = {}
        self.n_samples_fit_ = X.shape[0]
        return self

    def kneighbors(
        self,
        X: Any,
        n_neighbors: int | None = None,
        *,
        modules: int | Sequence[int] | None = None,
        expand: int | None = None,
        return_distance: bool = True,
    ) -> tuple[NDArray, NDArray] | NDArray:
        """Return the nearest training points of the rows of `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
        n_neighbors : int, default=None
            None takes the value of the constructor.
        modules : int or sequence of int, default=None
            None scans every module on its own. An integer scans the first so many as one, their distances added
            up. A sequence names the modules that are still there: they alone are scanned, each on its own, and
            they alone rank the candidates.
        expand : int, default=None
            Candidates from each module scanned (an integer `modules` gives ``modules * expand`` together); None
            takes `n_neighbors`. Candidates are ranked by the mean squared distance over the modules.
        return_distance : bool, default=True

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            Root of the mean squared distance over the modules, only where `return_distance`.
        indices : ndarray of shape (n, n_neighbors)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        k = self._check_neighbors(self.n_neighbors if n_neighbors is None else n_neighbors)
        expand = max(k, check_count("expand", k if expand is None else expand))
        queries = _by_point(self.representation_.transform_modules(X)).astype(self._modules.dtype, copy=False)
        scans, ranking = self._plan(modules)
        found = [self._scan(scan, queries, expand) for scan in scans]
        squared, indices = rerank(queries, self._modules, np.array(ranking), np.hstack(found), k)
        return (np.sqrt(squared / len(ranking)), indices) if return_distance else indices

    def _plan(self, modules: int | Sequence[int] | None) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
        """Return the groups of modules scanned as one, and the modules that rank the candidates."""
        M = self._modules.shape[1]
        every = tuple(range(M))
        if modules is None:
            return [(m,) for m in every], every
        if not isinstance(modules, Iterable):
            return [every[: check_count("modules", modules, maximum=M)]], every
        chosen = tuple(check_count("modules", m, minimum=0, maximum=M - 1) for m in modules)
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"modules must name at least one module and none twice, got {list(modules)!r}.")
        return [(m,) for m in chosen], chosen

    def _scan(self, scan: tuple[int, ...], queries: NDArray, expand: int) -> NDArray:
        if scan not in self._searches:
            self._searches[scan] = make_search(ENGINES[self.engine_], _columns(self._modules, scan))
        k = min(expand * len(scan), self.n_samples_fit_)
        return self._searches[scan].query(_columns(queries, scan), k)[1]

    def _choose_engine(self) -> str:
        if self.engine != "auto":
            return self.engine
        n, _, H = self._modules.shape
        chosen = choose_engine(n, H, approximate=False)
        return next(name for name, engine in ENGINES.items() if engine == chosen)

    def _check_neighbors(self, k: int) -> int:
        return check_count(
            "n_neighbors", k, maximum=self.n_samples_fit_, hint="it cannot be more than the rows of the fitted data"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.representation).input_tags  # folds are cut as the representation needs
        return tags


def _by_point(modules: NDArray) -> NDArray:
    """Modules (M, n, H) as (n, M, H), a point's modules side by side; a view where they come from one."""
    return np.ascontiguousarray(modules.transpose(1, 0, 2))


def _columns(modules: NDArray, scan: tuple[int, ...]) -> NDArray:
    """Neighbouring modules of (n, M, H) as one matrix: a view for one module."""
    part = modules[:, scan[0] : scan[-1] + 1]
    return part[:, 0] if len(scan) == 1 else part.reshape(len(part), -1)
