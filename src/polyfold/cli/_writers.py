"""Files that are written block by block and are there only when they are whole."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import polyfold
from polyfold._validation import import_extra
from polyfold.cli._images import write_images

SUFFIXES = (".npy", ".npz", ".csv", ".parquet", ".zarr")
PICTURES = (".png", ".svg", ".pdf")
# What a kind of file needs beyond the library, and the extra that brings it.
NEEDED = {
    ".parquet": ("pyarrow.parquet", "cli"),
    ".zarr": ("zarr", "cli"),
    **dict.fromkeys(PICTURES, ("matplotlib.figure", "plot")),
}


def check_output(path: str | Path, kinds: tuple[str, ...] = SUFFIXES) -> Path:
    """Return the path of a file to be written, or say what is wrong with it before any work is done."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in kinds:
        raise ValueError(f"--output must end in {', '.join(kinds)}, got {str(path)!r}.")
    check_place("--output", path, is_folder=kind in ("", ".zarr"))
    if kind in NEEDED:
        import_extra(*NEEDED[kind])
    return path


def check_place(option: str, path: Path, *, is_folder: bool = False) -> None:
    """Refuse a path where nothing can be written."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option} must be in a folder that is there and can be written to, got {str(path)!r}.")
    if path.exists() and path.is_dir() != is_folder:
        raise ValueError(f"{option} must be a {'folder' if is_folder else 'file'}, got {str(path)!r}, which is not.")


def check_model_path(option: str, path: str) -> Path:
    """Return the path of a model to be written, or say what is wrong with it."""
    if Path(path).suffix.lower() in (*SUFFIXES, *PICTURES, ".html"):
        raise ValueError(f"{option} must not name a file of data for a model, got {path!r}; end it in .polyfold.")
    check_place(option, Path(path))
    return Path(path)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to, a file or a folder, and put it there at the end, or nothing."""
    if path.is_dir() and path.suffix.lower() != ".zarr" and any(path.iterdir()):
        raise ValueError(f"--output must be a new or an empty folder, got {str(path)!r}, which holds files.")
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.part{path.suffix}")
    try:
        yield temporary
        if path.is_dir() and temporary.is_dir():
            shutil.rmtree(path)
        temporary.replace(path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


@contextmanager
def writer(path: Path, names: list[str], *, size: str | None = None) -> Iterator[Callable[[Any], None]]:
    """Give a function that appends rows to a file of the kind its name says; a name without ending means pictures."""
    makers = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".parquet": _parquet, ".zarr": _zarr}
    with whole(path) as temporary:
        if path.suffix == "":
            append, finish = _pictures(temporary, size)
        else:
            append, finish = makers[path.suffix.lower()](temporary, names)
        try:
            yield append
        finally:
            finish()


def _npy(path: Path, names: list[str]) -> Any:
    blocks: list[np.ndarray] = []
    return blocks.append, lambda: _save(path, blocks)


def _save(path: Path, blocks: list[np.ndarray]) -> None:
    if blocks:
        out = np.lib.format.open_memmap(
            path, mode="w+", dtype=blocks[0].dtype, shape=(sum(map(len, blocks)), *blocks[0].shape[1:])
        )
        np.concatenate(blocks, out=out)
        out.flush()


def _npz(path: Path, names: list[str]) -> Any:
    blocks: list[np.ndarray] = []

    def finish() -> None:
        if blocks:
            with path.open("wb") as file:
                np.savez_compressed(file, X=np.concatenate(blocks), names=np.array(names))

    return blocks.append, finish


def _csv(path: Path, names: list[str]) -> Any:
    file = path.open("w", newline="", encoding="utf-8")
    pd.DataFrame(columns=names).to_csv(file, index=False)

    def append(rows: np.ndarray) -> None:
        pd.DataFrame(rows if rows.ndim == 2 else rows[:, None]).to_csv(file, index=False, header=False)

    return append, file.close


def _parquet(path: Path, names: list[str]) -> Any:
    arrow, parquet = import_extra("pyarrow", "cli"), import_extra("pyarrow.parquet", "cli")
    opened: list[Any] = []

    def append(rows: np.ndarray) -> None:
        columns = rows.T if rows.ndim == 2 else rows[None]
        table = arrow.table([np.ascontiguousarray(column) for column in columns], names=names)
        if not opened:
            opened.append(parquet.ParquetWriter(path, table.schema))
        opened[0].write_table(table)

    return append, lambda: [file.close() for file in opened]


def _zarr(path: Path, names: list[str]) -> Any:
    zarr = import_extra("zarr", "cli")
    opened: list[Any] = []

    def append(rows: np.ndarray) -> None:
        if not opened:
            shape, chunks = (0, *rows.shape[1:]), (max(1, len(rows)), *rows.shape[1:])
            opened.append(zarr.open_array(str(path), mode="w", shape=shape, chunks=chunks, dtype=rows.dtype))
        opened[0].append(rows)

    return append, lambda: None


def _pictures(path: Path, size: str | None) -> Any:
    path.mkdir()
    done = [0]

    def append(rows: np.ndarray) -> None:
        write_images(path, rows, done[0], size)
        done[0] += len(rows)

    return append, lambda: None


def write_graph(path: Path, graph: Any) -> None:
    """Write a sparse matrix as scipy.sparse.load_npz reads it."""
    with whole(path) as temporary, temporary.open("wb") as file:
        sp.save_npz(file, sp.csr_matrix(graph))


def draw(path: Path, Z: np.ndarray, y: np.ndarray | None) -> None:
    """Write a picture of points in two dimensions, coloured by their targets: classes, or numbers."""
    axes = import_extra("matplotlib.figure", "plot").Figure(figsize=(8, 7), layout="constrained").subplots()
    polyfold.report.RepresentationDisplay(Z, y=y).plot(axes, theme="light")
    axes.set_axis_off()
    for name in axes.get_legend().get_texts() if axes.get_legend() else ():
        name.set_parse_math(False)  # a class may be called $x$
    with whole(path) as temporary:
        axes.figure.savefig(temporary, dpi=150)
