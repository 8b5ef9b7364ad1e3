"""Rows of a table file, with the kinds of its columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyfold._validation import shortened
from polyfold.tables._column_kinds import CATEGORY, CODE, DATE, NUMBER, Column, Plan, join_dates, make_plan
from polyfold.tables._number_formats import NumberFormat
from polyfold.tables._readers import Csv, Parquet

# Values by which the kinds of columns are found, and bounds of their rows.
PLAN_CELLS, PLAN_ROWS = 2_000_000, (1_000, 50_000)


@dataclass(frozen=True)
class TableData:
    """Rows of a table; they can be read as soon as there is a plan, as numbers, categories and text."""

    reader: Csv | Parquet
    names: tuple[str, ...]
    plan: Plan | None = None
    image_shape: None = None

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self.reader.path

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.reader.n_rows

    @property
    def n_columns(self) -> int:
        """Number of selected columns."""
        return len(self.names)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of all columns, selected or not, without the index."""
        return self.reader.names

    @property
    def index(self) -> str | None:
        """The name of the index column."""
        return self.reader.index

    def column(self, name: str) -> pd.Series:
        """Return any column, exactly as it is written."""
        return self.reader.labels(name)

    def to_numbers(self, column: pd.Series) -> pd.Series:
        """Return any column as numbers in the format of the file, NaN for other text."""
        return (self.reader.number_format(str(column.name)) or NumberFormat()).parse(column)

    def shown_columns(self, rows: Any) -> dict[str, Any]:
        """Return the columns that describe rows in a report, as they are written.

        Numbers, codes and dates are those of `rows`, the table as a model takes it: files may write "$1,200" and
        "01007".
        """
        columns = dict(next(self.reader.read(self.all_names, None)).items())
        if self.plan is not None and isinstance(rows, pd.DataFrame):
            columns |= {name: rows[name].to_numpy() for name in self.plan.names(NUMBER, CODE)}
            columns |= {name: join_dates(rows, name) for name in self.plan.names(DATE)}
        return columns

    def select(self, names: Sequence[str]) -> "TableData":
        """Return the same rows with some columns only."""
        return replace(self, names=tuple(names))

    def planned(self, categorical: Iterable[str] = (), *, keep: bool = False) -> "TableData":
        """Return the same rows with a kind for every column, found from the file; `keep` leaves no column out."""
        sample = self._sample()
        given = set(categorical)
        formats, unreadable = self.reader.number_formats([name for name in self.names if name not in given])
        is_whole = len(sample) == self.n_rows
        plan = make_plan(sample, {**dict.fromkeys(given), **formats}, unreadable, given, keep=keep, is_whole=is_whole)
        if not plan.used:
            raise ValueError(
                f"{self.path} has only identifiers and constants ({shortened(self.names)}); name columns to use with "
                "--columns."
            )
        return replace(self, plan=plan)

    def _sample(self) -> pd.DataFrame:
        """Return the first rows; for a column without values there, the first rows from a value on."""
        sample = self.reader.sample(self.names, int(np.clip(PLAN_CELLS // len(self.names), *PLAN_ROWS)))
        empty = {name for name in self.names if sample[name].isna().all()} if len(sample) < self.n_rows else set()
        for chunk in self.reader.read(sorted(empty), len(sample), text=empty) if empty else ():
            for name in [name for name in empty if chunk[name].notna().any()]:
                sample[name] = chunk[name].reset_index(drop=True)
                empty.remove(name)
            if not empty:
                break
        return sample

    def with_guessed_kinds(self, *, only_numbers: bool) -> "TableData":
        """Return the same rows as numbers, and categories for other columns, for models fitted without a plan."""
        formats, _ = self.reader.number_formats(self.names)
        columns = [
            Column(name, NUMBER if only_numbers or form is not None else CATEGORY, format=str(form or ""))
            for name, form in formats.items()
        ]
        return replace(self, plan=Plan(tuple(columns)))

    def with_plan(self, plan: Plan) -> "TableData":
        """Return the columns of a stored plan, with its kinds and formats."""
        return replace(self, names=tuple(column.name for column in plan.used), plan=plan)

    def blocks(self, size: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield `size` rows at a time, or all at once."""
        assert self.plan is not None, "tables are read after their columns have kinds"
        names = [column.name for column in self.plan.used]
        for frame in self.reader.read(names, size, self.plan.text_columns()):
            yield self.plan.apply(frame)

    def whole(self) -> pd.DataFrame:
        """Return all rows in memory."""
        (frame,) = self.blocks()
        return frame
