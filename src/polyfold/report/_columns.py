"""Classes and columns of the points, in the form that the page reads."""

import datetime
import math
import numbers
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._typing import SupportsArray

# Letters of a value, and classes of a column.
MOST_LETTERS, MOST_CLASSES = 80, 40
# The class of points without a label.
MISSING = "missing"


# A data frame, or arrays by name.
Columns: TypeAlias = SupportsArray | Mapping[str, ArrayLike]


def named_columns(columns: Columns | None, X: object, n: int, most: int = 100) -> list[tuple[Hashable, NDArray]]:
    """Return names and the first columns of a mapping or a table; without any, those of `X` if it is a table."""
    table: Any = columns if columns is not None else X if hasattr(X, "columns") else {}
    if not hasattr(table, "columns") and not isinstance(table, Mapping):
        raise TypeError(f"columns must be a mapping of names to values or a data frame, got {type(table).__name__}.")
    # Tables without items (polars) have no name twice; those of pandas may.
    pairs = table.items() if hasattr(table, "items") else ((name, table[name]) for name in table.columns)
    out: list[tuple[Hashable, NDArray]] = [(name, as_column(values)) for name, values in list(pairs)[:most]]
    for name, values in out:
        if values.shape != (n,):
            raise ValueError(f"columns[{name!r}] must have {n} values, one for each row of X, got {values.shape}.")
    return out


def as_column(values: ArrayLike) -> NDArray:
    """Return values as an array; those of a list as they are, since NumPy converts numbers next to texts into texts."""
    return np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)


def encode(name: str, values: ArrayLike, *, few: int = MOST_CLASSES) -> dict[str, Any]:
    """Describe a column: classes with their codes, numbers, or texts; values that differ are never one class."""
    labels, codes = _distinct(as_column(values))
    known = [label for label in labels if label is not None]
    if known and all(map(_is_number, known)) and not (all(map(_is_whole, known)) and len(known) <= few):
        shown = [None if label is None else _rounded(label) for label in labels]
        return {"name": name, "kind": "number", "values": [shown[code] for code in codes]}
    names = _names(labels)
    if len(known) > few:
        return {"name": name, "kind": "text", "values": [names[code] for code in codes]}
    order = sorted(range(len(labels)), key=lambda i: _rank(labels[i]))
    place = {code: i for i, code in enumerate(order)}
    return {
        "name": name,
        "kind": "class",
        "classes": [names[i] for i in order],
        "numeric": all(map(_is_number, known)),
        "values": [place[code] for code in codes],
    }


def encode_with_dates(name: str, values: ArrayLike, *, few: int = MOST_CLASSES) -> dict[str, Any]:
    """Describe a column as `encode` does, but many dates by numbers: the days since 1970."""
    coded = encode(name, values, few=few)
    days = _days(as_column(values)) if coded["kind"] == "text" else None
    return coded if days is None else {"name": name, "kind": "number", "date": True, "values": days}


def _days(values: NDArray) -> list[float | None] | None:
    """Return dates as days since 1970, None for missing ones; None if some values are not dates."""
    each = [None if _is_missing(value) else value for value in values]
    if not all(value is None or isinstance(value, datetime.date | np.datetime64) for value in each):
        return None
    # NumPy has no time zones: times stay as they are written.
    plain = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in each]
    seconds = [None if value is None else int(np.datetime64(value, "s").astype(np.int64)) for value in plain]
    return [None if second is None else round(second / 86_400, 5) for second in seconds]


def unique_names(names: Sequence[str]) -> list[str]:
    """Add numbers to names that have been there before."""
    taken, times, out = set[str](), Counter[str](), []
    for name in names:
        free = name
        while free in taken:
            times[name] += 1
            free = f"{name} ({times[name] + 1})"
        taken.add(free)
        out.append(free)
    return out


def _distinct(values: NDArray) -> tuple[list[Hashable], list[int]]:
    """Return the different labels, None for missing values, and the number of every value's."""
    seen: dict[Hashable, int] = {}
    each = list(values) if values.dtype.kind in "mM" else values.tolist()  # dates would become counts of nanoseconds
    codes = [seen.setdefault(_label(value), len(seen)) for value in each]
    return list(seen), codes


def _label(value: object) -> Hashable:
    if _is_missing(value):
        return None
    try:
        hash(value)
    except TypeError:  # for example, a list
        return repr(value)
    return value


def _is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, which is neither equal nor unequal to itself."""
    try:
        return value is None or not bool(value == value)
    except TypeError:
        return True
    except ValueError:  # an array, compared one by one
        return False


def _is_number(label: object) -> bool:
    try:
        return isinstance(label, numbers.Real) and not math.isnan(float(label))
    except OverflowError:  # a whole number beyond every float
        return False


def _is_whole(label: Any) -> bool:
    return math.isinf(label) or label == math.floor(label)


def _rounded(label: Any) -> float | str:
    """Return a number with the digits that one reads; JSON has none for infinity."""
    return float(f"{label:.5g}") if math.isfinite(label) else f"{'−' if label < 0 else ''}∞"


def _rank(label: Any) -> tuple[int, Any]:
    """Sort numbers before texts, and what is missing last."""
    if label is None:
        return 2, 0
    return (0, label) if isinstance(label, numbers.Real) else (1, str(label))


def _names(labels: Sequence[Hashable]) -> list[str]:
    """Return a name for every label, all different: texts that look like another label are quoted."""
    texts = [_text(label) for label in labels]
    others = {text for text, label in zip(texts, labels, strict=True) if not isinstance(label, str)}
    quoted = [
        f"“{text}”" if isinstance(label, str) and text in others else text
        for text, label in zip(texts, labels, strict=True)
    ]
    return unique_names(quoted)


def _text(label: Any) -> str:
    if label is None:
        return MISSING
    short = isinstance(label, float) and label.is_integer() and abs(label) < 1e15
    return shortened(str(int(label)) if short else str(label))


def shortened(text: str, letters: int = MOST_LETTERS) -> str:
    """Return a text of at most `letters` letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"
