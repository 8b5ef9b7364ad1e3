"""Find, explain and use independent axes and clusters of data, in the style of scikit-learn.

Names are loaded on first use, so ``import polyfold`` takes milliseconds.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyfold import baselines, datasets, kernels, metrics, networks, report, sources
    from polyfold._progress import show_progress
    from polyfold.ensembles import Compressed, ModularClassifier, ModularNeighbors, select_diversity
    from polyfold.estimators import (
        BootstrapClustering,
        BootstrapMap,
        BootstrapNeighborsTransformer,
        KernelClustering,
        KernelEmbedding,
        ModularAutoencoder,
        ModularKernelPCA,
        MultilayerBootstrapNetwork,
        NonRedundantEmbedding,
    )
    from polyfold.explaining import Explanation, explain
    from polyfold.export import to_onnx
    from polyfold.saving import load, save

    __version__: str

# Public name -> the package that defines it.
_HOME = {
    "Compressed": "ensembles",
    "BootstrapClustering": "estimators",
    "BootstrapMap": "estimators",
    "BootstrapNeighborsTransformer": "estimators",
    "KernelClustering": "estimators",
    "KernelEmbedding": "estimators",
    "ModularAutoencoder": "estimators",
    "ModularClassifier": "ensembles",
    "ModularKernelPCA": "estimators",
    "ModularNeighbors": "ensembles",
    "NonRedundantEmbedding": "estimators",
    "MultilayerBootstrapNetwork": "estimators",
    "Explanation": "explaining",
    "explain": "explaining",
    "load": "saving",
    "save": "saving",
    "select_diversity": "ensembles",
    "show_progress": "_progress",
    "to_onnx": "export",
}
_PACKAGES = ("baselines", "datasets", "kernels", "metrics", "networks", "report", "sources")

__all__ = [
    "BootstrapClustering",
    "BootstrapMap",
    "BootstrapNeighborsTransformer",
    "Compressed",
    "Explanation",
    "KernelClustering",
    "KernelEmbedding",
    "ModularAutoencoder",
    "ModularClassifier",
    "ModularKernelPCA",
    "ModularNeighbors",
    "MultilayerBootstrapNetwork",
    "NonRedundantEmbedding",
    "baselines",
    "datasets",
    "explain",
    "kernels",
    "load",
    "metrics",
    "networks",
    "report",
    "save",
    "select_diversity",
    "show_progress",
    "sources",
    "to_onnx",
]


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("polyfold")
        if name in _PACKAGES:
            return importlib.import_module(f"polyfold.{name}")
        if name in _HOME:
            return getattr(importlib.import_module(f"polyfold.{_HOME[name]}"), name)
        raise AttributeError(f"module 'polyfold' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
