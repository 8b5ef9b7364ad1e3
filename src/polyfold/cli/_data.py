"""What a command reads: rows with the columns picked, and rows as a stored model wants them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from polyfold.cli._prepare import as_prepared, categories_of, text_columns
from polyfold.cli._sources import Source, open_source
from polyfold.cli._unseen import Unseen

# Bytes of a block of rows in double precision, and bounds of its rows.
BLOCK = 2**26
FEWEST, MOST = 256, 65_536


@dataclass(frozen=True)
class Picked:
    """Which columns of a file count, and where the targets are."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    target: str | None = None
    array: str | None = None
    size: str | None = None
    color: bool = False

    def open(self, path: str) -> Source:
        """Open a file with all of its columns."""
        return open_source(path, array=self.array, size=self.size, color=self.color)


def open_features(path: str, picked: Picked) -> Source:
    """Open a file with the columns that were picked, or all but the target's and those to drop."""
    source = picked.open(path)
    names = source.names or tuple(map(str, range(source.n_columns)))
    wanted = named_columns("--columns", picked.columns, names, path) or names
    left_out = set(named_columns("--drop", picked.drop, names, path))
    left_out |= {picked.target} if source.names and picked.target else set()
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        raise ValueError(f"no column of {path} is left; pick some by --columns, or drop fewer.")
    return source if chosen == list(names) else source.with_columns(chosen)


def named_columns(option: str, wanted: Sequence[str], names: Sequence[str], path: Any) -> list[str]:
    """Return the columns that are meant, each once: by their names, or by ranges of numbers such as 0-9."""
    known, found = set(names), {}
    for part in wanted:
        first, sign, last = part.partition("-")
        is_range = part not in known and sign and first.isdigit() and last.isdigit()
        if is_range and int(first) > int(last):
            raise ValueError(f"{option} must have ranges from the lower to the higher number, got {part!r}.")
        for name in map(str, range(int(first), int(last) + 1)) if is_range else [part]:
            if name not in known:
                raise ValueError(f"{option} must name columns of {path}, got {name!r}; it has {some(names)}.")
            found[name] = True
    return list(found)


def rows_for(source: Source, model: Any, size: int | None = None) -> Iterator[Any]:
    """Yield rows as a fitted model takes them: its columns by name, categories as texts."""
    source, names, texts = for_model(source, model)
    unseen = Unseen(model[0] if isinstance(model, Pipeline) else None, source.path)
    for block in source.blocks(size):
        rows = as_fitted(block, names, texts)
        unseen.look(rows)
        yield rows
    unseen.tell()


def for_model(source: Source, model: Any) -> tuple[Source, Any, list[str] | None]:
    """Return the columns that a model was fitted to, their names, and those that it takes as texts."""
    names = getattr(model, "feature_names_in_", None)
    if source.names is not None and names is not None:
        if missing := [name for name in names if name not in source.names]:
            raise ValueError(
                f"{source.path} must have the columns the model was fitted to, got none called {some(missing)}."
            )
        source = source.with_columns([str(name) for name in names])
    elif source.n_columns != model.n_features_in_:
        raise ValueError(
            f"{source.path} must have the {model.n_features_in_} columns the model was fitted to, got "
            f"{source.n_columns}; leave the others out with --drop or --columns (--target too), images by --size."
        )
    texts = categories_of(model)
    return source.as_texts(texts or ()), names, texts


def as_fitted(rows: Any, names: Any, texts: list[str] | None) -> Any:
    """Return rows as a table where a model was fitted to one, else as an array."""
    if names is not None and not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)
    if not isinstance(rows, pd.DataFrame):
        return rows
    table = as_prepared(rows, text_columns(rows) if texts is None else texts)
    return np.ascontiguousarray(table.to_numpy()) if names is None else table


def open_for(data: str, picked: Picked, fitted: Any) -> Any:
    """Open rows to be seen by a fitted model; it knows its columns where they have names."""
    if getattr(fitted, "feature_names_in_", None) is not None and not picked.columns:
        return picked.open(data)
    return open_features(data, picked)


def all_rows(data: str, picked: Picked, fitted: Any) -> Any:
    """Return all rows of a file as a fitted model takes them."""
    (rows,) = rows_for(open_for(data, picked, fitted), fitted)
    return rows


def block_rows(source: Source) -> int:
    """Return the number of rows to work on at a time."""
    return int(np.clip(BLOCK // (8 * source.n_columns), FEWEST, MOST))


def last_step(model: Any) -> Any:
    """Return the estimator itself, behind its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def n_modules(estimator: Any) -> int:
    """Return the number of modules of a fitted estimator, 0 if it has none."""
    return estimator._module_shape[0] if hasattr(estimator, "transform_modules") else 0


def before_last(model: Any, rows: Any) -> Any:
    """Return rows as the estimator itself sees them."""
    return model[:-1].transform(rows) if isinstance(model, Pipeline) and len(model.steps) > 1 else rows


def some(names: Any) -> str:
    """Return the first names of a list."""
    names = list(map(str, names))
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "") if names else "nothing"
