"""What each command does: files in, files and figures out."""

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_clusterer

import polyfold
from polyfold.cli import Terminal
from polyfold.cli._column_kinds import TEXT, Plan
from polyfold.cli._estimators import FitOptions, fit_model, plan_heading, planned, use_of_numbers
from polyfold.cli._inputs import (
    SUFFIXES,
    ArrayData,
    Selection,
    TableData,
    block_rows,
    column_names,
    open_data,
    open_features,
    read_ids,
    read_target,
)
from polyfold.cli._outputs import PLOTS, check_model_path, check_output, check_path, draw, is_report, writer
from polyfold.cli._preparation import (
    all_rows,
    as_fitted,
    connected,
    for_model,
    last_step,
    map_parts,
    model_blocks,
    open_for_model,
)
from polyfold.cli._readers import parse_size
from polyfold.cli._results import summary

# Levels with more clusters get no names.
NAMED = 50


def plan_file(data: str, options: FitOptions, terminal: Terminal) -> dict[str, Any]:
    """Print what each column is and what would be done with it."""
    opened = planned(open_features(data, options.selection), options)
    if isinstance(opened, ArrayData):
        return {"rows": opened.n_rows, "columns": opened.n_columns, "type": str(opened.values.dtype)}
    plan = opened.plan
    assert plan is not None
    if not terminal.as_json:
        terminal.lines([*plan_heading(opened), *plan.table(use_of_numbers(opened, options.prepare))], err=False)
    return {} if not terminal.as_json else {"file": data, **plan.as_dict(), "rows": opened.n_rows}


def fit_file(
    data: str,
    output: str,
    options: FitOptions,
    config: str | None,
    stream: bool | None,
    cluster: str | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Fit a model and save it."""
    path = check_model_path("--output", output, [data, config, options.selection.target_file])
    name = options.model or "ModularKernelPCA"
    with connected(cluster) as client:
        model = fit_model(data, name, options, terminal, stream=stream, client=client)
    polyfold.save(model, path)
    return {"model": name, "output": output, "bytes": path.stat().st_size, **summary(model)}


def transform_file(
    model: str, data: str, output: str, selection: Selection, reconstruct: bool, cluster: str | None, terminal: Terminal
) -> dict[str, Any]:
    """Write coordinates, or reconstructions, block by block."""
    suffixes = (*SUFFIXES, "") if reconstruct else SUFFIXES
    path = check_output("--output", output, [data, model, selection.target_file], suffixes)
    fitted = polyfold.load(model)
    method = "inverse_transform" if reconstruct else "transform"
    if not hasattr(fitted, "transform") or not hasattr(fitted, method):
        raise ValueError(f"{model} must have {method}, got {type(last_step(fitted)).__name__}.")
    rows = open_for_model(data, selection, fitted)
    names = _column_names(fitted, reconstruct)
    compute = partial(_transformed, fitted, reconstruct)
    with connected(cluster) as client, writer(path, names, rows.n_rows, size=selection.size) as append:
        for Z in terminal.track(_computed(client, compute, rows, fitted), "rows transformed", rows.n_rows):
            append(Z)
    return {"output": output, "rows": rows.n_rows, "columns": len(names)}


def _computed(client: Any, compute: Any, data: ArrayData | TableData, fitted: Any) -> Iterator[np.ndarray]:
    """Yield the result for each block of rows, computed here or by the workers of a cluster."""
    if client is None:
        return map(compute, model_blocks(data, fitted, block_rows(data)))
    return map_parts(client, compute, for_model(data, fitted))


def _transformed(fitted: Any, reconstruct: bool, rows: Any) -> np.ndarray:
    Z = np.asarray(fitted.transform(as_fitted(rows, fitted)))
    return np.asarray(fitted.inverse_transform(Z)) if reconstruct else Z


def _predicted(fitted: Any, levels: bool, rows: Any) -> np.ndarray:
    """Return the clusters of rows (n, 1), or those and the clusters of all levels (n, 1 + levels)."""
    rows = as_fitted(rows, fitted)
    if not levels:
        return np.asarray(fitted.predict(rows))[:, None]
    clusterer = last_step(fitted)
    tree, numbers = clusterer.cluster_tree_, [clusterer.n_clusters_, *clusterer.level_scores_]
    fine = np.asarray(fitted.predict(rows, n_clusters=max(numbers)))
    # Levels are nested: the finest cluster of a row decides all others. Noise stays -1.
    return np.stack([np.append(_parents(tree, number, max(numbers)), -1)[fine] for number in numbers], axis=1)


def _parents(tree: Any, number: int, fine: int) -> np.ndarray:
    """Return for every one of `fine` clusters the one that holds it if the tree is cut at `number`."""
    parents = np.zeros(min(fine, tree.n_small), dtype=np.int32)
    parents[tree.cut(fine)] = tree.cut(number)
    return parents


def _column_names(fitted: Any, reconstruct: bool) -> list[str]:
    if not reconstruct:
        return [str(name) for name in fitted.get_feature_names_out()]
    names = getattr(fitted, "feature_names_in_", None)
    return [f"x{number}" for number in range(fitted.n_features_in_)] if names is None else [str(name) for name in names]


def cluster_file(
    data: str,
    output: str,
    options: FitOptions,
    config: str | None,
    model: str | None,
    save: str | None,
    levels: bool,
    names: bool,
    address: str | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the cluster of every row, and those of all levels, found by a new clusterer or a saved one."""
    selection = options.selection
    inputs = [data, model, config, selection.target_file]
    path = check_output("--output", output, inputs)
    is_table = path.suffix.lower() in (".csv", ".parquet")
    if (selection.id or names) and not is_table:
        option = "--id" if selection.id else "--names"
        raise ValueError(f"{option} needs an output that ends in .csv or .parquet, got {output!r}.")
    model_path = check_model_path("--save", save, inputs) if save else None
    opened = open_data(data, selection)
    ids = read_ids(opened, selection) if is_table else None
    if ids is not None and (ids[0] in ("cluster", "cluster_name") or ids[0].startswith("clusters_")):
        raise ValueError(f"--id must not have the name of a column of the output, got {ids[0]!r}; rename the column.")
    n_clusters = options.parameters.get("n_clusters")
    if isinstance(n_clusters, int) and n_clusters > opened.n_rows:
        raise ValueError(f"-n/--clusters must be at most {opened.n_rows}, the number of rows, got {n_clusters}.")
    with connected(address) as client:
        if model is None:
            by_kernel = "kernel" in options.parameters or options.model == "KernelClustering"
            name = "KernelClustering" if by_kernel else "BootstrapClustering"
            fitted = fit_model(data, options.model_for("cluster", name), options, terminal, client=client)
            clusterer = last_step(fitted)
            labels = np.stack([clusterer.labels_, *(clusterer.levels_ if levels else [])], axis=1)
        else:
            fitted = _load_clusterer(model, levels)
            clusterer = last_step(fitted)
            rows = open_for_model(data, selection, fitted)
            blocks = _computed(client, partial(_predicted, fitted, levels), rows, fitted)
            labels = np.concatenate(list(terminal.track(blocks, "rows clustered", rows.n_rows)))
    scores = clusterer.level_scores_ if levels else {}
    columns = {"cluster": labels[:, 0]}
    columns |= {f"clusters_{number}": found for number, found in zip(scores, labels.T[1:], strict=True)}
    named: dict[str, np.ndarray] = {}
    if names:
        with terminal.working("naming clusters"):
            named = cluster_names(
                fitted, all_rows(open_for_model(data, selection, fitted), fitted), columns, options.seed
            )
    table: Any = labels
    if ids is not None:
        parts: dict[str, Any] = {ids[0]: np.asarray(ids[1])}
        for column, found in columns.items():
            parts[column] = found
            parts |= {f"{column}_name": named[column]} if column in named else {}
        table, columns = pd.DataFrame(parts), parts
    with writer(path, list(columns), len(labels)) as append:
        append(table)
    if model_path:
        polyfold.save(fitted, model_path)
    stability = {str(number): round(score, 3) for number, score in scores.items() if np.isfinite(score)}
    numbers, first, sizes = np.unique(labels[:, 0], return_index=True, return_counts=True)
    figures = {"output": output, "rows": len(labels), "clusters": len(numbers)}
    figures |= {"stability of levels": stability} if levels else {}
    if names:
        found = zip(numbers, first, sizes, strict=True)
        figures |= {f"cluster {number} ({size} rows)": named["cluster"][row] for number, row, size in found}
    return figures


def cluster_names(fitted: Any, rows: Any, columns: dict[str, np.ndarray], seed: int | None) -> dict[str, np.ndarray]:
    """Return a name for every row and every column of labels with few clusters."""
    texts, named = model_texts(fitted, rows), {}
    for column, labels in columns.items():
        numbers, codes = np.unique(labels, return_inverse=True)
        if column == "cluster" or len(numbers) <= NAMED:
            names = polyfold.explain(labels, rows, texts=texts, random_state=seed).names
            named[column] = np.array([names[f"cluster {number}"] for number in numbers], dtype=object)[codes]
    return named


def model_texts(fitted: Any, rows: Any) -> Any:
    """Return the free text that a model was fitted to if it has no other column; otherwise these give the names."""
    plan = Plan.stored(fitted)
    is_text = plan is not None and {column.kind for column in plan.used} == {TEXT}
    return rows[plan.text_name] if plan is not None and is_text else None


def _load_clusterer(model: str, levels: bool) -> Any:
    fitted = polyfold.load(model)
    estimator = last_step(fitted)
    teacher = estimator.estimator if isinstance(estimator, polyfold.Compressed) else estimator
    if not hasattr(fitted, "predict") or not is_clusterer(teacher):
        raise ValueError(f"{model} must be a clusterer, got {type(estimator).__name__}.")
    if levels and not hasattr(estimator, "level_scores_"):
        raise ValueError(f"--levels needs a clusterer with levels, got {type(estimator).__name__}; omit --levels.")
    return fitted


def map_file(
    data: str, output: str, options: FitOptions, config: str | None, save: str | None, terminal: Terminal
) -> dict[str, Any]:
    """Write a two-dimensional map of the rows: coordinates, or a plot."""
    selection = options.selection
    inputs = [data, config, selection.target_file]
    path = check_output("--output", output, inputs, (*SUFFIXES, *PLOTS))
    model_path = check_model_path("--save", save, inputs) if save else None
    y = read_target(open_data(data, selection), selection)
    fitted = fit_model(data, options.model_for("map", "BootstrapMap"), options, terminal)
    Z = np.asarray(last_step(fitted).embedding_)
    if path.suffix.lower() in PLOTS:
        draw(path, Z, y)
    else:
        with writer(path, [str(name) for name in fitted.get_feature_names_out()], len(Z)) as append:
            append(Z)
    if model_path:
        polyfold.save(fitted, model_path)
    return {"output": output, "rows": len(Z)}


def explain_file(
    model: str,
    data: str,
    output: str,
    selection: Selection,
    texts: str | None,
    title: str | None,
    seed: int | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write what the axes, clusters or modules of a model mean, as a table or an HTML page."""
    path = check_output("--output", output, [data, model, selection.target_file], (".csv", ".html"))
    fitted = polyfold.load(model)
    opened = open_for_model(data, selection, fitted)
    rows = all_rows(opened, fitted)
    words = model_texts(fitted, rows) if texts is None else _column("--texts", texts, opened)
    shape = opened.image_shape or (parse_size(selection.size)[::-1] if selection.size else None)
    with terminal.fitting():
        images = shape if shape and len(shape) == 2 else None
        explanation = polyfold.explain(fitted, rows, texts=words, images=images, random_state=seed)
    if path.suffix.lower() == ".csv":
        frame = explanation.to_frame()
        with writer(path, list(frame.columns), len(frame)) as append:
            append(frame)
    else:
        explanation.to_html(path, title=title or f"{type(last_step(fitted)).__name__} of {Path(data).name}")
    return {"output": output, "rows": len(explanation.rows), "names": explanation.names}


def _column(option: str, name: str, data: ArrayData | TableData) -> Any:
    """Return the values of a column of a table, or of an array next to the rows."""
    known = data.reader.names if isinstance(data, TableData) else tuple(data.labels)
    column_names(option, [name], known, data.path)
    return data.reader.labels(name) if isinstance(data, TableData) else data.labels[name]


def report_file(
    model: str,
    data: str,
    output: str,
    selection: Selection,
    texts: str | None,
    title: str | None,
    points: int,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the HTML report of a model."""
    path = check_output("--output", output, [data, model, selection.target_file], (".html",))
    fitted = polyfold.load(model)
    opened = open_for_model(data, selection, fitted)
    rows, y = all_rows(opened, fitted), read_target(opened, selection)
    with terminal.working("writing the report"):
        named = None if y is None else pd.Series(y, name=_target_name(opened, str(selection.target)))
        words = model_texts(fitted, rows) if texts is None else _column("--texts", texts, opened)
        images = _row_images(opened, rows, selection)
        shape = None if images is None or images.ndim > 3 else images.shape[1:]
        explanation = polyfold.explain(fitted, rows, texts=words, images=shape, levels=True, random_state=0)
        shown = {"columns": _shown_columns(opened), "images": images, "texts": words, "explanation": explanation}
        polyfold.report.explore(
            fitted, rows, y=named, **shown, path=path, title=title or Path(data).stem, max_points=points
        )
    return {"output": output, "bytes": path.stat().st_size}


def _target_name(data: ArrayData | TableData, target: str) -> str:
    known = data.reader.names if isinstance(data, TableData) else data.labels
    return target if target in known else Path(target).stem


def _shown_columns(data: ArrayData | TableData) -> Any:
    """Return the columns shown for a point: those of the table, or the names of image files."""
    if isinstance(data, TableData):
        return next(data.reader.read(data.reader.names, None))
    return {name: values for name, values in data.labels.items() if name in ("file", "folder")} or None


def _row_images(data: ArrayData | TableData, rows: Any, selection: Selection) -> Any:
    """Return rows as images: those of a folder, or of --size."""
    shape = data.image_shape or (parse_size(selection.size)[::-1] if selection.size else None)
    if shape is None:
        return None
    if np.prod(shape) != rows.shape[1]:
        raise ValueError(f"--size must fit the {rows.shape[1]} values of a row, got {selection.size}.")
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).reshape(-1, *shape)


def run_demo(output: str, terminal: Terminal) -> dict[str, Any]:
    """Run the demo on bundled data."""
    path = check_path("--output", Path(output), [], is_folder=True)
    report = path / "report.html"
    if report.exists() and not is_report(report):
        raise ValueError(
            f"--output names a folder with a report.html that polyfold did not write, got {output!r}; choose another "
            "folder, or delete the file first."
        )
    from polyfold.demo import run_demo as run

    # Its tables go to the terminal, not into the JSON.
    with contextlib.redirect_stdout(sys.stderr) if terminal.as_json else contextlib.nullcontext():
        return {"report": str(run(path))}
