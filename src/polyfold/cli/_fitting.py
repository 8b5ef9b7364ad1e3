"""Fit a model to a file: prepare its columns, in memory, block by block or on a Dask cluster."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import polyfold
from polyfold._linalg import are_unit_rows
from polyfold._validation import import_extra
from polyfold.cli import Terminal
from polyfold.cli._estimators import FitOptions, make_estimator
from polyfold.cli._formats import ArrayData, FileData, Selection, block_rows, open_data
from polyfold.cli._inputs import NewCategories, column_names, find_target, select_features, target_for
from polyfold.sources import answering, as_source, budget
from polyfold.tables import (
    CATEGORIES,
    CODE,
    DATE,
    MAX_CATEGORIES,
    MAX_WORDS,
    NUMBER,
    PARTS_OF_DATES,
    TEXT_COMPONENTS,
    USES,
    Plan,
    TableData,
)

# Seconds in which a scheduler must answer and have a worker.
PATIENCE = 10
# Modules and dimensions of the default model for data with enough columns.
MODULES, DIMENSIONS = 15, 20


def fit_model(
    data: FileData, options: FitOptions, terminal: Terminal, *, stream: bool | None = False, cluster: str | None = None
) -> Any:
    """Return a model fitted to the selected columns, in a pipeline with its preparation if it needs one."""
    data = select_features(data, options.selection)
    parameters = {**_default_size(options, data.n_columns), **options.parameters}
    estimator = make_estimator(options.model, parameters, options.seed)
    y = _targets(data, options.selection, estimator)
    if cluster is not None and y is not None:
        raise ValueError(f"--cluster fits models that learn without targets, got {options.model}; omit --cluster.")
    is_streamed = _is_streamed(data, estimator, stream)
    data = plan_columns(data, options)
    if isinstance(data, TableData):
        click.echo("\n  ".join(plan_lines(data, options.prepare, by_kind=True)), err=True)
    with connected(cluster), terminal.working(options.model), _without_advice(data, options.prepare):
        if is_streamed or cluster is not None:
            model = _fit_blocks(data, estimator, options.prepare, on_cluster=cluster is not None)
        else:
            model = _fit_whole(data, estimator, options.prepare, y)
    if data.plan is not None:
        model.table_ = data.plan.as_dict()
    return model


def _targets(data: FileData, selection: Selection, estimator: Any) -> Any:
    """Return the targets of a classifier or regressor; other models leave them out of the rows."""
    if is_classifier(estimator) or is_regressor(estimator):
        y = target_for(data, selection, estimator)
        if y is None and get_tags(estimator).target_tags.required:
            raise ValueError(f"{type(estimator).__name__} needs --target: the column, array or file with the targets.")
        return y
    if selection.target is not None:
        find_target(data, selection)  # it must exist
    return None


def _is_streamed(data: FileData, estimator: Any, stream: bool | None) -> bool:
    """Whether rows are fitted block by block: with --stream, and by default if memory is too small."""
    has_partial_fit = hasattr(estimator, "partial_fit")
    if stream and not has_partial_fit:
        raise ValueError(
            f"--stream needs a model with partial_fit, got {type(estimator).__name__}; use ModularKernelPCA, "
            "KernelEmbedding, ModularAutoencoder or a kernel baseline, or omit --stream."
        )
    return stream if stream is not None else has_partial_fit and 8.0 * data.n_rows * data.n_columns > 2 * budget()


def _default_size(options: FitOptions, n_columns: int) -> dict[str, int]:
    """Return a size of the default model with which all modules together have no more columns than the data."""
    if options.model != "ModularKernelPCA" or {"n_modules", "n_components"} & set(options.parameters):
        return {}
    modules = min(MODULES, max(2, n_columns // 2))
    return {"n_modules": modules, "n_components": min(DIMENSIONS, max(2, n_columns // modules))}


@contextmanager
def _without_advice(data: FileData, prepare: str) -> Iterator[None]:
    """Leave out the advice to scale columns if they are scaled."""
    with warnings.catch_warnings():
        if prepare == "scale" or (prepare != "none" and data.plan is not None):
            warnings.simplefilter("ignore", polyfold.exceptions.ScaleWarning)
        yield


def plan_columns(data: FileData, options: FitOptions) -> FileData:
    """Return rows with a kind for every column; columns named by --columns, or with --prepare none, are all used."""
    if isinstance(data, ArrayData):
        if options.categorical:
            raise ValueError("--categorical needs columns with names, as .csv and .parquet files have.")
        return data
    is_raw = options.prepare == "none"
    categorical = column_names("--categorical", options.categorical, data.names, data.path)
    data = data.planned(categorical, keep=is_raw or bool(options.selection.columns))
    if not is_raw or data.plan is None:
        return data
    if other := [column for column in data.plan.columns if column.kind not in (NUMBER, CODE)]:
        raise ValueError(
            f"with --prepare none all columns must be numbers, got {other[0].name!r} ({other[0].kind}); leave it out "
            "with --drop, or use --prepare auto."
        )
    columns = tuple(replace(column, kind=NUMBER) for column in data.plan.columns)
    return replace(data, plan=replace(data.plan, columns=columns))


def plan_lines(data: TableData, prepare: str, *, by_kind: bool) -> list[str]:
    """Return the size of a table, and what is done with its columns: one line for each kind, or for each column."""
    assert data.plan is not None
    few = f"; kinds are found from the first {data.plan.n_rows}" if data.plan.n_rows < data.n_rows else ""
    numbers = {"none": "used as they are", "impute": "the median for missing values"}.get(prepare, USES[NUMBER])
    if prepare == "auto" and has_unit_rows(next(data.blocks(block_rows(data)))):
        numbers = "used as they are: all rows have unit length"
    lines = data.plan.lines(numbers) if by_kind else data.plan.table(numbers)
    return [f"{data.path}: {data.n_rows} rows, {data.n_columns} columns{few}", *lines]


def _fit_whole(data: FileData, estimator: Any, prepare: str, y: Any) -> Any:
    """Fit to all rows in memory."""
    rows = data.whole()
    steps = preparation(rows, prepare, data.plan)
    model = estimator if steps is None else Pipeline([("prepare", steps), ("model", estimator)])
    return model.fit(rows) if y is None else model.fit(rows, y)


def _fit_blocks(data: FileData, estimator: Any, prepare: str, *, on_cluster: bool) -> Any:
    """Fit to blocks of rows, here or on a cluster; the preparation is fitted to the first block."""
    blocks = PreparedBlocks(data, prepare)
    rows = as_source(_lazy_rows(data, blocks.steps) if on_cluster else blocks)
    rows.names = blocks.names
    model = estimator.fit(rows)
    blocks.new.warn()
    return model if blocks.steps is None else Pipeline([("prepare", blocks.steps), ("model", model)])


class PreparedBlocks:
    """Prepared rows of a file in blocks, as often as needed; the preparation is fitted to the first block."""

    def __init__(self, data: FileData, prepare: str):
        self._data, self._size = data, block_rows(data)
        first = next(data.blocks(self._size))
        steps = preparation(first, prepare, data.plan)
        self.steps = steps if steps is None else steps.fit(first)
        self.names = data.names
        if self.steps is not None and data.names is not None:
            self.names = tuple(self.steps.get_feature_names_out())
        self.new = NewCategories(self.steps, data.path)

    def __iter__(self) -> Iterator[Any]:
        self.new = NewCategories(self.steps, self._data.path)
        for rows in self._data.blocks(self._size):
            self.new.count(rows)
            yield _prepared(self.steps, rows)


def _prepared(steps: Any, rows: Any) -> Any:
    rows = rows if steps is None else steps.transform(rows)
    return rows if sp.issparse(rows) else np.asarray(rows)


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Let Dask use the scheduler at an address, if one is given."""
    if address is None:
        yield
        return
    distributed = import_extra("distributed", "dask")
    try:
        # Not as the default client: a client that fails would remain the default.
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ValueError(
            f"--cluster must be the address of a running Dask scheduler, such as tcp://127.0.0.1:8786; {address!r} did "
            f"not answer within {PATIENCE} s ({error or type(error).__name__})."
        ) from error
    with client, client.as_current(), answering(client), warnings.catch_warnings():
        # The preparation has to be sent with the work.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}"
            ) from error
        yield


def _lazy_rows(data: FileData, steps: Any) -> Any:
    """Return the prepared rows of a file as a Dask array."""
    array, delayed = import_extra("dask.array", "dask"), import_extra("dask", "dask").delayed
    prepare, example = delayed(partial(_prepared, steps), traverse=False), _prepared(steps, next(data.blocks(1)))
    arrays = [
        array.from_delayed(prepare(part), shape=(length, example.shape[1]), dtype=example.dtype)
        for part, length in _parts(data)
    ]
    rows = array.concatenate(arrays, allow_unknown_chunksizes=True)
    if np.isnan(rows.shape[0]):
        rows = rows.compute_chunk_sizes()
        rows = array.concatenate([rows.blocks[number] for number, length in enumerate(rows.chunks[0]) if length])
    return rows


def _parts(data: FileData) -> list[tuple[Any, float]]:
    """Return the parts of a file and their lengths, NaN if unknown; workers read tables and arrays of one file."""
    delayed = import_extra("dask", "dask").delayed
    if isinstance(data, TableData):
        assert data.plan is not None
        read = delayed(data.plan.apply, traverse=False)
        return [(read(frame), float("nan")) for frame in data.reader.delayed()]
    if data.path.suffix.lower() not in (".npy", ".zarr"):
        return [(delayed(block, traverse=False), block.shape[0]) for block in data.blocks(block_rows(data))]
    chunk = (getattr(data.values, "chunks", None) or (1,))[0]
    step = max(1, block_rows(data) // chunk) * chunk  # every chunk of a zarr array is read once
    read = delayed(partial(_read_rows, str(data.path.resolve()), data.columns), traverse=False)
    return [(read(start, start + step), min(step, data.n_rows - start)) for start in range(0, data.n_rows, step)]


def _read_rows(path: str, columns: tuple[int, ...] | None, start: int, stop: int) -> Any:
    data: Any = open_data(path, Selection())
    return replace(data, columns=columns).pick(np.asarray(data.values[start:stop]))


def preparation(rows: Any, choice: str, plan: Plan | None = None) -> Any:
    """Return an unfitted transformer for rows like these, or None if nothing is to be done."""
    if plan is not None:
        return None if choice == "none" or (choice == "auto" and has_unit_rows(rows)) else _of_table(rows, choice, plan)
    values = rows.data if sp.issparse(rows) else rows
    if choice == "none" or (choice == "auto" and not (values.dtype.kind == "f" and np.isnan(values).any())):
        return None
    if choice == "scale":
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(with_mean=not sp.issparse(rows)))
    return SimpleImputer(strategy="median")


def has_unit_rows(frame: pd.DataFrame) -> bool:
    """Whether a table is an embedding: numbers only, and all rows of unit length, which scaling would destroy."""
    if any(kind.kind != "f" for kind in frame.dtypes) or frame.shape[1] < 2:
        return False
    return are_unit_rows(frame.to_numpy())


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
    # With pandas as output the model stores the names of the columns, which messages can use.
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
