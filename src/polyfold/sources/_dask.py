"""Rows on a cluster: sums by one task per chunk and a tree of merges, results as lazy arrays.

Tasks call the functions that one machine calls for a part of its rows. Only sums and requested rows reach the client,
and no task sees more than a chunk. Tasks do not change their inputs, so they can run again if a worker is lost.
"""

import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyfold._threads import using_threads
from polyfold._typing import Matrix
from polyfold._validation import import_extra
from polyfold.sources._containers import ArraySource, check_matrix
from polyfold.sources._source import Part, Result, Source, as_block, check_block, checked, float_type

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client

# Results that one task merges.
BRANCHES = 8


class DaskSource(Source):
    """A Dask array, or the columns of a Dask data frame, in chunks of rows."""

    is_lazy = True

    def __init__(self, X: Any, columns: Iterable[str] | None = None):
        self._dask, self._array = import_extra("dask", "dask"), import_extra("dask.array", "dask")
        self._is_frame = hasattr(type(X), "to_dask_array")  # the class is tested: a Delayed has any attribute
        if self._is_frame:
            X = _numbers(X, columns)
            self.names = tuple(X.columns) if all(isinstance(name, str) for name in X.columns) else None
            X = X.map_partitions(_in_order, tuple(X.columns), meta=X._meta).to_dask_array()
        elif columns is not None or not isinstance(X, self._array.Array):
            raise ValueError(f"X must be a Dask array, or a Dask data frame with columns, got {type(X).__name__}.")
        check_matrix(X)
        if not self._is_frame:  # partitions of data frames are checked by their names
            X = X.map_blocks(_as_declared, X.chunks, dtype=X.dtype, meta=X._meta)
        self._X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        self.n_features, self.dtype, self.stored = X.shape[1], float_type(X.dtype), np.dtype(X.dtype)

    @property
    def n_rows(self) -> int:
        """Number of rows; the cluster counts those of a data frame once."""
        return sum(self._lengths)

    @functools.cached_property
    def _lengths(self) -> tuple[int, ...]:
        """Rows of every chunk."""
        if self._is_frame and np.isnan(self._X.shape[0]):
            self._X = self._compute_with(self._X.compute_chunk_sizes)
        lengths = self._X.chunks[0]
        if np.isnan(lengths).any():
            raise ValueError("X must have chunks of known sizes, got unknown ones; call X.compute_chunk_sizes() first.")
        if 0 in lengths:
            raise ValueError(
                f"X must have rows in every chunk, got none in chunk {lengths.index(0)}; call X.rechunk, or "
                "X.repartition of a data frame."
            )
        return lengths

    def parts(self) -> "list[tuple[int, int, Delayed]]":
        """Return, for every chunk, its first row, its length, and the delayed chunk."""
        starts = np.cumsum([0, *self._lengths[:-1]]).tolist()
        return list(zip(starts, self._lengths, self._X.to_delayed().ravel(), strict=True))

    def read(self, rows: int) -> Iterator[Matrix]:
        """Fetch one chunk after the other."""
        for number in range(len(self._lengths)):
            yield as_block(self._compute_with(self._X.blocks[number].compute), self.dtype)

    def head(self, rows: int) -> Matrix:
        """Return the first rows, at most `rows`."""
        found = as_block(self._compute_with(self._X[: min(rows, self.n_rows)].compute), self.dtype)
        check_block(found, 0)
        return found

    def reduce(
        self,
        function: Callable[[int, Matrix], Part],
        merge: Callable[[Part, Part], Part],
        rows: int,
        *,
        what: str = "blocks",
        memory: int = 0,
    ) -> Part:
        """Return ``function(start, block)`` of all blocks of all chunks, merged in their order."""
        delayed = self._dask.delayed
        apply = function if self.is_checked else functools.partial(checked, function)
        # A separate task, so that arrays such as landmarks are sent to every worker once.
        shared = delayed((apply, merge, self.dtype), traverse=False)
        parts = [delayed(_reduce_chunk)(shared, start, chunk, rows) for start, _, chunk in self.parts()]
        result = self._compute_with(merge_tree(parts, functools.partial(delayed(_merge_parts), shared)).compute)
        self.is_checked = True
        return result

    def map(self, function: Callable[[Any], Result], rows: int, out: tuple[Any, ...] | None = None) -> Result:
        """Return lazy arrays of ``function(chunk)``: one, or a tuple of them."""
        if out is not None:
            raise ValueError(
                "write_rows does not take Dask rows. Call the method, and to_zarr or store of the array it returns."
            )
        example: Any = function(self.named(np.zeros((1, self.n_features), dtype=self.dtype)))
        single = not isinstance(example, tuple)
        empty = example[:0] if single else tuple(like[:0] for like in example)
        shared = self._dask.delayed((function, self, empty), traverse=False)
        delayed = self._dask.delayed(_map_chunk, nout=None if single else len(example))
        chunks, lengths = self._X.to_delayed().ravel(), self._X.chunks[0]
        starts = [None] * len(chunks) if np.isnan(lengths).any() else np.cumsum([0, *lengths[:-1]]).tolist()
        results = [delayed(shared, chunk, start) for chunk, start in zip(chunks, starts, strict=True)]
        if single:
            return self._joined(results, example)
        joined: Any = tuple(self._joined([parts[k] for parts in results], like) for k, like in enumerate(example))
        return joined

    def fetch(self, function: Callable[[Any], Result]) -> Iterator[Result]:
        """Yield ``function(chunk)`` for one chunk after the other; the results come to this process."""
        shared = self._dask.delayed((function, self, None), traverse=False)
        for start, _, chunk in self.parts():
            task = self._dask.delayed(_map_chunk)(shared, chunk, start)
            yield self._compute_with(task.compute)

    def _joined(self, results: "list[Delayed]", like: NDArray) -> Any:
        lengths = self._X.chunks[0]
        arrays = [
            self._array.from_delayed(result, shape=(length, *like.shape[1:]), dtype=like.dtype)
            for result, length in zip(results, lengths, strict=True)
        ]
        return self._array.concatenate(arrays, allow_unknown_chunksizes=True)

    def _compute_with(self, compute: Callable[[], Result]) -> Result:
        """Compute; a lost cluster raises one clear error."""
        with answering(current_client()):
            return compute()

    def __getstate__(self) -> dict[str, Any]:
        # Workers need the description of a chunk, not the collection.
        return {name: value for name, value in vars(self).items() if name in ("n_features", "dtype", "names")}


def _numbers(frame: Any, columns: Iterable[str] | None) -> Any:
    """Return some columns of a data frame, converted to types of NumPy."""
    if columns is not None:
        chosen = list(columns)
        if unknown := [name for name in chosen if name not in frame.columns]:
            raise ValueError(f"columns must be those of X, got {unknown[0]!r}; it has {', '.join(frame.columns)}.")
        frame = frame[chosen]
    is_numeric = import_extra("pandas.api.types", "dask").is_numeric_dtype
    for name, dtype in frame.dtypes.items():
        if not is_numeric(dtype):
            raise ValueError(
                f"X must have columns of numbers, got {name!r} of type {dtype}; choose columns by "
                "polyfold.sources.as_source(X, columns=[…])."
            )
    plain = all(isinstance(dtype, np.dtype) and dtype.kind != "b" for dtype in frame.dtypes)
    return frame if plain else frame.astype(np.float64)  # NumPy would convert types of pandas and pyarrow to objects


def _in_order(part: Any, names: tuple[Any, ...]) -> Any:
    """Return a partition, or raise if its columns are not those of the data frame."""
    if tuple(part.columns) != names:
        raise ValueError(
            f"partitions of X must have its columns, {', '.join(map(str, names[:8]))}, in the same order, got "
            f"{', '.join(map(str, part.columns[:8]))}."
        )
    return part


def _as_declared(
    chunk: Matrix, declared: tuple[tuple[float, ...], ...], block_id: tuple[int, ...] | None = None
) -> Matrix:
    """Return a chunk, or raise if it has not the shape that the array declares; NaN is any number of rows."""
    if block_id is not None:
        shape = tuple(sizes[number] for sizes, number in zip(declared, block_id, strict=True))
        if any(size != given and not np.isnan(given) for size, given in zip(chunk.shape, shape, strict=True)):
            raise ValueError(
                f"chunks of X must have the shape that X declares, {shape} for chunk {block_id}, got {chunk.shape}; "
                "give the right shape to dask.array.from_delayed or map_blocks."
            )
    return chunk


def _reduce_chunk(shared: tuple[Any, Any, Any], start: int, chunk: Matrix, rows: int) -> Any:
    apply, merge, dtype = shared
    with using_threads(1):
        source = ArraySource(chunk, is_checked=True)
        source.dtype = dtype
        return source.reduce(functools.partial(_shifted, apply, start), merge, rows)


def _shifted(function: Callable[[int, Matrix], Part], offset: int, start: int, block: Matrix) -> Part:
    return function(offset + start, block)


def _merge_parts(shared: tuple[Any, Any, Any], parts: list[Any]) -> Any:
    return functools.reduce(shared[1], parts[1:], deepcopy(parts[0]))


def _map_chunk(shared: tuple[Any, Any, Any], chunk: Matrix, start: int | None) -> Any:
    function, source, empty = shared
    block = as_block(chunk, source.dtype)
    if empty is not None and not block.shape[0]:  # an empty partition of a data frame
        return empty
    if start is not None:
        check_block(block, start)
    return function(source.named(block))


def merge_tree(tasks: "list[Delayed]", merge: "Callable[[list[Delayed]], Delayed]") -> "Delayed":
    """Return one task that merges the results of all tasks, a few neighbouring ones at a time."""
    while len(tasks) > 1:
        tasks = [merge(tasks[i : i + BRANCHES]) for i in range(0, len(tasks), BRANCHES)]
    return tasks[0]


def current_client() -> "Client | None":
    """Return the client of the active cluster; None if Dask computes in this process."""
    distributed = sys.modules.get("distributed")  # no cluster without this module
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:  # there is no client
        return None


@contextmanager
def answering(client: "Client | None") -> Iterator[None]:
    """Raise one clear error if the cluster is lost; nothing is checked without a client."""
    if client is None:
        yield
        return
    try:
        if client.status != "running":
            raise ConnectionError(f"its client is {client.status}")
        with warnings.catch_warnings():
            # Shared values pass through the scheduler, which does not lose them with a worker.
            warnings.filterwarnings("ignore", message="Sending large graph")
            yield
    except (CancelledError, ConnectionError) as error:
        if "lost dependencies" in str(error):
            raise ConnectionError(
                f"workers of the Dask cluster that held rows of X in memory are gone ({error}); load X again, from "
                "files if you can: Dask computes lost parts again, but cannot do so for data sent by scatter."
            ) from error
        raise ConnectionError(
            f"The Dask scheduler at {client.scheduler.address if client.scheduler else 'its address'} does not answer "
            f"({error}). Connect a distributed.Client to a running cluster, and start again."
        ) from error
