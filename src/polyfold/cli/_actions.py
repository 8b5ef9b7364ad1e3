"""What the commands do: files in, files and figures out."""

import contextlib
import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor

import polyfold
from polyfold.cli._data import Picked, all_rows, block_rows, last_step, open_features, open_for, read_target, rows_for
from polyfold.cli._fitting import fit_file, summary
from polyfold.cli._images import parse_size
from polyfold.cli._judging import judge
from polyfold.cli._terminal import Terminal
from polyfold.cli._values import make_estimator, parse_settings, read_config
from polyfold.cli._writers import SUFFIXES, check_output, draw, writer

PICTURES = (".png", ".svg", ".pdf")


def fit_to_file(data: str, output: str, name: str | None, stream: bool | None, terminal: Terminal, **setup: Any) -> Any:
    """Fit a model and save it."""
    config = read_config(setup.pop("config"))
    name = name or str(config.get("model", "ModularKernelPCA"))
    path = _model_path(output)
    model = _fitted(data, name, config, stream, terminal, **setup)
    polyfold.save(model, path)
    return {"model": name, "output": str(path), "bytes": path.stat().st_size, **summary(last_step(model))}


def _fitted(
    data: str,
    name: str,
    config: dict[str, Any],
    stream: bool | None,
    terminal: Terminal,
    picked: Picked,
    settings: tuple[str, ...],
    seed: int | None,
    prepare: str | None,
    categorical: str | None,
    defaults: dict[str, Any] | None = None,
) -> Any:
    picked = _with_config(picked, config)
    parameters = {**(defaults or {}), **config.get("parameters", {}), **parse_settings(settings)}
    estimator = make_estimator(name, parameters, seed)
    named = categorical or config.get("categorical", "")
    categories = named if isinstance(named, list) else [part.strip() for part in named.split(",") if part.strip()]
    source, y = open_features(data, picked), read_target(data, picked)
    choice = prepare or config.get("prepare", "auto")
    if not _takes_target(estimator):
        y = None
    return fit_file(source, estimator, y, prepare=choice, categorical=categories, stream=stream, terminal=terminal)


def _takes_target(estimator: Any) -> bool:
    """Whether targets are more than a column to leave out."""
    return is_classifier(estimator) or is_regressor(estimator)


def _with_config(picked: Picked, config: dict[str, Any]) -> Picked:
    """Fill in from a file what the command line leaves open."""
    known = {"model", "parameters", "target", "columns", "drop", "array", "size", "color", "prepare", "categorical"}
    if unknown := sorted(set(config) - known):
        raise ValueError(f"--config must have the keys {', '.join(sorted(known))} only, got {unknown[0]!r}.")
    lists = {key: tuple(config[key]) for key in ("columns", "drop") if key in config and not getattr(picked, key)}
    texts = {k: config[k] for k in ("target", "array", "size", "color") if k in config and not getattr(picked, k)}
    return replace(picked, **lists, **texts)


def transform_file(
    model: str, data: str, output: str, picked: Picked, reconstruct: bool, terminal: Terminal
) -> dict[str, Any]:
    """Write coordinates, or reconstructions, block by block."""
    fitted, path = polyfold.load(model), Path(output)
    pictures = reconstruct and path.suffix == ""
    if not pictures:
        check_output(path)
    if not hasattr(fitted, "transform") or (reconstruct and not hasattr(fitted, "inverse_transform")):
        wanted = "inverse_transform" if reconstruct else "transform"
        raise ValueError(f"{model} must have {wanted}, got {type(last_step(fitted)).__name__}.")
    source, count = open_for(data, picked, fitted), 0
    size = block_rows(source)
    names = _column_names(fitted, reconstruct)
    with writer(path, names, size=picked.size) as append:
        for rows in terminal.track(rows_for(source, fitted, size), "blocks transformed", source.n_rows, size):
            Z = np.asarray(fitted.transform(rows))
            append(np.asarray(fitted.inverse_transform(Z)) if reconstruct else Z)
            count += len(Z)
    return {"output": str(path), "rows": count, "columns": len(names)}


def _column_names(fitted: Any, reconstruct: bool) -> list[str]:
    if not reconstruct:
        return [str(name) for name in fitted.get_feature_names_out()]
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{number}" for number in range(fitted.n_features_in_)] if names is None else [str(name) for name in names]


def cluster_file(
    data: str, output: str, clusters: str, model: str | None, save: str | None, terminal: Terminal, **setup: Any
) -> dict[str, Any]:
    """Write the cluster of every row, by a new clusterer or a saved one."""
    path, config, picked = check_output(output), read_config(setup.pop("config")), setup["picked"]
    if clusters != "auto" and not clusters.isdigit():
        raise ValueError(f"--clusters must be a number or auto, got {clusters!r}.")
    if model is None:
        settings = setup["settings"]
        wanted: Any = "auto" if clusters == "auto" else int(clusters)
        defaults: dict[str, Any] = {"n_clusters": wanted}
        if any(setting.startswith("network__") for setting in settings):
            size = 30 if wanted == "auto" else wanted
            defaults["network"] = polyfold.MultilayerBootstrapNetwork(
                size, n_classes=10 if wanted == "auto" else wanted
            )
        fitted = _fitted(data, "BootstrapClustering", config, False, terminal, defaults=defaults, **setup)
        labels = last_step(fitted).labels_
    else:
        fitted = polyfold.load(model)
        if not hasattr(fitted, "predict") or not is_clusterer(_teacher(last_step(fitted))):
            raise ValueError(f"{model} must be a clusterer, got {type(last_step(fitted)).__name__}.")
        source = open_for(data, picked, fitted)
        size = block_rows(source)
        blocks = terminal.track(rows_for(source, fitted, size), "blocks clustered", source.n_rows, size)
        labels = np.concatenate([fitted.predict(rows) for rows in blocks])
    with writer(path, ["cluster"]) as append:
        append(np.asarray(labels)[:, None])
    if save is not None:
        polyfold.save(fitted, _model_path(save))
    return {"output": str(path), "rows": len(labels), "clusters": len(np.unique(labels))}


def _teacher(estimator: Any) -> Any:
    return estimator.estimator if isinstance(estimator, polyfold.Compressed) else estimator


def map_file(data: str, output: str, save: str | None, terminal: Terminal, **setup: Any) -> dict[str, Any]:
    """Lay out the rows in two dimensions: coordinates, or a picture."""
    path, config, picked = (
        check_output(output, (*SUFFIXES, *PICTURES)),
        read_config(setup.pop("config")),
        setup["picked"],
    )
    if not hasattr(polyfold, "BootstrapMap"):
        raise ValueError(f"polyfold {polyfold.__version__} has no maps yet; upgrade it, or fit KernelEmbedding.")
    fitted = _fitted(data, "BootstrapMap", config, False, terminal, **setup)
    Z = np.asarray(last_step(fitted).embedding_)
    if path.suffix in PICTURES:
        draw(path, Z, read_target(data, picked))
    else:
        with writer(path, _column_names(fitted, reconstruct=False)) as append:
            append(Z)
    if save is not None:
        polyfold.save(fitted, _model_path(save))
    return {"output": str(path), "rows": len(Z)}


def evaluate_file(model: str, data: str, picked: Picked, seed: int | None, terminal: Terminal) -> dict[str, Any]:
    """Return how good a model is on a file."""
    fitted = polyfold.load(model)
    rows, y = all_rows(data, picked, fitted), read_target(data, picked)
    if y is not None and len(y) != rows.shape[0]:
        raise ValueError(f"--target must have one value per row, {rows.shape[0]}, got {len(y)}.")
    with terminal.working("evaluating"):
        return {"model": type(last_step(fitted)).__name__, **judge(fitted, rows, y, seed or 0)}


def report_file(
    model: str, data: str, output: str, picked: Picked, title: str | None, points: int, terminal: Terminal
) -> dict[str, Any]:
    """Write the page of a model."""
    path, fitted = check_output(output, (".html",)), polyfold.load(model)
    explore = getattr(importlib.import_module("polyfold.report"), "explore", None)
    if explore is None:
        raise ValueError(f"polyfold {polyfold.__version__} has no page of models yet; upgrade it.")
    source = picked.open(data)
    rows, y = all_rows(data, picked, fitted), read_target(data, picked)
    with terminal.working("writing the page"):
        shown = {"columns": _shown(source), "images": _pictures(source, rows, picked)}
        explore(fitted, rows, y=y, **shown, path=path, title=title, max_points=points)
    return {"output": str(path), "bytes": path.stat().st_size}


def _shown(source: Any) -> Any:
    """Columns to show beside a point: those of a table, or the names of image files."""
    if source.names is not None:
        return source.whole()
    return {name: values for name, values in (source.labels or {}).items() if name in ("file", "folder")} or None


def _pictures(source: Any, rows: Any, picked: Picked) -> Any:
    """Rows as pictures: those of a folder of images, or of --size."""
    shape = source.image_shape or (parse_size(picked.size)[::-1] if picked.size else None)
    if shape is None:
        return None
    if np.prod(shape) != rows.shape[1]:
        raise ValueError(f"--size must fit the {rows.shape[1]} values of a row, got {picked.size}.")
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).reshape(-1, *shape)


def run_demonstration(output: Path, terminal: Terminal) -> dict[str, Any]:
    """Run the demo of the experiments."""
    run = importlib.import_module("polyfold.experiments.demo").run_demo
    # Its table goes to the terminal, not into the JSON.
    with contextlib.redirect_stdout(sys.stderr) if terminal.as_json else contextlib.nullcontext():
        return {"report": str(run(output))}


def _model_path(output: str) -> Path:
    path = Path(output)
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(f"the model must go to a file in a folder that is there, got {output!r}.")
    if path.suffix.lower() in SUFFIXES:
        raise ValueError(f"the model must not go to a file of data, got {output!r}; end its name in .polyfold.")
    return path
