"""What each command does: files in, files and figures out."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

import polyfold
from polyfold._progress import track
from polyfold.cli import Terminal, echo
from polyfold.cli._column_kinds import TEXT, Plan
from polyfold.cli._estimators import FitOptions, fit_model, plan_lines, planned
from polyfold.cli._formats import (
    PLOTS,
    SUFFIXES,
    check_model_path,
    check_output,
    check_path,
    draw,
    image_shape,
    is_report,
    last_step,
    n_modules,
    summary,
    write_arrays,
    write_blocks,
    write_result,
)
from polyfold.cli._inputs import (
    ArrayData,
    Selection,
    TableData,
    all_rows,
    block_rows,
    model_blocks,
    open_data,
    open_features,
    open_for_model,
    read_column,
    read_ids,
    read_target,
    target_for,
)
from polyfold.metrics import clustering_accuracy, nmi
from polyfold.report import labels_of_levels, score_representation

# Levels with more clusters get no names.
NAMED = 50


def plan_file(data: str, options: FitOptions, terminal: Terminal) -> dict[str, Any]:
    """Print what each column is and what would be done with it."""
    opened = planned(open_features(data, options.selection), options)
    if isinstance(opened, ArrayData):
        return {"rows": opened.n_rows, "columns": opened.n_columns, "type": str(opened.values.dtype)}
    if terminal.as_json and opened.plan is not None:
        return {"file": data, **opened.plan.as_dict(), "rows": opened.n_rows}
    echo("\n  ".join(plan_lines(opened, options.prepare, by_kind=False)))
    return {}


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
    model = fit_model(data, options, terminal, stream=stream, cluster=cluster)
    polyfold.save(model, path)
    return {"model": options.model, "output": output, "bytes": path.stat().st_size, **summary(model)}


def _before_last(model: Any, rows: Any) -> Any:
    """Return rows as the estimator itself gets them."""
    return model[:-1].transform(rows) if isinstance(model, Pipeline) and len(model.steps) > 1 else rows


def transform_file(
    model: str, data: str, output: str, selection: Selection, reconstruct: bool, terminal: Terminal
) -> dict[str, Any]:
    """Write coordinates, or reconstructions, block by block."""
    suffixes = (*SUFFIXES, "") if reconstruct else SUFFIXES
    path = check_output("--output", output, [data, model, selection.target_file], suffixes)
    fitted = polyfold.load(model)
    method = "inverse_transform" if reconstruct else "transform"
    if not hasattr(fitted, "transform") or not hasattr(fitted, method):
        raise ValueError(f"{model} must have {method}, got {type(last_step(fitted)).__name__}.")
    opened = open_for_model(data, selection, fitted)
    columns = [f"x{number}" for number in range(fitted.n_features_in_)]
    columns = getattr(fitted, "feature_names_in_", columns) if reconstruct else fitted.get_feature_names_out()
    names = [str(name) for name in columns]
    with terminal.working("transform"):
        blocks = track(model_blocks(opened, fitted, block_rows(opened)), "blocks of rows")
        coordinates = (np.asarray(fitted.transform(rows)) for rows in blocks)
        if reconstruct:
            coordinates = (np.asarray(fitted.inverse_transform(Z)) for Z in coordinates)
        write_blocks(path, coordinates, names, opened.n_rows, size=selection.size)
    return {"output": output, "rows": opened.n_rows, "columns": len(names)}


def search_file(
    model: str,
    data: str,
    output: str,
    selection: Selection,
    queries: str | None,
    neighbors: int,
    modules: int | None,
    expand: int | None,
    terminal: Terminal,
) -> dict[str, Any]:
    """Find the nearest rows of a file in a representation; without queries, those of all rows."""
    path = check_output("--output", output, [data, model, queries, selection.target_file])
    fitted = polyfold.load(model)
    estimator, opened = last_step(fitted), open_for_model(data, selection, fitted)
    most = opened.n_rows - (queries is None)  # a row is not its own neighbour
    if neighbors > most:
        raise ValueError(f"--neighbors must be <= {most}, the number of rows, got {neighbors}.")
    if not hasattr(fitted, "transform"):
        name = type(estimator).__name__
        raise ValueError(f"search builds the index of a model with transform, such as ModularKernelPCA, got {name}.")
    rows = all_rows(opened, fitted)
    query_rows = None if queries is None else all_rows(open_for_model(queries, selection, fitted), fitted)
    with terminal.working("search"):
        if count := n_modules(estimator):
            if modules is None and expand is None:  # all modules in one exact scan
                modules, expand = count, -(-neighbors // count)
            index: Any = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=neighbors)
            index.fit(_before_last(fitted, rows))
            query_rows = None if query_rows is None else _before_last(fitted, query_rows)
            distances, indices = index.kneighbors(query_rows, modules=modules, expand=expand)
        elif modules is not None or expand is not None:
            raise ValueError(f"--modules and --expand need a model with modules, got {type(estimator).__name__}.")
        else:
            index = NearestNeighbors(n_neighbors=neighbors).fit(np.asarray(fitted.transform(rows)))
            distances, indices = index.kneighbors(
                None if query_rows is None else np.asarray(fitted.transform(query_rows))
            )
    if path.suffix.lower() == ".npz":
        write_arrays(path, indices=indices, distances=distances)
    else:
        write_result(path, indices, [f"neighbor{number}" for number in range(neighbors)])
    return {"output": output, "rows": len(indices), "neighbors": neighbors}


def cluster_file(
    data: str,
    output: str,
    options: FitOptions,
    config: str | None,
    saved: str | None,
    save: str | None,
    levels: bool,
    names: bool,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the cluster of every row, and those of all levels, found by a new clusterer or a saved one."""
    selection = options.selection
    inputs = [data, saved, config, selection.target_file]
    path = check_output("--output", output, inputs)
    model_path = check_model_path("--save", save, inputs) if save else None
    opened = open_data(data, selection)
    ids = _ids(path, opened, selection, names)
    n_clusters = options.parameters.get("n_clusters")
    if isinstance(n_clusters, int) and n_clusters > opened.n_rows:
        raise ValueError(f"-n/--clusters must be at most {opened.n_rows}, the number of rows, got {n_clusters}.")
    fitted, labels = _clustered(data, options, saved, levels, terminal)
    scores = last_step(fitted).level_scores_ if levels else {}
    columns: dict[str, Any] = dict(
        zip(["cluster", *(f"clusters_{number}" for number in scores)], labels.T, strict=True)
    )
    if names:
        with terminal.working("names of clusters"):
            rows = all_rows(open_for_model(data, selection, fitted), fitted)
            columns = _with_names(fitted, rows, columns, options.seed)
    write_result(path, pd.DataFrame({**ids, **columns}) if ids else labels, [*ids, *columns])
    if model_path:
        polyfold.save(fitted, model_path)
    numbers, first, sizes = np.unique(labels[:, 0], return_index=True, return_counts=True)
    figures: dict[str, Any] = {"output": output, "rows": len(labels), "clusters": len(numbers)}
    if levels:
        stability = {str(number): round(score, 3) for number, score in scores.items() if np.isfinite(score)}
        figures["stability of levels"] = stability
    if names:
        sizes_of_clusters = zip(numbers, first, sizes, strict=True)
        figures |= {f"cluster {n} ({size} rows)": columns["cluster_name"][row] for n, row, size in sizes_of_clusters}
    return figures


def _clustered(
    data: str, options: FitOptions, saved: str | None, levels: bool, terminal: Terminal
) -> tuple[Any, np.ndarray]:
    """Return a clusterer and the clusters of rows (n, 1), or those and the clusters of all levels (n, 1 + levels)."""
    if saved is None:
        options = replace(options, model="KernelClustering") if "kernel" in options.parameters else options
        fitted = fit_model(data, options, terminal)
        clusterer = last_step(fitted)
        return fitted, np.stack([clusterer.labels_, *(clusterer.levels_ if levels else [])], axis=1)
    fitted = _load_clusterer(saved, levels)
    rows = open_for_model(data, options.selection, fitted)
    with terminal.working("cluster"):
        blocks = track(model_blocks(rows, fitted, block_rows(rows)), "blocks of rows")
        return fitted, np.concatenate([_predicted(fitted, levels, block) for block in blocks])


def _ids(path: Path, data: ArrayData | TableData, selection: Selection, names: bool) -> dict[str, Any]:
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


def _load_clusterer(model: str, levels: bool) -> Any:
    fitted = polyfold.load(model)
    estimator = last_step(fitted)
    teacher = estimator.estimator if isinstance(estimator, polyfold.Compressed) else estimator
    if not hasattr(fitted, "predict") or not is_clusterer(teacher):
        raise ValueError(f"{model} must be a clusterer, got {type(estimator).__name__}.")
    if levels and not hasattr(estimator, "level_scores_"):
        raise ValueError(f"--levels needs a clusterer with levels, got {type(estimator).__name__}; omit --levels.")
    return fitted


def _predicted(fitted: Any, levels: bool, rows: Any) -> np.ndarray:
    if not levels:
        return np.asarray(fitted.predict(rows))[:, None]
    clusterer = last_step(fitted)
    numbers = [clusterer.n_clusters_, *clusterer.level_scores_]
    return np.stack(labels_of_levels(clusterer, _before_last(fitted, rows), numbers), axis=1)


def _with_names(fitted: Any, rows: Any, columns: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """Return columns of labels, each followed by the names of its clusters unless these are too many."""
    texts, named = _model_texts(fitted, rows), {}
    for column, labels in columns.items():
        numbers, codes = np.unique(labels, return_inverse=True)
        named[column] = labels
        if column == "cluster" or len(numbers) <= NAMED:
            names = polyfold.explain(labels, rows, texts=texts, random_state=seed).names
            named[f"{column}_name"] = np.array([names[f"cluster {number}"] for number in numbers], dtype=object)[codes]
    return named


def _model_texts(fitted: Any, rows: Any) -> Any:
    """Return the free text that a model was fitted to if it has no other column; otherwise these give the names."""
    plan = Plan.stored(fitted)
    is_text = plan is not None and {column.kind for column in plan.used} == {TEXT}
    return rows[plan.text_name] if plan is not None and is_text else None


def map_file(
    data: str, output: str, options: FitOptions, config: str | None, save: str | None, terminal: Terminal
) -> dict[str, Any]:
    """Write a two-dimensional map of the rows: coordinates, or a plot."""
    selection = options.selection
    inputs = [data, config, selection.target_file]
    path = check_output("--output", output, inputs, (*SUFFIXES, *PLOTS))
    model_path = check_model_path("--save", save, inputs) if save else None
    y = read_target(open_data(data, selection), selection)
    fitted = fit_model(data, options, terminal)
    Z = np.asarray(last_step(fitted).embedding_)
    if path.suffix.lower() in PLOTS:
        draw(path, Z, y)
    else:
        write_result(path, Z, [str(name) for name in fitted.get_feature_names_out()])
    if model_path:
        polyfold.save(fitted, model_path)
    return {"output": output, "rows": len(Z)}


def evaluate_file(model: str, data: str, selection: Selection, seed: int | None, terminal: Terminal) -> dict[str, Any]:
    """Return figures about the quality of a model on a file: predictions, clusters or coordinates."""
    fitted = polyfold.load(model)
    estimator, opened = last_step(fitted), open_for_model(data, selection, fitted)
    rows, y = all_rows(opened, fitted), target_for(opened, selection, estimator)
    figures: dict[str, Any] = {"model": type(estimator).__name__, "rows": opened.n_rows}
    is_predictor = is_classifier(estimator) or is_regressor(estimator)
    if is_predictor and y is None:
        raise ValueError("--target is needed to evaluate a model that predicts targets.")
    with terminal.working("evaluate"):
        predicted = np.asarray(fitted.predict(rows)) if hasattr(fitted, "predict") else None
        if is_regressor(estimator):
            return {**figures, "r2": float(r2_score(y, predicted))}
        if is_classifier(estimator):
            figures["accuracy"] = float(np.mean(predicted == y))
            if hasattr(estimator, "module_scores"):
                scores = estimator.module_scores(_before_last(fitted, rows), y)
                figures["accuracy of single modules"] = [float(scores.min()), float(scores.max())]
            return figures
        codes = None if y is None else np.unique(y, return_inverse=True)[1]
        if predicted is not None:
            figures["clusters"] = len(np.unique(predicted))
            if codes is not None:
                figures |= {"accuracy": clustering_accuracy(codes, predicted), "nmi": nmi(codes, predicted)}
        if hasattr(fitted, "transform"):
            # Targets are not classes if most of them occur once.
            classes = codes if codes is not None and 0 < codes.max() < len(codes) / 2 else None
            figures |= score_representation(fitted, rows, classes, random_state=seed)
    return figures


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
    words = _model_texts(fitted, rows) if texts is None else read_column("--texts", texts, opened)
    with terminal.working("explain"):
        shape = image_shape(opened.image_shape, selection.size, rows.shape[1])
        grey = shape if shape is not None and len(shape) == 2 else None
        explanation = polyfold.explain(fitted, rows, texts=words, images=grey, random_state=seed)
    if path.suffix.lower() == ".csv":
        frame = explanation.to_frame()
        write_result(path, frame, list(frame.columns))
    else:
        explanation.to_html(path, title=title or f"{type(last_step(fitted)).__name__} of {Path(data).name}")
    return {"output": output, "rows": len(explanation.rows), "names": explanation.names}


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
    if y is not None:
        target = str(selection.target)
        y = pd.Series(y, name=target if target in opened.all_names else Path(target).stem)
    words = _model_texts(fitted, rows) if texts is None else read_column("--texts", texts, opened)
    shape, images = image_shape(opened.image_shape, selection.size, rows.shape[1]), None
    if shape is not None:
        images = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).reshape(-1, *shape)
    if isinstance(opened, TableData):
        columns: Any = next(opened.reader.read(opened.all_names, None))
    else:
        columns = {name: opened.column(name) for name in ("file", "folder") if name in opened.all_names} or None
    with terminal.working("report"):
        grey = shape if shape is not None and len(shape) == 2 else None
        explanation = polyfold.explain(fitted, rows, texts=words, images=grey, levels=True, random_state=0)
        shown = {"y": y, "columns": columns, "images": images, "texts": words, "explanation": explanation}
        polyfold.report.explore(fitted, rows, **shown, path=path, title=title or Path(data).stem, max_points=points)
    return {"output": output, "bytes": path.stat().st_size}


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
