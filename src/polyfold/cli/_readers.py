"""Read CSV and parquet tables in blocks of rows, and find the form in which columns of text write numbers."""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyfold._validation import import_extra
from polyfold.cli import nearest

SEPARATORS = ",;\t|"
# Records that show the separator and whether there is a header, and rows read at a time to find out what columns hold.
SAMPLE, SURVEY = 100, 50_000
# Several numbers with spaces between them.
SPACED = r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?(?:\s+[-+]?[\d.]+(?:[eE][-+]?\d+)?)+\s*"
NA = ("", "NA", "N/A", "nan", "NaN", "null", "None")
# Text that begins like a number: dates, times, numbers with units.
LIKE_NUMBER = r"[-+−(]?\s?[$€£¥]?\s?\d.*"
# A number with at most one symbol before or after it.
PARTS = (
    r"^\s*(?P<minus>[+-]?)(?P<before>[$€£¥]?)\s?(?P<number>[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?)\s?(?P<after>[%$€£¥]?)\s*$"
)
EXPONENT = r"(?:[eE][+-]?\d+)?"
STYLES = {
    "plain": rf"(?:\d+\.?\d*|\.\d+){EXPONENT}",
    "thousands": r"\d{1,3}(?:,\d{3})*(?:\.\d+)?",
    "comma": rf"(?:\d*,\d+|\d+|\d{{1,3}}(?:\.\d{{3}})+,\d+){EXPONENT}",
}


@dataclass(frozen=True)
class Form:
    """How a column of text writes its numbers: the style of the digits, and one symbol around all of them."""

    style: str = "plain"
    symbol: str = ""
    example: str = ""

    def __str__(self) -> str:
        return f"{self.example!r} is {self.parse(pd.Series([self.example])).iloc[0]:g}"

    def parse(self, text: pd.Series) -> pd.Series:
        """Return text of this form as numbers, NaN if it has another form."""
        if self.style == "plain" and not self.symbol:
            return pd.to_numeric(text, errors="coerce")
        parts = text.astype(object).str.extract(PARTS)
        digits = parts["minus"] + parts["number"]
        if self.style == "thousands":
            digits = digits.str.replace(",", "")
        elif self.style == "comma":
            digits = digits.str.replace(".", "").str.replace(",", ".")
        return pd.to_numeric(digits, errors="coerce")


class FormFinder:
    """Find the one form in which all values of a column are numbers, chunk by chunk."""

    def __init__(self) -> None:
        self._symbols: set[str] = set()
        self._styles = list(STYLES)
        self._all_numbers, self._n_values, self._n_numbers = True, 0, 0
        self._first, self._other = "", ""

    def update(self, column: pd.Series) -> None:
        """Look at further values."""
        values = pd.Series(column.dropna().unique(), dtype=object).astype(str)
        if values.empty:
            return
        parts = values.str.extract(PARTS)
        is_number = parts["number"].notna()
        numbers = parts["number"][is_number]
        self._symbols |= set((parts["before"] + parts["after"])[is_number])
        self._styles = [style for style in self._styles if numbers.str.fullmatch(STYLES[style]).all()]
        self._all_numbers &= bool(is_number.all())
        self._n_values += len(values)
        self._n_numbers += int(values.str.strip().str.fullmatch(LIKE_NUMBER).sum())
        # The most telling example is one with a symbol or a comma.
        marked = values[is_number & values.str.contains(r"[^\d.+-]")]
        self._first = self._first or (marked.iloc[0] if len(marked) else "")
        self._other = self._other or (values[~is_number].iloc[0] if not is_number.all() else values.iloc[0])

    @property
    def needs_point(self) -> bool:
        """Whether the values are numbers only if the decimal mark is a point, such as '1,234.5'."""
        return self._is_number and self._styles == ["thousands"]

    def form(self, has_point: bool) -> Form | None:
        """Return the form, or None if some value is not a number, or forms or symbols differ."""
        if not self._is_number:
            return None
        styles = self._styles
        if not has_point and "comma" in styles and "plain" not in styles:
            styles = ["comma"]  # '1,234' may be either: one file has one decimal mark
        return Form(styles[0], min(self._symbols), self._first or self._other)

    def doubt(self) -> str:
        """Return an example if most values look like numbers or dates, and yet the column is text."""
        return self._other if not self._is_number and self._n_numbers > self._n_values / 2 else ""

    @property
    def _is_number(self) -> bool:
        return bool(self._all_numbers and self._n_values and len(self._symbols) == 1 and self._styles)


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers; booleans are categories."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


class Csv:
    """A text table. Opening it finds the separator and the header and checks the number of fields of every line."""

    def __init__(self, path: Path, encoding: str | None = None, header: bool | None = None):
        self.path, self._encoding = path, encoding or "utf-8-sig"
        records = self._decoded(self._sample)
        if header is None:
            header = has_header(records)
            if not header:
                warnings.warn(
                    f"{path}: the first line is read as data, because it holds numbers like the lines below it; pass "
                    "--header if it names the columns.",
                    stacklevel=2,
                )
        names = None if header else [str(number) for number in range(len(records[0]))]
        self._options: dict[str, Any] = {
            "sep": self.separator,
            "encoding": self._encoding,
            "header": 0 if header else None,
            "names": names,
            "index_col": False,
            "skipinitialspace": True,
            # Otherwise a column may be numbers in one part of a block and text in another.
            "low_memory": False,
        }
        count, last_is_empty = self._decoded(lambda: self._count(len(records[0])))
        self.n_rows = count - header
        if self.n_rows < 1:
            raise ValueError(f"{path} has no rows below the line of column names.")
        all_names = [str(name) for name in pd.read_csv(path, nrows=0, **self._options).columns]
        if header and (repeated := [name for name, n in Counter(map(str.strip, records[0])).items() if name and n > 1]):
            warnings.warn(
                f"{path}: the names {', '.join(repeated)} occur more than once; columns are called "
                f"{', '.join(all_names)}.",
                stacklevel=2,
            )
        self.index, self.names = self._without_index(all_names, last_is_empty)

    def _decoded(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (UnicodeError, LookupError) as error:
            raise ValueError(
                f"{self.path} is not text in the encoding {self._encoding.removesuffix('-sig')} ({error}); pass "
                "--encoding, for example utf-16 or latin-1."
            ) from error

    def _records(self, separator: str, **options: Any) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line and its fields; empty lines are skipped, as pandas does."""
        csv.field_size_limit(2**31 - 1)
        with self.path.open(newline="", encoding=self._encoding) as file:
            reader = csv.reader(file, delimiter=separator, skipinitialspace=True, **options)
            yield from ((reader.line_num, fields) for fields in reader if fields)

    def _sample(self) -> list[list[str]]:
        records = [fields for _, fields in islice(self._records(self.separator), SAMPLE)]
        if not records:
            raise ValueError(f"{self.path} is empty.")
        if len(records[-1]) == 1 and all(re.fullmatch(SPACED, fields[0]) for fields in records[1:]) and records[1:]:
            raise ValueError(
                f"{self.path} separates its fields by spaces, got {records[-1][0][:40]!r}; separate them by commas, "
                "semicolons, tabs or |."
            )
        if any("\0" in field for fields in records for field in fields):
            raise UnicodeError("it holds NUL characters")
        return records

    @cached_property
    def separator(self) -> str:
        """The separator that splits all lines, or else the first, into most fields; those in quotes do not count."""

        def score(separator: str) -> tuple[int, bool, int]:
            counts: list[int] = []
            try:
                for _, fields in islice(self._records(separator, strict=True), SAMPLE):
                    counts.append(len(fields))
            except csv.Error:  # text after a closing quote: another separator, or a damaged line further down
                counts.append(0)
            first, is_constant = counts[0] if counts else 0, len(set(counts)) == 1
            if is_constant and first > 1:
                return 2, separator != ",", first  # commas may be decimal commas
            is_used = first > 1 and max(counts[1:], default=0) > 1
            return 1, is_used, first if is_used else is_constant

        return max(SEPARATORS, key=score)

    def _count(self, expected: int) -> tuple[int, bool]:
        """Return the number of records, and whether the last field is empty in all of them but the first."""
        count, line, last_is_empty = 0, 0, True
        try:
            for line, fields in self._records(self.separator, strict=True):
                if len(fields) != expected:
                    raise ValueError(
                        f"{self.path}, line {line}: got {len(fields)} fields, expected {expected} as in the first "
                        "line; put quotes around text that holds the separator, or remove a separator at the end of "
                        "the line."
                    )
                last_is_empty &= not (count and fields[-1].strip())
                count += 1
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {line + 1}: quotes are not closed properly ({error}).") from error
        return count, last_is_empty

    def _without_index(self, names: list[str], last_is_empty: bool) -> tuple[str | None, tuple[str, ...]]:
        """Return the column that DataFrame.to_csv() writes for the index, and all other columns."""
        index = names[0] if len(names) > 1 and re.fullmatch(r"Unnamed: 0(\.\d+)?", names[0]) else None
        last = names[-1] if names[-1].startswith("Unnamed: ") and last_is_empty else None
        for name, reason in ((index, "an index as DataFrame.to_csv() writes it"), (last, "no name and no values")):
            if name is not None:
                warnings.warn(f"{self.path}: column {names.index(name) + 1} is left out: {reason}.", stacklevel=2)
        return index, tuple(name for name in names if name not in (index, last))

    def read(self, columns: Sequence[str], rows: int | None, text: Iterable[str] = ()) -> Iterator[pd.DataFrame]:
        """Yield some columns, `rows` rows at a time or all at once; `text` columns as they are written."""
        options = {**self._options, "usecols": list(columns), "dtype": dict.fromkeys(text, str)}
        with pd.read_csv(self.path, chunksize=rows or self.n_rows, **options) as chunks:
            n_rows = 0
            for chunk in chunks:
                n_rows += len(chunk)
                yield chunk[list(columns)]
        if n_rows != self.n_rows:
            raise ValueError(f"{self.path} has {self.n_rows - n_rows} lines with spaces only; remove them.")

    def labels(self, column: str) -> pd.Series:
        """Return one column as text, exactly as written; only empty fields are missing."""
        options = {**self._options, "usecols": [column], "dtype": str, "keep_default_na": False, "na_values": [""]}
        return pd.read_csv(self.path, **options)[column]

    def sample(self, columns: Sequence[str], rows: int) -> pd.DataFrame:
        """Return the first rows as they are written."""
        return next(self.read(columns, rows, text=columns))

    def forms(self, columns: Sequence[str]) -> tuple[dict[str, Form | None], dict[str, str]]:
        """Return how each column writes its numbers, None for text; and a value of text that looks like numbers."""
        text, has_point = set[str](), self.separator == ","
        for chunk in self.read(columns, SURVEY) if columns else ():
            text |= {name for name in columns if not is_number(chunk[name])}
            has_point |= any(_has_fractions(chunk[name]) for name in columns if name not in text)
        forms, doubts = _find_forms(self, [name for name in columns if name in text], has_point)
        return {name: forms[name] if name in text else Form() for name in columns}, doubts

    def delayed(self) -> list[Any]:
        """Return the table as parts for Dask workers, all columns as text."""
        read = import_extra("dask.dataframe", "dask").read_csv
        return read(str(self.path.resolve()), dtype=str, **self._options).to_delayed()


def _has_fractions(column: pd.Series) -> bool:
    """Whether some of the numbers of a column are not whole."""
    return bool((column.dropna() % 1 != 0).any())


def _find_forms(
    reader: "Csv | Parquet", names: list[str], has_point: bool
) -> tuple[dict[str, Form | None], dict[str, str]]:
    """Return how each column of text writes numbers, if it does, and a value of those that only look like numbers.

    `has_point` is whether other columns show that the decimal mark is a point.
    """
    finders = {name: FormFinder() for name in names}
    for chunk in reader.read(names, SURVEY, text=names) if names else ():
        for name, finder in finders.items():
            finder.update(chunk[name])
    has_point = has_point or any(finder.needs_point for finder in finders.values())
    return (
        {name: finder.form(has_point) for name, finder in finders.items()},
        {name: finder.doubt() for name, finder in finders.items()},
    )


class Parquet:
    """A parquet file, or a folder of them; an index that pandas stored is not a column."""

    index = None

    def __init__(self, path: Path):
        self.path = path
        arrow, dataset = import_extra("pyarrow", "cli"), import_extra("pyarrow.dataset", "cli")
        read_schema = import_extra("pyarrow.parquet", "cli").read_schema
        files = [str(file) for file in parquet_files(path)] if path.is_dir() else [str(path)]
        try:
            schemas = [read_schema(file) for file in files]
            names = schemas[0].names
            if other := [schema.names for schema in schemas if schema.names != names]:
                raise ValueError(f"all files must have the columns {names}, got {other[0]}")
            if repeated := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"the name {repeated[0]!r} occurs more than once; rename a column")
            self._schema = arrow.unify_schemas(schemas, promote_options="permissive")
            self._dataset = dataset.dataset(files, schema=self._schema, format="parquet")
            self.n_rows = self._dataset.count_rows()
        except Exception as error:  # pyarrow raises several types
            raise ValueError(f"{path} cannot be read as parquet: {error}") from error
        if not self.n_rows:
            raise ValueError(f"{path} has no rows.")
        index = (schemas[0].pandas_metadata or {}).get("index_columns", [])
        self.names = tuple(name for name in names if name not in index)

    def read(self, columns: Sequence[str], rows: int | None, text: Iterable[str] = ()) -> Iterator[pd.DataFrame]:
        """Yield some columns, at most `rows` rows at a time or all at once."""
        if rows is None:
            yield self._dataset.to_table(columns=list(columns)).to_pandas(ignore_metadata=True)
            return
        ahead = {"batch_readahead": 1, "fragment_readahead": 1}  # bounds the memory
        for batch in self._dataset.to_batches(columns=list(columns), batch_size=rows, **ahead):
            if batch.num_rows:
                yield batch.to_pandas(ignore_metadata=True)

    def labels(self, column: str) -> pd.Series:
        """Return one column with the type of the file."""
        return next(self.read([column], None))[column]

    def sample(self, columns: Sequence[str], rows: int) -> pd.DataFrame:
        """Return the first rows with the types of the file."""
        return self._dataset.head(rows, columns=list(columns)).to_pandas(ignore_metadata=True)

    def forms(self, columns: Sequence[str]) -> tuple[dict[str, Form | None], dict[str, str]]:
        """Return a form for columns of numbers, None for other text, booleans and dates."""
        kinds, types = import_extra("pyarrow.types", "cli"), {name: self._schema.field(name).type for name in columns}
        for name, kind in types.items():
            if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
                raise ValueError(
                    f"{self.path}: column {name!r} must hold numbers, text or dates, got {kind}; store one number per "
                    "column, or leave it out with --drop."
                )
        is_numeric = (kinds.is_integer, kinds.is_floating, kinds.is_decimal)
        is_text = (kinds.is_string, kinds.is_large_string)
        text = [name for name, kind in types.items() if any(test(kind) for test in is_text)]
        forms, doubts = _find_forms(self, text, has_point=True)
        numbers = {name: Form() for name, kind in types.items() if any(test(kind) for test in is_numeric)}
        return {**dict.fromkeys(columns), **numbers, **forms}, doubts

    def delayed(self) -> list[Any]:
        """Return the table as parts for Dask workers."""
        files = [str(Path(file).resolve()) for file in self._dataset.files]
        return import_extra("dask.dataframe", "dask").read_parquet(files, index=False).to_delayed()


def parquet_files(folder: Path) -> list[Path]:
    """Return the parquet files of a folder and its subfolders, as Dask and Spark write them, sorted by name."""
    return sorted(path for path in folder.rglob("*.parquet") if path.is_file() and path.name[0] not in "_.")


def has_header(records: list[list[str]]) -> bool:
    """Whether the first record names the columns: it does unless it has numbers above all columns of numbers."""
    first, below = records[0], records[1:]
    columns = [[row[j] for row in below if j < len(row) and row[j].strip() not in NA] for j in range(len(first))]
    symbols = [_symbols(column) for column in columns]
    numeric = [j for j, column in enumerate(symbols) if column and first[j].strip() not in NA]
    if all(name.strip() in NA for name in first):
        return False
    if not numeric or any(_symbols([first[j]]) != symbols[j] for j in numeric):
        return True
    # Names such as 0, 1, 2 or 2010, 2015, 2020 or wavelengths increase, and the data below do not increase likewise.
    steps, steps_below = (_steps([row[j] for j in numeric if j < len(row)]) for row in (first, below[0]))
    if len(steps) < 2:
        is_sequence = first[numeric[0]].strip() == "0" if not len(steps) else steps[0] == 1
    else:
        is_sequence = (steps > 0).all() and (len(steps) >= 5 or np.allclose(steps, steps[0]))
    return bool(is_sequence and not (len(steps) and np.array_equal(steps, steps_below)))


def _symbols(values: list[str]) -> set[str]:
    """Return the symbols around numbers; empty if some value is not a number."""
    matches = [re.match(PARTS, value) for value in values]
    return {match["before"] + match["after"] for match in matches if match} if all(matches) else set()


def _steps(values: list[str]) -> np.ndarray:
    return np.diff(pd.to_numeric(pd.Series(values, dtype=object), errors="coerce"))


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
                raise ValueError(f"{option} must name columns of {path}, got {name!r}; {nearest(name, names)}.")
            chosen[name] = True
    return list(chosen)
