"""Parameters from text: numbers, names, and objects such as ``Gaussian(gamma=0.1)``; nothing is evaluated."""

import ast
import importlib
import inspect
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from sklearn.base import BaseEstimator

import polyfold

PACKAGES = ("baselines", "kernels", "networks")


def public_classes() -> dict[str, type]:
    """Return estimators, kernels and options of polyfold by name."""
    packages = [polyfold, *(getattr(polyfold, name) for name in PACKAGES)]
    found = {name: getattr(package, name) for package in packages for name in package.__all__}
    return {name: value for name, value in sorted(found.items()) if inspect.isclass(value) and _is_set_up(value)}


def estimator_names() -> list[str]:
    """Return the names of what can be fitted."""
    return [name for name, value in public_classes().items() if hasattr(value, "fit") and not inspect.isabstract(value)]


def _is_set_up(value: type) -> bool:
    return hasattr(value, "get_params") and not inspect.isabstract(value)


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return parameters given as ``name=value``."""
    parsed = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--set must be given as name=value, got {setting!r}; for example --set n_modules=15.")
        parsed[name.strip()] = parse_value(text.strip())
    return parsed


def parse_value(text: Any) -> Any:
    """Return a number, a list, True, False, None, an object or, where it is none of these, the text."""
    if not isinstance(text, str):
        return [parse_value(entry) for entry in text] if isinstance(text, list) else text
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if isinstance(node, ast.Call):
        return _made(node, text)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return text


def _made(node: ast.Call, text: str) -> Any:
    """Make an object of a known class from literal arguments."""
    cls = find_class(ast.unparse(node.func))
    if any(keyword.arg is None for keyword in node.keywords):
        raise ValueError(f"arguments must be given one by one, got {text!r}.")
    arguments = [parse_value(ast.unparse(argument)) for argument in node.args]
    keywords = {str(keyword.arg): parse_value(ast.unparse(keyword.value)) for keyword in node.keywords}
    try:
        return cls(*arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"{text!r} must name parameters of {cls.__name__} ({error}).") from error


def find_class(name: str) -> type:
    """Return a public class of polyfold by its name, or an estimator of scikit-learn by its path."""
    classes = public_classes()
    if name in classes:
        return classes[name]
    if name.startswith("sklearn."):
        module, _, attribute = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute, None)
        except ModuleNotFoundError:
            found = None
        if inspect.isclass(found) and issubclass(found, BaseEstimator):
            return found
    raise ValueError(
        f"{name!r} must be a class of polyfold ({_nearest(name, classes)}) or an estimator of scikit-learn by its "
        "path, such as sklearn.linear_model.LogisticRegression."
    )


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the names that may have been meant, or all."""
    return ", ".join(get_close_matches(name, names := list(names)) or names)


def _network(cls: type, n_clusters: Any) -> Any:
    """Return a network to set parameters of, where an estimator would make its own."""
    if not issubclass(cls, polyfold.BootstrapClustering):
        return polyfold.MultilayerBootstrapNetwork()
    classes = n_clusters if isinstance(n_clusters, int) and n_clusters > 0 else 2
    return polyfold.MultilayerBootstrapNetwork(classes, n_classes=classes)


def _check_names(name: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse parameters that an estimator does not have, and parts of what has none."""
    for key in given:
        part = key.partition("__")[0]
        if part not in known:
            raise ValueError(f"{name} has no parameter {part!r} for --set to set; it has {_nearest(part, known)}.")
        if part != key and not hasattr(owner := given.get(part, known[part]), "set_params"):
            raise ValueError(
                f"--set {key} needs an object as {part}, got {owner!r}; for example --set 'kernel=Gaussian(gamma=0.1)'."
            )


def make_estimator(name: str, parameters: Mapping[str, Any], seed: int | None) -> Any:
    """Make an unfitted estimator: ``a__b`` sets b of the part a, a seed goes to every part that has none."""
    cls = find_class(name)
    if not hasattr(cls, "fit"):
        raise ValueError(f"{name} must be an estimator, got a class without fit; choose from {estimator_names()}.")
    needed = [p.name for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    given = {key: parameters[key] for key in needed if key in parameters}
    if "representation" in needed and "representation" not in given:
        given["representation"] = polyfold.ModularKernelPCA()
    if missing := [key for key in needed if key not in given]:
        raise ValueError(f"{name} needs {missing[0]}; for example --set '{missing[0]}=BootstrapClustering()'.")
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
