"""What a command reads: rows with the columns picked, targets, and rows as a stored model wants them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from polyfold.cli._prepare import as_prepared, categories_of
from polyfold.cli._sources import Source, open_source

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
    for option, wanted in (("--columns", picked.columns), ("--drop", picked.drop)):
        if unknown := [name for name in wanted if name not in names]:
            raise ValueError(f"{option} must name columns of {path}, got {unknown[0]!r}; it has {_some(names)}.")
    left_out = {*picked.drop, *([picked.target] if source.names and picked.target else [])}
    chosen = [name for name in picked.columns or names if name not in left_out]
    if not chosen:
        raise ValueError(f"no column of {path} is left; pick some by --columns, or drop fewer.")
    return source if len(chosen) == len(names) else source.with_columns(chosen)


def read_target(path: str, picked: Picked) -> np.ndarray | None:
    """Return the targets: a column, an array of an .npz file, the folders of images, or a file of their own."""
    if picked.target is None:
        return None
    source = picked.open(path)
    if source.names and picked.target in source.names:
        column = source.with_columns([picked.target]).whole()[picked.target]
        if column.isna().any():
            raise ValueError(f"--target must have a value in every row, got {int(column.isna().sum())} missing ones.")
        return column.to_numpy()
    if source.labels and picked.target in source.labels and source.names is None:
        return np.asarray(source.labels[picked.target])
    if os.path.exists(picked.target):
        return _only_column(picked.target)
    there = source.names or tuple(source.labels or ())
    raise ValueError(f"--target must be a file, or one of {_some(there)} of {path}, got {picked.target!r}.")


def _only_column(path: str) -> np.ndarray:
    if path.lower().endswith(".npy"):
        values = np.load(path, allow_pickle=False)
    else:
        values = np.asarray(open_source(path).whole())
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{path} must hold one target per row, got shape {values.shape}.")
    return values


def rows_for(source: Source, model: Any, size: int | None = None) -> Iterator[Any]:
    """Yield rows as a fitted model takes them: its columns by name, categories as texts."""
    names = getattr(model, "feature_names_in_", None)
    if source.names is not None and names is not None:
        if missing := [name for name in names if name not in source.names]:
            raise ValueError(
                f"{source.path} must have the columns the model was fitted to, got none called {_some(missing)}."
            )
        source = source.with_columns([str(name) for name in names])
    elif source.n_columns != model.n_features_in_:
        raise ValueError(
            f"{source.path} must have the {model.n_features_in_} columns the model was fitted to, got "
            f"{source.n_columns}; leave the others out with --drop or --columns (--target too), images by --size."
        )
    categorical = categories_of(model)
    for rows in source.read(size):
        yield as_prepared(rows, categorical) if isinstance(rows, pd.DataFrame) else rows


def open_for(data: str, picked: Picked, fitted: Any) -> Any:
    """Open rows to be seen by a fitted model; it knows its columns where they have names."""
    if getattr(fitted, "feature_names_in_", None) is not None and not picked.columns:
        return picked.open(data)
    return open_features(data, picked)


def all_rows(data: str, picked: Picked, fitted: Any) -> Any:
    return next(iter(rows_for(open_for(data, picked, fitted), fitted)))


def block_rows(source: Source) -> int:
    """Return the number of rows to work on at a time."""
    return int(np.clip(BLOCK // (8 * source.n_columns), FEWEST, MOST))


def available_memory() -> float:
    """Return the bytes of memory that are free, infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return np.inf


def last_step(model: Any) -> Any:
    """Return the estimator itself, behind its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def before_last(model: Any, rows: Any) -> Any:
    """Return rows as the estimator itself sees them."""
    return model[:-1].transform(rows) if isinstance(model, Pipeline) and len(model.steps) > 1 else rows


def _some(names: Any) -> str:
    names = list(map(str, names))
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "") if names else "nothing"
