"""Which types and functions a model file may name.

Loading creates objects of the types that a file names and sets their state from the file. Allowed by default are:

- classes in polyfold's layers of algorithms, whose constructors only compute (`tests/saving/test_trust.py` reads them)
- listed estimators of scikit-learn, whose compiled code follows no unchecked numbers from the file
- a fixed list of other types, and the scalar types of NumPy
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
# Estimators of scikit-learn, by package, that predict by matrix products, or whose indices are checked. All others need
# `trusted`: the compiled code of trees, libsvm, SGD and HDBSCAN, for example, follows numbers of a file unchecked.
LEARNERS = {
    "cluster": ("KMeans", "MiniBatchKMeans"),
    "compose": ("ColumnTransformer",),
    "decomposition": ("PCA", "IncrementalPCA", "KernelPCA", "TruncatedSVD", "FastICA", "FactorAnalysis", "NMF"),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "dummy": ("DummyClassifier", "DummyRegressor"),
    "feature_extraction": ("CountVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "impute": ("MissingIndicator", "SimpleImputer"),
    "kernel_approximation": ("Nystroem", "RBFSampler"),
    "kernel_ridge": ("KernelRidge",),
    "linear_model": (
        *("LinearRegression", "LogisticRegression", "LogisticRegressionCV"),
        *("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    ),
    "model_selection": ("GridSearchCV", "RandomizedSearchCV"),
    "naive_bayes": ("BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "neighbors": (
        *("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "NearestNeighbors"),
        *("NearestCentroid", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer"),
    ),
    "neural_network": ("MLPClassifier", "MLPRegressor"),
    "pipeline": ("FeatureUnion", "Pipeline"),
    "preprocessing": (
        *("Binarizer", "KernelCenterer", "LabelBinarizer", "LabelEncoder", "MaxAbsScaler"),
        *("MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PowerTransformer", "QuantileTransformer"),
        *("RobustScaler", "StandardScaler"),
    ),
    "svm": ("LinearSVC", "LinearSVR"),
}
OTHERS = frozenset(
    {f"sklearn.neural_network._stochastic_optimizers.{name}Optimizer" for name in ("Adam", "SGD")}
    | {f"builtins.{name}" for name in ("int", "float", "str", "bool")}
    | {
        "collections.OrderedDict",
        "sklearn.utils._bunch.Bunch",
        "sklearn.compose._column_transformer._RemainderColsList",
    }
)
# Bound methods, named by class and method.
METHODS = frozenset({"polyfold.spectra._spectrum.Spectrum.coordinates"})


def untrusted(names: Iterable[str]) -> list[str]:
    """Return the names that are not allowed by default; nothing outside polyfold and scikit-learn is imported."""
    return sorted(name for name in {*names} - OTHERS - METHODS if not _is_allowed(name))


def named(name: str) -> Any:
    """Import the object of a name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _is_allowed(name: str) -> bool:
    package, *layers = name.split(".")[:-1] or [""]
    if package == "polyfold":
        return bool(layers) and layers[0] in LAYERS and not set(layers) & set(EXCLUDED) and _is_class(name, object)
    if package == "sklearn":
        is_listed = bool(layers) and name.rpartition(".")[2] in LEARNERS.get(layers[0], ())
        return is_listed and "tests" not in layers and _is_class(name, BaseEstimator)
    value = getattr(np, name.rpartition(".")[2], None) if package == "numpy" and not layers else None
    return inspect.isclass(value) and issubclass(value, np.generic)


def _is_class(name: str, parent: type) -> bool:
    """Whether a name belongs to a class of this kind that is defined in the module of its name."""
    value = _found(name)
    return inspect.isclass(value) and issubclass(value, parent) and value.__module__ == name.rpartition(".")[0]


def _found(name: str) -> Any:
    try:
        return named(name)
    except (ModuleNotFoundError, AttributeError):
        return None
