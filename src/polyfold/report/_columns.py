"""What is known of every point besides its place: classes and columns, in the form the page reads."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# More columns or longer texts say more than one reads while hovering.
MOST_COLUMNS, MOST_LETTERS, MOST_CLASSES = 12, 80, 40


def named_columns(columns: Any, X: Any, n: int) -> dict[str, NDArray]:
    """Return columns by name, of a mapping or a table; without any, those of `X` if it is a table."""
    if columns is None:
        columns = X if hasattr(X, "columns") else {}
    names = list(columns.columns) if hasattr(columns, "columns") else list(columns)
    if not hasattr(columns, "columns") and not isinstance(columns, Mapping):
        raise TypeError(f"columns must be a mapping of names to values or a data frame, got {type(columns).__name__}.")
    out = {str(name): np.asarray(columns[name]) for name in names[:MOST_COLUMNS]}
    for name, values in out.items():
        if values.shape != (n,):
            raise ValueError(f"columns[{name!r}] must have {n} values, one for each row of X, got {values.shape}.")
    return out


def encode(name: str, values: NDArray, *, few: int = MOST_CLASSES) -> dict[str, Any]:
    """Describe a column: classes with their codes, numbers, or texts."""
    values = np.asarray(values)
    is_whole = values.dtype.kind in "iub" or (values.dtype.kind == "f" and np.all(values == np.round(values)))
    if values.dtype.kind in "iubf" and not (is_whole and len(np.unique(values)) <= few):
        numbers = [float(f"{v:.5g}") if np.isfinite(v) else None for v in values.astype(float)]
        return {"name": name, "kind": "number", "values": numbers}
    texts = values.astype(int) if is_whole else np.array([_text(v) for v in values])
    classes, codes = np.unique(texts, return_inverse=True)
    if len(classes) > few:
        return {"name": name, "kind": "text", "values": texts.tolist()}
    return {"name": name, "kind": "class", "classes": [str(c) for c in classes], "values": codes.ravel().tolist()}


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN in a column of texts
        return "–"
    text = str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
