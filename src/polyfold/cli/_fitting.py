"""Fit a model to a file, in one piece or block by block, and say what came out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from polyfold.cli._data import available_memory, block_rows
from polyfold.cli._prepare import as_prepared, preparation
from polyfold.cli._sources import Source
from polyfold.cli._terminal import Terminal


def fit_file(
    source: Source,
    estimator: Any,
    y: np.ndarray | None,
    *,
    prepare: str,
    categorical: list[str],
    stream: bool | None,
    terminal: Terminal,
) -> Any:
    """Return a fitted model, with its preparation before it where there is one."""
    if y is None and get_tags(estimator).target_tags.required:
        raise ValueError(
            f"{type(estimator).__name__} needs --target: the column, array or file that holds the targets."
        )
    if stream is None:
        stream = source.bytes_in_memory() > 0.5 * available_memory() and hasattr(estimator, "partial_fit")
    if stream:
        return _in_blocks(source, estimator, prepare, categorical, terminal)
    rows = _readable(source.whole(), categorical)
    if y is not None and len(y) != rows.shape[0]:
        raise ValueError(f"--target must have one value per row, {rows.shape[0]}, got {len(y)}.")
    steps = preparation(rows, prepare, categorical)
    model = estimator if steps is None else Pipeline([("prepare", steps), ("model", estimator)])
    with terminal.working(f"fitting {type(estimator).__name__} to {rows.shape[0]} rows"):
        return model.fit(rows) if y is None else model.fit(rows, y)


def _in_blocks(source: Source, estimator: Any, prepare: str, categorical: list[str], terminal: Terminal) -> Any:
    """Fit by `partial_fit`; the preparation is that of the first block."""
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{type(estimator).__name__} must have partial_fit to be fitted block by block; use ModularKernelPCA, "
            "KernelEmbedding, ModularAutoencoder or a kernel baseline, or leave --stream out."
        )
    size, steps, names = block_rows(source), None, None
    model = clone(estimator)
    for number, block in enumerate(terminal.track(source.blocks(size), "blocks fitted", source.n_rows, size)):
        rows = _readable(block, categorical)
        if number == 0:
            steps = preparation(rows, prepare, categorical)
            steps = steps if steps is None else steps.fit(rows)
            names = list(rows.columns) if steps is None and isinstance(rows, pd.DataFrame) else None
        prepared = rows if steps is None else steps.transform(rows)
        # Types that differ between blocks would be taken for other data.
        prepared = prepared.astype(np.float64) if names else prepared
        model.partial_fit(prepared)
    return model if steps is None else Pipeline([("prepare", steps), ("model", model)])


def _readable(rows: Any, categorical: list[str]) -> Any:
    if isinstance(rows, pd.DataFrame):
        return as_prepared(rows, categorical)
    return rows if sp.issparse(rows) else np.asarray(rows)


def summary(model: Any) -> Mapping[str, Any]:
    """Return what a fitted estimator says about itself in numbers."""
    names = ("loss_", "loss_bound_", "loss_gap_", "n_iter_", "n_clusters_", "layer_sizes_", "fidelity_", "redundancy_")
    found = {name: getattr(model, name) for name in names if hasattr(model, name)}
    return {name: np.asarray(value).tolist() for name, value in found.items()}
