"""What each command does: files in, files and figures out."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

import polyfold
from polyfold._progress import track
from polyfold.cli import Terminal, rows_text
from polyfold.cli._estimators import FitOptions, last_step, n_modules, summary
from polyfold.cli._fitting import fit_model, plan_columns, plan_lines
from polyfold.cli._formats import FORMATS, ArrayData, FileData, Selection, open_data
from polyfold.cli._inputs import ModelRows, read_ids, read_target, select_features, target_for
from polyfold.cli._outputs import (
    PLOTS,
    check_model_path,
    check_output,
    check_path,
    draw,
    is_report,
    write_arrays,
    write_blocks,
    write_result,
)
from polyfold.report import labels_of_levels, score_model

# Levels with more clusters get no names.
NAMED = 50


def fit_file(
    data: str,
    output: str,
    model: str,
    stream: bool | None,
    cluster: str | None,
    plan: bool,
    terminal: Terminal,
    **fit_options: Any,
) -> dict[str, Any]:
    """Fit a model and save it."""
    options = FitOptions.of(model, {}, **fit_options)
    if plan:
        return _plan(data, options, terminal)
    path = check_model_path("--output", output, [data, *options.files])
    fitted = fit_model(open_data(data, options.selection), options, terminal, stream=stream, cluster=cluster)
    polyfold.save(fitted, path)
    return {"model": model, "output": output, "bytes": path.stat().st_size, **summary(fitted)}


def _plan(data: str, options: FitOptions, terminal: Terminal) -> dict[str, Any]:
    """Print what each column is and what would be done with it."""
    opened = plan_columns(select_features(open_data(data, options.selection), options.selection), options)
    if isinstance(opened, ArrayData):
        return {"rows": opened.n_rows, "columns": opened.n_columns, "type": str(opened.values.dtype)}
    if terminal.as_json and opened.plan is not None:
        return {"file": data, **opened.plan.as_dict(), "rows": opened.n_rows}
    click.echo("\n  ".join(plan_lines(opened, options.prepare, by_kind=False)))
    return {}


def transform_file(
    model: str, data: str, output: str, reconstruct: bool, terminal: Terminal, **selected: Any
) -> dict[str, Any]:
    """Write coordinates, or reconstructions, block by block."""
    selection = Selection(**selected)
    suffixes = (*FORMATS, "") if reconstruct else FORMATS
    path = check_output("--output", output, [data, model, *selection.files], suffixes)
    rows = ModelRows.open(model, data, selection)
    fitted, method = rows.model, "inverse_transform" if reconstruct else "transform"
    if not hasattr(fitted, "transform") or not hasattr(fitted, method):
        raise ValueError(f"{model} must have {method}, got {type(rows.estimator).__name__}.")
    names = rows.input_names() if reconstruct else [str(name) for name in fitted.get_feature_names_out()]
    with terminal.working("transform"):
        results = (np.asarray(fitted.transform(block)) for block in track(rows.blocks(), "blocks of rows"))
        if reconstruct:
            results = (np.asarray(fitted.inverse_transform(Z)) for Z in results)
        write_blocks(path, results, names, rows.data.n_rows, size=selection.size)
    return {"output": output, "rows": rows.data.n_rows, "columns": len(names)}


def search_file(
    model: str,
    data: str,
    output: str,
    queries: str | None,
    neighbors: int,
    modules: int | None,
    expand: int | None,
    terminal: Terminal,
    **selected: Any,
) -> dict[str, Any]:
    """Find the nearest rows of a file in a representation; without queries, those of all rows."""
    selection = Selection(**selected)
    path = check_output("--output", output, [data, model, queries, *selection.files])
    rows = ModelRows.open(model, data, selection)
    fitted = rows.model
    most = rows.data.n_rows - (queries is None)  # a row is not its own neighbour
    if neighbors > most:
        raise ValueError(f"--neighbors must be <= {most}, the number of rows, got {neighbors}.")
    name = type(rows.estimator).__name__
    if not hasattr(fitted, "transform"):
        raise ValueError(f"search builds the index of a model with transform, such as ModularKernelPCA, got {name}.")
    X, Q = rows.all(), None
    if queries is not None:
        Q = ModelRows(fitted, open_data(queries, selection), selection).all()
    with terminal.working("search"):
        if n_modules(rows.estimator):
            X, Q = rows.prepared(X), None if Q is None else rows.prepared(Q)
            distances, indices = _search_modules(rows.estimator, X, Q, neighbors, modules, expand)
        elif modules is not None or expand is not None:
            raise ValueError(f"--modules and --expand need a model with modules, got {name}.")
        else:
            index = NearestNeighbors(n_neighbors=neighbors).fit(np.asarray(fitted.transform(X)))
            distances, indices = index.kneighbors(None if Q is None else np.asarray(fitted.transform(Q)))
    if path.suffix.lower() == ".npz":
        write_arrays(path, indices=indices, distances=distances)
    else:
        write_result(path, indices, [f"neighbor{number}" for number in range(neighbors)])
    return {"output": output, "rows": len(indices), "neighbors": neighbors}


def _search_modules(
    estimator: Any, X: Any, queries: Any, neighbors: int, modules: int | None, expand: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and row numbers; without `modules` and `expand`, by all modules in one exact scan."""
    if modules is None and expand is None:
        modules = n_modules(estimator)
        expand = -(-neighbors // modules)
    index = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=neighbors).fit(X)
    return index.kneighbors(queries, modules=modules, expand=expand)


def cluster_file(
    data: str,
    output: str,
    clusters: int | str | None,
    kernel: str | None,
    saved: str | None,
    save: str | None,
    levels: bool,
    names: bool,
    plan: bool,
    terminal: Terminal,
    **fit_options: Any,
) -> dict[str, Any]:
    """Write the cluster of every row, and those of all levels, found by a new clusterer or a saved one."""
    if saved:
        _check_no_fit({"-n": clusters, "--kernel": kernel}, **fit_options)
    options = _cluster_options(clusters, kernel, fit_options)
    if plan:
        return _plan(data, options, terminal)
    inputs = [data, saved, *options.files]
    path = check_output("--output", output, inputs)
    model_path = check_model_path("--save", save, inputs) if save else None
    opened = open_data(data, options.selection)
    ids = _ids(path, opened, options.selection, names)
    n_clusters = options.parameters.get("n_clusters")
    if isinstance(n_clusters, int) and n_clusters > opened.n_rows:
        raise ValueError(f"-n/--clusters must be at most {opened.n_rows}, the number of rows, got {n_clusters}.")
    if saved is None:
        fitted, labels = _fit_clusters(opened, options, levels, terminal)
    else:
        fitted, labels = _predict_clusters(opened, options.selection, saved, levels, terminal)
    scores = getattr(last_step(fitted), "level_scores_", {})
    level_names = [f"clusters_{number}" for number in scores] if levels else []
    columns = dict(zip(["cluster", *level_names], labels.T, strict=True))
    if names:
        with terminal.working("names of clusters"):
            columns = _add_names(columns, ModelRows(fitted, opened, options.selection), options.seed)
    write_result(path, pd.DataFrame({**ids, **columns}) if ids else labels, [*ids, *columns])
    if model_path:
        polyfold.save(fitted, model_path)
    figures = {"output": output, "rows": len(labels), "clusters": len(np.unique(labels[:, 0]))}
    if levels or not (saved or isinstance(n_clusters, int)):
        stability = {str(number): round(score, 3) for number, score in scores.items() if np.isfinite(score)}
        figures["stability of levels"] = stability
    return figures | (_sizes_and_names(columns) if names else {})


def _check_no_fit(new: dict[str, Any], *, config: Any, settings: Any, prepare: str, categorical: Any, **_: Any) -> None:
    """Raise if an option of a fit is given together with --with."""
    new |= {"--set": settings, "--config": config.path, "--prepare": prepare != "auto", "--categorical": categorical}
    if given := [name for name, value in new.items() if value]:
        raise ValueError(f"--with applies a saved clusterer, got {given[0]} as well; omit one of them.")


def _cluster_options(clusters: int | str | None, kernel: str | None, fit_options: dict[str, Any]) -> FitOptions:
    """Return the options of the fit of a clusterer; a kernel may also be given by --set or in the TOML file."""
    parameters: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
    if clusters is not None:
        parameters["n_clusters"] = None if clusters == "auto" else clusters
    options = FitOptions.of("BootstrapClustering", parameters, **fit_options)
    return replace(options, model="KernelClustering") if "kernel" in options.parameters else options


def _ids(path: Path, data: FileData, selection: Selection, names: bool) -> dict[str, Any]:
    """Return the first column of the output by its name, if the output is a table."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        if selection.id or names:
            option = "--id" if selection.id else "--names"
            raise ValueError(f"{option} needs an output that ends in .csv or .parquet, got {path.name!r}.")
        return {}
    name, values = read_ids(data, selection)
    if name in ("cluster", "cluster_name") or name.startswith("clusters_"):
        raise ValueError(f"--id must not have the name of a column of the output, got {name!r}; rename the column.")
    return {name: np.asarray(values)}


def _fit_clusters(data: FileData, options: FitOptions, levels: bool, terminal: Terminal) -> tuple[Any, np.ndarray]:
    """Return a fitted clusterer, and its clusters of the rows (n, 1), or these and its levels (n, 1 + levels)."""
    fitted = fit_model(data, options, terminal)
    clusterer = last_step(fitted)
    return fitted, np.stack([clusterer.labels_, *(clusterer.levels_ if levels else [])], axis=1)


def _predict_clusters(
    data: FileData, selection: Selection, saved: str, levels: bool, terminal: Terminal
) -> tuple[Any, np.ndarray]:
    """Return a saved clusterer and its clusters of the rows, shaped as those of `_fit_clusters`."""
    fitted = _load_clusterer(saved, levels)
    rows = ModelRows(fitted, data, selection)
    clusterer = rows.estimator
    blocks = []
    with terminal.working("cluster"):
        for block in track(rows.blocks(), "blocks of rows"):
            if levels:
                numbers = [clusterer.n_clusters_, *clusterer.level_scores_]
                blocks.append(np.stack(labels_of_levels(clusterer, rows.prepared(block), numbers), axis=1))
            else:
                blocks.append(np.asarray(fitted.predict(block))[:, None])
    return fitted, np.concatenate(blocks)


def _load_clusterer(model: str, levels: bool) -> Any:
    fitted = polyfold.load(model)
    estimator = last_step(fitted)
    teacher = estimator.estimator if isinstance(estimator, polyfold.Compressed) else estimator
    if not hasattr(fitted, "predict") or not is_clusterer(teacher):
        raise ValueError(f"{model} must be a clusterer, got {type(estimator).__name__}.")
    if levels and not hasattr(estimator, "level_scores_"):
        raise ValueError(f"--levels needs a clusterer with levels, got {type(estimator).__name__}; omit --levels.")
    return fitted


def _add_names(columns: dict[str, np.ndarray], rows: ModelRows, seed: int | None) -> dict[str, np.ndarray]:
    """Return columns of labels, each followed by the names of its clusters unless these are too many."""
    X, named = rows.all(), {}
    for column, labels in columns.items():
        numbers, codes = np.unique(labels, return_inverse=True)
        named[column] = labels
        if column == "cluster" or len(numbers) <= NAMED:
            names = polyfold.explain(labels, X, texts=rows.texts(X), random_state=seed).names
            named[f"{column}_name"] = np.array([names[f"cluster {number}"] for number in numbers], dtype=object)[codes]
    return named


def _sizes_and_names(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    numbers, first, sizes = np.unique(columns["cluster"], return_index=True, return_counts=True)
    return {
        f"cluster {number} ({rows_text(size)})": columns["cluster_name"][row]
        for number, row, size in zip(numbers, first, sizes, strict=True)
    }


def map_file(
    data: str, output: str, save: str | None, plan: bool, terminal: Terminal, **fit_options: Any
) -> dict[str, Any]:
    """Write a two-dimensional map of the rows: coordinates, or a plot."""
    options = FitOptions.of("BootstrapMap", {}, **fit_options)
    if plan:
        return _plan(data, options, terminal)
    inputs = [data, *options.files]
    path = check_output("--output", output, inputs, (*FORMATS, *PLOTS))
    model_path = check_model_path("--save", save, inputs) if save else None
    opened = open_data(data, options.selection)
    y = read_target(opened, options.selection)
    fitted = fit_model(opened, options, terminal)
    Z = np.asarray(last_step(fitted).embedding_)
    if path.suffix.lower() in PLOTS:
        draw(path, Z, y)
    else:
        write_result(path, Z, [str(name) for name in fitted.get_feature_names_out()])
    if model_path:
        polyfold.save(fitted, model_path)
    return {"output": output, "rows": len(Z)}


def evaluate_file(model: str, data: str, seed: int | None, terminal: Terminal, **selected: Any) -> dict[str, Any]:
    """Return figures about the quality of a model on a file: predictions, clusters or coordinates."""
    selection = Selection(**selected)
    rows = ModelRows.open(model, data, selection)
    X, y = rows.all(), target_for(rows.data, selection, rows.estimator)
    if y is None and (is_classifier(rows.estimator) or is_regressor(rows.estimator)):
        raise ValueError("--target is needed to evaluate a model that predicts targets.")
    with terminal.working("evaluate"):
        scores = score_model(rows.model, X, y, random_state=seed)
    return {"model": type(rows.estimator).__name__, "rows": rows.data.n_rows, **scores}


def explain_file(
    model: str,
    data: str,
    output: str,
    texts: str | None,
    title: str | None,
    seed: int | None,
    terminal: Terminal,
    **selected: Any,
) -> dict[str, Any]:
    """Write what the axes, clusters or modules of a model mean, as a table or an HTML page."""
    selection = Selection(**selected)
    path = check_output("--output", output, [data, model, *selection.files], (".csv", ".html"))
    rows = ModelRows.open(model, data, selection)
    X = rows.all()
    words = rows.texts(X, texts)
    with terminal.working("explain"):
        explanation = polyfold.explain(rows.model, X, texts=words, images=_grey(rows.image_shape(X)), random_state=seed)
    if path.suffix.lower() == ".csv":
        frame = explanation.to_frame()
        write_result(path, frame, list(frame.columns))
    else:
        explanation.to_html(path, title=title or f"{type(rows.estimator).__name__} of {Path(data).name}")
    return {"output": output, "rows": len(explanation.rows), "names": explanation.names}


def report_file(
    model: str,
    data: str,
    output: str,
    texts: str | None,
    title: str | None,
    points: int,
    terminal: Terminal,
    **selected: Any,
) -> dict[str, Any]:
    """Write the HTML report of a model."""
    selection = Selection(**selected)
    path = check_output("--output", output, [data, model, *selection.files], (".html",))
    rows = ModelRows.open(model, data, selection)
    X, y = rows.all(), _named_target(rows.data, selection)
    words, shape, images = rows.texts(X, texts), rows.image_shape(X), None
    if shape is not None:
        images = np.asarray(X.toarray() if hasattr(X, "toarray") else X).reshape(-1, *shape)
    with terminal.working("report"):
        explanation = polyfold.explain(rows.model, X, texts=words, images=_grey(shape), levels=True, random_state=0)
        polyfold.report.explore(
            rows.model,
            X,
            y=y,
            columns=rows.data.shown_columns(X),
            images=images,
            texts=words,
            explanation=explanation,
            path=path,
            title=title or Path(data).stem,
            max_points=points,
        )
    return {"output": output, "bytes": path.stat().st_size}


def _grey(shape: tuple[int, ...] | None) -> Any:
    """Return the shape of grey images; images in colour are not explained by pixels."""
    return shape if shape is not None and len(shape) == 2 else None


def _named_target(data: FileData, selection: Selection) -> pd.Series | None:
    """Return the targets under the name of their column or file."""
    y, target = read_target(data, selection), str(selection.target)
    return None if y is None else pd.Series(y, name=target if target in data.all_names else Path(target).stem)


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
