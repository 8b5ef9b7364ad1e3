"""From a table to numbers: the preprocessing that is fitted with a model and stored with it.

Numbers: the median in the place of a missing value, then columns of mean 0 and variance 1. Everything else: one column
per category, of the most frequent ones; a missing value is a category of its own, an unknown one has none. Arrays
without missing values are left as they are.
"""

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


def preparation(rows: Any, choice: str, categorical: list[str]) -> Any:
    """Return an unfitted transformer for rows like these, or None where there is nothing to do."""
    if choice not in CHOICES:
        raise ValueError(f"--prepare must be one of {', '.join(CHOICES)}, got {choice!r}.")
    if isinstance(rows, pd.DataFrame):
        return _of_table(rows, choice, categorical)
    if categorical:
        raise ValueError("--categorical needs columns with names, as .csv and .parquet files have them.")
    if choice == "none" or (choice == "auto" and not has_missing(rows)):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def has_missing(rows: Any) -> bool:
    """Whether an array holds NaN."""
    values = rows.data if sp.issparse(rows) else rows
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _of_table(frame: pd.DataFrame, choice: str, categorical: list[str]) -> Any:
    if unknown := [name for name in categorical if name not in frame.columns]:
        raise ValueError(f"--categorical must name columns of the data, got {unknown[0]!r}.")
    texts = [name for name in frame.columns if name in categorical or not is_number(frame[name])]
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
    parts = [("numbers", on_numbers, numbers), ("categories", encoder, texts)]
    return ColumnTransformer([part for part in parts if part[2]], verbose_feature_names_out=False)


def is_number(column: Any) -> bool:
    """Whether a column of a table is to be taken as numbers; truth values are categories."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def as_prepared(frame: pd.DataFrame, categorical: list[str]) -> pd.DataFrame:
    """Return a table whose categories are texts, missing ones among them: the same in every file and chunk."""
    out = {}
    for name in frame.columns:
        column = frame[name]
        if name in categorical or not is_number(column):
            out[name] = np.array([_category(value) for value in column.astype(object)], dtype=object)
        else:
            out[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(out, index=frame.index)


def _category(value: Any) -> str:
    """Return the name of a category: 3 and 3.0 are one, however a file stores them."""
    if pd.isna(value):
        return MISSING
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def categories_of(model: Any) -> list[str]:
    """Return the columns that a stored preparation takes as categories."""
    step: Any = model.steps[0][1] if isinstance(model, Pipeline) else None
    if not isinstance(step, ColumnTransformer):
        return []
    return [name for part, _, columns in step.transformers_ if part == "categories" for name in columns]
