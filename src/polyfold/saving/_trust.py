"""Which types a model file may name.

skops makes objects of the types that a file names, and may call those types with arguments from the file. A type is
ours to trust if it is a class defined in a layer of algorithms, whose constructors only compute: none opens a file,
starts a program or imports by a name from its arguments (`tests/saving/test_trust.py` reads them).
"""

import importlib
import inspect
import sys
from collections.abc import Iterable

LAYERS = (
    *("neighbors", "bootstrap", "kernels", "spectra", "modular", "nonredundant", "clustering", "training"),
    *("estimators", "baselines", "networks", "ensembles"),
)
# Modules with classes whose constructors look into folders.
EXCLUDED = ("_checkpoint", "_layer_checkpoint")
# What fitted models of ours hold of scikit-learn and scipy that skops does not trust by itself: trees and metrics of
# neighbours, sparse arrays, optimizers of its networks. A bound method is named by its class and its own name.
OTHERS = frozenset(
    {f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc", "coo") for form in ("array", "matrix")}
    | {f"sklearn.neighbors._{tree}.{name}" for tree, name in (("kd_tree", "KDTree"), ("ball_tree", "BallTree"))}
    | {
        f"sklearn.metrics._dist_metrics.{name}Distance{bits}"
        for name in ("Euclidean", "Manhattan", "Minkowski", "Chebyshev")
        for bits in ("", "64", "32")
    }
    | {f"sklearn.neural_network._stochastic_optimizers.{name}Optimizer" for name in ("Adam", "SGD")}
    | {"polyfold.spectra._spectrum.Spectrum.coordinates", "numpy.dtype"}
)


def untrusted(names: Iterable[str]) -> list[str]:
    """Return the names that are neither ours nor known; nothing outside polyfold is imported to find out."""
    return sorted(name for name in names if name not in OTHERS and not _is_ours(name))


def unreachable(names: Iterable[str]) -> list[str]:
    """Return the names that no other process could import, such as those of lambdas."""
    return sorted(name for name in names if not _is_reachable(name))


def _is_reachable(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    return name in OTHERS or (module != "__main__" and hasattr(sys.modules.get(module), attribute))


def _is_ours(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    if parts[0] != "polyfold" or len(parts) < 2 or parts[1] not in LAYERS or set(name.split(".")) & set(EXCLUDED):
        return False
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError:
        return False
    return inspect.isclass(found) and found.__module__ == module
