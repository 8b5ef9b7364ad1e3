"""Estimators: made from --model and parameters, described, and given the rows of a file."""

import ast
import importlib.util
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

import polyfold
from polyfold._validation import shortened
from polyfold.cli import rows_text, suggestion
from polyfold.cli._inputs import (
    ArrayData,
    FileData,
    Selection,
    block_rows,
    parse_size,
    read_column,
    select_features,
)
from polyfold.saving import describe
from polyfold.tables import NUMBER, TEXT, USES, Plan, TableData

# A module of every extra.
EXTRAS = {
    "cli": "pyarrow",
    "dask": "dask",
    "faiss": "faiss",
    "map": "openTSNE",
    "onnx": "onnx",
    "plot": "matplotlib",
    "progress": "tqdm",
    "pyamg": "pyamg",
    "pynndescent": "pynndescent",
    "torch": "torch",
}
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
        f"{name!r} must be a class of polyfold ({suggestion(name, list(classes))}) or an estimator of scikit-learn by "
        "its path, such as sklearn.linear_model.LogisticRegression."
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
    rest = {key: value for key, value in parameters.items() if key not in given}
    estimator = cls(**given)
    sets_network = any(key.startswith("network__") for key in rest) and "network" not in rest
    if sets_network and hasattr(estimator, "_default_network"):
        estimator.set_params(**{key: rest[key] for key in estimator.get_params(deep=False) if key in rest})
        rest["network"] = estimator._default_network()
    _check_parts(rest, estimator.get_params())
    estimator.set_params(**rest)
    if seed is not None:
        parts = estimator.get_params().items()
        unset = {key: seed for key, value in parts if key.split("__")[-1] == "random_state" and value is None}
        estimator.set_params(**unset)
    return estimator


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


def last_step(model: Any) -> Any:
    """Return the estimator itself, without its preparation."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def n_modules(estimator: Any) -> int:
    """Return the number of modules of a fitted estimator, 0 if it has none."""
    return estimator._module_shape[0] if hasattr(estimator, "transform_modules") else 0


def summary(model: Any) -> dict[str, Any]:
    """Return the size of a fitted model and the figures it stores."""
    estimator = last_step(model)
    size = {"modules": n_modules(estimator)} if n_modules(estimator) else {}
    if hasattr(model, "transform"):
        size["coordinates"] = len(model.get_feature_names_out())
    names = ("loss_", "loss_bound_", "loss_gap_", "n_clusters_", "layer_sizes_", "fidelity_", "novelty_")
    figures = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {**size, **{name.strip("_"): np.asarray(value).tolist() for name, value in figures.items()}}


def installation_info() -> dict[str, Any]:
    """Return versions, extras and the classes that can be fitted."""
    return {
        **{name: version(name) for name in ("polyfold", "numpy", "scipy", "scikit-learn", "numba")},
        "extras": {name: importlib.util.find_spec(module) is not None for name, module in EXTRAS.items()},
        "models": estimator_names(),
    }


def model_info(path: str, *, with_table: bool = False) -> dict[str, Any]:
    """Return the contents of a model file: class, parameters, columns and figures; also each column of its table."""
    about, model = describe(path), polyfold.load(path)
    estimator, plan = last_step(model), Plan.stored(model)
    plain = (bool, int, float, str, type(None))
    parameters = estimator.get_params(deep=False).items()
    names = getattr(model, "feature_names_in_", None)
    return {
        "file": path,
        "class": type(estimator).__name__,
        **({} if estimator is model else {"steps": [type(step).__name__ for _, step in model.steps]}),
        "polyfold": about["polyfold"],
        "written with": about.get("written with"),
        "columns": int(getattr(model, "n_features_in_", 0)) if names is None else [str(name) for name in names],
        **({} if plan is None else {"kinds": {kind: plan.names(kind) for kind in USES if plan.names(kind)}}),
        **({"table": plan.as_dict()} if plan is not None and with_table else {}),
        "parameters": {
            name: value if isinstance(value, plain) else " ".join(repr(value).split()) for name, value in parameters
        },
        **summary(model),
    }


class NewCategories:
    """Count the rows of a file whose categories a fitted preparation has not seen."""

    def __init__(self, steps: Any, path: Any):
        parts = steps.transformers_ if isinstance(steps, ColumnTransformer) else []
        encoders = [
            (names, step) for part, step, names in parts if part == "categories" and hasattr(step, "categories_")
        ]
        self._known = {
            name: known for names, step in encoders for name, known in zip(names, step.categories_, strict=True)
        }
        self._path, self._found = path, dict[str, tuple[int, str]]()

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
            counts = "; ".join(
                f"{name}: {rows_text(count)}, such as {new!r}" for name, (count, new) in self._found.items()
            )
            warnings.warn(
                f"{self._path} has categories that the model has not seen ({counts}); they are encoded as rare "
                "categories, or as none if there are no rare ones.",
                stacklevel=2,
            )


class ModelRows:
    """A fitted model, and the rows of a file as it takes them: a table if it was fitted to one, otherwise an array."""

    def __init__(self, model: Any, data: FileData, selection: Selection):
        self.model, self.estimator, self._plan = model, last_step(model), Plan.stored(model)
        self.data, self._size = _columns_of(model, self._plan, data, selection), selection.size

    def blocks(self) -> Iterator[Any]:
        """Yield the rows in blocks; warn of new categories at the end."""
        return self._read(block_rows(self.data))

    def all(self) -> Any:
        """Return all rows in memory."""
        (rows,) = self._read(None)
        return rows

    def prepared(self, rows: Any) -> Any:
        """Return rows as the estimator itself gets them, after the preparation."""
        has_preparation = isinstance(self.model, Pipeline) and len(self.model.steps) > 1
        return self.model[:-1].transform(rows) if has_preparation else rows

    def image_shape(self, rows: Any) -> tuple[int, ...] | None:
        """Return the shape of the images that are rows: as they are stored, or by --size; None without images."""
        shape = self.data.image_shape or (parse_size(self._size)[::-1] if self._size else None)
        if shape is not None and np.prod(shape) != rows.shape[1]:
            raise ValueError(f"--size must fit the {rows.shape[1]} values of a row, got {self._size}.")
        return shape

    def texts(self, rows: Any, column: str | None = None) -> Any:
        """Return the texts of --texts, or else those that the model was fitted to, if it has no other column."""
        if column is not None:
            return read_column("--texts", column, self.data)
        plan = self._plan
        is_text = plan is not None and {column.kind for column in plan.used} == {TEXT}
        return rows[plan.text_name] if plan is not None and is_text else None

    def input_names(self) -> list[str]:
        """Return the names of the columns that the model was fitted to."""
        default = [f"x{number}" for number in range(self.model.n_features_in_)]
        return [str(name) for name in getattr(self.model, "feature_names_in_", default)]

    def _read(self, size: int | None) -> Iterator[Any]:
        names = getattr(self.model, "feature_names_in_", None)
        new = NewCategories(self.model[0] if isinstance(self.model, Pipeline) else None, self.data.path)
        empty = None
        for rows in self.data.blocks(size):
            if names is None and isinstance(rows, pd.DataFrame):
                rows = np.ascontiguousarray(rows.to_numpy())
            elif names is not None and not isinstance(rows, pd.DataFrame):
                rows = pd.DataFrame(rows.toarray() if sp.issparse(rows) else rows, columns=names)
            new.count(rows)
            if self._plan is not None:
                without = set(rows.columns[rows.isna().all()])
                empty = without if empty is None else empty & without
            yield rows
        new.warn()
        if empty:
            warnings.warn(
                f"{self.data.path}: no values in {shortened(sorted(empty))}; the medians of the rows that the model "
                "was fitted to are used.",
                stacklevel=2,
            )


def _columns_of(model: Any, plan: Plan | None, data: FileData, selection: Selection) -> FileData:
    """Return the columns that a model was fitted to, with the kinds it was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    data = select_features(data, selection) if names is None or selection.columns else data
    if plan is not None and isinstance(data, ArrayData):
        return _as_columns(data, plan)
    if names is not None and isinstance(data, TableData):
        needed = [str(name) for name in names] if plan is None else [column.name for column in plan.used]
        if missing := [name for name in needed if name not in (*data.names, data.index)]:
            raise ValueError(f"{data.path} lacks columns the model was fitted to: {shortened(missing)}.")
        data = data.select(needed)
    elif data.n_columns != model.n_features_in_:
        raise ValueError(
            f"{data.path} has {data.n_columns} columns, the model was fitted to {model.n_features_in_}; select columns "
            "with --columns, --drop and --target, and resize images with --size."
        )
    if isinstance(data, ArrayData):
        return data
    return (
        data.with_guessed_kinds(only_numbers=not isinstance(model, Pipeline)) if plan is None else data.with_plan(plan)
    )


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
