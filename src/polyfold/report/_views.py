"""Views of the same points by a fitted model: its modules, the layers of a network, or pairs of coordinates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyfold._linalg import as_dense, eigh_descending
from polyfold._typing import Matrix, Table

# Rows by which a model's training data are recognised.
_PROBES = 16
# How much of what the average module holds is left out of the second direction of one.
_SHARED = 0.95
# The view that comes first, and how many rows t-SNE arranges on it; others are drawn next to their nearest.
MAP, _PLACED = "map", 2000


# A fitted representation, or the coordinates themselves.
Model: TypeAlias = BaseEstimator | NDArray


@dataclass(frozen=True)
class View:
    """One representation of the points: where they are drawn, and where their neighbours are looked for."""

    name: str
    rows: NDArray  # (n, h)
    plane: NDArray  # (n, 2)
    parts: tuple[str, ...] = ()  # "axis 0" and "axis 1", or "module 2": what an explanation has names for


@dataclass(frozen=True)
class Views:
    """Representations of the same n points, side by side, and all of them as one."""

    kind: str  # "modules", "layers", "coordinates" or "clusters"
    views: Sequence[View]
    whole: NDArray  # (n, h)
    count: int  # how many parts there are, shown or not
    modules: NDArray | None = None  # (M, n, H), all of them
    shown: int = 0  # how many of the parts have a view


def unwrap(model: Any, X: Any, *, keeps: Callable[[Any], bool] = lambda model: False) -> tuple[Any, Any]:
    """Return the model inside a pipeline, a frozen model or an ensemble, and the rows as it gets them.

    An ensemble for which `keeps` is true is returned itself.
    """
    if isinstance(model, Pipeline):
        head, last = model[:-1], model[-1]
        return unwrap(last, head.transform(X) if len(head) else X, keeps=keeps)
    if hasattr(model, "representation_") and not keeps(model):  # its own transform may be a graph of neighbours
        return unwrap(model.representation_, X, keeps=keeps)
    if not hasattr(model, "transform") and not hasattr(model, "predict") and hasattr(model, "estimator"):
        return unwrap(model.estimator, X, keeps=keeps)
    return model, X


def views_of(model: Model, X: Table, *, most: int = 6) -> Views:
    """Return at most `most` views of the rows of `X` by a fitted model, or of an array of coordinates."""
    if isinstance(model, np.ndarray):
        return _coordinate_views(as_rows(model, _num_samples(X)), most)
    if not hasattr(model, "transform") and not hasattr(model, "embedding_"):
        raise TypeError(
            f"model must be a fitted representation with transform, transform_modules or embedding_, got {model!r}; "
            "or pass the coordinates as an array."
        )
    check_is_fitted(model)
    if getattr(model, "n_modules", 0) != 1 and hasattr(model, "transform_modules"):
        return module_views(np.asarray(model.transform_modules(X)), most)
    if hasattr(model, "at_layer"):
        return _layer_views(model, X, most, _is_training_data(model, X))
    if hasattr(getattr(model, "network_", None), "at_layer"):
        return _views_above_layers(model, X, most)
    return _coordinate_views(_coordinates(model, X), most)


def clusterer_views(model: Model, X: Table, data: Matrix | None, rng: np.random.RandomState, *, has_map: bool) -> Views:
    """Return the view of a clusterer: a map of the data, or of its coordinates for sparse data, unless one is given.

    Layers and pairs of coordinates are left out: two of many directions show a few of the clusters only.
    """
    is_dense = isinstance(data, np.ndarray) and np.isfinite(data).all()
    if is_dense and not hasattr(model, "transform") and not hasattr(model, "embedding_"):  # labels alone
        views = Views("clusters", [], np.asarray(data, dtype=np.float64), count=0)
    else:
        views = views_of(model, X, most=1)
    mapped = np.asarray(data) if is_dense else views.whole
    shown = [] if has_map else [View(MAP, views.whole, map_plane(mapped, rng))]
    return replace(views, kind="clusters", views=shown, shown=views.count)


def map_plane(rows: NDArray, rng: np.random.RandomState) -> NDArray:
    """Return a map of the rows by t-SNE, shape (n, 2); two columns are their own map."""
    rows = np.asarray(rows, dtype=np.float64)
    n, width = rows.shape
    if width <= 2 or n < 10:
        return two_columns(rows)
    placed = np.sort(rng.permutation(n)[:_PLACED])
    scaled = (rows - rows.mean(axis=0)) / (np.abs(rows).max() or 1.0)
    perplexity = min(30.0, (len(placed) - 1) / 3)
    plane = TSNE(perplexity=perplexity, random_state=rng).fit_transform(scaled[placed]).astype(np.float64)
    plane /= np.maximum(np.ptp(plane, axis=0), np.finfo(float).tiny)  # fills the plot
    if len(placed) == n:
        return plane
    return KNeighborsRegressor(3, weights="distance").fit(scaled[placed], plane).predict(scaled)


def plane_of(rows: NDArray) -> NDArray:
    """Return the two widest directions of the rows, shape (n, 2); the second is zero if there is only one."""
    centred = np.asarray(rows, dtype=np.float64) - np.mean(rows, axis=0, dtype=np.float64)
    scale = np.abs(centred).max(initial=0.0) or 1.0  # squares of huge or tiny coordinates stay numbers
    _, axes = eigh_descending((centred / scale).T @ (centred / scale))
    return two_columns(centred @ axes[:, :2])


def special_plane(modules: NDArray, m: int) -> NDArray:
    """Return module `m` of (M, n, H) in two of its directions: one that all modules share, one of its own.

    What every module holds looks the same in all of them, what only one holds is seen in no other. With kernels
    K_m = Z_m Z_m' and their mean K, the first direction maximises w' Z_m' K Z_m w, the second, orthogonal to it,
    w' Z_m' (K_m - 0.95 K) Z_m w. If all modules are equal, these are the two widest.
    """
    centred = np.asarray(modules, dtype=np.float64) - np.mean(modules, axis=1, keepdims=True, dtype=np.float64)
    centred /= np.abs(centred).max() or 1.0
    module = centred[m]
    products = [Z.T @ module for Z in centred]
    mean = np.mean([G.T @ G for G in products], axis=0)
    shared = eigh_descending(mean)[1][:, :1]
    rest = np.eye(len(shared)) - shared @ shared.T
    special = eigh_descending(rest @ (products[m].T @ products[m] - _SHARED * mean) @ rest)[1][:, :1]
    return module @ (np.hstack([shared, special]) if len(shared) > 1 else np.hstack([shared, 0 * shared]))


def module_views(modules: NDArray, most: int) -> Views:
    whole = modules.transpose(1, 0, 2).reshape(modules.shape[1], -1)
    views = [View("all modules", whole, plane_of(whole))]
    for m in range(len(modules))[: most - 1]:
        views.append(View(f"module {m}", modules[m], special_plane(modules, m), (f"module {m}",)))
    return Views("modules", views, whole, len(modules), modules, shown=len(views) - 1)


def _layer_views(network: BaseEstimator, X: Table, most: int, trained: bool) -> Views:
    count = len(network.layer_sizes_)
    shown = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
    views = []
    for layer in shown:
        part = network.at_layer(int(layer))
        Z = np.asarray(part.embedding_ if trained else part.transform(X), dtype=np.float64)
        views.append(View(f"layer {layer + 1} ({network.layer_sizes_[layer]} centres)", Z, two_columns(Z)))
    return Views("layers", views, views[-1].rows, count, shown=len(views))


def _views_above_layers(model: BaseEstimator, X: Table, most: int) -> Views:
    """Return what a clusterer on a network reads, or the map, then the layers below."""
    trained = _is_training_data(model.network_, X)
    if not hasattr(model, "embedding_"):  # a graph of neighbours
        return _layer_views(model.network_, X, most, trained)
    below = _layer_views(model.network_, X, max(1, most - 1), trained)
    read = as_rows(model.embedding_, _num_samples(X)) if trained else _coordinates(model, X)
    name = "what is clustered" if hasattr(model, "labels_") else MAP
    top = View(name, read, plane_of(read) if read.shape[1] > 2 else two_columns(read))
    return replace(below, views=[top, *below.views], whole=read)


def _coordinate_views(Z: NDArray, most: int) -> Views:
    c = Z.shape[1]
    starts = range(max(1, c - 1))[:most] if c <= most + 1 else range(0, c - 1, 2)[:most]
    views = []
    for i in starts:
        rows = Z[:, i : i + 2]
        name = f"coordinates {i} and {i + 1}" if rows.shape[1] == 2 else "coordinate 0"
        parts = tuple(f"axis {k}" for k in range(i, i + rows.shape[1]))
        views.append(View(name, rows, two_columns(rows), parts))
    return Views("coordinates", views, Z, c, shown=min(c, starts[-1] + 2))


def _coordinates(model: BaseEstimator, X: Table) -> NDArray:
    Z = model.transform(X) if hasattr(model, "transform") else model.embedding_
    return as_rows(Z, _num_samples(X))


def as_rows(Z: Matrix | ArrayLike, n: int) -> NDArray:
    Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
    Z = Z[:, None] if Z.ndim == 1 else Z
    if Z.ndim != 2 or len(Z) != n:
        raise ValueError(f"the representation must have one row for each of the {n} rows of X, got shape {Z.shape}.")
    if not np.isfinite(Z).all():
        raise ValueError("the representation must be finite, got NaN or infinite coordinates; clean the data first.")
    return Z


def two_columns(Z: NDArray) -> NDArray:
    Z = np.asarray(Z, dtype=np.float64)
    return Z[:, :2] if Z.shape[1] >= 2 else np.column_stack([Z[:, 0], np.zeros(len(Z))])


def _is_training_data(network: BaseEstimator, X: Table) -> bool:
    """Whether `X` are the training rows of a network, whose layers are then known."""
    if len(network.embedding_) != _num_samples(X) or getattr(network, "sample_indices_", None) is not None:
        return False  # the layers of a network fitted to a sample have the rows of the sample only
    return repeats(network.transform, X, network.embedding_)


def repeats(method: Callable[[Table], ArrayLike], X: Table, known: NDArray) -> bool:
    """Whether a method of a model repeats known results for the rows of `X`, by rows all over it."""
    probes = np.unique(np.linspace(0, len(known) - 1, _PROBES).astype(int))
    again, known = as_dense(method(_safe_indexing(X, probes))), known[probes]
    if known.dtype.kind != "f":
        return bool(np.mean(again == known) > 0.5)  # labels of single rows may differ
    return again.shape == known.shape and np.allclose(again, known, rtol=1e-3, atol=1e-3 * np.abs(known).max())
