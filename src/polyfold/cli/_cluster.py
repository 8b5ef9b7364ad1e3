"""Work on a Dask cluster: its client, and the rows of files as parts that its workers read themselves."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from polyfold._validation import import_extra
from polyfold.cli._data import Picked, block_rows
from polyfold.cli._prepared import Prepared, prepared
from polyfold.cli._sources import Source, separator_of
from polyfold.sources import answering, as_source

# Seconds in which a scheduler answers, and has a worker.
PATIENCE = 10
# Results that may wait for an earlier one, for every thread of the workers.
AHEAD = 2


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Give a client of the cluster at an address, which Dask uses meanwhile; None is none."""
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
        # Not as the default, which one that fails would stay.
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ValueError(
            f"--cluster must be the address of a Dask scheduler that runs, such as tcp://127.0.0.1:8786, got "
            f"{address!r}, where none answers within {PATIENCE} s ({error or type(error).__name__})."
        ) from error
    with client, client.as_current(), answering(client), warnings.catch_warnings():
        # A model is sent with the work on every file, and nobody can do otherwise.
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"--cluster must have workers, got none at {address} within {PATIENCE} s; start some by: dask worker "
                f"{address}"
            ) from error
        yield client


def lazy_rows(picked: Picked, blocks: Prepared) -> Any:
    """Return the prepared rows of a file as a source of Dask."""
    how = partial(prepared, blocks.texts, blocks.steps)
    return lazy_parts(how, blocks.first, blocks.source.as_texts(blocks.texts), picked)


def lazy_parts(function: Callable[[Any], Any], first: Any, source: Source, picked: Picked) -> Any:
    """Return a function of the rows of a file as a source of Dask; `first` are some of them, for its shape."""
    array, delayed = import_extra("dask.array", "dask"), import_extra("dask", "dask").delayed
    raw, lengths = _parts(source, picked)
    shared, example = delayed(function, traverse=False), function(first[:1])
    parts = [
        array.from_delayed(delayed(_apply)(shared, part), shape=(length, example.shape[1]), dtype=example.dtype)
        for part, length in zip(raw, lengths, strict=True)
    ]
    rows = array.concatenate(parts, allow_unknown_chunksizes=True)
    if np.isnan(rows.shape[0]):
        rows = rows.compute_chunk_sizes()
        filled = [rows.blocks[number] for number, length in enumerate(rows.chunks[0]) if length]
        rows = array.concatenate(filled)
    return as_source(rows)


def map_parts(client: Any, function: Callable[[Any], Any], source: Source, picked: Picked) -> Iterator[Any]:
    """Yield a function of every part of a file, in their order, computed by the workers."""
    delayed = import_extra("dask", "dask").delayed
    shared = delayed(function, traverse=False)
    raw, _ = _parts(source, picked)
    tasks = (client.compute(delayed(_apply)(shared, part)) for part in raw)
    waiting = deque(islice(tasks, AHEAD * max(1, sum(client.nthreads().values()))))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(islice(tasks, 1))


def _parts(source: Source, picked: Picked) -> tuple[list[Any], list[float]]:
    """Return the parts of a file, delayed, and their lengths, NaN where nobody knows."""
    delayed = import_extra("dask", "dask").delayed
    path = str(source.path.resolve())
    if source.part is not None:
        read = delayed(_read_part)
        parts = [read(path, picked, source.chosen, number) for number in range(len(source.lengths))]
        return parts, list(source.lengths)
    if source.path.suffix.lower() == ".csv":
        tables = import_extra("dask.dataframe", "dask").read_csv(path, dtype=str, sep=separator_of(source.path))
        parts = [delayed(_named)(table, source.all_names, source.chosen) for table in tables.to_delayed()]
        return parts, [float("nan")] * len(parts)
    # Archives and pictures are read here, and sent.
    blocks = list(source.blocks(block_rows(source)))
    return [delayed(block, traverse=False) for block in blocks], [block.shape[0] for block in blocks]


def _read_part(path: str, picked: Picked, chosen: tuple[str, ...] | None, number: int) -> Any:
    source = picked.open(path)
    source = source if chosen is None else source.with_columns(list(chosen))
    assert source.part is not None  # the client has seen that it has parts
    return source.part(number)


def _named(table: pd.DataFrame, names: tuple[str, ...], chosen: tuple[str, ...] | None) -> pd.DataFrame:
    table = table.set_axis(list(names), axis=1)
    return table if chosen is None else table[list(chosen)]


def _apply(function: Callable[[Any], Any], part: Any) -> Any:
    return function(part)
