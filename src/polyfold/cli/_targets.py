"""The targets of rows: a column, an array of an .npz file, the folders of images, or a file of their own."""

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from polyfold.cli._data import Picked, last_step, some
from polyfold.cli._prepare import as_texts, is_number
from polyfold.cli._sources import Source, open_source


def read_target(path: str, picked: Picked, *, texts: bool = False) -> np.ndarray | None:
    """Return the targets, or None without --target; as texts where they are, or are asked to be."""
    if picked.target is None:
        return None
    column = pd.Series(find_target(path, picked)(texts), name=picked.target)
    if column.isna().any():
        raise ValueError(f"--target must have a value in every row, got {int(column.isna().sum())} missing ones.")
    if pd.api.types.is_bool_dtype(column) and not texts:
        return column.to_numpy(dtype=bool)
    return column.to_numpy() if is_number(column) and not texts else as_texts(column)


def find_target(path: str, picked: Picked) -> Callable[[bool], Any]:
    """Return how the targets are read, as texts or not, or say that there are none."""
    source, target = picked.open(path), str(picked.target)
    if source.names and target in source.names:
        return partial(_column, source.with_columns([target]))
    labels = source.labels or {}
    if target in labels and source.names is None:
        return lambda texts: labels[target]
    if os.path.exists(target):
        return partial(_only_column, target)
    there = source.names or tuple(labels)
    raise ValueError(f"--target must be a file, or one of {some(there)} of {path}, got {target!r}.")


def _column(source: Source, texts: bool) -> Any:
    return source.as_texts(source.names or () if texts else ()).whole().iloc[:, 0]


def _only_column(path: str, texts: bool) -> Any:
    if path.lower().endswith(".npy"):
        values = np.load(path, allow_pickle=False)
    else:
        source = open_source(path)
        if source.names and len(source.names) == 1:
            return _column(source, texts)
        values = np.asarray(source.whole())
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{path} must hold one target per row, got shape {values.shape}.")
    return values


def target_for(path: str, picked: Picked, fitted: Any) -> np.ndarray | None:
    """Return the targets as a fitted model names its classes, and tell of classes that it does not have."""
    estimator = last_step(fitted)
    if not is_classifier(estimator):
        return read_target(path, picked)
    classes = np.asarray(estimator.classes_)
    y = read_target(path, picked, texts=classes.dtype.kind in "OUS")
    if y is not None and (unseen := pd.Series(y)[~pd.Series(y).isin(classes.tolist())]).size:
        warnings.warn(
            f"--target has classes that the model has not seen: {unseen.size} rows, such as {unseen.iloc[0]!r}; they "
            f"count as errors.",
            stacklevel=2,
        )
    return y


def check_length(y: np.ndarray | None, rows: Any) -> None:
    """Refuse targets that are not one for every row."""
    if y is not None and len(y) != rows.shape[0]:
        raise ValueError(f"--target must have one value per row, {rows.shape[0]}, got {len(y)}.")
