"""The features that explanations are made of: numbers, categories and words, read from arrays, tables and texts."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from polyfold._linalg import as_dense

# Levels of a category that are reported, the most frequent ones; the others are summed up as "other".
LEVELS = 50
# Columns by which a row is described.
SHOWN = 8


NO_CODES = np.empty((0, 0), dtype=np.intp)


@dataclass(frozen=True)
class Features:
    """Columns of n rows. Any of the three kinds may be empty."""

    n_rows: int
    numbers: NDArray  # (n, D)
    number_names: list[str]
    codes: NDArray = field(default_factory=lambda: NO_CODES)  # (n, K), categories as integers
    category_names: list[str] = field(default_factory=list)
    levels: list[list[str]] = field(default_factory=list)  # names of the codes, for each category
    words: sp.csr_array | None = None  # (n, V) counts, or other weights >= 0
    vocabulary: list[str] = field(default_factory=list)
    is_named: bool = True  # whether the user or the table named the columns

    def __post_init__(self) -> None:
        if self.codes is NO_CODES:
            object.__setattr__(self, "codes", np.empty((self.n_rows, 0), dtype=np.intp))

    @cached_property
    def ranks(self) -> NDArray:
        """Ranks of the numbers as fractions between 0 and 1, shape (n, D); ties have their mean rank."""
        return relative_ranks(self.numbers)

    def indicators(self) -> tuple[NDArray, list[tuple[str, str]]]:
        """Return one column of 0 and 1 for every level of every category, and the names of both."""
        pairs = [(k, v) for k, levels in enumerate(self.levels) for v in range(len(levels))]
        columns = [self.codes[:, k] == v for k, v in pairs]
        values = np.column_stack(columns).astype(float) if columns else np.empty((self.n_rows, 0))
        return values, [(self.category_names[k], self.levels[k][v]) for k, v in pairs]

    def describe(self, row: int) -> str:
        """Return the values of the first columns of a row, such as "income 24.7, plan gold"."""
        parts = [f"{name} {value:.4g}" for name, value in zip(self.number_names, self.numbers[row], strict=True)]
        for name, levels, code in zip(self.category_names, self.levels, self.codes[row], strict=True):
            parts.append(f"{name} {levels[code] if code < len(levels) else 'other'}")
        return ", ".join(parts[:SHOWN]) + (", …" if len(parts) > SHOWN else "")

    def names(self) -> list[str]:
        """Return the names of numbers, categories and words, in this order."""
        return [*self.number_names, *self.category_names, *self.vocabulary]

    def kinds(self) -> list[str]:
        """Return "number", "category" or "word" for each of the names."""
        counts = len(self.number_names), len(self.category_names), len(self.vocabulary)
        return [kind for kind, count in zip(("number", "category", "word"), counts, strict=True) for _ in range(count)]


def relative_ranks(X: NDArray) -> NDArray:
    """Return the ranks of every column as fractions between 0 and 1; ties get their mean rank."""
    return (rankdata(X, axis=0) - 0.5) / len(X) if X.size else np.empty(X.shape)


def stacked(parts: list[dict[str, list]]) -> dict[str, NDArray]:
    """Return the columns of tables below one another."""
    names = list(parts[0]) if parts else []
    return {name: np.array([value for part in parts for value in part[name]]) for name in names}


def read_features(X: Any, names: Sequence[str] | None, texts: Sequence[str] | None) -> Features:
    """Read the features of rows in memory.

    A data frame gives numbers and categories, a sparse matrix without negative entries words, an array numbers. Texts
    add words; columns without names, such as those of an embedding, are then left out.
    """
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        labels = distinct_names(X.columns)
        X = X if labels == list(X.columns) else X.set_axis(labels, axis=1)
        return _of_table({name: _values(X[name]) for name in labels}, names, texts)
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features, got shape {X.shape}.")
    given = None if names is None else distinct_names(names)
    if given is not None and len(given) != X.shape[1]:
        raise ValueError(f"feature_names must have one name for each of the {X.shape[1]} columns, got {len(given)}.")
    labels = given or [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind not in "fiub":
        return _of_table(dict(zip(labels, X.T, strict=True)), labels, texts)
    if sp.issparse(X) and (X.nnz == 0 or X.data.min() >= 0) and texts is None:
        return Features(X.shape[0], np.empty((X.shape[0], 0)), [], words=sp.csr_array(X), vocabulary=labels)
    words, vocabulary = (None, []) if texts is None else count_words(texts, X.shape[0])
    if texts is not None and given is None:
        return Features(X.shape[0], np.empty((X.shape[0], 0)), [], words=words, vocabulary=vocabulary)
    numbers = _filled(as_dense(X).astype(np.float64))
    return Features(len(numbers), numbers, labels, words=words, vocabulary=vocabulary, is_named=given is not None)


def distinct_names(names: Iterable[object]) -> list[str]:
    """Return names as texts; repeated ones get a number, as in "a", "a (2)"."""
    found: dict[str, int] = {}  # how often a name has come
    for name in map(str, names):
        label = name
        while label in found:
            found[name] += 1
            label = f"{name} ({found[name]})"
        found[label] = 1
    return list(found)


def count_words(texts: Sequence[str], n_rows: int) -> tuple[sp.csr_array, list[str]]:
    """Count words and pairs of words, shape (n, V).

    Left out: scikit-learn's English stop words, contractions ("don't"), words of one letter, digits, words in more than
    half of the texts, and words in one text only (the last two if there are more than 100 texts). Pairs are made of
    neighbouring words that are left.
    """
    if len(texts) != n_rows:
        raise ValueError(f"texts must have one entry for each of the {n_rows} rows, got {len(texts)}.")
    vectorizer = CountVectorizer(
        ngram_range=(1, 2),
        preprocessor=_without_contractions,
        stop_words=list(ENGLISH_STOP_WORDS),
        token_pattern=r"(?u)\b[^\W\d_][^\W\d_]+\b",
        min_df=2 if len(texts) > 100 else 1,
        max_df=0.5 if len(texts) > 100 else 1.0,
    )
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError("texts must contain words other than stop words; check the column.") from error
    return sp.csr_array(counts), [str(word) for word in vectorizer.get_feature_names_out()]


def _without_contractions(text: str) -> str:
    """Return lower-case text without words such as "don't", and without endings such as "'s" and "'ll"."""
    return re.sub(r"\b\w+n['’]t\b|['’](s|m|re|ve|ll|d)\b", " ", text.lower())


def _of_table(columns: dict[str, NDArray], names: Sequence[str] | None, texts: Sequence[str] | None) -> Features:
    if names is not None and len(names) != len(columns):
        raise ValueError(f"feature_names must have one name for each of the {len(columns)} columns, got {len(names)}.")
    labels = list(columns) if names is None else distinct_names(names)
    n = len(next(iter(columns.values()))) if columns else 0
    numbers, number_names, codes, category_names, levels = [], [], [], [], []
    for label, values in zip(labels, columns.values(), strict=True):
        if values.dtype.kind == "f":
            numbers.append(values)
            number_names.append(label)
        elif len(set(map(str, values))) < n:  # values that all differ, such as texts, are not categories
            code, level = _categories(values)
            codes.append(code)
            category_names.append(label)
            levels.append(level)
    words, vocabulary = (None, []) if texts is None else count_words(texts, n)
    return Features(
        n,
        _filled(np.column_stack(numbers)) if numbers else np.empty((n, 0)),
        number_names,
        np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.intp),
        category_names,
        levels,
        words,
        vocabulary,
    )


def _values(column: Any) -> NDArray:
    """Return a column as floats, or as objects if it holds anything but numbers and dates."""
    values = np.asarray(column)
    # In pandas and polars, a category may be written as a number.
    if str(getattr(column, "dtype", "")).lower().startswith(("category", "categorical", "enum")):
        return np.array([value if is_missing(value) else str(value) for value in values], dtype=object)
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), np.nan, values.astype("datetime64[s]").astype(np.float64) / 86_400)
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        if not missing.all() and all(_is_number(value) for value in values[~missing]):
            return np.array([np.nan if gap else float(v) for v, gap in zip(values, missing, strict=True)])
    return values.astype(object)


def is_missing(value: Any) -> bool:
    """Whether a value of a table is None, NaN or one of pandas' missing values."""
    return value is None or str(value) in ("nan", "NaN", "NaT", "<NA>")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _categories(values: NDArray) -> tuple[NDArray, list[str]]:
    """Return codes and level names; missing values are a level, rare levels share the last code."""
    text = np.array(["missing" if is_missing(value) else str(value) for value in values], dtype=str)
    names, codes, counts = np.unique(text, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:LEVELS]
    place = np.full(len(names), len(frequent), dtype=np.intp)
    place[frequent] = np.arange(len(frequent))
    return place[codes], [str(names[i]) for i in frequent]


def _filled(numbers: NDArray) -> NDArray:
    """Return numbers with missing and infinite values replaced by the median of their column."""
    bad = ~np.isfinite(numbers)
    if not bad.any():
        return numbers
    numbers = np.where(bad, np.nan, numbers)
    for j in np.flatnonzero(bad.any(axis=0)):
        known = numbers[~bad[:, j], j]
        numbers[bad[:, j], j] = np.median(known) if known.size else 0.0
    return numbers
