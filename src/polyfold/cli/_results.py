"""The commands that evaluate a model, search with it, or print what it holds."""

import importlib.util
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import polyfold
from polyfold.cli import Terminal
from polyfold.cli._column_kinds import USES, Plan
from polyfold.cli._estimators import estimator_names
from polyfold.cli._inputs import SUFFIXES, ArrayData, Selection, TableData, target_for
from polyfold.cli._outputs import check_output, write_arrays, write_graph, writer
from polyfold.cli._preparation import (
    all_rows,
    as_array,
    as_fitted,
    before_last,
    connected,
    for_model,
    last_step,
    lazy_rows,
    open_for_model,
)
from polyfold.metrics import clustering_accuracy, module_correlation, nmi, retrieval_precision
from polyfold.saving import describe

N_NEIGHBORS = 10
# Rows that `evaluate` searches, and rows whose neighbours it compares.
SEARCHED, COMPARED = 10_000, 1_000
# Rows whose neighbours are searched at a time.
QUERIES = 4096
# A module of every extra.
EXTRAS = {
    "cli": "pyarrow",
    "dask": "dask",
    "faiss": "faiss",
    "map": "openTSNE",
    "onnx": "onnx",
    "plot": "matplotlib",
    "progress": "tqdm",
    "pyamg": "pyamg",
    "pynndescent": "pynndescent",
    "torch": "torch",
}
Neighbors = tuple[np.ndarray, np.ndarray]


def n_modules(estimator: Any) -> int:
    """Return the number of modules of a fitted estimator, 0 if it has none."""
    return estimator._module_shape[0] if hasattr(estimator, "transform_modules") else 0


def evaluate(model: Any, rows: Any, y: np.ndarray | None, seed: int) -> dict[str, Any]:
    """Return figures by name: predictions, clusters or coordinates, depending on the model."""
    estimator = last_step(model)
    figures: dict[str, Any] = {"rows": rows.shape[0]}
    if is_classifier(estimator) or is_regressor(estimator):
        if y is None:
            raise ValueError("--target is needed to evaluate a model that predicts targets.")
        return {**figures, **_evaluate_predictions(model, estimator, rows, y)}
    if hasattr(model, "predict"):
        labels = np.asarray(model.predict(rows))
        figures |= {"clusters": len(np.unique(labels))}
        if y is not None:
            codes = np.unique(y, return_inverse=True)[1]
            figures |= {"accuracy": clustering_accuracy(codes, labels), "nmi": nmi(codes, labels)}
    if hasattr(model, "transform"):
        figures |= _evaluate_coordinates(model, estimator, rows, y, seed)
    return figures


def _evaluate_predictions(model: Any, estimator: Any, rows: Any, y: np.ndarray) -> dict[str, Any]:
    predicted = model.predict(rows)
    if is_regressor(estimator):
        return {"r2": float(r2_score(y, predicted))}
    figures: dict[str, Any] = {"accuracy": float(np.mean(predicted == y))}
    if hasattr(estimator, "module_scores"):
        scores = estimator.module_scores(before_last(model, rows), y)
        figures |= {"accuracy of single modules": [float(scores.min()), float(scores.max())]}
    return figures


def _evaluate_coordinates(model: Any, estimator: Any, rows: Any, y: np.ndarray | None, seed: int) -> dict[str, Any]:
    rng = np.random.RandomState(seed)
    sample = np.sort(rng.permutation(rows.shape[0])[:SEARCHED])
    rows = rows.iloc[sample] if hasattr(rows, "iloc") else rows[sample]
    prepared, Z = before_last(model, rows), np.asarray(model.transform(rows))
    k = min(N_NEIGHBORS, len(Z) - 1)
    compared = np.sort(rng.permutation(len(Z))[:COMPARED])
    truth, found = (_neighbors(points, compared, k) for points in (prepared, Z))
    figures: dict[str, Any] = {f"precision at {k}": retrieval_precision(found, truth)}
    if n_modules(estimator) > 1:
        figures["correlation of modules"] = module_correlation(estimator.transform_modules(prepared)[:, :COMPARED])
    if y is not None:
        figures |= _evaluate_classes(Z, y[sample], rng)
    return figures


def _evaluate_classes(Z: np.ndarray, y: np.ndarray, rng: np.random.RandomState) -> dict[str, float]:
    """Return the accuracy of five neighbours; nothing if most targets occur once."""
    classes, codes = np.unique(y, return_inverse=True)
    if not 1 < len(classes) <= len(y) / 2 or len(y) < 10:
        return {}
    folds = KFold(5, shuffle=True, random_state=rng)
    # Codes, because scikit-learn takes classes such as 0.5 and 1.5 for numbers.
    return {"accuracy of 5 neighbours": float(cross_val_score(KNeighborsClassifier(5), Z, codes, cv=folds).mean())}


def _neighbors(points: Any, queries: np.ndarray, k: int) -> np.ndarray:
    points = sp.csr_matrix(points) if sp.issparse(points) else np.asarray(points)
    index = NearestNeighbors(n_neighbors=k + 1).fit(points)
    return _without_self(queries, *index.kneighbors(points[queries]))[1]


def _without_self(queries: np.ndarray, distances: np.ndarray, indices: np.ndarray) -> Neighbors:
    """Leave every row out of its own neighbours, or the last one if duplicates come before it."""
    others = indices != queries[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(indices), indices.shape[1] - 1
    return distances[others].reshape(shape), indices[others].reshape(shape)


def search_here(
    fitted: Any,
    rows: Any,
    queries: Any,
    neighbors: int,
    terminal: Terminal,
    *,
    modules: int | None,
    expand: int | None,
) -> Neighbors:
    """Return distances and numbers of the nearest rows; without queries, those of all rows."""
    is_self = queries is None
    k = neighbors + is_self  # a row is its own nearest neighbour
    if k > rows.shape[0]:
        raise ValueError(f"--neighbors must be <= {rows.shape[0] - is_self}, the number of rows, got {neighbors}.")
    with terminal.working(f"indexing {rows.shape[0]} rows"):
        search = _index(fitted, rows, k, modules, expand)
    queries = rows if is_self else queries
    parts = terminal.track(_slices(queries), "queries", queries.shape[0])
    distances, indices = map(np.concatenate, zip(*map(search, parts), strict=True))
    return _without_self(np.arange(len(indices)), distances, indices) if is_self else (distances, indices)


def _index(fitted: Any, rows: Any, k: int, modules: int | None, expand: int | None) -> Any:
    """Return a function that gives distances and numbers of the nearest rows."""
    estimator = last_step(fitted)
    if n_modules(estimator):
        index = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=k).fit(before_last(fitted, rows))
        effort = _effort(estimator, k, modules, expand)
        return lambda queries: index.kneighbors(before_last(fitted, queries), **effort)
    if modules is not None or expand is not None:
        raise ValueError(f"--modules and --expand need a model with modules, got {type(estimator).__name__}.")
    if not hasattr(fitted, "transform"):
        raise ValueError(f"the model must have transform, got {type(estimator).__name__}.")
    index = NearestNeighbors(n_neighbors=k).fit(np.asarray(fitted.transform(rows)))
    return lambda queries: index.kneighbors(np.asarray(fitted.transform(queries)))


def _effort(estimator: Any, k: int, modules: int | None, expand: int | None) -> dict[str, int | None]:
    """Return which modules to scan; without options, all modules in one exact scan."""
    if modules is None and expand is None:
        modules, expand = n_modules(estimator), -(-k // n_modules(estimator))
    return {"modules": modules, "expand": expand}


def _slices(rows: Any) -> Iterator[Any]:
    """Yield few rows at a time, so that an interrupt takes effect soon."""
    for start in range(0, rows.shape[0], QUERIES):
        part = slice(start, start + QUERIES)
        yield rows.iloc[part] if hasattr(rows, "iloc") else rows[part]


def search_cluster(
    fitted: Any,
    data: ArrayData | TableData,
    queries: Any,
    neighbors: int,
    deadline: float | None,
    *,
    modules: int | None,
    expand: int | None,
) -> tuple[float, Neighbors]:
    """Search on a Dask cluster, which keeps the rows; return also the fraction of rows that answered."""
    estimator = last_step(fitted)
    if not n_modules(estimator):
        raise ValueError(f"--cluster needs a model with modules to search, got {type(estimator).__name__}.")
    rows = lazy_rows(partial(_prepared, fitted), data)
    index = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=neighbors, deadline=deadline).fit(rows)
    prepared = None if queries is None else before_last(fitted, queries)
    distances, indices, coverage = index.search(prepared, **_effort(estimator, neighbors, modules, expand))
    return coverage, (distances, indices)


def _prepared(fitted: Any, rows: Any) -> Any:
    return as_array(before_last(fitted, as_fitted(rows, fitted)))


def summary(model: Any) -> dict[str, Any]:
    """Return the size of a fitted model and the figures it stores."""
    estimator = last_step(model)
    size = {"modules": n_modules(estimator)} if n_modules(estimator) else {}
    if hasattr(model, "transform"):
        size["coordinates"] = len(model.get_feature_names_out())
    names = ("loss_", "loss_bound_", "loss_gap_", "n_clusters_", "layer_sizes_", "fidelity_", "novelty_")
    figures = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {**size, **{name.strip("_"): np.asarray(value).tolist() for name, value in figures.items()}}


def model_info(path: str, *, with_table: bool = False) -> dict[str, Any]:
    """Return the contents of a model file: class, parameters, columns and figures; also each column of its table."""
    about, model = describe(path), polyfold.load(path)
    estimator, plan = last_step(model), Plan.stored(model)
    plain = (bool, int, float, str, type(None))
    parameters = estimator.get_params(deep=False).items()
    names = getattr(model, "feature_names_in_", None)
    return {
        "file": path,
        "class": type(estimator).__name__,
        **({} if estimator is model else {"steps": [type(step).__name__ for _, step in model.steps]}),
        "polyfold": about["polyfold"],
        "written with": about.get("written with"),
        "columns": int(getattr(model, "n_features_in_", 0)) if names is None else [str(name) for name in names],
        **({} if plan is None else {"kinds": {kind: plan.names(kind) for kind in USES if plan.names(kind)}}),
        **({"table": plan.as_dict()} if plan is not None and with_table else {}),
        "parameters": {
            name: value if isinstance(value, plain) else " ".join(repr(value).split()) for name, value in parameters
        },
        **summary(model),
    }


def installation_info() -> dict[str, Any]:
    """Return versions, extras and the classes that can be fitted."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
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
