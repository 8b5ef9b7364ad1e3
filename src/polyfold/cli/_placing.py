"""Groups and maps: every row of a file gets its number, or its place."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_clusterer

import polyfold
from polyfold.cli._cluster import connected, map_parts
from polyfold.cli._config import Setup
from polyfold.cli._data import Picked, as_fitted, block_rows, for_model, last_step, open_for, rows_for
from polyfold.cli._fitting import fit_model
from polyfold.cli._targets import read_target
from polyfold.cli._terminal import Terminal
from polyfold.cli._writers import PICTURES, SUFFIXES, check_model_path, check_output, draw, writer


def cluster_file(
    data: str,
    output: str,
    setup: Setup,
    model: str | None,
    save: str | None,
    address: str | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the cluster of every row, by a new clusterer or a saved one."""
    path, kept = check_output(output), save and check_model_path("--save", save)
    with connected(address) as client:
        if model is None:
            name = setup.model_of("cluster", "BootstrapClustering")
            fitted = fit_model(data, name, setup, False, terminal, on_cluster=client is not None)
            labels = np.asarray(last_step(fitted).labels_)
        else:
            fitted = polyfold.load(model)
            labels = _predicted(fitted, model, data, setup.picked, client, terminal)
    with writer(path, ["cluster"]) as append:
        append(labels[:, None])
    if kept:
        polyfold.save(fitted, kept)
    return {"output": str(path), "rows": len(labels), "clusters": len(np.unique(labels))}


def _predicted(fitted: Any, model: str, data: str, picked: Picked, client: Any, terminal: Terminal) -> np.ndarray:
    if not hasattr(fitted, "predict") or not is_clusterer(_teacher(last_step(fitted))):
        raise ValueError(f"{model} must be a clusterer, got {type(last_step(fitted)).__name__}.")
    source = open_for(data, picked, fitted)
    size = block_rows(source)
    if client is None:
        found = (fitted.predict(rows) for rows in rows_for(source, fitted, size))
    else:
        source, names, texts = for_model(source, fitted)
        found = map_parts(client, partial(_predicted_part, fitted, names, texts), source, picked)
    return np.concatenate(list(terminal.track(found, "blocks clustered", source.n_rows, size)))


def _predicted_part(fitted: Any, names: Any, texts: list[str] | None, part: Any) -> np.ndarray:
    return fitted.predict(as_fitted(part, names, texts))


def _teacher(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, polyfold.Compressed) else estimator


def map_file(data: str, output: str, setup: Setup, save: str | None, terminal: Terminal) -> dict[str, Any]:
    """Lay out the rows in two dimensions: coordinates, or a picture."""
    path, kept = check_output(output, (*SUFFIXES, *PICTURES)), save and check_model_path("--save", save)
    y = read_target(data, setup.picked)
    fitted = fit_model(data, setup.model_of("map", "BootstrapMap"), setup, False, terminal)
    Z = np.asarray(last_step(fitted).embedding_)
    if path.suffix.lower() in PICTURES:
        draw(path, Z, y)
    else:
        with writer(path, [str(name) for name in fitted.get_feature_names_out()]) as append:
            append(Z)
    if kept:
        polyfold.save(fitted, kept)
    return {"output": str(path), "rows": len(Z)}
