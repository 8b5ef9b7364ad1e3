"""What each command does: files in, files and figures out."""

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_clusterer

import polyfold
from polyfold.cli._estimators import FitOptions, fit_model
from polyfold.cli._inputs import (
    SUFFIXES,
    ArrayData,
    Selection,
    TableData,
    block_rows,
    column_names,
    open_data,
    open_features,
    parse_size,
)
from polyfold.cli._outputs import (
    PLOTS,
    check_model_path,
    check_output,
    check_path,
    draw,
    is_report,
    write_arrays,
    write_graph,
    writer,
)
from polyfold.cli._preparation import (
    as_fitted,
    for_model,
    last_step,
    model_blocks,
    read_ids,
    read_target,
    target_for,
)
from polyfold.cli._results import evaluate, search_cluster, search_here, summary
from polyfold.cli._terminal import Terminal
from polyfold.cli._workers import connected, map_parts


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


def open_for_model(path: str, selection: Selection, fitted: Any) -> ArrayData | TableData:
    """Open rows for a fitted model; a model fitted to names finds its columns itself."""
    if getattr(fitted, "feature_names_in_", None) is not None and not selection.columns:
        return open_data(path, selection)
    return open_features(path, selection)


def all_rows(data: ArrayData | TableData, fitted: Any) -> Any:
    """Return all rows of a file as a fitted model takes them."""
    (rows,) = model_blocks(data, fitted)
    return rows


def cluster_file(
    data: str,
    output: str,
    options: FitOptions,
    config: str | None,
    model: str | None,
    save: str | None,
    levels: bool,
    address: str | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the cluster of every row, and those of all levels, found by a new clusterer or a saved one."""
    selection = options.selection
    inputs = [data, model, config, selection.target_file]
    path = check_output("--output", output, inputs)
    is_table = path.suffix.lower() in (".csv", ".parquet")
    if selection.id and not is_table:
        raise ValueError(f"--id needs an output that ends in .csv or .parquet, got {output!r}.")
    model_path = check_model_path("--save", save, inputs) if save else None
    ids = read_ids(open_data(data, selection), selection) if is_table else None
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
    names = ["cluster", *(f"clusters_{number}" for number in scores)]
    table: Any = labels
    if ids is not None:
        table = pd.DataFrame(labels)
        table.insert(0, "id", np.asarray(ids[1]))
        names = [ids[0], *names]
    with writer(path, names, len(labels)) as append:
        append(table)
    if model_path:
        polyfold.save(fitted, model_path)
    stability = {str(number): round(score, 3) for number, score in scores.items() if np.isfinite(score)}
    figures = {"output": output, "rows": len(labels), "clusters": len(np.unique(labels[:, 0]))}
    return figures | ({"stability of levels": stability} if levels else {})


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


def search_file(
    model: str,
    data: str,
    output: str,
    selection: Selection,
    queries: str | None,
    neighbors: int,
    modules: int | None,
    expand: int | None,
    graph: bool,
    cluster: str | None,
    deadline: float | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Find the nearest rows of a file in a representation."""
    inputs = [data, model, queries, selection.target_file]
    path = check_output("--output", output, inputs, (".npz",) if graph else SUFFIXES)
    if cluster is None and deadline is not None:
        raise ValueError("--deadline needs --cluster; a search in this process always uses all rows.")
    fitted = polyfold.load(model)
    opened = open_for_model(data, selection, fitted)
    asked = None if queries is None else all_rows(open_for_model(queries, selection, fitted), fitted)
    effort = {"modules": modules, "expand": expand}
    with connected(cluster) as client:
        if client is None:
            figures, found = {}, search_here(fitted, all_rows(opened, fitted), asked, neighbors, terminal, **effort)
        else:
            coverage, found = search_cluster(fitted, for_model(opened, fitted), asked, neighbors, deadline, **effort)
            figures = {"coverage": coverage}
    distances, indices = found
    if graph:
        found = indices >= 0  # with a deadline, some rows may not have been searched
        pointers = np.append(0, np.cumsum(found.sum(axis=1)))
        shape = len(indices), opened.n_rows
        write_graph(path, sp.csr_matrix((distances[found], indices[found], pointers), shape=shape))
    elif path.suffix.lower() == ".npz":
        write_arrays(path, indices=indices, distances=distances)
    else:
        with writer(path, [f"neighbor{number}" for number in range(indices.shape[1])], len(indices)) as append:
            append(indices)
    return {"output": output, "rows": len(indices), "neighbors": indices.shape[1], **figures}


def evaluate_file(model: str, data: str, selection: Selection, seed: int | None, terminal: Terminal) -> dict[str, Any]:
    """Return figures about the quality of a model on a file."""
    fitted = polyfold.load(model)
    opened = open_for_model(data, selection, fitted)
    rows, y = all_rows(opened, fitted), target_for(opened, selection, last_step(fitted))
    with terminal.working("evaluating"):
        return {"model": type(last_step(fitted)).__name__, **evaluate(fitted, rows, y, seed or 0)}


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
    words = None if texts is None else _column("--texts", texts, opened)
    rows = all_rows(opened, fitted)
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
        words = None if texts is None else _column("--texts", texts, opened)
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
