"""Neighbours in the representation of a model, from file to file."""

import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

import polyfold
from polyfold._files import write_file
from polyfold.cli._cluster import connected, lazy_parts
from polyfold.cli._data import Picked, all_rows, as_fitted, before_last, for_model, last_step, n_modules, open_for
from polyfold.cli._prepared import as_array
from polyfold.cli._terminal import Terminal
from polyfold.cli._writers import SUFFIXES, check_output, write_graph, writer

# Rows whose neighbours are sought at a time.
QUERIES = 4096


def search_file(
    model: str,
    data: str,
    output: str,
    picked: Picked,
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
    path = check_output(output, (".npz",) if graph else SUFFIXES)
    if cluster is None and deadline is not None:
        raise ValueError("--deadline needs --cluster: a search in this process answers with all rows.")
    fitted = polyfold.load(model)
    effort = {"modules": modules, "expand": expand}
    with connected(cluster) as client:
        if client is None:
            n, found = _search_here(fitted, data, queries, picked, neighbors, terminal, **effort)
        else:
            n, found = _search_there(fitted, data, queries, picked, neighbors, deadline, **effort)
    distances, indices, coverage = found
    if graph:
        write_graph(path, _graph(distances, indices, n))
    elif path.suffix == ".npz":
        _write_arrays(path, indices=indices, distances=distances)
    else:
        with writer(path, [f"neighbor{number}" for number in range(indices.shape[1])]) as append:
            append(indices)
    told = {} if client is None else {"coverage": coverage}
    return {"output": str(path), "rows": len(indices), "neighbors": indices.shape[1], **told}


def _search_here(
    fitted: Any,
    data: str,
    queries: str | None,
    picked: Picked,
    neighbors: int,
    terminal: Terminal,
    *,
    modules: int | None,
    expand: int | None,
) -> tuple[int, tuple[np.ndarray, np.ndarray, float]]:
    """Search in this process: the number of rows, and distances, indices and the share that answered."""
    rows = all_rows(data, picked, fitted)
    asked = rows if queries is None else all_rows(queries, picked, fitted)
    # A row is its own nearest; where all rows are asked, one more is sought and it is left out.
    k = neighbors + (queries is None)
    if k > rows.shape[0]:
        raise ValueError(
            f"--neighbors must be <= {rows.shape[0] - (queries is None)}, the rows there are, got {neighbors}."
        )
    with terminal.working(f"preparing {rows.shape[0]} rows"):
        ask = _index(fitted, rows, k, modules, expand)
    parts = terminal.track(_parts(asked), "queries answered", asked.shape[0], QUERIES)
    distances, indices = map(np.concatenate, zip(*map(ask, parts), strict=True))
    if queries is None:
        distances, indices = _others(distances, indices)
    return rows.shape[0], (distances, indices, 1.0)


def _search_there(
    fitted: Any,
    data: str,
    queries: str | None,
    picked: Picked,
    neighbors: int,
    deadline: float | None,
    *,
    modules: int | None,
    expand: int | None,
) -> tuple[int, tuple[np.ndarray, np.ndarray, float]]:
    """Search on a cluster, which keeps the rows."""
    estimator = last_step(fitted)
    if not n_modules(estimator):
        raise ValueError(f"--cluster needs a model with modules to search, got {type(estimator).__name__}.")
    source, names, texts = for_model(open_for(data, picked, fitted), fitted)
    first = next(source.blocks(1))
    rows = lazy_parts(partial(_before_last, fitted, names, texts), first, source, picked)
    index = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=neighbors, deadline=deadline).fit(rows)
    if modules is None and expand is None:
        modules, expand = _exactly(estimator, neighbors)
    asked = None if queries is None else before_last(fitted, all_rows(queries, picked, fitted))
    distances, indices, coverage = index.search(asked, modules=modules, expand=expand)
    return index.n_samples_fit_, (distances, indices, coverage)


def _index(fitted: Any, rows: Any, k: int, modules: int | None, expand: int | None) -> Any:
    """Return a function that gives distances and numbers of the nearest rows, (n, k) each."""
    estimator = last_step(fitted)
    if n_modules(estimator):
        index = polyfold.ModularNeighbors(FrozenEstimator(estimator), n_neighbors=k).fit(before_last(fitted, rows))
        if modules is None and expand is None:
            modules, expand = _exactly(estimator, k)
        return lambda asked: index.kneighbors(before_last(fitted, asked), modules=modules, expand=expand)
    if modules is not None or expand is not None:
        raise ValueError(f"--modules and --expand need a model with modules, got {type(estimator).__name__}.")
    if not hasattr(fitted, "transform"):
        raise ValueError(f"the model must have transform, got {type(estimator).__name__}; use a representation.")
    index = NearestNeighbors(n_neighbors=k).fit(np.asarray(fitted.transform(rows)))
    return lambda asked: index.kneighbors(np.asarray(fitted.transform(asked)))


def _exactly(estimator: Any, k: int) -> tuple[int, int]:
    """All modules as one: one scan that is exact, where a scan of each takes several times as long."""
    return n_modules(estimator), -(-k // n_modules(estimator))


def _before_last(fitted: Any, names: Any, texts: list[str] | None, part: Any) -> Any:
    """Return rows of a file as the estimator itself sees them, an array."""
    return as_array(before_last(fitted, as_fitted(part, names, texts)))


def _parts(rows: Any) -> Iterator[Any]:
    """Yield rows to be asked for together, few enough that an interrupt is heard soon."""
    for start in range(0, rows.shape[0], QUERIES):
        part = slice(start, start + QUERIES)
        yield rows.iloc[part] if hasattr(rows, "iloc") else rows[part]


def _others(distances: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave every row out of its own list, or the last entry where it is not in it."""
    others = indices != np.arange(len(indices))[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(indices), indices.shape[1] - 1
    return distances[others].reshape(shape), indices[others].reshape(shape)


def _graph(distances: np.ndarray, indices: np.ndarray, n: int) -> Any:
    pointers = np.arange(0, indices.size + 1, indices.shape[1])
    return sp.csr_matrix((distances.ravel(), indices.ravel(), pointers), shape=(len(indices), n))


def _write_arrays(path: Path, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_file(path, buffer.getvalue())
