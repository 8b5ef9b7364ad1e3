"""Work on a Dask cluster: connect to its scheduler, and let its workers read the parts of a file."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._validation import import_extra
from polyfold.cli._column_kinds import Plan
from polyfold.cli._inputs import BLOCK_BYTES, ArrayData, Selection, TableData, block_rows, open_data
from polyfold.cli._tables import Csv, Parquet
from polyfold.sources import answering, as_source

# Seconds in which a scheduler must answer and have a worker.
PATIENCE = 10
# Results that may wait for an earlier one, per thread of the workers.
AHEAD = 2


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Give a client of the Dask scheduler at an address, which Dask uses meanwhile; None without an address."""
    if address is None:
        yield None
        return
    distributed = import_extra("distributed", "dask")
    if ":" not in address:
        raise ValueError(
            f"--cluster must be the address of a Dask scheduler, such as tcp://127.0.0.1:8786, got {address!r}; the "
            "number of clusters is -n/--clusters."
        )
    try:
        # Not as the default client: a client that fails would remain the default.
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ValueError(
            f"--cluster must be the address of a running Dask scheduler, such as tcp://127.0.0.1:8786; {address!r} did "
            f"not answer within {PATIENCE} s ({error or type(error).__name__})."
        ) from error
    with client, client.as_current(), answering(client), warnings.catch_warnings():
        # The model has to be sent with the work.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}"
            ) from error
        yield client


def lazy_rows(function: Callable[[Any], Any], data: ArrayData | TableData) -> Any:
    """Return a function of the rows of a file as a source of Dask."""
    array, delayed = import_extra("dask.array", "dask"), import_extra("dask", "dask").delayed
    parts, lengths = _parts(data)
    shared, example = delayed(function, traverse=False), function(next(data.blocks(1)))
    arrays = [
        array.from_delayed(delayed(_apply)(shared, part), shape=(length, example.shape[1]), dtype=example.dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    rows = array.concatenate(arrays, allow_unknown_chunksizes=True)
    if np.isnan(rows.shape[0]):
        rows = rows.compute_chunk_sizes()
        rows = array.concatenate([rows.blocks[number] for number, length in enumerate(rows.chunks[0]) if length])
    return as_source(rows)


def map_parts(client: Any, function: Callable[[Any], Any], data: ArrayData | TableData) -> Iterator[Any]:
    """Yield a function of every part of a file, in order, computed by the workers."""
    delayed = import_extra("dask", "dask").delayed
    shared = delayed(function, traverse=False)
    tasks = (client.compute(delayed(_apply)(shared, part)) for part in _parts(data)[0])
    waiting = deque(islice(tasks, AHEAD * max(1, sum(client.nthreads().values()))))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(islice(tasks, 1))


def _parts(data: ArrayData | TableData) -> tuple[list[Any], list[float]]:
    """Return the parts of a file, delayed, and their lengths; NaN if unknown."""
    delayed = import_extra("dask", "dask").delayed
    path = str(data.path.resolve())
    if isinstance(data, TableData):
        how = delayed((data.names, data.plan), traverse=False)
        if isinstance(data.reader, Csv):
            parts = [delayed(_planned_part)(frame, how) for frame in data.reader.delayed()]
            return parts, [float("nan")] * len(parts)
        groups = range(len(data.reader.lengths))
        return [delayed(_read_group)(path, number, how) for number in groups], list(data.reader.lengths)
    if data.path.suffix.lower() in (".npy", ".zarr"):
        chunk = (getattr(data.values, "chunks", None) or (1,))[0]
        step = max(1, BLOCK_BYTES // (8 * data.values.shape[1] * chunk)) * chunk
        starts = range(0, data.n_rows, step)
        parts = [delayed(_read_rows)(path, data.columns, start, start + step) for start in starts]
        return parts, [min(step, data.n_rows - start) for start in starts]
    # Archives and images are read here and sent.
    blocks = list(data.blocks(block_rows(data)))
    return [delayed(block, traverse=False) for block in blocks], [block.shape[0] for block in blocks]


def _planned_part(frame: Any, how: tuple[tuple[str, ...], Plan | None]) -> Any:
    names, plan = how
    return frame[list(names)] if plan is None else plan.apply(frame)


def _read_group(path: str, number: int, how: tuple[Any, ...]) -> Any:
    return _planned_part(Parquet(Path(path)).read_group(number), how)


def _read_rows(path: str, columns: tuple[int, ...] | None, start: int, stop: int) -> Any:
    data: Any = open_data(path, Selection())
    return replace(data, columns=columns).pick(np.asarray(data.values[start:stop]))


def _apply(function: Callable[[Any], Any], part: Any) -> Any:
    return function(part)
