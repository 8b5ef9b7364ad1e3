"""Estimators: made from --model and parameters, and described."""

import ast
import importlib.util
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import polyfold
from polyfold.cli import suggestion
from polyfold.cli._formats import Selection
from polyfold.saving import describe
from polyfold.tables import USES, Plan

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
