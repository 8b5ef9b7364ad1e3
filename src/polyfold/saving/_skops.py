"""skops, imported in half the time."""

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

# Packages of scikit-learn in which there are no estimators; one of them imports torch and others where they are.
SKIPPED = ("externals", "tests")


def skops_io() -> ModuleType:
    """Import ``skops.io``, which goes through all of scikit-learn for its estimators, but for where there are none."""
    if "skops.io" in sys.modules:
        return sys.modules["skops.io"]
    discovery: Any = importlib.import_module("sklearn.utils.discovery")
    before = discovery.pkgutil
    discovery.pkgutil = SimpleNamespace(walk_packages=_walk)
    try:
        return importlib.import_module("skops.io")
    finally:
        discovery.pkgutil = before


def _walk(path: Iterable[str] | None, prefix: str) -> Iterator[pkgutil.ModuleInfo]:
    """Yield what `pkgutil.walk_packages` does, without the packages that are skipped."""
    for module in pkgutil.iter_modules(path, prefix):
        name = module.name.rpartition(".")[2]
        if name in SKIPPED:
            continue
        yield module
        if module.ispkg:
            package = importlib.import_module(module.name)
            yield from _walk(list(package.__path__), f"{module.name}.")
