"""Constructors of the types a file may name do nothing but compute."""

import ast
import importlib
from pathlib import Path

import pytest

import polyfold
from polyfold.saving import _trust
from polyfold.saving._trust import EXCLUDED, LAYERS, untrusted

ROOT = Path(polyfold.__file__).parent
MADE_BY = {"__init__", "__new__", "__post_init__", "__setstate__", "__init_subclass__"}
# What reaches beyond memory, or runs what it is given.
FORBIDDEN = {"open", "exec", "eval", "compile", "__import__", "import_module", "system", "Popen", "run", "Path"} | {
    *("write_file", "mkdir", "unlink", "load", "loads", "getattr", "setattr", "fromfile", "memmap")
}


def calls(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", None) or getattr(node.func, "attr", "")


def forbidden_calls(source):
    """Calls within the constructors of a module that a file from a stranger must not reach."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if getattr(node, "name", "") not in EXCLUDED]
    for node in ast.walk(tree):
        # skops calls what it has made with one argument, as the type of a key.
        one = isinstance(node, ast.FunctionDef) and node.name == "__call__" and len(node.args.args) <= 2
        if one or (isinstance(node, ast.FunctionDef) and node.name in MADE_BY):
            yield from (f"{node.name}: {name}" for name in calls(node) if name in FORBIDDEN)


def trusted_files():
    for layer in LAYERS:
        yield from (path for path in (ROOT / layer).rglob("*.py") if path.stem not in EXCLUDED)


def test_constructors_reach_nothing_but_memory():
    found = {str(path): names for path in trusted_files() if (names := list(forbidden_calls(path.read_text())))}
    assert found == {}


def test_a_constructor_that_opens_a_file_is_seen():
    assert list(forbidden_calls("class A:\n  def __init__(self, p):\n    open(p)")) == ["__init__: open"]


@pytest.mark.parametrize(
    "name", ["polyfold.estimators._embedding.KernelEmbedding", "sklearn.preprocessing._data.StandardScaler"]
)
def test_our_types_are_trusted(name):
    assert untrusted([name]) == []


@pytest.mark.parametrize(
    "name",
    [
        "polyfold.kernels._registry.as_kernel",  # a function
        "polyfold.kernels._pointwise.NDArray",  # defined elsewhere
        "polyfold.training._checkpoint.Checkpoint",
        "polyfold.bootstrap._layer_checkpoint.ReplicateCheckpoints",
        "polyfold.cli.main",
        "polyfold",
        "polyfold.nothing.Here",
        "polyfold.kernels.nothing.Here",
        "polyfoldish.kernels.Kernel",
        "sklearn.svm._classes.SVC",  # compiled code that follows indices of the file
        "sklearn.cluster._hdbscan.hdbscan.HDBSCAN",
        "sklearn.linear_model._stochastic_gradient.SGDClassifier",
        "sklearn.feature_extraction._hash.FeatureHasher",
        "sklearn.multiclass.OneVsRestClassifier",  # takes the shape of what its estimators return for granted
        "sklearn.isotonic.IsotonicRegression",  # in no list
        "sklearn.linear_model.tests.test_base.LinearRegression",
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor",
        "sklearn.preprocessing._data.check_array",
        "sklearn.preprocessing.StandardScaler",  # not where it is defined
        "sklearn.conftest.pytest_generate_tests",
        "numpy.save",
        "numpy.linalg.norm",
        "numpy.testing.measure",
        "scipy.special.sys",
        "builtins.eval",
        "",
    ],
)
def test_nothing_else_is(name):
    assert untrusted([name, name]) == [name]


@pytest.mark.parametrize("name", ["evil.float64", "numpy.evil.float64", "float64", "numpy.sin"])
def test_names_of_numpy_in_other_packages_are_not_allowed(name):
    assert not _trust._is_allowed(name)
    assert _trust._is_allowed("numpy.float64")


@pytest.mark.parametrize(("package", "name"), [(p, name) for p, names in _trust.LEARNERS.items() for name in names])
def test_listed_estimators_exist_and_are_trusted(package, name):
    found = getattr(importlib.import_module(f"sklearn.{package}"), name, None)
    found = found or getattr(importlib.import_module(f"sklearn.{package}.text"), name)
    assert untrusted([f"{found.__module__}.{name}"]) == []
