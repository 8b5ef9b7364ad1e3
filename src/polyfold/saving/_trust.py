"""Which types and functions a model file may name.

Loading creates objects of the types that a file names and sets their state from the file. Allowed by default are:

- classes in polyfold's layers of algorithms, whose constructors only compute (`tests/saving/test_trust.py` reads them)
- estimators of scikit-learn, except those whose compiled code follows indices from the file without checks
- a fixed list of other types, and the universal functions of NumPy and SciPy
"""

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

LAYERS = (
    *("neighbors", "bootstrap", "kernels", "spectra", "modular", "nonredundant", "clustering", "training"),
    *("estimators", "baselines", "networks", "ensembles"),
)
# Modules with classes whose constructors look into folders.
EXCLUDED = ("_checkpoint", "_layer_checkpoint")
# Packages of scikit-learn whose import does more than define estimators, or whose trees follow indices of the file.
SKIPPED = ("tests", "conftest", "externals", "datasets", "experimental", "_hist_gradient_boosting")
# libsvm and HDBSCAN follow indices wherever they point. So do decision trees, which are not estimators and not allowed.
UNCHECKED = frozenset(
    {f"sklearn.svm._classes.{name}" for name in ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")}
    | {"sklearn.cluster._hdbscan.hdbscan.HDBSCAN"}
)
OTHERS = frozenset(
    {f"sklearn.neural_network._stochastic_optimizers.{name}Optimizer" for name in ("Adam", "SGD")}
    | {f"builtins.{name}" for name in ("int", "float", "str", "bool")}
    | {
        "collections.OrderedDict",
        "sklearn.utils._bunch.Bunch",
        "sklearn.compose._column_transformer._RemainderColsList",
    }
)
# Classes that are called with arguments from the file; their names carry the mark of a call.
CALLED = frozenset(f"sklearn.linear_model._sgd_fast.{name}()" for name in ("Hinge", "SquaredHinge", "ModifiedHuber"))
# Bound methods, named by class and method.
METHODS = frozenset({"polyfold.spectra._spectrum.Spectrum.coordinates"})


def untrusted(names: Iterable[str]) -> list[str]:
    """Return the names that are not allowed by default; nothing outside polyfold and scikit-learn is imported."""
    return sorted(name for name in {*names} - OTHERS - METHODS - CALLED if not _is_allowed(name))


def named(name: str) -> Any:
    """Import the object of a name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _is_allowed(name: str) -> bool:
    package, *layers = name.split(".")[:-1] or [""]
    if package == "polyfold":
        return bool(layers) and layers[0] in LAYERS and not set(layers) & set(EXCLUDED) and _is_class(name, object)
    if package == "sklearn":
        return not set(layers) & set(SKIPPED) and name not in UNCHECKED and _is_class(name, BaseEstimator)
    if name.startswith("scipy.special."):
        return name.count(".") == 2 and isinstance(_found(name), np.ufunc)
    value = getattr(np, name.rpartition(".")[2], None) if package == "numpy" and not layers else None
    return isinstance(value, np.ufunc) or (inspect.isclass(value) and issubclass(value, np.generic))


def _is_class(name: str, parent: type) -> bool:
    """Whether a name belongs to a class of this kind that is defined in the module of its name."""
    value = _found(name)
    return inspect.isclass(value) and issubclass(value, parent) and value.__module__ == name.rpartition(".")[0]


def _found(name: str) -> Any:
    try:
        return named(name)
    except (ModuleNotFoundError, AttributeError):
        return None
