"""Parts of an opened file: columns, targets and identifiers by the options, or the rows that a fitted model takes."""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

import polyfold
from polyfold._validation import shortened
from polyfold.cli import rows_text, suggestion
from polyfold.cli._estimators import last_step
from polyfold.cli._formats import (
    FORMATS,
    ArrayData,
    FileData,
    Selection,
    block_rows,
    load_arrays,
    open_data,
    parse_size,
)
from polyfold.tables import NUMBER, TEXT, Plan, TableData


def select_features(data: FileData, selection: Selection) -> FileData:
    """Return the same rows with the selected columns: those of --columns, without --drop, --target and --id."""
    names = data.names or tuple(map(str, range(data.n_columns)))
    known = names if data.index is None else (data.index, *names)
    wanted = column_names("--columns", selection.columns, known, data.path) or names
    left_out = set(column_names("--drop", selection.drop, known, data.path))
    left_out |= {selection.target, selection.id} if data.names else set()
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        raise ValueError(f"no column of {data.path} is left; select some with --columns, or drop fewer.")
    return data.select(chosen)


def column_names(option: str, wanted: Sequence[str], names: Sequence[str], path: Any) -> list[str]:
    """Return the columns that an option names, each once: whole names, or ranges of numbers such as 0-9."""
    known, chosen = set(names), {}
    for part in wanted:
        first, dash, last = part.partition("-")
        is_range = part not in known and dash and first.isdecimal() and last.isdecimal()
        if is_range and int(first) > int(last):
            raise ValueError(f"{option} must have ranges from the lower to the higher number, got {part!r}.")
        for name in map(str, range(int(first), int(last) + 1)) if is_range else [part]:
            if name not in known:
                raise ValueError(f"{option} must name columns of {path}, got {name!r}; {suggestion(name, names)}.")
            chosen[name] = True
    return list(chosen)


def read_target(data: FileData, selection: Selection, kind: str = "either") -> np.ndarray | None:
    """Return the targets, or None without --target.

    Text tables give "labels" exactly as they are written, "numbers", or "either": numbers if that keeps labels apart.
    """
    if selection.target is None:
        return None
    values, table = find_target(data, selection)
    column = pd.Series(values)
    if column.isna().any():
        raise ValueError(f"--target must have a value in every row, got {int(column.isna().sum())} missing values.")
    if len(column) != data.n_rows:
        raise ValueError(f"--target must have one value per row, {data.n_rows}, got {len(column)}.")
    if column.dtype.kind in "fiub":
        return column.to_numpy()
    text = column.astype(str)
    if kind == "labels":
        return text.to_numpy(object)
    numbers = pd.to_numeric(column, errors="coerce") if table is None else table.to_numbers(column)
    if kind == "numbers" and numbers.isna().any():
        raise ValueError(f"--target must hold numbers, got {text[numbers.isna()].iloc[0]!r}.")
    is_lossless = numbers.notna().all() and numbers.nunique() == text.nunique()
    return numbers.to_numpy() if kind == "numbers" or is_lossless else text.to_numpy(object)


def find_target(data: FileData, selection: Selection) -> tuple[Any, TableData | None]:
    """Return the values of --target and their table: a column, an array of the .npz file, or a file of its own."""
    target = str(selection.target)
    if target in data.all_names:
        return data.column(target), data if isinstance(data, TableData) else None
    if not selection.files:
        raise ValueError(
            f"--target must be a column of {data.path}, or a file that ends in {', '.join(FORMATS)}, got {target!r}; "
            f"{suggestion(target, data.all_names)}."
        )
    return _read_target_file(target, selection)


def _read_target_file(path: str, selection: Selection) -> tuple[Any, TableData | None]:
    if path.lower().endswith(".npy") and os.path.isfile(path):
        values = load_arrays(Path(path))
    else:
        data = open_data(path, replace(selection, array=None))
        if isinstance(data, TableData) and len(data.names) == 1:
            return data.column(data.names[0]), data
        values = data.whole() if isinstance(data, ArrayData) else np.empty((data.n_rows, data.n_columns))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{path} must hold one target per row, got shape {values.shape}.")
    return values, None


def target_for(data: FileData, selection: Selection, estimator: Any) -> np.ndarray | None:
    """Return the targets as an estimator takes them; warn of classes that a fitted classifier does not have."""
    if not is_classifier(estimator):
        return read_target(data, selection, "numbers" if is_regressor(estimator) else "either")
    y, classes = read_target(data, selection, "labels"), getattr(estimator, "classes_", None)
    if y is None or classes is None:
        return y
    if np.asarray(classes).dtype.kind in "OUS":
        y = y.astype(str).astype(object)
    elif y.dtype == object:
        y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy()
    new = pd.Series(y)[~pd.Series(y).isin(list(classes))]
    if new.size:
        warnings.warn(
            f"--target has classes that the model has not seen: {rows_text(new.size)}, such as {new.iloc[0]!r}; they "
            "count as errors.",
            stacklevel=2,
        )
    return y


def read_column(option: str, name: str, data: FileData) -> Any:
    """Return the values of a column that an option names, or of an array next to the rows."""
    column_names(option, [name], data.all_names, data.path)
    return data.column(name)


def read_ids(data: FileData, selection: Selection) -> tuple[str, Any]:
    """Return the name and the values that identify rows: --id, the index of the file, file names, or row numbers."""
    name = selection.id or ("file" if data.image_shape else None)
    if name is not None:
        return name, read_column("--id", name, data)
    return ("row", np.arange(data.n_rows)) if data.index is None else ("index", data.column(data.index))


class NewCategories:
    """Count the rows of a file whose categories a fitted preparation has not seen."""

    def __init__(self, steps: Any, path: Any):
        parts = steps.transformers_ if isinstance(steps, ColumnTransformer) else []
        encoders = [
            (names, step) for part, step, names in parts if part == "categories" and hasattr(step, "categories_")
        ]
        self._known = {
            name: known for names, step in encoders for name, known in zip(names, step.categories_, strict=True)
        }
        self._path, self._found = path, dict[str, tuple[int, str]]()

    def count(self, rows: Any) -> None:
        """Count those of a block of rows."""
        for name, known in self._known.items():
            new = rows[name][~rows[name].isin(known)]
            if new.size:
                count, example = self._found.get(name, (0, str(new.iloc[0])))
                self._found[name] = count + new.size, example

    def warn(self) -> None:
        """Warn once, with the count and an example of every column."""
        if self._found:
            counts = "; ".join(
                f"{name}: {rows_text(count)}, such as {new!r}" for name, (count, new) in self._found.items()
            )
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({counts}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )


class ModelRows:
    """A fitted model, and the rows of a file as it takes them: a table if it was fitted to one, otherwise an array."""

    @classmethod
    def open(cls, model: str, data: str, selection: Selection) -> Self:
        """Load the model and open the file."""
        return cls(polyfold.load(model), open_data(data, selection), selection)

    def __init__(self, model: Any, data: FileData, selection: Selection):
        self.model, self.estimator, self._plan = model, last_step(model), Plan.stored(model)
        self.data, self._size = _columns_of(model, self._plan, data, selection), selection.size

    def blocks(self) -> Iterator[Any]:
        """Yield the rows in blocks; warn of new categories at the end."""
        return self._read(block_rows(self.data))

    def all(self) -> Any:
        """Return all rows in memory."""
        (rows,) = self._read(None)
        return rows

    def prepared(self, rows: Any) -> Any:
        """Return rows as the estimator itself gets them, after the preparation."""
        has_preparation = isinstance(self.model, Pipeline) and len(self.model.steps) > 1
        return self.model[:-1].transform(rows) if has_preparation else rows

    def image_shape(self, rows: Any) -> tuple[int, ...] | None:
        """Return the shape of the images that are rows: as they are stored, or by --size; None without images."""
        shape = self.data.image_shape or (parse_size(self._size)[::-1] if self._size else None)
        if shape is not None and np.prod(shape) != rows.shape[1]:
            raise ValueError(f"--size must fit the {rows.shape[1]} values of a row, got {self._size}.")
        return shape

    def texts(self, rows: Any, column: str | None = None) -> Any:
        """Return the texts of --texts, or else those that the model was fitted to, if it has no other column."""
        if column is not None:
            return read_column("--texts", column, self.data)
        plan = self._plan
        is_text = plan is not None and {column.kind for column in plan.used} == {TEXT}
        return rows[plan.text_name] if plan is not None and is_text else None

    def input_names(self) -> list[str]:
        """Return the names of the columns that the model was fitted to."""
        default = [f"x{number}" for number in range(self.model.n_features_in_)]
        return [str(name) for name in getattr(self.model, "feature_names_in_", default)]

    def _read(self, size: int | None) -> Iterator[Any]:
        names = getattr(self.model, "feature_names_in_", None)
        new = NewCategories(self.model[0] if isinstance(self.model, Pipeline) else None, self.data.path)
        empty = None
        for rows in self.data.blocks(size):
            if names is None and isinstance(rows, pd.DataFrame):
                rows = np.ascontiguousarray(rows.to_numpy())
            elif names is not None and not isinstance(rows, pd.DataFrame):
                rows = pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)
            new.count(rows)
            if self._plan is not None:
                without = set(rows.columns[rows.isna().all()])
                empty = without if empty is None else empty & without
            yield rows
        new.warn()
        if empty:
            warnings.warn(
                f"{self.data.path}: no values in {shortened(sorted(empty))}; the medians of the rows that the model "
                "was fitted to are used.",
                stacklevel=2,
            )


def _columns_of(model: Any, plan: Plan | None, data: FileData, selection: Selection) -> FileData:
    """Return the columns that a model was fitted to, with the kinds it was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    data = select_features(data, selection) if names is None or selection.columns else data
    if plan is not None and isinstance(data, ArrayData):
        return _as_columns(data, plan)
    if names is not None and isinstance(data, TableData):
        needed = [str(name) for name in names] if plan is None else [column.name for column in plan.used]
        if missing := [name for name in needed if name not in (*data.names, data.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select(needed)
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    return (
        data.with_guessed_kinds(only_numbers=not isinstance(model, Pipeline)) if plan is None else data.with_plan(plan)
    )


def _as_columns(data: ArrayData, plan: Plan) -> ArrayData:
    """Return an array as the columns of a table, by position: all of them, or those that are used."""
    if other := [column for column in plan.used if column.kind != NUMBER]:
        raise ValueError(
            f"{data.path} is an array, the model was fitted to a table with {other[0].name!r} ({other[0].kind}); pass "
            "a .csv or .parquet file with the same columns."
        )
    if data.n_columns == len(plan.used):
        return data
    if data.n_columns != len(plan.columns):
        raise ValueError(f"{data.path} has {data.n_columns} columns, the model was fitted to {len(plan.columns)}.")
    numbers = data.columns or range(data.n_columns)
    kept = [number for number, column in zip(numbers, plan.columns, strict=True) if column in plan.used]
    return data.select([str(number) for number in kept])
