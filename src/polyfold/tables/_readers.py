"""Read CSV and parquet tables in blocks of rows."""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from polyfold._validation import import_extra
from polyfold.tables._column_kinds import date_format
from polyfold.tables._number_formats import PARTS, NumberFormat, NumberFormatFinder, find_number_formats

SEPARATORS = ",;\t|"
# Records that show the separator and whether there is a header, and rows read at a time to find out what columns hold.
SAMPLE, SURVEY = 100, 50_000
# Several numbers with spaces between them.
SPACED = r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?(?:\s+[-+]?[\d.]+(?:[eE][-+]?\d+)?)+\s*"
# Options of pyarrow: all columns, also indices; integers with missing values are not rounded to floats.
AS_STORED: Any = {"ignore_metadata": True, "integer_object_nulls": True}
# Spellings of missing values: the same for the header and for the rows below it.
NA = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None")
)


class Csv:
    """A text table. Opening it finds the separator and the header and checks the number of fields of every line."""

    def __init__(self, path: Path, encoding: str | None = None, header: bool | None = None):
        self.path, self._encoding = path, encoding or "utf-8-sig"
        with self._explained_encoding():
            declared = self._declared_separator()
            self._n_skipped = int(declared is not None)
            self._separator = declared or max(SEPARATORS, key=self._score_separator)
            records = self._sample()
            n_records, last_is_empty = self._count(len(records[0]))
        header = self._has_names(records) if header is None else header
        self._options: dict[str, Any] = {
            "sep": self._separator,
            "encoding": self._encoding,
            "header": 0 if header else None,
            "names": None if header else [str(number) for number in range(len(records[0]))],
            "index_col": False,
            "skiprows": self._n_skipped,
            "skipinitialspace": True,
            "keep_default_na": False,
            "na_values": sorted(NA),
            # Otherwise a column may be numbers in one part of a block and text in another.
            "low_memory": False,
        }
        self.n_rows = n_records - header
        if self.n_rows < 1:
            raise ValueError(f"{path} has no rows below the line of column names.")
        names = [str(name) for name in pd.read_csv(path, nrows=0, **self._options).columns]
        if header:
            self._note_repeated(records[0], names)
        self.index, self.names = self._without_index(names, last_is_empty)

    @contextmanager
    def _explained_encoding(self) -> Iterator[None]:
        try:
            yield
        except (UnicodeError, LookupError) as error:
            raise ValueError(
                f"{self.path} is not text in the encoding {self._encoding.removesuffix('-sig')} ({error}); pass "
                "--encoding, for example utf-16 or latin-1."
            ) from error

    def _declared_separator(self) -> str | None:
        """Return the separator of a first line such as sep=; which spreadsheets write and do not show."""
        with self.path.open(newline="", encoding=self._encoding) as file:
            match = re.fullmatch(r"sep=(.)\r?\n?", file.readline(), flags=re.IGNORECASE)
        return match and match[1]

    def _lines(self, separator: str, **options: Any) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line and its fields, none for an empty line."""
        csv.field_size_limit(2**31 - 1)
        with self.path.open(newline="", encoding=self._encoding) as file:
            reader = csv.reader(
                islice(file, self._n_skipped, None), delimiter=separator, skipinitialspace=True, **options
            )
            yield from ((self._n_skipped + reader.line_num, fields) for fields in reader)

    def _records(self, separator: str, **options: Any) -> Iterator[list[str]]:
        """Yield the fields of all lines; empty lines are skipped, as pandas does."""
        return (fields for _, fields in self._lines(separator, **options) if fields)

    def _sample(self) -> list[list[str]]:
        records = list(islice(self._records(self._separator), SAMPLE))
        if not records:
            raise ValueError(f"{self.path} is empty.")
        if len(records[-1]) == 1 and all(re.fullmatch(SPACED, fields[0]) for fields in records[1:]) and records[1:]:
            raise ValueError(
                f"{self.path} separates its fields by spaces, got {records[-1][0][:40]!r}; separate them by commas, "
                "semicolons, tabs or |."
            )
        if any("\0" in field for fields in records for field in fields):
            raise UnicodeError("it holds NUL characters")
        if len(records[0]) == 1 and not _symbols([fields[0] for fields in records[1:]]):
            self._note_one_column(records[0][0])
        return records

    def _note_one_column(self, first: str) -> None:
        """Print a note if all lines but the first have several fields."""
        for separator in SEPARATORS:
            lengths = {len(fields) for fields in islice(self._records(separator), 1, SAMPLE)}
            if len(lengths) == 1 and lengths != {1}:
                warnings.warn(
                    f"{self.path} is read as one column, as its first line {first[:40]!r}, although the lines below it "
                    f"have {max(lengths)} fields separated by {separator!r}; remove a title above the table.",
                    stacklevel=2,
                )

    def _score_separator(self, separator: str) -> tuple[int, bool, int]:
        """Prefer what splits all lines, or else the first, into most fields; separators in quotes do not count."""
        counts: list[int] = []
        try:
            for fields in islice(self._records(separator, strict=True), SAMPLE):
                counts.append(len(fields))
        except csv.Error:  # text after a closing quote: another separator, or a damaged line further down
            counts.append(0)
        first, is_constant = counts[0] if counts else 0, len(set(counts)) == 1
        if is_constant and first > 1:
            return 2, separator != ",", first  # commas may be decimal commas
        is_used = first > 1 and max(counts[1:], default=0) > 1
        return 1, is_used, first if is_used else is_constant

    def _count(self, expected: int) -> tuple[int, bool]:
        """Return the number of records, and whether the last field is empty in all of them but the first."""
        count, line, last_is_empty, n_empty, n_gaps = 0, self._n_skipped, True, 0, 0
        try:
            for line, fields in self._lines(self._separator, strict=True):
                if not fields:
                    n_empty += 1
                    continue
                if len(fields) != expected:
                    raise ValueError(
                        f"{self.path}, line {line}: got {len(fields)} fields, expected {expected} as in the first "
                        "line; put quotes around text that holds the separator, or remove a separator at the end of "
                        "the line."
                    )
                last_is_empty &= not (count and fields[-1].strip())
                count, n_gaps = count + 1, n_empty
        except csv.Error as error:
            raise ValueError(f"{self.path}, line {line + 1}: quotes are not closed properly ({error}).") from error
        if expected == 1 and n_gaps:
            lines = "1 empty line is" if n_gaps == 1 else f"{n_gaps} empty lines are"
            warnings.warn(f"{self.path}: {lines} skipped; write NA for missing values.", stacklevel=2)
        return count, last_is_empty

    def _has_names(self, records: list[list[str]]) -> bool:
        """Whether the first line names the columns; a note is printed unless that is certain."""
        is_header, is_certain = find_header(records)
        if not is_certain:
            reading = (
                "names of columns, although it holds numbers like the lines below it; pass --no-header if it is data"
                if is_header
                else "data, because it holds numbers like the lines below it; pass --header if it names the columns"
            )
            warnings.warn(f"{self.path}: the first line is read as {reading}.", stacklevel=2)
        return is_header

    def _note_repeated(self, header: list[str], names: list[str]) -> None:
        if repeated := [name for name, n in Counter(map(str.strip, header)).items() if name and n > 1]:
            warnings.warn(
                f"{self.path}: the names {', '.join(repeated)} occur more than once; columns are called "
                f"{', '.join(names)}.",
                stacklevel=2,
            )

    def _without_index(self, names: list[str], last_is_empty: bool) -> tuple[str | None, tuple[str, ...]]:
        """Return the column that DataFrame.to_csv() writes for the index, and all other columns."""
        index = names[0] if len(names) > 1 and re.fullmatch(r"Unnamed: 0(\.\d+)?", names[0]) else None
        last = names[-1] if names[-1].startswith("Unnamed: ") and last_is_empty else None
        for name, reason in ((index, "an index as DataFrame.to_csv() writes it"), (last, "no name and no values")):
            if name is not None:
                _note_left_out(self.path, names.index(name), reason)
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
        options = {**self._options, "usecols": [column], "dtype": str, "na_values": [""]}
        return pd.read_csv(self.path, **options)[column]

    def sample(self, columns: Sequence[str], rows: int) -> pd.DataFrame:
        """Return the first rows as they are written."""
        return next(self.read(columns, rows, text=columns))

    def number_formats(self, columns: Sequence[str]) -> tuple[dict[str, NumberFormat | None], dict[str, str]]:
        """Return how each column writes its numbers, None for text; and a value of text that looks like numbers."""
        text, floats = set[str](), set[str]()
        for chunk in self.read(columns, SURVEY) if columns else ():
            text |= {name for name in columns if chunk[name].dtype.kind not in "fiu"}
            floats |= {name for name in columns if chunk[name].dtype.kind == "f"}
        finders = _survey(self, [name for name in columns if name in text])
        floats -= text
        if any("," in finder.marks for finder in finders.values()):  # the decimal mark may be a comma everywhere
            finders |= _survey(self, [name for name in columns if name in floats], are_numbers=True)
        formats = find_number_formats(finders, columns, "." if self._separator == "," else ",")
        for name in floats:
            form = formats[name] or NumberFormat()
            is_literal = form.mark == "." or not finders[name].marked
            formats[name] = replace(form, example="" if is_literal else form.example)
        return formats, {name: finders[name].unreadable() for name in text}

    def number_format(self, column: str) -> NumberFormat | None:
        """Return how a column writes its numbers, given the decimal mark of the file; None for text."""
        return self.number_formats(list(dict.fromkeys((*self.names, column))))[0][column]

    def delayed(self) -> list[Any]:
        """Return the table as parts for Dask workers, all columns as text."""
        read = import_extra("dask.dataframe", "dask").read_csv
        return read(str(self.path.resolve()), dtype=str, **self._options).to_delayed()


def _survey(reader: "Csv | Parquet", names: list[str], *, are_numbers: bool = False) -> dict[str, NumberFormatFinder]:
    """Return how each column writes its numbers; all of it is read unless it is known that these `are_numbers`."""
    finders = {name: NumberFormatFinder() for name in names}
    for chunk in reader.read(names, SURVEY, text=names) if names else ():
        for name, finder in finders.items():
            if not (are_numbers and len(finder.marks) == 1):
                finder.update(chunk[name])
    return finders


class Parquet:
    """A parquet file, or a folder of them, whose names may hold further columns, such as year=2024."""

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
            options: dict[str, Any] = {"format": "parquet", "partitioning": dataset.HivePartitioning.discover()}
            options["partition_base_dir"] = str(path if path.is_dir() else path.parent)
            folders = [name for name in dataset.dataset(files, **options).schema.names if name not in names]
            # As text: numbers would lose their leading zeros.
            schemas.append(arrow.schema([(name, arrow.string()) for name in folders]))
            options["partitioning"] = dataset.HivePartitioning(schemas[-1])
            self._schema = arrow.unify_schemas(schemas, promote_options="permissive")
            self._dataset = dataset.dataset(files, schema=self._schema, **options)
            self.n_rows = self._dataset.count_rows()
        except Exception as error:  # pyarrow raises several types
            raise ValueError(f"{path} cannot be read as parquet: {error}") from error
        if not self.n_rows:
            raise ValueError(f"{path} has no rows.")
        indexes = [name for name in self._schema.names if re.fullmatch(r"__index_level_\d+__", name)]
        self.index = indexes[0] if indexes else None
        self.names = tuple(name for name in self._schema.names if name not in indexes)
        if indexes:
            position = self._schema.names.index(indexes[0])
            _note_left_out(path, position, "an index without a name as DataFrame.to_parquet() writes it")

    def read(self, columns: Sequence[str], rows: int | None, text: Iterable[str] = ()) -> Iterator[pd.DataFrame]:
        """Yield some columns, at most `rows` rows at a time or all at once."""
        if rows is None:
            yield self._dataset.to_table(columns=list(columns)).to_pandas(**AS_STORED)
            return
        ahead = {"batch_readahead": 1, "fragment_readahead": 1}  # bounds the memory
        for batch in self._dataset.to_batches(columns=list(columns), batch_size=rows, **ahead):
            if batch.num_rows:
                yield batch.to_pandas(**AS_STORED)

    def labels(self, column: str) -> pd.Series:
        """Return one column with the type of the file."""
        return next(self.read([column], None))[column]

    def sample(self, columns: Sequence[str], rows: int) -> pd.DataFrame:
        """Return the first rows with the types of the file."""
        return self._dataset.head(rows, columns=list(columns)).to_pandas(**AS_STORED)

    def number_formats(self, columns: Sequence[str]) -> tuple[dict[str, NumberFormat | None], dict[str, str]]:
        """Return a format for columns of numbers, None for other text, booleans and dates."""
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
        finders = _survey(self, text)
        numbers = {name: NumberFormat() for name, kind in types.items() if any(test(kind) for test in is_numeric)}
        formats = find_number_formats(finders, text, default=".")
        unreadable = {name: finder.unreadable() for name, finder in finders.items()}
        return {**dict.fromkeys(columns), **numbers, **formats}, unreadable

    def number_format(self, column: str) -> NumberFormat | None:
        """Return how a column writes its numbers, None for text."""
        return self.number_formats([column])[0][column]

    def delayed(self) -> list[Any]:
        """Return the table as parts for Dask workers."""
        files = [str(Path(file).resolve()) for file in self._dataset.files]
        return import_extra("dask.dataframe", "dask").read_parquet(files, index=False).to_delayed()


def _note_left_out(path: Path, position: int, reason: str) -> None:
    warnings.warn(f"{path}: column {position + 1} is left out: {reason}.", stacklevel=3)


def parquet_files(folder: Path) -> list[Path]:
    """Return the parquet files of a folder and its subfolders in the order in which Dask and Spark number them."""
    files = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    # Dask and Spark mark what is not data, such as temporary folders, by an underscore or a dot.
    return sorted(
        (path for path in files if not any(part[0] in "_." for part in path.relative_to(folder).parts)),
        key=_natural_order,
    )


def _natural_order(path: Path) -> list[str | int]:
    """Return a key that sorts part.2 before part.10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", str(path))]


def find_header(records: list[list[str]]) -> tuple[bool, bool]:
    """Return whether the first record names the columns, and whether that is certain.

    It does if it has a name above numbers. It does not if it has a date above dates, only numbers above numbers, only
    texts that occur again below them, or numbers and such a text. The numbers 0, 1, 2, … are names that pandas gives.
    """
    first, below = [field.strip() for field in records[0]], records[1:]
    columns = [
        [value for row in below if j < len(row) and (value := row[j].strip()) not in NA] for j in range(len(first))
    ]
    known = [(field, column) for field, column in zip(first, columns, strict=True) if field not in NA and column]
    kinds = [_kind_of_field(field, column) for field, column in known]
    numbers = [field for (field, _), kind in zip(known, kinds, strict=True) if kind == "number"]
    counts = len(first) > 1 and numbers == [str(number) for number in range(len(numbers))]
    if "date" in kinds or set(kinds) == {"repeated"} or all(field in NA for field in first):
        return False, False
    if "name" in kinds or not numbers:
        doubts = len(numbers) + kinds.count("repeated")
        return True, not doubts or (bool(numbers) and counts) or doubts < kinds.count("name")
    if counts and not any(_counts_up(row) for row in below):
        return True, False
    return "text" in kinds and "repeated" not in kinds, False


def _kind_of_field(field: str, column: list[str]) -> str:
    """Return what a field of the first line is by the values below it."""
    if symbols := _symbols(column):
        return "number" if _symbols([field]) == symbols else "name"
    if field[0].isdigit() and date_format(pd.Series([field, *column])) is not None:
        return "date"
    return "repeated" if field in column else "text"


def _symbols(values: list[str]) -> set[str]:
    """Return the symbols around numbers; empty if some value is not a number."""
    matches = [re.match(PARTS, value) for value in values]
    return {match["before"] + match["after"] for match in matches if match} if all(matches) else set()


def _counts_up(record: list[str]) -> bool:
    """Whether a line holds whole numbers in steps of one."""
    if not all(field.strip().isdecimal() for field in record):
        return False
    numbers = [int(field) for field in record]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
