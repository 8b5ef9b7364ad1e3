"""The rows of a file after their preparation, block by block."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from polyfold.cli._data import block_rows
from polyfold.cli._prepare import as_prepared, preparation, text_columns
from polyfold.cli._sources import Source
from polyfold.cli._unseen import Unseen


class Prepared:
    """The blocks of a file after their preparation, which is fitted to the first; any number of times."""

    def __init__(self, source: Source, prepare: str, categorical: list[str]):
        self.source, self._size = source, block_rows(source)
        first = next(source.blocks(self._size))
        self.first = first[:1]
        self.texts = text_columns(first, categorical) if isinstance(first, pd.DataFrame) else []
        first = as_rows(first, self.texts)
        steps = preparation(first, prepare)
        self.steps = steps if steps is None else steps.fit(first)
        self.names = tuple(first.columns) if self.steps is None and isinstance(first, pd.DataFrame) else None
        self.unseen = Unseen(self.steps, source.path)

    def __iter__(self) -> Iterator[Any]:
        unseen = Unseen(self.steps, self.source.path)
        for block in self.source.as_texts(self.texts).blocks(self._size):
            rows = as_rows(block, self.texts)
            unseen.look(rows)
            yield self._prepared(rows)
        self.unseen = unseen  # of a whole pass

    def _prepared(self, rows: Any) -> Any:
        return rows if self.steps is None else self.steps.transform(rows)


def prepared(texts: list[str], steps: Any, block: Any) -> Any:
    """Return rows of a file as a model takes them, an array."""
    rows = as_rows(block, texts)
    return as_array(rows if steps is None else steps.transform(rows))


def as_rows(block: Any, texts: list[str]) -> Any:
    """Return rows of a file as a preparation takes them."""
    return as_prepared(block, texts) if isinstance(block, pd.DataFrame) else as_array(block)


def as_array(rows: Any) -> Any:
    """Return rows as an array or CSR matrix."""
    return rows if sp.issparse(rows) else np.asarray(rows)
