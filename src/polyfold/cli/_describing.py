"""What a model file holds, and what is installed."""

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polyfold
from polyfold.cli._data import last_step
from polyfold.cli._fitting import summary
from polyfold.cli._values import estimator_names
from polyfold.saving import describe

EXTRAS = {
    "faiss": "faiss",
    "map": "openTSNE",
    "pynndescent": "pynndescent",
    "torch": "torch",
    "onnx": "onnx",
    "plot": "matplotlib",
}


def describe_model(path: str) -> dict[str, Any]:
    """Return what a model file says about itself."""
    about, model = describe(path), polyfold.load(path)
    estimator = last_step(model)
    steps = [type(step).__name__ for _, step in model.steps] if estimator is not model else None
    plain = (bool, int, float, str, type(None))
    parameters = estimator.get_params(deep=False).items()
    parameters = {name: value if isinstance(value, plain) else repr(value) for name, value in parameters}
    names = getattr(model, "feature_names_in_", None)
    return {
        "file": path,
        "class": type(estimator).__name__,
        **({} if steps is None else {"steps": steps}),
        "polyfold": about["polyfold"],
        "written with": about.get("written with"),
        "columns": int(getattr(model, "n_features_in_", 0)) if names is None else [str(name) for name in names],
        "parameters": parameters,
        **summary(model),
    }


def describe_installation() -> dict[str, Any]:
    """Return versions, extras and the classes that can be fitted."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "skops")
    return {
        "polyfold": polyfold.__version__,
        **{name: _version(name) for name in packages},
        "extras": {name: importlib.util.find_spec(module) is not None for name, module in EXTRAS.items()},
        "models": estimator_names(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
