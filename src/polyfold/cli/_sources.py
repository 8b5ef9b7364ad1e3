"""Files of rows: what they hold, all at once or block by block.

``.npy`` and ``.zarr`` are read where they are asked for, ``.csv`` and ``.parquet``, one file or a folder of them, in
pieces; ``.npz`` holds one array, or the parts of a CSR matrix as scipy or `polyfold.datasets` write them.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from polyfold._validation import import_extra
from polyfold.cli._images import image_source
from polyfold.sources import as_source

SUFFIXES = (".npy", ".npz", ".csv", ".parquet", ".zarr")
# Bytes, in double precision, of the parts in which arrays are read by the workers of a cluster.
PART_BYTES = 2**26
CSR = {"data", "indices", "indptr", "shape"}


@dataclass(frozen=True)
class Source:
    """Rows of a file: arrays, CSR matrices or tables, by blocks; `labels` are what the file says about its rows."""

    path: Path
    read: Callable[..., Iterator[Any]]  # rows of a block, None for all; columns to read as texts -> blocks
    n_rows: int | None
    n_columns: int
    names: tuple[str, ...] | None = None
    labels: dict[str, Any] | None = None
    image_shape: tuple[int, ...] | None = None
    about: int = 0  # rows, where they are not counted
    texts: tuple[str, ...] = ()
    part: Callable[[int], Any] | None = None  # rows of a part that can be read without the others, by its number
    lengths: tuple[int, ...] = ()  # of these parts
    chosen: tuple[str, ...] | None = None  # columns, where they are not all of the file
    all_names: tuple[str, ...] = ()  # of the file

    def whole(self) -> Any:
        """Return all rows."""
        return next(self.blocks(None))

    def blocks(self, rows: int | None) -> Iterator[Any]:
        """Yield the rows, so many at a time, or all at once."""
        return iter(self.read(rows, self.texts))

    def as_texts(self, columns: Iterable[str]) -> "Source":
        """Return the same rows with these columns as they stand in the file: "007" is not taken for 7."""
        return replace(self, texts=tuple(columns))

    def bytes_in_memory(self) -> float:
        """Return what all rows take in double precision."""
        return 8.0 * (self.n_rows or self.about) * self.n_columns

    def with_columns(self, chosen: list[str]) -> "Source":
        """Return the same rows with these columns only."""
        if self.names is not None:
            change, names = (lambda rows: rows[chosen]), tuple(chosen)
        else:
            numbers = [int(name) for name in chosen]
            change, names = (lambda rows: rows[:, numbers]), None
        part = self.part
        own: dict[str, Any] = {} if part is None else {"part": lambda number: change(part(number))}
        own |= {"chosen": tuple(chosen), "all_names": self.all_names or self.names or ()}
        return replace(self, read=_then(self.read, change), names=names, n_columns=len(chosen), **own)


def _then(read: Callable[..., Iterator[Any]], change: Callable[[Any], Any]) -> Any:
    return lambda *how: map(change, read(*how))


def open_source(path: str | Path, *, array: str | None = None, size: str | None = None, color: bool = False) -> Source:
    """Open a file, or a folder of images or parquet files, by its name."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} must be a file or folder, but there is none.")
    kind = path.suffix.lower()
    if kind == ".zarr":
        return _zarr(path)
    if path.is_dir():
        return _parquet(path) if _tables_in(path) else Source(path, *image_source(path, size, color))
    readers = {".npy": _npy, ".csv": _csv, ".parquet": _parquet}
    if kind == ".npz":
        return _npz(path, array)
    if kind not in readers:
        raise ValueError(
            f"{path} must be a folder of images or of parquet files, or end in {', '.join(SUFFIXES)}, got "
            f"{kind or 'no ending'!r}."
        )
    return readers[kind](path)


def _of_array(path: Path, values: Any, labels: dict[str, Any] | None = None) -> Source:
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"{path} must hold a matrix with rows and columns, got shape {tuple(values.shape)}.")
    if np.dtype(values.dtype).kind not in "fiub":
        raise ValueError(f"{path} must hold numbers, got {values.dtype}.")
    n, d = values.shape

    def read(rows: int | None, texts: tuple[str, ...]) -> Iterator[Any]:
        if rows is None:
            return iter([values if isinstance(values, np.ndarray) or sp.issparse(values) else values[:]])
        return (block for _, block in as_source(values).blocks(rows))

    # Whole chunks, where it has some.
    chunk = (getattr(values, "chunks", None) or (1,))[0]
    step = max(1, PART_BYTES // (8 * d * chunk)) * chunk
    lengths = tuple(min(step, n - start) for start in range(0, n, step))
    own = {"part": lambda number: values[number * step : (number + 1) * step], "lengths": lengths}
    return Source(path, read, n, d, labels=labels, **(own if path.suffix.lower() != ".npz" else {}))


def _npy(path: Path) -> Source:
    try:
        return _of_array(path, np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(
            f"{path} must be an .npy file as numpy.save writes it, got one that cannot be read ({error})."
        ) from error


def _npz(path: Path, array: str | None) -> Source:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise ValueError(f"{path} must be an .npz file of arrays, got one that cannot be read ({reason}).") from error
    if set(arrays) >= CSR and array is None:
        parts = (arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr"))
        values: Any = sp.csr_matrix(parts, shape=tuple(int(length) for length in arrays.pop("shape")))
        values.check_format(full_check=True)
    else:
        values = arrays.pop(_chosen(path, arrays, array))
    labels = {name: value for name, value in arrays.items() if value.ndim == 1 and len(value) == values.shape[0]}
    return _of_array(path, values, labels)


def _chosen(path: Path, arrays: dict[str, Any], array: str | None) -> str:
    matrices = [name for name, value in arrays.items() if value.ndim == 2]
    name = array or next((name for name in ("X", "data", "arr_0") if name in matrices), None)
    if name is None and len(matrices) == 1:
        name = matrices[0]
    if name not in arrays:
        raise ValueError(f"{path} must say which array holds the rows, by --array; it has {', '.join(sorted(arrays))}.")
    return name


def _zarr(path: Path) -> Source:
    zarr = import_extra("zarr", "cli")
    try:
        values = zarr.open_array(str(path), mode="r")
    except Exception as error:  # zarr's own kinds differ from version to version
        raise ValueError(f"{path} must be a zarr array, got a folder that cannot be read as one ({error}).") from error
    return _of_array(path, values)


def _csv(path: Path) -> Source:
    separator = separator_of(path)

    def tables(rows: int | None, texts: tuple[str, ...] = ()) -> Iterator[pd.DataFrame]:
        # With low_memory a column of numbers and texts is numbers in some of its parts.
        options: Any = {"dtype": dict.fromkeys(texts, str), "low_memory": False, "sep": separator}
        try:
            if rows is None:
                yield pd.read_csv(path, **options)
                return
            with pd.read_csv(path, chunksize=rows, **options) as chunks:
                yield from chunks
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path} must be a table with a line of names first, got one that cannot be read ({error})."
            ) from error

    head = next(tables(100), None)
    if head is None or head.empty:
        raise ValueError(f"{path} must have a line of names and rows below it, got no rows.")
    size, line = path.stat().st_size, max(1, len(head.to_csv(index=False)) / len(head))
    names = tuple(str(name) for name in head.columns)
    return Source(path, _named(tables, names), None, len(names), names, about=round(size / line), all_names=names)


def separator_of(path: Path) -> str:
    """Return what separates the columns of a table of texts, by its first line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return max(",;\t", key=file.readline().count)


def _tables_in(folder: Path) -> list[Path]:
    """Parquet files of a folder and its subfolders, as Dask and Spark write them, by their names."""
    return sorted(path for path in folder.rglob("*.parquet") if path.is_file() and path.name[0] not in "_.")


def _parquet(path: Path) -> Source:
    parquet = import_extra("pyarrow.parquet", "cli")
    try:
        files = [parquet.ParquetFile(file) for file in (_tables_in(path) if path.is_dir() else [path])]
    except Exception as error:  # pyarrow's own kinds
        raise ValueError(f"{path} must be a parquet file, got one that cannot be read ({error}).") from error
    index = (files[0].schema_arrow.pandas_metadata or {}).get("index_columns", [])
    names = tuple(name for name in files[0].schema_arrow.names if name not in index)
    if any(file.schema_arrow.names != files[0].schema_arrow.names for file in files):
        raise ValueError(f"{path} must have the same columns in all of its files, got others in some.")

    def tables(rows: int | None, texts: tuple[str, ...]) -> Iterator[pd.DataFrame]:
        if rows is None:
            yield pd.concat([file.read().to_pandas() for file in files], ignore_index=True)
            return
        for file in files:
            for batch in file.iter_batches(batch_size=rows):
                yield batch.to_pandas()

    groups = [(file, number) for file in files for number in range(file.metadata.num_row_groups)]
    lengths = tuple(file.metadata.row_group(number).num_rows for file, number in groups)
    if not sum(lengths):
        raise ValueError(f"{path} must have rows, got none.")

    def part(number: int) -> pd.DataFrame:
        file, group = groups[number]
        return file.read_row_group(group).to_pandas().set_axis(list(names), axis=1)

    return Source(path, _named(tables, names), sum(lengths), len(names), names, part=part, lengths=lengths)


def _named(tables: Any, names: tuple[str, ...]) -> Any:
    return _then(tables, lambda frame: frame.set_axis(list(names), axis=1))
