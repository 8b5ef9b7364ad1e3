"""Rows as a model takes them: imputed, scaled and encoded by a step that is stored with it, here or on Dask workers."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polyfold._validation import import_extra
from polyfold.cli._column_kinds import CATEGORIES, DATE, MAX_CATEGORIES, NUMBER, PARTS_OF_DATES, TEXT_COMPONENTS, Plan
from polyfold.cli._inputs import (
    BLOCK_BYTES,
    ArrayData,
    Selection,
    TableData,
    block_rows,
    open_data,
    open_features,
    shortened,
)
from polyfold.cli._readers import Csv, Parquet
from polyfold.sources import answering, as_source

# Seconds in which a scheduler must answer and have a worker.
PATIENCE = 10
# Results that may wait for an earlier one, per thread of the workers.
AHEAD = 2
# Words of free text that are counted, the most frequent ones.
MAX_WORDS = 10_000
UNIT_ROWS = "used as they are: all rows have unit length"


def preparation(rows: Any, choice: str, plan: Plan | None = None) -> Any:
    """Return an unfitted transformer for rows like these, or None if nothing is to be done."""
    if plan is not None:
        return None if choice == "none" or (choice == "auto" and has_unit_rows(rows)) else _of_table(rows, choice, plan)
    if choice == "none" or (choice == "auto" and not _has_missing(rows)):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def _has_missing(rows: Any) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def has_unit_rows(frame: pd.DataFrame) -> bool:
    """Whether a table is an embedding: numbers only, and all rows of unit length, which scaling would destroy."""
    if any(kind.kind != "f" for kind in frame.dtypes) or frame.shape[1] < 2:
        return False
    return bool(np.all(np.abs(np.linalg.norm(frame.to_numpy(), axis=1) - 1.0) < np.finfo(np.float16).eps))


def _of_table(frame: pd.DataFrame, choice: str, plan: Plan) -> ColumnTransformer:
    dates = [f"{name} {part}" for name in plan.names(DATE) for part in PARTS_OF_DATES]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    scaled = imputer if choice == "impute" else make_pipeline(imputer, StandardScaler())
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    kinds: list[Any] = [
        ("numbers", scaled, plan.names(NUMBER)),
        ("dates", clone(scaled), dates),
        ("categories", encoder, plan.names(*CATEGORIES)),
    ]
    parts = [part for part in kinds if part[2]]
    # A date has four columns of variance 1, which together count as one.
    weights = None if choice == "impute" else {"dates": len(PARTS_OF_DATES) ** -0.5}
    # With pandas as output the model knows the names of the columns, and messages can use them.
    steps = ColumnTransformer(parts, transformer_weights=weights, verbose_feature_names_out=False)
    steps.set_output(transform="pandas")
    if plan.text_name is not None:  # later, because set_output does not accept the sparse output of tf-idf
        text = _of_text(frame[plan.text_name], plan.text_name)
        steps.set_params(transformers=[*parts, ("text", text, plan.text_name)])
    return steps


def _of_text(texts: pd.Series, name: str) -> Any:
    """Return tf-idf and its leading components, which are rows of at most unit length: about one scaled number."""
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, max_features=MAX_WORDS)
    try:
        n_words = len(words.fit(texts).vocabulary_)
    except ValueError as error:
        raise ValueError(f"free text must contain words, got none in {name!r}; leave it out with --drop.") from error
    size = max(1, min(TEXT_COMPONENTS, n_words - 1, len(texts) - 1))
    components = TruncatedSVD(size, random_state=0).set_output(transform="pandas")
    return make_pipeline(clone(words), components)


class PreparedBlocks:
    """Prepared rows of a file in blocks, as often as needed; the preparation is fitted to the first block."""

    def __init__(self, data: ArrayData | TableData, choice: str):
        self.data, self._size = data, block_rows(data)
        first = next(data.blocks(self._size))
        steps = preparation(first, choice, data.plan if isinstance(data, TableData) else None)
        self.steps = steps if steps is None else steps.fit(first)
        self.names = data.names
        if self.steps is not None and isinstance(first, pd.DataFrame):
            self.names = tuple(self.steps.get_feature_names_out())
        self.new = NewCategories(self.steps, data.path)

    def __iter__(self) -> Iterator[Any]:
        self.new = NewCategories(self.steps, self.data.path)
        for rows in self.data.blocks(self._size):
            self.new.count(rows)
            yield prepared(self.steps, rows)


def prepared(steps: Any, rows: Any) -> Any:
    """Return rows after a fitted preparation, as an array or CSR matrix."""
    return as_array(rows if steps is None else steps.transform(rows))


class NewCategories:
    """Count the rows of a file whose categories a fitted preparation has not seen."""

    def __init__(self, step: Any, path: Any):
        self._path, self._known = path, _known_categories(step)
        self._found: dict[str, tuple[int, str]] = {}

    def count(self, rows: Any) -> None:
        """Count those of a block of rows."""
        for name, known in self._known.items():
            new = rows[name][~rows[name].isin(known)]
            if new.size:
                count, example = self._found.get(name, (0, str(new.iloc[0])))
                self._found[name] = count + new.size, example

    def warn(self) -> None:
        """Warn once, with the count and an example of every column."""
        if self._found:
            counts = "; ".join(f"{name}: {count} rows, such as {new!r}" for name, (count, new) in self._found.items())
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({counts}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )


def _known_categories(step: Any) -> dict[str, Any]:
    parts = step.transformers_ if isinstance(step, ColumnTransformer) else []
    encoders = [
        (step, names) for part, step, names in parts if part == "categories" and isinstance(step, OneHotEncoder)
    ]
    return {name: known for step, names in encoders for name, known in zip(names, step.categories_, strict=True)}


def for_model(data: ArrayData | TableData, model: Any) -> ArrayData | TableData:
    """Return the columns a model was fitted to, with the kinds it was fitted to."""
    plan, names = Plan.stored(model), getattr(model, "feature_names_in_", None)
    if plan is not None and isinstance(data, ArrayData):
        return _as_columns(data, plan)
    if names is not None and isinstance(data, TableData):
        needed = [str(name) for name in names] if plan is None else [column.name for column in plan.used]
        if missing := [name for name in needed if name not in (*data.names, data.reader.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select(needed)
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    return data.unplanned(only_numbers=not isinstance(model, Pipeline)) if plan is None else data.as_planned(plan)


def _as_columns(data: ArrayData, plan: Plan) -> ArrayData:
    """Return an array as the columns of a table, by position: all of them, or those that are used."""
    if other := [column for column in plan.used if column.kind != NUMBER]:
        raise ValueError(
            f"{data.path} is an array, the model was fitted to a table with {other[0].name!r} ({other[0].kind}); pass "
            "a .csv or .parquet file with the same columns."
        )
    if data.n_columns == len(plan.used):
        return data
    if data.n_columns != len(plan.columns):
        raise ValueError(f"{data.path} has {data.n_columns} columns, the model was fitted to {len(plan.columns)}.")
    numbers = data.columns or range(data.n_columns)
    kept = [number for number, column in zip(numbers, plan.columns, strict=True) if column in plan.used]
    return data.select([str(number) for number in kept])


def model_blocks(data: ArrayData | TableData, model: Any, size: int | None = None) -> Iterator[Any]:
    """Yield the rows of a file as a fitted model takes them."""
    data = for_model(data, model)
    new = NewCategories(model[0] if isinstance(model, Pipeline) else None, data.path)
    for rows in data.blocks(size):
        rows = as_fitted(rows, model)
        new.count(rows)
        yield rows
    new.warn()


def as_fitted(rows: Any, model: Any) -> Any:
    """Return rows as a table if the model was fitted to one, otherwise as an array."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.ascontiguousarray(rows.to_numpy()) if isinstance(rows, pd.DataFrame) else rows
    if isinstance(rows, pd.DataFrame):
        return rows
    return pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)


def as_array(rows: Any) -> Any:
    """Return rows as an array or CSR matrix."""
    return rows if sp.issparse(rows) else np.asarray(rows)


def last_step(model: Any) -> Any:
    """Return the estimator itself, without its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def before_last(model: Any, rows: Any) -> Any:
    """Return rows as the estimator itself gets them."""
    return model[:-1].transform(rows) if isinstance(model, Pipeline) and len(model.steps) > 1 else rows


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Give a client of the Dask scheduler at an address, which Dask uses meanwhile; None without an address."""
    if address is None:
        yield None
        return
    distributed = import_extra("distributed", "dask")
    if ":" not in address:
        raise ValueError(
            f"--cluster must be the address of a Dask scheduler, such as tcp://127.0.0.1:8786, got {address!r}; the "
            "number of clusters is -n/--clusters."
        )
    try:
        # Not as the default client: a client that fails would remain the default.
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ValueError(
            f"--cluster must be the address of a running Dask scheduler, such as tcp://127.0.0.1:8786; {address!r} did "
            f"not answer within {PATIENCE} s ({error or type(error).__name__})."
        ) from error
    with client, client.as_current(), answering(client), warnings.catch_warnings():
        # The model has to be sent with the work.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}"
            ) from error
        yield client


def lazy_rows(function: Callable[[Any], Any], data: ArrayData | TableData) -> Any:
    """Return a function of the rows of a file as a source of Dask."""
    array, delayed = import_extra("dask.array", "dask"), import_extra("dask", "dask").delayed
    parts, lengths = _parts(data)
    shared, example = delayed(function, traverse=False), function(next(data.blocks(1)))
    arrays = [
        array.from_delayed(delayed(_apply)(shared, part), shape=(length, example.shape[1]), dtype=example.dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    rows = array.concatenate(arrays, allow_unknown_chunksizes=True)
    if np.isnan(rows.shape[0]):
        rows = rows.compute_chunk_sizes()
        rows = array.concatenate([rows.blocks[number] for number, length in enumerate(rows.chunks[0]) if length])
    return as_source(rows)


def map_parts(client: Any, function: Callable[[Any], Any], data: ArrayData | TableData) -> Iterator[Any]:
    """Yield a function of every part of a file, in order, computed by the workers."""
    delayed = import_extra("dask", "dask").delayed
    shared = delayed(function, traverse=False)
    tasks = (client.compute(delayed(_apply)(shared, part)) for part in _parts(data)[0])
    waiting = deque(islice(tasks, AHEAD * max(1, sum(client.nthreads().values()))))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(islice(tasks, 1))


def _parts(data: ArrayData | TableData) -> tuple[list[Any], list[float]]:
    """Return the parts of a file, delayed, and their lengths; NaN if unknown."""
    delayed = import_extra("dask", "dask").delayed
    path = str(data.path.resolve())
    if isinstance(data, TableData):
        how = delayed((data.names, data.plan), traverse=False)
        if isinstance(data.reader, Csv):
            parts = [delayed(_planned_part)(frame, how) for frame in data.reader.delayed()]
            return parts, [float("nan")] * len(parts)
        groups = range(len(data.reader.lengths))
        return [delayed(_read_group)(path, number, how) for number in groups], list(data.reader.lengths)
    if data.path.suffix.lower() in (".npy", ".zarr"):
        chunk = (getattr(data.values, "chunks", None) or (1,))[0]
        step = max(1, BLOCK_BYTES // (8 * data.values.shape[1] * chunk)) * chunk
        starts = range(0, data.n_rows, step)
        parts = [delayed(_read_rows)(path, data.columns, start, start + step) for start in starts]
        return parts, [min(step, data.n_rows - start) for start in starts]
    # Archives and images are read here and sent.
    blocks = list(data.blocks(block_rows(data)))
    return [delayed(block, traverse=False) for block in blocks], [block.shape[0] for block in blocks]


def _planned_part(frame: Any, how: tuple[tuple[str, ...], Plan | None]) -> Any:
    names, plan = how
    return frame[list(names)] if plan is None else plan.apply(frame)


def _read_group(path: str, number: int, how: tuple[Any, ...]) -> Any:
    return _planned_part(Parquet(Path(path)).read_group(number), how)


def _read_rows(path: str, columns: tuple[int, ...] | None, start: int, stop: int) -> Any:
    data: Any = open_data(path, Selection())
    return replace(data, columns=columns).pick(np.asarray(data.values[start:stop]))


def _apply(function: Callable[[Any], Any], part: Any) -> Any:
    return function(part)


def open_for_model(path: str, selection: Selection, fitted: Any) -> ArrayData | TableData:
    """Open rows for a fitted model; a model fitted to names finds its columns itself."""
    if getattr(fitted, "feature_names_in_", None) is not None and not selection.columns:
        return open_data(path, selection)
    return open_features(path, selection)


def all_rows(data: ArrayData | TableData, fitted: Any) -> Any:
    """Return all rows of a file as a fitted model takes them."""
    (rows,) = model_blocks(data, fitted)
    return rows
