"""From a table to numbers: the preprocessing that is fitted with a model and stored with it.

Numbers: the median in the place of a missing value, then columns of mean 0 and variance 1. Everything else: one column
per category, of the most frequent ones; a missing value is a category of its own, an unknown one has none, or is one of
the rare. Arrays without missing values are left as they are.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

CHOICES = ("auto", "none", "impute", "scale")
MOST_CATEGORIES = 50
MISSING = "(missing)"
PARTS = ("numbers", "categories")
WHOLE = re.compile(r"^(-?\d+)\.0*$")


def preparation(rows: Any, choice: str) -> Any:
    """Return an unfitted transformer for rows like these, or None where there is nothing to do; tables as prepared."""
    if choice not in CHOICES:
        raise ValueError(f"--prepare must be one of {', '.join(CHOICES)}, got {choice!r}.")
    if isinstance(rows, pd.DataFrame):
        return _of_table(rows, choice)
    if choice == "none" or (choice == "auto" and not has_missing(rows)):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def has_missing(rows: Any) -> bool:
    """Whether an array holds NaN."""
    values = rows.data if sp.issparse(rows) else rows
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _of_table(frame: pd.DataFrame, choice: str) -> Any:
    texts = text_columns(frame)
    numbers = [name for name in frame.columns if name not in texts]
    if choice == "none":
        if texts:
            raise ValueError(
                f"with --prepare none all columns must be numbers, got {texts[0]!r}; leave it out with --drop, or use "
                "--prepare auto."
            )
        return None
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    on_numbers = imputer if choice == "impute" else make_pipeline(imputer, StandardScaler())
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    parts = zip(PARTS, (on_numbers, encoder), (numbers, texts), strict=True)
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def is_number(column: Any) -> bool:
    """Whether a column of a table is to be taken as numbers; truth values are categories."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def text_columns(frame: pd.DataFrame, categorical: Sequence[str] = ()) -> list[str]:
    """Return the columns that are categories: those named, and those that hold anything but numbers."""
    return [name for name in frame.columns if name in categorical or not is_number(frame[name])]


def as_prepared(frame: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    """Return a table of texts, missing ones among them, and numbers: alike in all files and chunks."""
    columns = {name: as_texts(frame[name]) if name in texts else _as_numbers(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def _as_numbers(column: pd.Series) -> np.ndarray:
    numbers = column if is_number(column) else pd.to_numeric(column, errors="coerce")
    if (strange := column[numbers.isna() & column.notna()]).size:
        raise ValueError(
            f"column {column.name!r} must hold numbers, as in the rows that the model was first fitted to, got "
            f"{strange.iloc[0]!r}; if these are categories, fit with --categorical {column.name}."
        )
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def as_texts(values: Any) -> np.ndarray:
    """Return the names of categories, that of missing ones among them."""
    codes, different = pd.factorize(np.asarray(values, dtype=object))
    return np.array([*map(_category, different), MISSING], dtype=object)[codes]


def _category(value: Any) -> str:
    """Return the name of a category: 3 and 3.0 are one, and so are true and True, however a file stores them."""
    text = str(value).strip()
    if text in ("true", "TRUE", "false", "FALSE"):
        return text.capitalize()
    return WHOLE.sub(r"\1", text)


def categories_of(model: Any) -> list[str] | None:
    """Return the columns that a model takes as categories; None if its preparation is not of this file."""
    if not isinstance(model, Pipeline):
        return []
    step: Any = model.steps[0][1]
    if not isinstance(step, ColumnTransformer) or not {part[0] for part in step.transformers} <= set(PARTS):
        return None
    return [name for part, _, columns in step.transformers_ if part == PARTS[1] for name in columns]
