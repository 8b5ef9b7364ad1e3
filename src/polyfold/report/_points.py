"""Data of the points that are shown: columns, labels, clusters, texts, images and further views."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils.validation import _num_samples

from polyfold._linalg import as_dense
from polyfold._typing import Table
from polyfold.report._columns import (
    MOST_CLASSES,
    Columns,
    as_column,
    encode,
    encode_with_dates,
    named_columns,
    shortened,
    unique_names,
)
from polyfold.report._images import as_images, sheet
from polyfold.report._views import Model, View, as_rows, plane_of, views_of

# Labels that are classes, letters of a text that are stored, and values of all columns together.
_LABELS, _LETTERS, _VALUES = 500, 300, 300_000
# Columns that are stored, at least and at most.
_FEWEST, _MOST = 12, 100


class Points:
    """The rows of a chapter, checked.

    The columns "label" and "cluster" come first and are not among the features by which selections are described.
    """

    def __init__(
        self,
        X: Table,
        rows: NDArray,
        *,
        y: ArrayLike | None,
        columns: Columns | None,
        texts: Sequence[str] | None,
        views: Mapping[str, ArrayLike] | None,
    ):
        self.total, self.rows = _num_samples(X), rows
        self.most = max(_FEWEST, min(_MOST, _VALUES // len(rows)))
        given = named_columns(columns, X, self.total, self.most)
        label, given = _without_label(y, given)
        self.front: list[dict[str, Any]] = []
        self.columns = [(name, values[rows]) for name, values in given]
        self.levels: list[dict[str, Any]] = []
        self.sheets: dict[str, Any] = {}
        self.classes: NDArray | None = None
        if y is not None:
            self._set_labels(label, y)
        self.texts = None if texts is None else self._shorten(texts)
        self.views = [_extra_view(name, Z, self.total, rows) for name, Z in (views or {}).items()]

    def describe(self) -> dict[str, Any]:
        """Return all columns, texts and levels in the form that the page reads."""
        coded = [*self.front, *(encode_with_dates(str(name), values) for name, values in self.columns)]
        names = unique_names([column["name"] for column in coded])
        return {
            "n": len(self.rows),
            "columns": [column | {"name": name} for column, name in zip(coded, names, strict=True)],
            "color": next((i for i, column in enumerate(self.front) if column["kind"] != "text"), -1),
            "levels": self.levels,
            "texts": self.texts,
            "stop": None if self.texts is None else sorted(ENGLISH_STOP_WORDS),
            "rows": self.rows.tolist() if self.rows[-1] >= len(self.rows) else None,
        }

    def add_clusters(self, model: Any, X: Table) -> None:
        """Add the clusters of a fitted clusterer and of its levels."""
        if hasattr(model, "predict"):
            labels = np.asarray(model.predict(X))
        elif len(model.labels_) == self.total:
            labels = np.asarray(model.labels_)[self.rows]
        else:
            raise ValueError(f"{type(model).__name__} cannot label new rows; pass the rows it was fitted to.")
        column = encode("cluster", labels, few=len(np.unique(labels)))
        self.front.insert(0, column | {"role": "cluster"})
        self.levels = _levels(model, X) if hasattr(model, "level_scores_") else []

    def add_features(self, model: Any, X: Table, names: Sequence[str]) -> None:
        """Add the columns of an array of numbers: those that the representation explains best, if there are many."""
        rows: Any = X if hasattr(X, "tocsc") else np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "fiub":
            return
        width = rows.shape[1]
        known = names if len(names) == width else getattr(model, "feature_names_in_", [f"x{j}" for j in range(width)])
        chosen = np.arange(width)
        if width > self.most:
            chosen = np.sort(np.argsort(-_explained(rows, views_of(model, X).whole), kind="stable")[: self.most])
        dense = as_dense(rows.tocsc()[:, chosen] if hasattr(rows, "tocsc") else rows[:, chosen])
        self.columns += [(known[j], values) for j, values in zip(chosen, dense.T, strict=True)]

    def add_images(self, images: ArrayLike, model: Model, X: Table) -> None:
        """Add thumbnails, and what the model reconstructs of them if it can."""
        images = np.asarray(images)
        self.sheets["images"] = sheet(as_images(images, self.total)[self.rows])
        images = images[self.rows]
        if not hasattr(model, "inverse_transform") or hasattr(X, "toarray") or images[0].size != np.shape(X)[1]:
            return
        rebuilt = np.asarray(model.inverse_transform(model.transform(X)))
        error = np.sqrt(np.mean((rebuilt - np.asarray(X)) ** 2, axis=1))
        self.columns.append(("reconstruction error", error))
        self.sheets["rebuilt"] = sheet(as_images(rebuilt.reshape(images.shape), len(self.rows), like=images))

    def _set_labels(self, name: Hashable, y: ArrayLike) -> None:
        labels = as_column(y)
        if labels.shape != (self.total,):
            raise ValueError(f"y must have {self.total} values, one for each row of X, got shape {labels.shape}.")
        # Whole numbers and texts are classes unless nearly every row has its own.
        few = max(MOST_CLASSES, min(_LABELS, len(self.rows) // 2))
        column = encode_with_dates(str(name), labels[self.rows], few=few)
        self.front.append(column | {"role": "label"})
        if column["kind"] == "class":
            self.classes = np.array(column["values"])

    def _shorten(self, texts: Sequence[str]) -> list[str]:
        if len(texts) != self.total:
            raise ValueError(f"texts must have {self.total} entries, one for each row of X, got {len(texts)}.")
        return [shortened(str(text), _LETTERS) for text in np.asarray(texts, dtype=object)[self.rows]]


def _levels(model: Any, X: Table) -> list[dict[str, Any]]:
    """Return the clusters of the points at every level, coarse to fine."""
    numbers = list(model.level_scores_)
    levels = []
    for number, labels in zip(numbers, labels_of_levels(model, X, numbers), strict=True):
        level = encode(f"{number} clusters", labels, few=number + 1)
        levels.append(level | {"role": "cluster", "chosen": number == model.n_clusters_})
    return levels


def labels_of_levels(model: Any, X: Table, numbers: Sequence[int]) -> list[NDArray]:
    """Return the clusters of rows at several levels of a clusterer, given by their numbers of clusters."""
    if not numbers:
        return []
    # Levels are nested: the small cluster of a row decides all others.
    tree, count = model.cluster_tree_, model.cluster_tree_.n_small
    leaves = np.argsort(tree.cut(count))[np.asarray(model.predict(X, n_clusters=count))]
    return [tree.cut(number)[leaves] for number in numbers]


def _without_label(
    y: ArrayLike | None, columns: list[tuple[Hashable, NDArray]]
) -> tuple[Hashable, list[tuple[Hashable, NDArray]]]:
    """Return the name of the label, and the columns without the one that is the label: it is shown once."""
    label = getattr(y, "name", None)
    if label is None:
        label = next((name for name, values in columns if values is y), "label")
        return label, [column for column in columns if column[1] is not y]
    return label, [column for column in columns if column[0] != label]


def _extra_view(name: str, Z: ArrayLike, total: int, rows: NDArray) -> View:
    Z = as_rows(Z, total)[rows]
    return View(str(name), Z, Z - Z.mean(axis=0) if Z.shape[1] == 2 else plane_of(Z))


def _explained(X: Any, Z: NDArray) -> NDArray:
    """Return the fraction of the variance of every column of `X` that linear functions of `Z` explain."""
    n = X.shape[0]
    basis = np.linalg.qr(Z - Z.mean(axis=0))[0]  # (n, c), orthogonal to a constant
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X, dtype=np.float64)
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    variance = np.asarray(squares.sum(axis=0), dtype=np.float64).ravel() / n - mean**2
    explained = np.sum(np.asarray(X.T @ basis) ** 2, axis=1) / n
    is_constant = variance <= 1e-12 * (mean**2 + variance)
    return np.where(is_constant, 0.0, explained / np.where(is_constant, 1.0, variance))
