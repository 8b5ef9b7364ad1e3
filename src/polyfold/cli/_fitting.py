"""Fit a model to a file, in one piece or block by block, and say what came out."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from polyfold.cli._cluster import lazy_rows
from polyfold.cli._config import Setup
from polyfold.cli._data import Picked, last_step, n_modules, named_columns, open_features
from polyfold.cli._prepare import as_prepared, preparation, text_columns
from polyfold.cli._prepared import Prepared, as_array
from polyfold.cli._sources import Source
from polyfold.cli._targets import check_length, find_target, read_target
from polyfold.cli._terminal import Terminal
from polyfold.cli._values import make_estimator
from polyfold.sources import as_source, budget

# Modules and dimensions of the default model, where the data do not ask for fewer.
MODULES, DIMENSIONS = 15, 20


def fit_model(
    data: str, name: str, setup: Setup, stream: bool | None, terminal: Terminal, on_cluster: bool = False
) -> Any:
    """Return a fitted model, with its preparation before it where there is one."""
    source = open_features(data, setup.picked)
    estimator = make_estimator(name, {**_size(name, source, setup.parameters), **setup.parameters}, setup.seed)
    y = _target(data, setup.picked, estimator)
    if y is None and get_tags(estimator).target_tags.required:
        raise ValueError(f"{name} needs --target: the column, array or file that holds the targets.")
    if setup.categorical and source.names is None:
        raise ValueError("--categorical needs columns with names, as .csv and .parquet files have them.")
    categorical = named_columns("--categorical", setup.categorical, source.names or (), source.path)
    source = source.as_texts(categorical)
    if on_cluster:
        if y is not None:
            raise ValueError(f"--cluster is for models that learn without targets, got {name}; leave --cluster out.")
        return _fit_stream(source, estimator, setup.prepare, categorical, terminal, partial(lazy_rows, setup.picked))
    if stream is None:
        stream = source.bytes_in_memory() > 2 * budget() and hasattr(estimator, "partial_fit")
    if stream:
        if not hasattr(estimator, "partial_fit"):
            raise ValueError(
                f"{name} must have partial_fit to be fitted block by block; use ModularKernelPCA, KernelEmbedding, "
                "ModularAutoencoder or a kernel baseline, or leave --stream out."
            )
        return _fit_stream(source, estimator, setup.prepare, categorical, terminal, as_source)
    return _at_once(source, estimator, y, setup.prepare, categorical, terminal)


def _target(data: str, picked: Picked, estimator: Any) -> np.ndarray | None:
    """Return targets to learn from; to other models they are a column to leave out, but it must be there."""
    if is_classifier(estimator) or is_regressor(estimator):
        return read_target(data, picked)
    if picked.target is not None:
        find_target(data, picked)
    return None


def _size(name: str, source: Source, parameters: Mapping[str, Any]) -> dict[str, int]:
    """Return a size for the default model at which all modules together have no more columns than the data."""
    if name != "ModularKernelPCA" or {"n_modules", "n_components"} & set(parameters):
        return {}
    modules = min(MODULES, max(2, source.n_columns // 2))
    return {"n_modules": modules, "n_components": min(DIMENSIONS, max(2, source.n_columns // modules))}


def _at_once(
    source: Source, estimator: Any, y: np.ndarray | None, prepare: str, categorical: list[str], terminal: Terminal
) -> Any:
    rows = source.whole()
    rows = as_prepared(rows, text_columns(rows, categorical)) if isinstance(rows, pd.DataFrame) else as_array(rows)
    check_length(y, rows)
    steps = preparation(rows, prepare)
    model = estimator if steps is None else Pipeline([("prepare", steps), ("model", estimator)])
    with terminal.fitting():
        return model.fit(rows) if y is None else model.fit(rows, y)


def _fit_stream(
    source: Source,
    estimator: Any,
    prepare: str,
    categorical: list[str],
    terminal: Terminal,
    opened: Callable[["Prepared"], Any],
) -> Any:
    """Fit to prepared rows opened as a stream; the preparation, and what is a category, is that of the first block."""
    blocks = Prepared(source, prepare, categorical)
    rows = opened(blocks)
    rows.names = blocks.names
    with terminal.fitting():
        model = clone(estimator).fit(rows)
    blocks.unseen.tell()
    return model if blocks.steps is None else Pipeline([("prepare", blocks.steps), ("model", model)])


def summary(model: Any) -> dict[str, Any]:
    """Return what a fitted model says about itself in numbers."""
    estimator = last_step(model)
    size = {"modules": n_modules(estimator)} if n_modules(estimator) else {}
    if hasattr(model, "transform"):
        size["coordinates"] = len(model.get_feature_names_out())
    names = ("loss_", "loss_bound_", "loss_gap_", "n_clusters_", "layer_sizes_", "fidelity_", "redundancy_")
    found = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {**size, **{name.strip("_"): np.asarray(value).tolist() for name, value in found.items()}}
