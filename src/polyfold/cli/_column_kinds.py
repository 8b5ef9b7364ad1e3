"""What each column of a table is, and what is done with it.

Numbers are scaled, categories encoded, dates split into year, month, weekday and days, texts turned into components.
Identifiers and constants are left out. The kinds are found from the first rows of a file and stored with the model.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyfold._linalg import are_unit_rows
from polyfold.cli import aligned
from polyfold.cli._readers import Form, is_number

MISSING = "(missing)"
# Categories with a column of their own; the rest share one.
MAX_CATEGORIES = 50
# Components of all free text, and the most frequent words that are counted for them.
TEXT_COMPONENTS, MAX_WORDS = 30, 10_000
# Rows from which unique values mean an identifier, the fraction of them that is unique, and words that make a text.
MIN_ROWS_OF_IDS, UNIQUE, WORDS = 20, 0.95, 4
# Words in the names of identifiers and of numbers that are codes.
ID_WORDS = {"id", "ids", "key", "uuid", "guid", "index", "nr", "no", "number"}
CODE_WORDS = {"zip", "zipcode", "postcode", "postal", "plz", "phone", "fips", "code"}
NUMBER, CATEGORY, MANY, CODE = "number", "category", "many categories", "code"
DATE, TEXT, IDENTIFIER, CONSTANT = "date", "free text", "identifier", "constant"
CATEGORIES = (CATEGORY, MANY, CODE)
LEFT_OUT = (IDENTIFIER, CONSTANT)
USES = {
    NUMBER: "scaled; the median for missing values",
    CATEGORY: "one column per category",
    MANY: f"a column for each of the {MAX_CATEGORIES} most frequent, the rest together",
    CODE: f"as categories: the {MAX_CATEGORIES} most frequent, the rest together",
    DATE: "year, month, weekday and days",
    TEXT: f"up to {TEXT_COMPONENTS} components of tf-idf, all text together",
    IDENTIFIER: "left out",
    CONSTANT: "left out",
}
# Squares of larger numbers may overflow in sums over rows.
LARGEST = 1e100
# Parts of a date, each a column.
PARTS_OF_DATES = ("year", "month", "weekday", "days")
DAYS = (
    *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%m/%d/%y"),
    *("%d/%m/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%b %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATE_FORMATS = ("ISO8601", *(day + time for time in TIMES for day in DAYS))


@dataclass(frozen=True)
class Column:
    """One column of a table: its kind, and the counts of the rows by which it was found."""

    name: str
    kind: str
    distinct: int = 0
    missing: int = 0
    example: str = ""
    remark: str = ""  # what is not read literally
    format: str = ""  # of dates


@dataclass(frozen=True)
class Plan:
    """The kinds of all columns, and how columns of numbers are written in one file."""

    columns: tuple[Column, ...]
    n_rows: int = 0
    forms: dict[str, Form | None] = field(default_factory=dict)

    @classmethod
    def stored(cls, model: Any) -> "Plan | None":
        """Return the plan that a model was fitted with, or None."""
        stored = getattr(model, "table_", None)
        return None if stored is None else cls(tuple(Column(**column) for column in stored["columns"]), stored["rows"])

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as it is printed and stored with a model."""
        return {"rows": self.n_rows, "columns": [asdict(column) for column in self.columns]}

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that are not left out."""
        return tuple(column for column in self.columns if column.kind not in LEFT_OUT)

    def names(self, *kinds: str) -> list[str]:
        """Return the names of the columns of some kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    @property
    def text_name(self) -> str | None:
        """The name of the one column that holds all free text."""
        return " + ".join(self.names(TEXT)) or None

    def written(self) -> list[str]:
        """Return the columns that must be read as they are written."""
        return [c.name for c in self.used if c.kind != NUMBER or self.forms.get(c.name) != Form()]

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table of numbers, categories and text, the same in all files and blocks."""
        columns: dict[str, Any] = {}
        for column in self.used:
            values = frame[column.name]
            if column.kind == NUMBER:
                columns[column.name] = _numbers(values, self.forms.get(column.name))
            elif column.kind == DATE:
                columns |= _parts_of_dates(values, column)
            elif column.kind in CATEGORIES:
                columns[column.name] = categories(values)
        if self.text_name is not None:
            texts = [frame[name].fillna("").astype(str) for name in self.names(TEXT)]
            columns[self.text_name] = np.array([" ".join(parts) for parts in zip(*texts, strict=True)], dtype=object)
        return pd.DataFrame(columns, index=frame.index)

    def lines(self, numbers: str = USES[NUMBER]) -> list[str]:
        """Return one line per kind: what is done with which columns; `numbers` is what is done with numbers."""
        rows = []
        for kind, use in {**USES, NUMBER: numbers}.items():
            # Columns with a remark come first, so that no remark is cut off.
            columns = sorted((c for c in self.columns if c.kind == kind), key=lambda column: not column.remark)
            names = [column.name + (f" ({column.remark})" if column.remark else "") for column in columns]
            shown = max(8, sum(bool(column.remark) for column in columns))
            more = [f"… ({len(names)} in all)"] if len(names) > shown else []
            if columns:
                rows.append((kind, use, ", ".join(names[:shown] + more)))
        return aligned(rows)

    def table(self, numbers: str = USES[NUMBER]) -> list[str]:
        """Return one line per column, below a line of headings."""
        uses = {**USES, NUMBER: numbers}
        rows = [
            (c.name, c.kind, str(c.distinct), str(c.missing), c.example[:30], uses[c.kind], c.remark)
            for c in self.columns
        ]
        return aligned([("column", "kind", "distinct", "missing", "example", "what is done with it", ""), *rows])


def make_plan(
    sample: pd.DataFrame,
    forms: dict[str, Form | None],
    doubts: dict[str, str],
    categorical: Iterable[str],
    *,
    keep: bool,
    is_whole: bool = True,
) -> Plan:
    """Return the kind of every column; `keep` leaves none out, `is_whole` means that the sample is all rows."""
    given = set(categorical)
    columns = [
        find_kind(
            sample[name], forms[name], doubts.get(name, ""), is_category=name in given, keep=keep, is_whole=is_whole
        )
        for name in sample.columns
    ]
    plan = Plan(tuple(columns), len(sample), forms)
    made = [f"{name} {part}" for name in plan.names(DATE) for part in PARTS_OF_DATES]
    made += [str(plan.text_name)] if len(plan.names(TEXT)) > 1 else []
    if taken := set(made) & {column.name for column in plan.used}:
        raise ValueError(
            f"a column made of dates or texts would be called {min(taken)!r}, as another one is; rename that, or leave "
            "it out with --drop."
        )
    return plan


def find_kind(
    values: pd.Series,
    form: Form | None,
    doubt: str = "",
    *,
    is_category: bool = False,
    keep: bool = False,
    is_whole: bool = True,
) -> Column:
    """Return what a column is; `form` is how it writes numbers, or None if it holds other text."""
    name, known = str(values.name), values.dropna()
    text = known.astype(str).str.strip()
    counts: dict[str, Any] = {"distinct": int(text.nunique()), "missing": int(values.isna().sum())}
    counts["example"] = text.iloc[0][:80] if len(text) else ""
    is_unique = len(text) >= MIN_ROWS_OF_IDS and counts["distinct"] >= UNIQUE * len(text)
    is_same = counts["distinct"] + (counts["missing"] > 0) <= 1
    # Further rows may hold other values, and a constant does no harm; a column without values cannot be filled in.
    if is_same and not keep and not is_category and (is_whole or not counts["distinct"]):
        return Column(name, CONSTANT, **counts)
    several = CATEGORY if counts["distinct"] <= MAX_CATEGORIES else MANY
    if is_category:
        return Column(name, several, **counts)
    if form is not None:
        remark = "" if form == Form() else str(form)
        if form == Form() and _is_code("" if keep else name, text):
            return Column(name, IDENTIFIER if is_unique and not keep else CODE, **counts)
        if not keep and is_unique and _is_row_number(name, form.parse(known)):
            return Column(name, IDENTIFIER, **counts)
        return Column(name, NUMBER, **counts, remark=remark)
    if (date := _date_format(known)) is not None:
        return Column(name, DATE, **counts, remark=_date_remark(known, date), format=date)
    if counts["distinct"] > len(text) / 2 and text.str.split().str.len().mean() >= WORDS:
        return Column(name, TEXT, **counts)
    if is_unique and not keep:
        several = IDENTIFIER
    return Column(name, several, **counts, remark=f"{doubt!r} is not a number" if doubt else "")


def _words(name: str) -> set[str]:
    """Return the words of a name such as customer_id, CustomerID or "customer id"."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def _is_code(name: str, text: pd.Series) -> bool:
    """Whether whole numbers are codes, such as zip codes: some begin with zeros, or the name suggests it."""
    if not text.str.fullmatch(r"\d+(\.0)?").all():
        return False
    return bool(text.str.fullmatch(r"0\d+").any() or _words(name) & CODE_WORDS)


def _is_row_number(name: str, numbers: pd.Series) -> bool:
    """Whether unique whole numbers are identifiers: they count the rows, or the name suggests it."""
    if not (numbers == numbers.round()).all():
        return False
    counts_rows = numbers.iloc[0] in (0, 1) and bool((numbers.diff().dropna() == 1).all())
    return counts_rows or bool(_words(name) & ID_WORDS) or name.lower().endswith("id")


def _date_format(known: pd.Series) -> str | None:
    """Return the first format in which all values are dates; empty for values that are dates already."""
    if pd.api.types.is_datetime64_any_dtype(known):
        return ""
    if known.empty or pd.api.types.is_numeric_dtype(known) or not known.astype(str).str.contains(r"\d").all():
        return None
    text = pd.Series(known.astype(str).str.strip().unique())
    for form in DATE_FORMATS:
        if _parsed(text[:20], form).notna().all() and _parsed(text, form).notna().all():
            return form
    return None


def _parsed(text: pd.Series, form: str) -> pd.Series:
    return pd.to_datetime(text, format=form or None, errors="coerce", utc=True)


def _date_remark(known: pd.Series, form: str) -> str:
    """Return how a date is read, if that is not obvious."""
    if form in ("", "ISO8601"):
        return ""
    text = known.astype(str).str.strip()
    swapped = form.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
    is_unclear = swapped in DATE_FORMATS and swapped != form and _parsed(text, swapped).notna().all()
    reading = f"{text.iloc[0]!r} is {_parsed(text[:1], form).iloc[0]:%Y-%m-%d}"
    century = "; the century is a guess" if "%y" in form else ""
    return reading + ("; day and month may be swapped" if is_unclear else "") + century


def _parts_of_dates(values: pd.Series, column: Column) -> dict[str, np.ndarray]:
    """Return year, month, weekday (Monday is 0) and the days since 1970."""
    text = values if column.format == "" else values.astype(object).where(values.isna(), values.astype(str).str.strip())
    dates = _parsed(text, column.format)
    if (other := values[dates.isna() & values.notna()]).size:
        raise ValueError(
            f"column {column.name!r} must hold dates such as {column.example!r}, got {other.iloc[0]!r}; if these are "
            f"categories, fit with --categorical {column.name}."
        )
    # In seconds, because nanoseconds begin in the year 1677.
    seconds = dates.dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    days = pd.Series(np.where(np.isnat(seconds), np.nan, seconds.astype(np.float64) / 86_400))
    parts = (dates.dt.year, dates.dt.month, dates.dt.day_of_week, days)
    return {
        f"{column.name} {part}": numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        for part, numbers in zip(PARTS_OF_DATES, parts, strict=True)
    }


def _numbers(column: pd.Series, form: Form | None) -> np.ndarray:
    numbers = column if is_number(column) else (form or Form()).parse(column)
    if (other := column[numbers.isna() & column.notna()]).size:
        raise ValueError(
            f"column {column.name!r} must hold numbers, as in the rows the model was fitted to, got {other.iloc[0]!r}; "
            f"if these are categories, fit with --categorical {column.name}."
        )
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    if (large := values[np.abs(values) > LARGEST]).size:
        raise ValueError(
            f"column {column.name!r} must hold numbers up to {LARGEST:g}, got {large[0]:g}; "
            "correct the values, or leave the column out with --drop."
        )
    return values


def categories(values: Any) -> np.ndarray:
    """Return categories as text; missing values are a category of their own."""
    codes, distinct = pd.factorize(np.asarray(values, dtype=object))
    return np.array([*map(_category, distinct), MISSING], dtype=object)[codes]


def _category(value: Any) -> str:
    """Return the name of a category: 3 and 3.0 are the same, and so are true and True."""
    text = str(value).strip()
    if text in ("true", "TRUE", "false", "FALSE"):
        return text.capitalize()
    return re.sub(r"^(-?\d+)\.0*$", r"\1", text)


def preparation(rows: Any, choice: str, plan: Plan | None = None) -> Any:
    """Return an unfitted transformer for rows like these, or None if nothing is to be done."""
    if plan is not None:
        return None if choice == "none" or (choice == "auto" and has_unit_rows(rows)) else _of_table(rows, choice, plan)
    values = rows.data if sp.issparse(rows) else rows
    if choice == "none" or (choice == "auto" and not (values.dtype.kind == "f" and np.isnan(values).any())):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def has_unit_rows(frame: pd.DataFrame) -> bool:
    """Whether a table is an embedding: numbers only, and all rows of unit length, which scaling would destroy."""
    if any(kind.kind != "f" for kind in frame.dtypes) or frame.shape[1] < 2:
        return False
    return are_unit_rows(frame.to_numpy())


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
    # With pandas as output the model stores the names of the columns, which messages can use.
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
            counts = "; ".join(f"{name}: {count} rows, such as {new!r}" for name, (count, new) in self._found.items())
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({counts}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )
