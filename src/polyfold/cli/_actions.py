"""What the commands do: files in, files and figures out."""

import contextlib
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyfold
from polyfold.cli._cluster import connected, map_parts
from polyfold.cli._config import Setup
from polyfold.cli._data import Picked, all_rows, as_fitted, block_rows, for_model, last_step, open_for, rows_for
from polyfold.cli._fitting import fit_model, summary
from polyfold.cli._images import parse_size
from polyfold.cli._judging import judge
from polyfold.cli._targets import check_length, read_target, target_for
from polyfold.cli._terminal import Terminal
from polyfold.cli._writers import check_model_path, check_output, check_place, writer


def fit_to_file(
    data: str, output: str, setup: Setup, stream: bool | None, cluster: str | None, terminal: Terminal
) -> dict[str, Any]:
    """Fit a model and save it."""
    path, name = check_model_path("--output", output), setup.model or "ModularKernelPCA"
    with connected(cluster):
        model = fit_model(data, name, setup, stream, terminal, on_cluster=cluster is not None)
    polyfold.save(model, path)
    return {"model": name, "output": str(path), "bytes": path.stat().st_size, **summary(model)}


def transform_file(
    model: str, data: str, output: str, picked: Picked, reconstruct: bool, cluster: str | None, terminal: Terminal
) -> dict[str, Any]:
    """Write coordinates, or reconstructions, block by block."""
    path = Path(output)
    if reconstruct and path.suffix == "":
        check_place("--output", path, is_folder=True)
    else:
        check_output(path)
    fitted = polyfold.load(model)
    if not hasattr(fitted, "transform") or (reconstruct and not hasattr(fitted, "inverse_transform")):
        wanted = "inverse_transform" if reconstruct else "transform"
        raise ValueError(f"{model} must have {wanted}, got {type(last_step(fitted)).__name__}.")
    source, count = open_for(data, picked, fitted), 0
    size = block_rows(source)
    names = _column_names(fitted, reconstruct)
    with connected(cluster) as client, writer(path, names, size=picked.size) as append:
        if client is None:
            blocks = (_transformed(fitted, reconstruct, rows) for rows in rows_for(source, fitted, size))
        else:
            source, columns, texts = for_model(source, fitted)
            blocks = map_parts(client, partial(_transformed_part, fitted, reconstruct, columns, texts), source, picked)
        for Z in terminal.track(blocks, "blocks transformed", source.n_rows, size):
            append(Z)
            count += len(Z)
    return {"output": str(path), "rows": count, "columns": len(names)}


def _transformed(fitted: Any, reconstruct: bool, rows: Any) -> np.ndarray:
    Z = np.asarray(fitted.transform(rows))
    return np.asarray(fitted.inverse_transform(Z)) if reconstruct else Z


def _transformed_part(fitted: Any, reconstruct: bool, names: Any, texts: list[str] | None, part: Any) -> np.ndarray:
    return _transformed(fitted, reconstruct, as_fitted(part, names, texts))


def _column_names(fitted: Any, reconstruct: bool) -> list[str]:
    if not reconstruct:
        return [str(name) for name in fitted.get_feature_names_out()]
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{number}" for number in range(fitted.n_features_in_)] if names is None else [str(name) for name in names]


def evaluate_file(model: str, data: str, picked: Picked, seed: int | None, terminal: Terminal) -> dict[str, Any]:
    """Return how good a model is on a file."""
    fitted = polyfold.load(model)
    rows, y = all_rows(data, picked, fitted), target_for(data, picked, fitted)
    check_length(y, rows)
    with terminal.working("evaluating"):
        return {"model": type(last_step(fitted)).__name__, **judge(fitted, rows, y, seed or 0)}


def report_file(
    model: str, data: str, output: str, picked: Picked, title: str | None, points: int, terminal: Terminal
) -> dict[str, Any]:
    """Write the page of a model."""
    path, fitted = check_output(output, (".html",)), polyfold.load(model)
    source = picked.open(data)
    rows, y = all_rows(data, picked, fitted), read_target(data, picked)
    check_length(y, rows)
    with terminal.working("writing the page"):
        shown = {"columns": _shown(source), "images": _pictures(source, rows, picked)}
        named = None if y is None else pd.Series(y, name=_label(source, str(picked.target)))
        polyfold.report.explore(fitted, rows, y=named, **shown, path=path, title=title, max_points=points)
    return {"output": str(path), "bytes": path.stat().st_size}


def _label(source: Any, target: str) -> str:
    """Return what the page calls the target: the column, or the file without its ending."""
    return target if target in (source.names or source.labels or ()) else Path(target).stem


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
    """Run the demo."""
    check_place("--output", output, is_folder=True)
    run = importlib.import_module("polyfold.demo").run_demo
    # Its table goes to the terminal, not into the JSON.
    with contextlib.redirect_stdout(sys.stderr) if terminal.as_json else contextlib.nullcontext():
        return {"report": str(run(output))}
