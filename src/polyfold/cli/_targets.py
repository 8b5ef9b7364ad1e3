"""Read the targets of rows, and the values that identify rows in an output."""

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor

from polyfold.cli._inputs import (
    SUFFIXES,
    ArrayData,
    Selection,
    TableData,
    column_names,
    load_arrays,
    nearest,
    open_data,
)


def read_target(data: ArrayData | TableData, selection: Selection, kind: str = "either") -> np.ndarray | None:
    """Return the targets, or None without --target.

    Text tables give "labels" exactly as they are written, "numbers", or "either": numbers if that keeps labels apart.
    """
    if selection.target is None:
        return None
    column = pd.Series(find_target(data, selection), name=selection.target)
    if column.isna().any():
        raise ValueError(f"--target must have a value in every row, got {int(column.isna().sum())} missing values.")
    if len(column) != data.n_rows:
        raise ValueError(f"--target must have one value per row, {data.n_rows}, got {len(column)}.")
    if column.dtype.kind in "fiub":
        return column.to_numpy()
    text, numbers = column.astype(str), pd.to_numeric(column, errors="coerce")
    if kind == "numbers" and numbers.isna().any():
        raise ValueError(f"--target must hold numbers, got {text[numbers.isna()].iloc[0]!r}.")
    is_lossless = numbers.notna().all() and numbers.nunique() == text.nunique()
    return numbers.to_numpy() if kind == "numbers" or (kind == "either" and is_lossless) else text.to_numpy(object)


def find_target(data: ArrayData | TableData, selection: Selection) -> Any:
    """Return the values of --target: a column, an array of the .npz file, or a file of its own."""
    target = str(selection.target)
    if isinstance(data, TableData) and target in data.reader.names:
        return data.reader.labels(target)
    if isinstance(data, ArrayData) and target in data.labels:
        return data.labels[target]
    if selection.target_file is None:
        names = data.reader.names if isinstance(data, TableData) else tuple(data.labels)
        raise ValueError(
            f"--target must be a column of {data.path}, or a file that ends in {', '.join(SUFFIXES)}, got {target!r}; "
            f"{nearest(target, names)}."
        )
    return _read_target_file(target, selection)


def _read_target_file(path: str, selection: Selection) -> Any:
    if path.lower().endswith(".npy") and os.path.exists(path):
        values = load_arrays(Path(path))
    else:
        data = open_data(path, replace(selection, array=None))
        if isinstance(data, TableData) and len(data.names) == 1:
            return data.reader.labels(data.names[0])
        values = data.whole() if isinstance(data, ArrayData) else np.empty((data.n_rows, data.n_columns))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{path} must hold one target per row, got shape {values.shape}.")
    return values


def target_for(data: ArrayData | TableData, selection: Selection, estimator: Any) -> np.ndarray | None:
    """Return the targets with the type of a fitted classifier's classes; warn of classes it does not have."""
    if not is_classifier(estimator):
        return read_target(data, selection, "numbers" if is_regressor(estimator) else "either")
    y = read_target(data, selection, "labels")
    if y is None:
        return None
    classes = np.asarray(estimator.classes_)
    if classes.dtype.kind in "OUS":
        y = y.astype(str).astype(object)
    elif y.dtype == object:
        y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy()
    new = pd.Series(y)[~pd.Series(y).isin(classes.tolist())]
    if new.size:
        warnings.warn(
            f"--target has classes that the model has not seen: {new.size} rows, such as {new.iloc[0]!r}; they count "
            "as errors.",
            stacklevel=2,
        )
    return y


def read_ids(data: ArrayData | TableData, selection: Selection) -> tuple[str, Any]:
    """Return the name and the values that identify rows: --id, the index of the file, file names, or row numbers."""
    name = selection.id
    if isinstance(data, TableData):
        if name is not None:
            column_names("--id", [name], data.reader.names, data.path)
            return name, data.reader.labels(name)
        if data.reader.index is not None:
            return "index", data.reader.labels(data.reader.index)
    else:
        name = name or ("file" if data.image_shape else None)
        if name is not None:
            column_names("--id", [name], tuple(data.labels), data.path)
            return name, data.labels[name]
    return "row", np.arange(data.n_rows)
