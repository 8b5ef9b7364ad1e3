"""Prepare rows for a model: impute, scale and encode, in a step that is fitted and stored with the model.

Numbers of tables: the median for missing values, then mean 0 and variance 1. Categories: one column for each of the
most frequent ones; a missing value is a category of its own. Arrays are imputed if values are missing.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyfold.cli._inputs import ArrayData, TableData, block_rows, shortened

MAX_CATEGORIES = 50
NUMBERS, CATEGORIES = "numbers", "categories"


def preparation(rows: Any, choice: str) -> Any:
    """Return an unfitted transformer for rows like these, or None if nothing is to be done."""
    if isinstance(rows, pd.DataFrame):
        return _table_preparation(rows, choice)
    if choice == "none" or (choice == "auto" and not _has_missing(rows)):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def _has_missing(rows: Any) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _table_preparation(frame: pd.DataFrame, choice: str) -> Any:
    text = [name for name in frame.columns if frame[name].dtype.kind != "f"]
    numbers = [name for name in frame.columns if name not in text]
    if choice == "none":
        if text:
            raise ValueError(
                f"with --prepare none all columns must be numbers, got {text[0]!r}; leave it out with --drop, or use "
                "--prepare auto."
            )
        return None
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scaled = imputer if choice == "impute" else make_pipeline(imputer, StandardScaler())
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    parts = [(NUMBERS, scaled, numbers), (CATEGORIES, encoder, text)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


class PreparedBlocks:
    """Prepared rows of a file in blocks, as often as needed; the preparation is fitted to the first block."""

    def __init__(self, data: ArrayData | TableData, choice: str):
        self.data, self._size = data, block_rows(data)
        first = next(data.blocks(self._size))
        steps = preparation(first, choice)
        self.steps = steps if steps is None else steps.fit(first)
        self.names = data.names if self.steps is None else None
        self.new = NewCategories(self.steps, data.path)

    def __iter__(self) -> Iterator[Any]:
        self.new = NewCategories(self.steps, self.data.path)
        for rows in self.data.blocks(self._size):
            self.new.count(rows)
            yield self.prepare(rows)

    def prepare(self, rows: Any) -> Any:
        """Return rows as the estimator gets them, without names."""
        return as_array(rows if self.steps is None else self.steps.transform(rows))


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
            told = "; ".join(f"{name}: {count} rows, such as {new!r}" for name, (count, new) in self._found.items())
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({told}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )


def _known_categories(step: Any) -> dict[str, Any]:
    parts = step.transformers_ if isinstance(step, ColumnTransformer) else []
    encoders = [(step, names) for part, step, names in parts if part == CATEGORIES and isinstance(step, OneHotEncoder)]
    return {name: known for step, names in encoders for name, known in zip(names, step.categories_, strict=True)}


def for_model(data: ArrayData | TableData, model: Any) -> ArrayData | TableData:
    """Return the columns a model was fitted to, with the types it was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and isinstance(data, TableData):
        if missing := [name for name in names if name not in (*data.names, data.reader.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select([str(name) for name in names])
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    text = _text_columns(model)
    return data.with_types() if text is None else data.with_types(text, others_are_numbers=True)


def _text_columns(model: Any) -> list[str] | None:
    """Return the columns a model takes as categories; None if its preparation was made elsewhere."""
    if not isinstance(model, Pipeline):
        return []
    step: Any = model.steps[0][1]
    if not isinstance(step, ColumnTransformer) or not {part[0] for part in step.transformers} <= {NUMBERS, CATEGORIES}:
        return None
    return [name for part, _, columns in step.transformers_ if part == CATEGORIES for name in columns]


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
