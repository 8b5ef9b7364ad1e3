"""Build the index of the modules of rows, in memory or on the workers of a cluster."""

import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from polyfold.ensembles._dask_search import DaskSearch
from polyfold.ensembles._module_search import ModuleSearch
from polyfold.sources import Source, as_block, check_block, current_client, in_memory, method_rows


def by_point(representation: Any, X: Any) -> NDArray:
    """Return the modules of rows as (n, M, H), contiguous; a view if the representation stores them so."""
    return np.ascontiguousarray(representation.transform_modules(X).transpose(1, 0, 2))


def fittable_rows(representation: Any, X: Any) -> Any:
    """Return rows in a form that the representation can be fitted to; some need them in memory."""
    reads_blocks = isinstance(representation, FrozenEstimator) or hasattr(representation, "_sums_blocks")
    return X if reads_blocks else in_memory(X)


def modules_of(representation: Any, X: Any) -> Iterator[NDArray]:
    """Yield the modules of an array, or of a source block by block; Dask rows are transformed on the workers."""
    if not isinstance(X, Source):
        yield by_point(representation, X)
    elif X.is_lazy:
        yield from X.fetch(partial(by_point, representation))  # type: ignore[attr-defined]
    else:
        for start, block in X.blocks(method_rows(X)):
            check_block(block, start)
            yield by_point(representation, X.named(block))


def build_index(
    representation: Any, X: Any, engine: str, n_neighbors: int, recall: float | None
) -> ModuleSearch | DaskSearch:
    """Return a search among the rows of `X`, an array or a source, tuned to a recall if one is given."""
    if engine == "auto":
        engine = "sklearn" if importlib.util.find_spec("faiss") is None else "faiss"
    if isinstance(X, Source) and X.is_lazy and current_client() is not None:
        search = DaskSearch(current_client(), X, partial(_chunk_modules, representation, X), engine)
    else:
        modules = _collected(representation, X) if isinstance(X, Source) else by_point(representation, X)
        search = ModuleSearch(modules, engine)
    if recall is not None:
        search.tune(n_neighbors, recall)
    return search


def _collected(representation: Any, source: Source) -> NDArray:
    """Return the modules of all rows in memory, filled block by block."""
    modules, start = None, 0
    for block in modules_of(representation, source):
        if modules is None:
            modules = np.empty((source.n_rows, *block.shape[1:]), dtype=block.dtype)
        modules[start : start + len(block)] = block
        start += len(block)
    assert modules is not None  # a source has rows
    return modules


def _chunk_modules(representation: Any, source: Source, start: int, chunk: Any) -> NDArray:
    """Return the modules of a chunk that begins at row `start`."""
    block = as_block(chunk, source.dtype)
    check_block(block, start)
    return by_point(representation, source.named(block))
