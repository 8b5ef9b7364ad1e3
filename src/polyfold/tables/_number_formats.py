"""Find how columns of text write their numbers: decimal marks, thousands, percentages and currencies."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pandas as pd

# Text that begins like a number: dates, times, numbers with units.
LIKE_NUMBER = r"[-+−(]?\s?[$€£¥]?\s?\d.*"
# A number with at most one symbol before or after it, from which a space may separate it.
PARTS = (
    r"^\s*(?P<minus>[+-]?)(?P<before>[$€£¥]?)(?:(?<=[$€£¥])\s)?(?P<number>[.,]*[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?)"
    r"(?:\s(?=[%$€£¥]))?(?P<after>[%$€£¥]?)\s*$"
)


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes its numbers: decimal mark, thousands, and one symbol around all of them."""

    mark: str = "."
    has_thousands: bool = False
    symbol: str = ""
    example: str = field(default="", compare=False)  # of text that is not read literally

    @classmethod
    def stored(cls, text: str) -> "NumberFormat":
        """Return the format of a pattern such as '1,234.5%'; the default without a pattern."""
        match = re.fullmatch(r"1(?P<thousands>\D?)234(?P<mark>\D)5(?P<symbol>\D?)", text)
        return cls(match["mark"], bool(match["thousands"]), match["symbol"]) if match else cls()

    def __str__(self) -> str:
        return f"1{self._separator if self.has_thousands else ''}234{self.mark}5{self.symbol}"

    @property
    def _separator(self) -> str:
        """The separator of thousands."""
        return "," if self.mark == "." else "."

    @property
    def digits(self) -> str:
        """The regular expression of a number without sign and symbol."""
        mark, separator = re.escape(self.mark), re.escape(self._separator)
        thousands = rf"|[1-9]\d{{0,2}}(?:{separator}\d{{3}})+" if self.has_thousands else ""
        return rf"(?:(?:\d+{thousands})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"

    @property
    def remark(self) -> str:
        """How the example is read."""
        return f"{self.example!r} is {self.parse(pd.Series([self.example])).iloc[0]:g}" if self.example else ""

    def parse(self, text: pd.Series) -> pd.Series:
        """Return values written in this format as numbers, NaN for those in another format."""
        text = text.astype(str).str.strip()  # a file may hold values of another type, such as booleans
        if self == NumberFormat():
            return pd.to_numeric(text, errors="coerce")
        parts = text.astype(object).str.extract(PARTS)
        fits = parts["number"].str.fullmatch(self.digits) & (parts["before"] + parts["after"] == self.symbol)
        digits = (parts["minus"] + parts["number"]).where(fits.fillna(False).astype(bool))
        digits = digits.str.replace(self._separator, "").str.replace(self.mark, ".")
        return pd.to_numeric(digits, errors="coerce")


FORMATS = tuple(NumberFormat(mark, has_thousands) for mark in ".," for has_thousands in (False, True))


class NumberFormatFinder:
    """Find the formats in which all values of a column are numbers, chunk by chunk."""

    def __init__(self) -> None:
        self._symbols: set[str] = set()
        self._formats = FORMATS
        self._all_numbers, self._n_values, self._n_numbers = True, 0, 0
        self.marked, self._other = "", ""

    def update(self, column: pd.Series) -> None:
        """Look at further values."""
        values = pd.Series(column.dropna().unique(), dtype=object).astype(str)
        if values.empty:
            return
        parts = values.str.extract(PARTS)
        is_number = parts["number"].notna()
        numbers = parts["number"][is_number]
        self._symbols |= set((parts["before"] + parts["after"])[is_number])
        self._formats = tuple(form for form in self._formats if numbers.str.fullmatch(form.digits).all())
        self._all_numbers &= bool(is_number.all())
        self._n_values += len(values)
        self._n_numbers += int(values.str.strip().str.fullmatch(LIKE_NUMBER).sum())
        # The most telling example is one with a symbol or a comma.
        for pattern in (r"[^\d.+-]", r"\."):
            marked = values[is_number & values.str.contains(pattern)]
            self.marked = self.marked or (marked.iloc[0] if len(marked) else "")
        self._other = self._other or (values[~is_number].iloc[0] if not is_number.all() else values.iloc[0])

    @property
    def marks(self) -> set[str]:
        """The decimal marks with which all values are numbers; none if the column holds text."""
        is_number = self._all_numbers and self._n_values and len(self._symbols) == 1
        return {form.mark for form in self._formats} if is_number else set()

    def number_format(self, mark: str) -> NumberFormat | None:
        """Return the format with a decimal mark, with the other one if that does not fit, or None for text."""
        if not self.marks:
            return None
        formats = sorted(self._formats, key=lambda form: form.mark != mark)
        return replace(formats[0], symbol=min(self._symbols), example=self.marked or self._other)

    def unreadable(self) -> str:
        """Return an example if most values look like numbers or dates, and yet the column is text."""
        return self._other if not self.marks and self._n_numbers > self._n_values / 2 else ""


def find_number_formats(
    finders: dict[str, NumberFormatFinder], columns: Iterable[str], default: str
) -> dict[str, NumberFormat | None]:
    """Return the format of each column, None for text; a file has one decimal mark unless its columns contradict.

    Columns without a finder are numbers that need no parsing. `default` is the decimal mark if only thousands or
    thousandths are written, such as '1,234'.
    """
    numbers = [finder for finder in finders.values() if finder.marks]
    known = {mark for finder in numbers if len(finder.marks) == 1 for mark in finder.marks}
    if not known and any("," in finder.marked for finder in numbers):
        known = {"." if any("." in finder.marked for finder in numbers) else default}
    mark = "," if known == {","} else "."
    formats = {name: finder.number_format(mark) for name, finder in finders.items()}
    has_thousands = any(form.has_thousands for form in formats.values() if form and form.mark == mark)
    shared = NumberFormat(mark, has_thousands)
    for name, form in formats.items():
        if form and form.mark == mark:
            formats[name] = replace(form, has_thousands=has_thousands)
    return {name: formats.get(name, shared) for name in columns}
