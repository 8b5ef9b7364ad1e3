"""What is explained: the coordinates, clusters or modules that a fitted model, or an array, gives to rows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from polyfold._linalg import as_dense
from polyfold.report import repeats, unwrap


@dataclass(frozen=True)
class Subject:
    """What a model gives to the sampled rows; parts that it does not have are None or empty."""

    rows: NDArray  # row numbers of the sample, ascending
    coordinates: NDArray | None = None  # (n, c)
    levels: list[NDArray] = field(default_factory=list)  # labels (n,), coarse to fine
    modules: NDArray | None = None  # (M, n, h)
    space: Any = None  # (n, p), where distances between rows are measured
    model: Any = None  # with `transform`, for gradients


def subject_of(model: Any, sample: Any, rows: NDArray, n: int, *, every_level: bool = False) -> Subject:
    """Return what `model` gives to a sample of `n` rows, given with their numbers."""
    if not _is_model(model):
        return _of_array(_as_values(model), n, rows)
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    model, sample = unwrap(model, sample, keeps=_classifies)
    # A transformer that returns a graph of neighbours is explained by the coordinates of its network.
    if hasattr(model, "kneighbors_graph") and hasattr(model, "network_"):
        model = model.network_
    if hasattr(model, "labels_") or _classifies(model):
        return _of_clusterer(model, sample, rows, n, every_level)
    if getattr(model, "n_modules", 0) != 1 and hasattr(model, "transform_modules"):
        modules = np.asarray(model.transform_modules(sample), dtype=np.float64)
        return Subject(rows, modules=modules, space=np.hstack(list(modules)), model=model)
    Z = _coordinates(model, sample, rows, n)
    if Z is None:
        raise TypeError(
            f"explain needs a fitted representation, clusterer or classifier, or an array, got {model!r}, which has "
            "neither transform nor embedding_ nor labels_."
        )
    return Subject(rows, coordinates=Z, space=Z, model=model if hasattr(model, "transform") else None)


def _classifies(model: Any) -> bool:
    return isinstance(model, BaseEstimator) and is_classifier(model)


def _is_model(model: Any) -> bool:
    # Data frames have a method `transform`, too.
    names = ("fit", "transform", "predict", "labels_")
    return not hasattr(model, "__array__") and any(hasattr(model, name) for name in names)


def _as_values(model: Any) -> NDArray:
    return np.asarray(model.toarray() if sp.issparse(model) else model)


def _of_array(values: NDArray, n: int, rows: NDArray) -> Subject:
    """Return labels (n,), coordinates (n,) or (n, c), or modules (M, n, h) as a subject."""
    axis = 1 if values.ndim == 3 else 0
    if values.ndim not in (1, 2, 3) or values.shape[axis] != n:
        raise ValueError(
            f"the array must be labels (n,), coordinates (n, c) or modules (M, n, h) of the n={n} rows of X, got shape "
            f"{values.shape}."
        )
    if values.ndim == 1 and not _is_fractional(values):
        if len(np.unique(values)) == n > 2:
            raise ValueError("labels must repeat, got a different one for each row; pass a coordinate as shape (n, 1).")
        values = values.astype(np.int64) if values.dtype.kind == "f" else values  # such as 2.0
        return Subject(rows, levels=[values[rows]])
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise ValueError("coordinates must be finite numbers, got missing, infinite or other values; clean them first.")
    if values.ndim == 3:
        modules = values[:, rows].astype(np.float64)
        return Subject(rows, modules=modules, space=np.hstack(list(modules)))
    Z = values.reshape(n, -1)[rows].astype(np.float64)
    return Subject(rows, coordinates=Z, space=Z)


def _is_fractional(values: NDArray) -> bool:
    """Whether numbers are measurements rather than labels."""
    return values.dtype.kind == "f" and not np.array_equal(values, np.round(values))


def _of_clusterer(model: Any, sample: Any, rows: NDArray, n: int, every_level: bool) -> Subject:
    known = getattr(model, "labels_", None)
    nested = list(getattr(model, "levels_", [])) if every_level else []
    if known is not None and _is_training(model, sample, rows, n, known, "predict"):
        levels = [np.asarray(level)[rows] for level in nested or [known]]
    elif nested:
        levels = [np.asarray(model.predict(sample, n_clusters=len(np.unique(level)))) for level in nested]
    elif hasattr(model, "predict"):
        levels = [np.asarray(model.predict(sample))]
    else:
        raise ValueError(f"{type(model).__name__} cannot label new rows; pass the rows it was fitted to.")
    space = None if _classifies(model) else _coordinates(model, sample, rows, n)
    return Subject(rows, levels=levels, space=space)


def _coordinates(model: Any, sample: Any, rows: NDArray, n: int) -> NDArray | None:
    known = getattr(model, "embedding_", None)
    if known is not None and _is_training(model, sample, rows, n, known, "transform"):
        Z = np.asarray(known)[rows]
    elif hasattr(model, "transform"):
        Z = as_dense(model.transform(sample))
    else:
        return None
    Z = np.asarray(Z, dtype=np.float64)
    return Z[:, None] if Z.ndim == 1 else Z


def _is_training(model: Any, sample: Any, rows: NDArray, n: int, known: Any, method: str) -> bool:
    """Whether `known` holds the values of the `n` rows: its length fits, and `method` repeats some of it."""
    if len(known) != n:
        return False
    return not hasattr(model, method) or repeats(getattr(model, method), sample, np.asarray(known)[rows])
