"""Build an estimator from --model, --set and a TOML file, and fit it to a file."""

import ast
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

import polyfold
from polyfold._validation import import_extra
from polyfold.cli import Terminal, echo, nearest
from polyfold.cli._column_kinds import CODE, NUMBER, USES, NewCategories, Plan, has_unit_rows, preparation
from polyfold.cli._inputs import (
    ArrayData,
    FileData,
    Selection,
    TableData,
    block_rows,
    find_target,
    open_data,
    open_features,
    target_for,
)
from polyfold.cli._readers import column_names
from polyfold.sources import answering, as_source, budget

# Seconds in which a scheduler must answer and have a worker.
PATIENCE = 10
# Modules and dimensions of the default model for data with enough columns.
MODULES, DIMENSIONS = 15, 20
EXAMPLE = '[parameters] kernel = {class = "Gaussian", gamma = 0.1}'


@dataclass(frozen=True)
class FitOptions:
    """What to fit, to which columns, with which preparation."""

    model: str
    parameters: Mapping[str, Any]
    selection: Selection
    seed: int | None
    prepare: str
    categorical: tuple[str, ...]
    config: str | None

    @classmethod
    def of(
        cls,
        model: str,
        parameters: Mapping[str, Any],
        *,
        config: Any,
        settings: Iterable[str],
        seed: int | None,
        prepare: str,
        categorical: tuple[str, ...],
        **selected: Any,
    ) -> Self:
        """Collect the options of a fit; --set wins over `parameters`, and these over the TOML file."""
        given = {**make_objects(config.parameters), **parameters, **parse_settings(settings)}
        return cls(model, given, Selection(**selected), seed, prepare, categorical, config.path)

    @property
    def files(self) -> list[str | None]:
        """The files that options name: inputs that are not overwritten."""
        return [self.config, *self.selection.files]


def make_objects(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a TOML file; a table with the key ``class`` is an object with these parameters."""
    return {name: _made(entry) for name, entry in parameters.items()}


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "class" not in value:
        raise ValueError(f"a table in [parameters] must name its class, got {value!r}; for example {EXAMPLE}.")
    cls = find_class(str(value["class"]))
    parameters = make_objects({name: entry for name, entry in value.items() if name != "class"})
    try:
        return cls(**parameters)
    except TypeError as error:
        raise ValueError(f"{cls.__name__} cannot be made with {', '.join(parameters)}: {error}.") from error


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return parameters given as ``name=value``: numbers, booleans, None, lists of these, or else text.

    Examples
    --------
    >>> parse_settings(["n_modules=5", "kernel=rbf", "diversities=[0.5, 0.9]", "copy=true"])
    {'n_modules': 5, 'kernel': 'rbf', 'diversities': [0.5, 0.9], 'copy': True}
    """
    parsed = {}
    for setting in settings:
        name, sign, text = (part.strip() for part in setting.partition("="))
        if not sign or not name:
            raise ValueError(f"--set must be given as name=value, got {setting!r}; for example --set n_modules=15.")
        if re.fullmatch(r"[\w.]+\(.*\)|\{.*\}", text):
            raise ValueError(
                f"--set takes numbers, text, booleans and lists, got {text!r}; write objects in a TOML file "
                f"(--config), for example {EXAMPLE}."
            )
        parsed[name] = _value(text)
    return parsed


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def public_classes() -> dict[str, type]:
    """Return the estimators, kernels and networks of polyfold by name."""
    packages = [polyfold, polyfold.baselines, polyfold.kernels, polyfold.networks]
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    return {
        name: value
        for name, value in sorted(public.items())
        if inspect.isclass(value) and hasattr(value, "get_params") and not inspect.isabstract(value)
    }


def estimator_names() -> list[str]:
    """Return the names of the classes that can be fitted."""
    return [name for name, value in public_classes().items() if hasattr(value, "fit")]


def find_class(name: str) -> type:
    """Return a public class of polyfold by its name, or an estimator of scikit-learn by its path."""
    classes = public_classes()
    if name in classes:
        return classes[name]
    if name.startswith("sklearn."):
        module, _, attribute = name.rpartition(".")
        try:
            cls = getattr(importlib.import_module(module), attribute, None)
        except ModuleNotFoundError:
            cls = None
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator):
            return cls
    raise ValueError(
        f"{name!r} must be a class of polyfold ({nearest(name, list(classes))}) or an estimator of scikit-learn by its "
        "path, such as sklearn.linear_model.LogisticRegression."
    )


def make_estimator(name: str, parameters: Mapping[str, Any], seed: int | None) -> Any:
    """Make an unfitted estimator: ``a__b`` sets b of the part a, and the seed goes to every part without one."""
    cls = find_class(name)
    if not hasattr(cls, "fit"):
        raise ValueError(f"{name} cannot be fitted; choose from {', '.join(estimator_names())}.")
    needed = [p.name for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    given = {key: parameters[key] for key in needed if key in parameters}
    if "representation" in needed and "representation" not in given:
        given["representation"] = polyfold.ModularKernelPCA()
    if missing := [key for key in needed if key not in given]:
        raise ValueError(
            f"{name} needs {missing[0]}; write it in a TOML file (--config), for example "
            f'[parameters] {missing[0]} = {{class = "BootstrapClustering"}}.'
        )
    has_network = "network" in inspect.signature(cls).parameters and "network" not in parameters
    if has_network and any(key.startswith("network__") for key in parameters):
        given["network"] = _network(cls, parameters.get("n_clusters"))
    rest = {key: value for key, value in parameters.items() if key not in given}
    estimator = cls(**given)
    _check_parts(rest, estimator.get_params())
    estimator.set_params(**rest)
    if seed is not None:
        parts = estimator.get_params().items()
        unset = {key: seed for key, value in parts if key.split("__")[-1] == "random_state" and value is None}
        estimator.set_params(**unset)
    return estimator


def _network(cls: type, n_clusters: Any) -> Any:
    """Return a network to set parameters of, like the one that an estimator makes itself."""
    if not issubclass(cls, polyfold.BootstrapClustering):
        return polyfold.MultilayerBootstrapNetwork()
    classes = n_clusters if isinstance(n_clusters, int) and n_clusters > 0 else 2
    return polyfold.MultilayerBootstrapNetwork(classes, n_classes=classes)


def _check_parts(parameters: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise if a parameter of a part is set, but the part is not an object."""
    for key in parameters:
        part = key.partition("__")[0]
        owner = parameters.get(part, known.get(part))
        if part != key and part in known and not hasattr(owner, "set_params"):
            raise ValueError(
                f"{key} needs an object as {part}, got {owner!r}; write it in a TOML file (--config), for example "
                f"{EXAMPLE}."
            )


def fit_model(
    path: str, options: FitOptions, terminal: Terminal, *, stream: bool | None = False, cluster: str | None = None
) -> Any:
    """Return a model fitted to a file, in a pipeline with its preparation if it needs one."""
    data = open_features(path, options.selection)
    parameters = {**_default_size(options, data.n_columns), **options.parameters}
    estimator = make_estimator(options.model, parameters, options.seed)
    y = _targets(data, options.selection, estimator)
    if cluster is not None and y is not None:
        raise ValueError(f"--cluster fits models that learn without targets, got {options.model}; omit --cluster.")
    is_streamed = _is_streamed(data, estimator, stream)
    data = planned(data, options)
    if isinstance(data, TableData):
        echo("\n  ".join(plan_lines(data, options.prepare, by_kind=True)), err=True)
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


def planned(data: FileData, options: FitOptions) -> FileData:
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
        read = delayed(partial(_read_part, data.names, data.plan), traverse=False)
        return [(read(frame), float("nan")) for frame in data.reader.delayed()]
    if data.path.suffix.lower() not in (".npy", ".zarr"):
        return [(delayed(block, traverse=False), block.shape[0]) for block in data.blocks(block_rows(data))]
    chunk = (getattr(data.values, "chunks", None) or (1,))[0]
    step = max(1, block_rows(data) // chunk) * chunk  # every chunk of a zarr array is read once
    read = delayed(partial(_read_rows, str(data.path.resolve()), data.columns), traverse=False)
    return [(read(start, start + step), min(step, data.n_rows - start)) for start in range(0, data.n_rows, step)]


def _read_part(names: tuple[str, ...], plan: Plan | None, frame: Any) -> Any:
    return frame[list(names)] if plan is None else plan.apply(frame)


def _read_rows(path: str, columns: tuple[int, ...] | None, start: int, stop: int) -> Any:
    data: Any = open_data(path, Selection())
    return replace(data, columns=columns).pick(np.asarray(data.values[start:stop]))
