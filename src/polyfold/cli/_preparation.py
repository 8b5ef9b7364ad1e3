"""Prepare rows and targets for a model: impute, scale and encode, in a step that is stored with the model."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyfold.cli._column_kinds import CATEGORIES, DATE, MAX_CATEGORIES, NUMBER, PARTS_OF_DATES, TEXT_COMPONENTS, Plan
from polyfold.cli._inputs import (
    SUFFIXES,
    ArrayData,
    Selection,
    TableData,
    block_rows,
    column_names,
    load_arrays,
    nearest,
    open_data,
    shortened,
)

# Words of free text that are counted, the most frequent ones.
MAX_WORDS = 10_000
UNIT_ROWS = "used as they are: all rows have unit length"


def preparation(rows: Any, choice: str, plan: Plan | None = None) -> Any:
    """Return an unfitted transformer for rows like these, or None if nothing is to be done."""
    if plan is not None:
        return None if choice == "none" or (choice == "auto" and has_unit_rows(rows)) else _of_table(rows, choice, plan)
    if choice == "none" or (choice == "auto" and not _has_missing(rows)):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def _has_missing(rows: Any) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def has_unit_rows(frame: pd.DataFrame) -> bool:
    """Whether a table is an embedding: numbers only, and all rows of unit length, which scaling would destroy."""
    if any(kind.kind != "f" for kind in frame.dtypes) or frame.shape[1] < 2:
        return False
    return bool(np.all(np.abs(np.linalg.norm(frame.to_numpy(), axis=1) - 1.0) < np.finfo(np.float16).eps))


def _of_table(frame: pd.DataFrame, choice: str, plan: Plan) -> ColumnTransformer:
    dates = [f"{name} {part}" for name in plan.names(DATE) for part in PARTS_OF_DATES]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scaled = imputer if choice == "impute" else make_pipeline(imputer, StandardScaler())
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    kinds: list[Any] = [
        ("numbers", scaled, plan.names(NUMBER)),
        ("dates", clone(scaled), dates),
        ("categories", encoder, plan.names(*CATEGORIES)),
    ]
    parts = [part for part in kinds if part[2]]
    # A date has four columns of variance 1, which together count as one.
    weights = None if choice == "impute" else {"dates": len(PARTS_OF_DATES) ** -0.5}
    # With pandas as output the model knows the names of the columns, and messages can use them.
    steps = ColumnTransformer(parts, transformer_weights=weights, verbose_feature_names_out=False)
    steps.set_output(transform="pandas")
    if plan.text_name is not None:  # later, because set_output does not accept the sparse output of tf-idf
        text = _of_text(frame[plan.text_name], plan.text_name)
        steps.set_params(transformers=[*parts, ("text", text, plan.text_name)])
    return steps


def _of_text(texts: pd.Series, name: str) -> Any:
    """Return tf-idf and its leading components, which are rows of at most unit length: about one scaled number."""
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, max_features=MAX_WORDS)
    try:
        n_words = len(words.fit(texts).vocabulary_)
    except ValueError as error:
        raise ValueError(f"free text must contain words, got none in {name!r}; leave it out with --drop.") from error
    size = max(1, min(TEXT_COMPONENTS, n_words - 1, len(texts) - 1))
    components = TruncatedSVD(size, random_state=0).set_output(transform="pandas")
    return make_pipeline(clone(words), components)


class PreparedBlocks:
    """Prepared rows of a file in blocks, as often as needed; the preparation is fitted to the first block."""

    def __init__(self, data: ArrayData | TableData, choice: str):
        self.data, self._size = data, block_rows(data)
        first = next(data.blocks(self._size))
        steps = preparation(first, choice, data.plan if isinstance(data, TableData) else None)
        self.steps = steps if steps is None else steps.fit(first)
        made = isinstance(first, pd.DataFrame) and self.steps is not None
        self.names = tuple(self.steps.get_feature_names_out()) if made else data.names
        self.new = NewCategories(self.steps, data.path)

    def __iter__(self) -> Iterator[Any]:
        self.new = NewCategories(self.steps, self.data.path)
        for rows in self.data.blocks(self._size):
            self.new.count(rows)
            yield prepared(self.steps, rows)


def prepared(steps: Any, rows: Any) -> Any:
    """Return rows after a fitted preparation, as an array or CSR matrix."""
    return as_array(rows if steps is None else steps.transform(rows))


class NewCategories:
    """Count the rows of a file whose categories a fitted preparation has not seen."""

    def __init__(self, step: Any, path: Any):
        self._path, self._known = path, _known_categories(step)
        self._found: dict[str, tuple[int, str]] = {}

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
            counts = "; ".join(f"{name}: {count} rows, such as {new!r}" for name, (count, new) in self._found.items())
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({counts}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )


def _known_categories(step: Any) -> dict[str, Any]:
    parts = step.transformers_ if isinstance(step, ColumnTransformer) else []
    encoders = [
        (step, names) for part, step, names in parts if part == "categories" and isinstance(step, OneHotEncoder)
    ]
    return {name: known for step, names in encoders for name, known in zip(names, step.categories_, strict=True)}


def for_model(data: ArrayData | TableData, model: Any) -> ArrayData | TableData:
    """Return the columns a model was fitted to, with the kinds it was fitted to."""
    plan, names = Plan.stored(model), getattr(model, "feature_names_in_", None)
    if plan is not None and isinstance(data, ArrayData):
        return _as_columns(data, plan)
    if names is not None and isinstance(data, TableData):
        needed = [str(name) for name in names] if plan is None else [column.name for column in plan.used]
        if missing := [name for name in needed if name not in (*data.names, data.reader.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select(needed)
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    return data.unplanned(only_numbers=not isinstance(model, Pipeline)) if plan is None else data.as_planned(plan)


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


def model_blocks(data: ArrayData | TableData, model: Any, size: int | None = None) -> Iterator[Any]:
    """Yield the rows of a file as a fitted model takes them."""
    data = for_model(data, model)
    new = NewCategories(model[0] if isinstance(model, Pipeline) else None, data.path)
    for rows in data.blocks(size):
        rows = as_fitted(rows, model)
        new.count(rows)
        yield rows
    new.warn()


def as_fitted(rows: Any, model: Any) -> Any:
    """Return rows as a table if the model was fitted to one, otherwise as an array."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.ascontiguousarray(rows.to_numpy()) if isinstance(rows, pd.DataFrame) else rows
    if isinstance(rows, pd.DataFrame):
        return rows
    return pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)


def as_array(rows: Any) -> Any:
    """Return rows as an array or CSR matrix."""
    return rows if sp.issparse(rows) else np.asarray(rows)


def last_step(model: Any) -> Any:
    """Return the estimator itself, without its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def before_last(model: Any, rows: Any) -> Any:
    """Return rows as the estimator itself gets them."""
    return model[:-1].transform(rows) if isinstance(model, Pipeline) and len(model.steps) > 1 else rows


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
