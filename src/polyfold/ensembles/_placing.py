"""Where the modules of an index are kept: in memory, or on the workers of a cluster."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from polyfold.ensembles._cells import Cells
from polyfold.ensembles._effort import Effort
from polyfold.ensembles._module_search import ENGINES, ModuleSearch
from polyfold.ensembles._sharded_search import ShardedSearch
from polyfold.neighbors import choose_engine
from polyfold.sources import Source, as_block, check_block, current_client, in_memory, method_rows

# Neighbours, and the share of them that is to be found.
Wanted = tuple[int, float] | None


def by_point(representation: Any, X: Any) -> NDArray:
    """Modules of rows as (n, M, H), a point's modules side by side; a view where they come from one."""
    return np.ascontiguousarray(representation.transform_modules(X).transpose(1, 0, 2))


def readable(representation: Any, X: Any) -> Any:
    """Return rows as a representation can be fitted to them: some need them in memory."""
    reads = isinstance(representation, FrozenEstimator) or hasattr(representation, "_sums_blocks")
    return X if reads else in_memory(X)


def modules_of(representation: Any, X: Any) -> Iterator[NDArray]:
    """Yield the modules of an array, or of a source block by block; rows of Dask are transformed where they are."""
    if not isinstance(X, Source):
        yield by_point(representation, X)
    elif X.is_lazy:
        yield from X.fetch(partial(by_point, representation))  # type: ignore[attr-defined]
    else:
        for start, block in X.blocks(method_rows(X)):
            check_block(block, start)
            yield by_point(representation, X.named(block))


def place(
    representation: Any, X: Any, engine: str, groups: int | None, wanted: Wanted
) -> tuple[ModuleSearch | ShardedSearch, Effort | None]:
    """Return a search among the rows of `X`, an array or a source, and what it chose for a wanted recall."""
    if isinstance(X, Source) and X.is_lazy and current_client() is not None:
        search = _spread(representation, X, engine, groups, wanted)
        return search, None if wanted is None else search.effort()
    modules = _collected(representation, X) if isinstance(X, Source) else by_point(representation, X)
    search = ModuleSearch(modules, _choose_engine(engine, len(modules), modules.shape[2]))
    return search, None if wanted is None else search.tune(*wanted)


def _collected(representation: Any, source: Source) -> NDArray:
    """All modules in memory, written as they come."""
    modules, start = None, 0
    for block in modules_of(representation, source):
        if modules is None:
            modules = np.empty((source.n_rows, *block.shape[1:]), dtype=block.dtype)
        modules[start : start + len(block)] = block
        start += len(block)
    assert modules is not None  # a source has rows
    return modules


def _spread(representation: Any, source: Any, engine: str, groups: int | None, wanted: Wanted) -> ShardedSearch:
    some = by_point(representation, source.named(np.zeros((1, source.n_features), dtype=source.dtype)))
    M, H = some.shape[1:]
    if groups is not None and groups > M:
        raise ValueError(f"module_groups must be <= {M}, the modules there are, got {groups}.")
    make = partial(_shard, representation, source)
    groups = groups if wanted is None else 1
    cells = Cells(current_client(), source, make, M, _choose_engine(engine, source.n_rows, H), groups, wanted)
    return ShardedSearch(cells, (M, H), some.dtype, wanted is not None)


def _shard(representation: Any, source: Source, start: int, chunk: Any) -> NDArray:
    """Modules of a chunk that begins at row `start`."""
    block = as_block(chunk, source.dtype)
    check_block(block, start)
    return by_point(representation, source.named(block))


def _choose_engine(engine: str, n: int, H: int) -> str:
    if engine != "auto":
        return engine
    chosen = choose_engine(n, H, approximate=False)
    return next(name for name, scan in ENGINES.items() if scan == chosen)
