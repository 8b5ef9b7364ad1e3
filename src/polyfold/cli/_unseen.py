"""Categories of later rows that a stored preparation has not seen: counted, and told in one sentence."""

import warnings
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from polyfold.cli._prepare import PARTS


class Unseen:
    """Rows of a file whose categories are new, by column."""

    def __init__(self, step: Any, path: Any):
        self._path, self._known = path, _known(step)
        self._found: dict[str, tuple[int, str]] = {}

    def look(self, rows: Any) -> None:
        """Count the new categories of a block of rows."""
        for name, known in self._known.items():
            new = rows[name][~rows[name].isin(known)]
            if new.size:
                count, example = self._found.get(name, (0, str(new.iloc[0])))
                self._found[name] = count + new.size, example

    def tell(self) -> None:
        """Warn once, with the count and an example of every column."""
        if self._found:
            told = "; ".join(f"{name}: {count} rows, such as {new!r}" for name, (count, new) in self._found.items())
            warnings.warn(
                f"{self._path} has categories that the model has not seen, and treats as rare or as none ({told}).",
                stacklevel=2,
            )


def _known(step: Any) -> dict[str, Any]:
    """Return the categories of every column that a fitted preparation encodes."""
    parts = step.transformers_ if isinstance(step, ColumnTransformer) else []
    encoders = [(step, names) for part, step, names in parts if part == PARTS[1] and isinstance(step, OneHotEncoder)]
    return {name: known for step, names in encoders for name, known in zip(names, step.categories_, strict=True)}
