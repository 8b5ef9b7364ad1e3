"""What each column of a table is, and what is done with it.

Numbers are scaled, categories encoded, dates split into year, month, weekday and days, texts turned into components.
Identifiers and constants are left out. The kinds are found from the first rows of a file and stored with the model.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from polyfold.tables._number_formats import NumberFormat

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
# Types of numbers as pandas infers them, also of decimals and of integers beyond 64 bits; booleans are categories.
NUMERIC = ("integer", "floating", "mixed-integer-float", "decimal")
# Squares of larger numbers may overflow in sums over rows.
LARGEST = 1e100
# Parts of a date, each a column.
PARTS_OF_DATES = ("year", "month", "weekday", "days")
DAYS = (
    *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%m/%d/%y"),
    *("%d/%m/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%b %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# The offset from UTC at the end of a time.
OFFSET = r"([T ]\d{2}[\d:.,]*)\s?(?:Z|[+-]\d{2}(?::?\d{2})?)$"
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
    format: str = ""  # of dates, and of numbers as a pattern such as 1,234.5


@dataclass(frozen=True)
class Plan:
    """The kinds and formats of all columns."""

    columns: tuple[Column, ...]
    n_rows: int = 0

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

    def text_columns(self) -> list[str]:
        """Return the columns that must be read as text: all but numbers with decimal points and without symbols."""
        forms = {column.name: NumberFormat.stored(column.format) for column in self.used if column.kind == NUMBER}
        is_plain = {name for name, form in forms.items() if form.mark == "." and not form.symbol}
        return [column.name for column in self.used if column.name not in is_plain]

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table of numbers, categories and text, the same in all files and blocks."""
        columns: dict[str, Any] = {}
        for column in self.used:
            values = frame[column.name]
            if column.kind == NUMBER:
                columns[column.name] = _numbers(values, column)
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
        return _aligned(rows)

    def table(self, numbers: str = USES[NUMBER]) -> list[str]:
        """Return one line per column, below a line of headings."""
        uses = {**USES, NUMBER: numbers}
        rows = [
            (c.name, c.kind, str(c.distinct), str(c.missing), c.example[:30], uses[c.kind], c.remark)
            for c in self.columns
        ]
        return _aligned([("column", "kind", "distinct", "missing", "example", "what is done with it", ""), *rows])


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows of text as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def make_plan(
    sample: pd.DataFrame,
    number_formats: dict[str, NumberFormat | None],
    unreadable: dict[str, str],
    categorical: Iterable[str],
    *,
    keep: bool,
    is_whole: bool = True,
) -> Plan:
    """Return the kind of every column; `keep` leaves none out, `is_whole` means that the sample is all rows."""
    given, columns = set(categorical), []
    for name in sample.columns:
        known = sample[name].dropna()
        text = _as_text(known)
        column = _count_values(str(name), text, len(sample) - len(known))
        if name not in given:
            column = find_kind(known, text, column, number_formats[name], keep=keep, is_whole=is_whole)
        if unreadable.get(name) and column.kind in (CATEGORY, MANY, IDENTIFIER):
            column = replace(column, remark=f"{unreadable[name]!r} is not a number")
        columns.append(column)
    plan = Plan(tuple(columns), len(sample))
    made = [f"{name} {part}" for name in plan.names(DATE) for part in PARTS_OF_DATES]
    made += [str(plan.text_name)] if len(plan.names(TEXT)) > 1 else []
    if taken := set(made) & {column.name for column in plan.used}:
        raise ValueError(
            f"a column made of dates or texts would be called {min(taken)!r}, as another one is; rename that, or leave "
            "it out with --drop."
        )
    return plan


def _count_values(name: str, text: pd.Series, missing: int) -> Column:
    """Return a column as categories, with the counts of its values."""
    distinct, example = int(text.nunique()), text.iloc[0][:80] if len(text) else ""
    return Column(name, CATEGORY if distinct <= MAX_CATEGORIES else MANY, distinct, missing, example)


def find_kind(
    known: pd.Series,
    text: pd.Series,
    column: Column,
    number_format: NumberFormat | None,
    *,
    keep: bool,
    is_whole: bool,
) -> Column:
    """Return what a column is by its `known` values; `number_format` is None if these are not numbers."""
    is_unique = not keep and len(text) >= MIN_ROWS_OF_IDS and column.distinct >= UNIQUE * len(text)
    is_same = not keep and column.distinct + (column.missing > 0) <= 1
    # Further rows may hold other values, and a constant does no harm; a column without values cannot be filled in.
    if is_same and (is_whole or not column.distinct):
        return replace(column, kind=CONSTANT)
    if number_format is not None:
        column = replace(column, format=str(number_format))
        if not number_format.example and _is_code("" if keep else column.name, text):
            return replace(column, kind=IDENTIFIER if is_unique else CODE)
        if is_unique and _is_row_number(column.name, number_format.parse(known)):
            return replace(column, kind=IDENTIFIER)
        return replace(column, kind=NUMBER, remark=number_format.remark)
    if (date := date_format(known)) is not None:
        return replace(column, kind=DATE, remark=_date_remark(text, date), format=date)
    if column.distinct > len(text) / 2 and text.str.split().str.len().mean() >= WORDS:
        return replace(column, kind=TEXT)
    return replace(column, kind=IDENTIFIER) if is_unique else column


def _as_text(values: pd.Series) -> pd.Series:
    return values.astype(str).str.strip()


def _words(name: str) -> set[str]:
    """Return the words of a name such as customer_id, CustomerID or "customer id"."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def _is_code(name: str, text: pd.Series) -> bool:
    """Whether whole numbers are codes, such as zip codes: some begin with zeros, or the name suggests it."""
    if not all(re.fullmatch(r"\d+(\.0)?", value) for value in text):  # ends at the first measurement
        return False
    return bool(text.str.fullmatch(r"0\d+").any() or _words(name) & CODE_WORDS)


def _is_row_number(name: str, numbers: pd.Series) -> bool:
    """Whether unique whole numbers are identifiers: they count the rows, or the name suggests it."""
    if not (numbers == numbers.round()).all():
        return False
    counts_rows = numbers.iloc[0] in (0, 1) and bool((numbers.diff().dropna() == 1).all())
    return counts_rows or bool(_words(name) & ID_WORDS) or name.lower().endswith("id")


def date_format(known: pd.Series) -> str | None:
    """Return the first format in which all values are dates; that of timestamps is ISO 8601."""
    if pd.api.types.is_datetime64_any_dtype(known):
        return "ISO8601"
    if known.empty or pd.api.types.is_numeric_dtype(known) or not known.astype(str).str.contains(r"\d").all():
        return None
    text = pd.Series(_as_text(known).unique())
    for form in DATE_FORMATS:
        if _parsed(text[:20], form).notna().all() and _parsed(text, form).notna().all():
            return form
    return None


def _parsed(values: pd.Series, form: str) -> pd.Series:
    """Return dates and times as they are written, without the offset of their time zone."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return values.dt.tz_localize(None)
    text = values.astype(object).where(values.isna(), _as_text(values)).str.replace(OFFSET, r"\1", regex=True)
    return pd.to_datetime(text, format=form, errors="coerce", utc=True)


def _date_remark(text: pd.Series, date_format: str) -> str:
    """Return how a date is read, if that is not obvious."""
    if date_format == "ISO8601" and len(text.iloc[0]) > len("2009-10"):
        return ""
    swapped = date_format.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
    is_unclear = swapped in DATE_FORMATS and swapped != date_format and _parsed(text, swapped).notna().all()
    reading = f"{text.iloc[0]!r} is {_parsed(text[:1], date_format).iloc[0]:%Y-%m-%d}"
    century = "; the century is a guess" if "%y" in date_format else ""
    return reading + ("; day and month may be swapped" if is_unclear else "") + century


def _parts_of_dates(values: pd.Series, column: Column) -> dict[str, np.ndarray]:
    """Return year, month, weekday (Monday is 0) and the days since 1970."""
    dates = _parsed(values, column.format)
    if (other := values[dates.isna() & values.notna()]).size:
        raise ValueError(
            f"column {column.name!r} must hold dates such as {column.example!r}, got {str(other.iloc[0])!r}; write "
            f"them in the same format, or if these are categories, fit with --categorical {column.name}."
        )
    # In seconds, because nanoseconds begin in the year 1677.
    seconds = dates.dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    days = pd.Series(np.where(np.isnat(seconds), np.nan, seconds.astype(np.float64) / 86_400))
    parts = (dates.dt.year, dates.dt.month, dates.dt.day_of_week, days)
    return {
        f"{column.name} {part}": numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        for part, numbers in zip(PARTS_OF_DATES, parts, strict=True)
    }


def join_dates(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column of dates from its parts, with times if there are any."""
    days = frame[f"{name} {PARTS_OF_DATES[-1]}"].to_numpy()
    is_known = np.isfinite(days)
    seconds = np.full(len(days), np.datetime64("NaT", "s"))
    seconds[is_known] = np.rint(days[is_known] * 86_400).astype(np.int64).astype("datetime64[s]")
    dates = seconds.astype("datetime64[D]")
    return dates if (dates[is_known] == seconds[is_known]).all() else seconds


def _numbers(values: pd.Series, column: Column) -> np.ndarray:
    form = NumberFormat.stored(column.format)
    is_parsed = pd.api.types.infer_dtype(values) in NUMERIC and not form.symbol
    numbers = values if is_parsed else form.parse(values)
    if not is_parsed and (other := values[numbers.isna() & values.notna()]).size:
        raise ValueError(
            f"column {column.name!r} must hold numbers written like {column.example or str(form)!r}, as in the rows "
            f"the model was fitted to, got {str(other.iloc[0])!r}; write them in the format {form}, or if these are "
            f"categories, fit with --categorical {column.name}."
        )
    result = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    if (large := result[np.abs(result) > LARGEST]).size:
        raise ValueError(
            f"column {column.name!r} must hold numbers up to {LARGEST:g}, got {large[0]:g}; "
            "correct the values, or leave the column out with --drop."
        )
    return result


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
