"""Build an estimator from --model, --set and a TOML file, and fit it to a file."""

import ast
import importlib
import inspect
import re
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

import polyfold
from polyfold.cli import Terminal
from polyfold.cli._column_kinds import CODE, NUMBER, USES
from polyfold.cli._inputs import (
    ArrayData,
    Selection,
    TableData,
    block_rows,
    column_names,
    find_target,
    open_features,
    read_target,
)
from polyfold.cli._preparation import (
    UNIT_ROWS,
    PreparedBlocks,
    has_unit_rows,
    lazy_rows,
    preparation,
    prepared,
)
from polyfold.sources import as_source, budget

# Modules and dimensions of the default model for data with enough columns.
MODULES, DIMENSIONS = 15, 20
TEXTS = ("model", "target", "id", "array", "size", "encoding", "prepare")
LISTS = ("columns", "drop", "categorical")
KEYS = (*TEXTS, *LISTS, "color", "parameters")
EXAMPLE = '[parameters] kernel = {class = "Gaussian", gamma = 0.1}'


@dataclass(frozen=True)
class FitOptions:
    """What to fit, to which columns, with which preparation; `model` is None if nothing names one."""

    selection: Selection
    model: str | None
    parameters: Mapping[str, Any]
    seed: int | None
    prepare: str
    categorical: tuple[str, ...]

    def model_for(self, command: str, name: str) -> str:
        """Return the only model of a command, or raise if --config names another."""
        if self.model not in (None, name):
            raise ValueError(
                f"polyfold {command} fits {name}, got model = {self.model!r} in --config; polyfold fit takes any model."
            )
        return name


def fit_options(
    selection: Selection,
    *,
    config: str | None,
    settings: tuple[str, ...],
    seed: int | None,
    prepare: str | None,
    categorical: str | None,
    model: str | None = None,
    clusters: int | str | None = None,
    kernel: str | None = None,
) -> FitOptions:
    """Combine the options of the command line, which win, with a TOML file."""
    file = read_config(config)
    parameters = dict(file.get("parameters", {}))
    if clusters is not None:
        parameters.pop("n_clusters", None)
        parameters |= {} if clusters == "auto" else {"n_clusters": clusters}
    parameters |= {} if kernel is None else {"kernel": kernel}
    fields = ("columns", "drop", "target", "id", "array", "size", "color", "encoding")
    return FitOptions(
        replace(selection, **{key: file[key] for key in fields if key in file and not getattr(selection, key)}),
        model or file.get("model"),
        {**parameters, **parse_settings(settings)},
        seed,
        prepare or file.get("prepare", "auto"),
        split_names(categorical) or file.get("categorical", ()),
    )


def read_config(path: str | Path | None) -> dict[str, Any]:
    """Return the entries of a TOML file: options of the command, and the table ``parameters``."""
    if path is None:
        return {}
    try:
        config = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as TOML: {error}.") from error
    if unknown := sorted(set(config) - set(KEYS)):
        raise ValueError(f"{path}: keys must be {', '.join(KEYS)}, got {unknown[0]!r}.")
    return {key: _entry(path, key, value) for key, value in config.items()}


def _entry(path: str | Path, key: str, value: Any) -> Any:
    if key in TEXTS and isinstance(value, str):
        return value
    if key in LISTS and isinstance(value, str | list):
        return split_names(value)
    if key == "color" and isinstance(value, bool):
        return value
    if key == "parameters" and isinstance(value, dict):
        return {name: _made(entry) for name, entry in value.items()}
    rules = {**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(LISTS, "a list of names"), "color": "true or false"}
    raise ValueError(f"{path}: {key} must be {rules.get(key, 'a table, [parameters]')}, got {value!r}.")


def _made(value: Any) -> Any:
    """Return a value of a TOML file; a table with the key ``class`` is an object with these parameters."""
    if isinstance(value, list):
        return [_made(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "class" not in value:
        raise ValueError(f"a table in [parameters] must name its class, got {value!r}; for example {EXAMPLE}.")
    cls = find_class(str(value["class"]))
    parameters = {name: _made(entry) for name, entry in value.items() if name != "class"}
    try:
        return cls(**parameters)
    except TypeError as error:
        raise ValueError(f"{cls.__name__} cannot be made with {', '.join(parameters)}: {error}.") from error


def split_names(names: str | list[Any] | None) -> tuple[str, ...]:
    """Return the names of a list, or of text that separates them by commas."""
    if isinstance(names, list):
        return tuple(map(str, names))
    return tuple(part.strip() for part in (names or "").split(",") if part.strip())


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
        f"{name!r} must be a class of polyfold ({_nearest(name, classes)}) or an estimator of scikit-learn by its "
        "path, such as sklearn.linear_model.LogisticRegression."
    )


def _nearest(name: str, names: Iterable[str]) -> str:
    return ", ".join(get_close_matches(name, names := list(names)) or names)


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
    _check_names(name, estimator.get_params(), rest)
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


def _check_names(name: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise if an estimator lacks a parameter, or if a part of a parameter is set that is not an object."""
    for key in given:
        part = key.partition("__")[0]
        if part not in known:
            raise ValueError(f"{name} has no parameter {part!r}; it has {_nearest(part, known)}.")
        if part != key and not hasattr(owner := given.get(part, known[part]), "set_params"):
            raise ValueError(
                f"{key} needs an object as {part}, got {owner!r}; write it in a TOML file (--config), for example "
                f"{EXAMPLE}."
            )


def fit_model(
    path: str, name: str, options: FitOptions, terminal: Terminal, *, stream: bool | None = False, client: Any = None
) -> Any:
    """Return a model fitted to a file, in a pipeline with its preparation if it needs one."""
    selection = options.selection
    data = open_features(path, selection)
    estimator = make_estimator(
        name, {**_default_size(name, data, options.parameters), **options.parameters}, options.seed
    )
    learns = is_classifier(estimator) or is_regressor(estimator)
    y = read_target(data, selection, "numbers" if is_regressor(estimator) else "labels") if learns else None
    if selection.target is not None and not learns:
        find_target(data, selection)  # it is left out of the rows, so it must exist
    if y is None and get_tags(estimator).target_tags.required:
        raise ValueError(f"{name} needs --target: the column, array or file that holds the targets.")
    if client is not None and y is not None:
        raise ValueError(f"--cluster fits models that learn without targets, got {name}; omit --cluster.")
    if stream is None:
        stream = 8.0 * data.n_rows * data.n_columns > 2 * budget() and hasattr(estimator, "partial_fit")
    if stream and not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"--stream needs a model with partial_fit, got {name}; use ModularKernelPCA, KernelEmbedding, "
            "ModularAutoencoder or a kernel baseline, or omit --stream."
        )
    data = planned(data, options)
    if isinstance(data, TableData) and data.plan is not None:
        lines = data.plan.lines(use_of_numbers(data, options.prepare))
        terminal.lines([*plan_heading(data), *lines], err=True)
    if stream or client is not None:
        return _fit_blocks(data, estimator, options.prepare, terminal, on_cluster=client is not None)
    rows = data.whole()
    plan = data.plan if isinstance(data, TableData) else None
    steps = preparation(rows, options.prepare, plan)
    model = estimator if steps is None else Pipeline([("prepare", steps), ("model", estimator)])
    with terminal.fitting(), _without_advice(steps, options.prepare):
        model.fit(rows) if y is None else model.fit(rows, y)
    return _with_plan(model, data)


@contextmanager
def _without_advice(steps: Any, choice: str) -> Iterator[None]:
    """Leave out the advice to scale columns if they have been scaled."""
    with warnings.catch_warnings():
        if choice == "scale" or isinstance(steps, ColumnTransformer):
            warnings.simplefilter("ignore", polyfold.exceptions.ScaleWarning)
        yield


def _with_plan(model: Any, data: ArrayData | TableData) -> Any:
    """Store with a model what its columns are."""
    if isinstance(data, TableData) and data.plan is not None:
        model.table_ = data.plan.as_dict()
    return model


def _default_size(name: str, data: ArrayData | TableData, parameters: Mapping[str, Any]) -> dict[str, int]:
    """Return a size of the default model with which all modules together have no more columns than the data."""
    if name != "ModularKernelPCA" or {"n_modules", "n_components"} & set(parameters):
        return {}
    modules = min(MODULES, max(2, data.n_columns // 2))
    return {"n_modules": modules, "n_components": min(DIMENSIONS, max(2, data.n_columns // modules))}


def planned(data: ArrayData | TableData, options: FitOptions) -> ArrayData | TableData:
    """Return rows with a kind for every column; columns named by --columns, or with --prepare none, are all used."""
    categorical = options.categorical
    if isinstance(data, ArrayData):
        if categorical:
            raise ValueError("--categorical needs columns with names, as .csv and .parquet files have.")
        return data
    is_raw = options.prepare == "none"
    data = data.planned(
        column_names("--categorical", categorical, data.names, data.path),
        keep=is_raw or bool(options.selection.columns),
    )
    if not is_raw:
        return data
    assert data.plan is not None
    if other := [column for column in data.plan.columns if column.kind not in (NUMBER, CODE)]:
        raise ValueError(
            f"with --prepare none all columns must be numbers, got {other[0].name!r} ({other[0].kind}); leave it out "
            "with --drop, or use --prepare auto."
        )
    return data.as_numbers()


def plan_heading(data: TableData) -> list[str]:
    """Return the size of a table, and how many of its rows show the kinds of its columns."""
    assert data.plan is not None
    few = f"; kinds are found from the first {data.plan.n_rows}" if data.plan.n_rows < data.n_rows else ""
    return [f"{data.path}: {data.n_rows} rows, {data.n_columns} columns{few}"]


def use_of_numbers(data: TableData, choice: str) -> str:
    """Return what is done with columns of numbers."""
    if choice == "none":
        return "used as they are"
    if choice == "impute":
        return "the median for missing values"
    is_embedding = choice == "auto" and has_unit_rows(next(data.blocks(block_rows(data))))
    return UNIT_ROWS if is_embedding else USES[NUMBER]


def _fit_blocks(
    data: ArrayData | TableData, estimator: Any, prepare: str, terminal: Terminal, *, on_cluster: bool
) -> Any:
    """Fit to blocks of rows, here or on a cluster; the preparation is fitted to the first block."""
    blocks = PreparedBlocks(data, prepare)
    rows = lazy_rows(partial(prepared, blocks.steps), data) if on_cluster else as_source(blocks)
    rows.names = blocks.names
    with terminal.fitting(), _without_advice(blocks.steps, prepare):
        model = clone(estimator).fit(rows)
    blocks.new.warn()
    return _with_plan(model if blocks.steps is None else Pipeline([("prepare", blocks.steps), ("model", model)]), data)
