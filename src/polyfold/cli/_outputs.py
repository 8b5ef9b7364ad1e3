"""Results that are written: never over an input, never over a folder of someone else, and never in part."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._files import replacing
from polyfold._validation import import_extra
from polyfold.cli._formats import FORMATS, IMAGES, WRITER, write_images

PLOTS = (".png", ".svg", ".pdf")


def check_output(
    option: str, path: str | Path, inputs: Iterable[str | None], suffixes: Iterable[str] = FORMATS
) -> Path:
    """Return the path of a file to write with links resolved, or raise before any work is done."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in suffixes:
        raise ValueError(f"{option} must end in {', '.join(suffixes)}, got {str(path)!r}.")
    resolved = check_path(option, path, inputs, is_folder=kind in ("", ".zarr"))
    if resolved.is_dir() and any(resolved.iterdir()) and not _is_own_array(resolved):
        raise ValueError(
            f"{option} names the folder {str(path)!r}, which holds files that polyfold did not write; choose another "
            "name, or delete it first."
        )
    if kind in PLOTS:
        import_extra("matplotlib.figure", "plot")
    if kind in FORMATS and (module := FORMATS[kind].module):
        import_extra(module, "cli")
    return resolved


def check_model_path(option: str, path: str, inputs: Iterable[str | None]) -> Path:
    """Return the path of a model to write, or raise."""
    if Path(path).suffix.lower() in (*FORMATS, *PLOTS, ".html"):
        raise ValueError(f"{option} writes a model, got the name of a data file, {path!r}; end it in .polyfold.")
    return check_path(option, Path(path), inputs)


def check_path(option: str, path: Path, inputs: Iterable[str | None], *, is_folder: bool = False) -> Path:
    """Return a path with links resolved, or raise if it cannot be written to, or is an input."""
    resolved = Path(os.path.realpath(path))
    if not resolved.parent.is_dir() or not os.access(resolved.parent, os.W_OK):
        raise ValueError(f"{option} must be in an existing folder with write permission, got {str(path)!r}.")
    if resolved.exists() and resolved.is_dir() != is_folder:
        raise ValueError(f"{option} must be a {'folder' if is_folder else 'file'}, got {str(path)!r}.")
    # A rename replaces protected files, too, and root may write to all files.
    if resolved.exists() and not (os.access(resolved, os.W_OK) and resolved.stat().st_mode & 0o222):
        raise ValueError(f"{option} is write-protected, got {str(path)!r}; choose another name, or chmod u+w.")
    for given in inputs:
        if given is not None and _would_change(resolved, Path(given)):
            raise ValueError(f"{option} would overwrite the input {given}, got {str(path)!r}; choose another name.")
    if resolved.suffix.lower() != path.suffix.lower():
        raise ValueError(f"{option} is a link to {str(resolved)!r}, which has another ending; name the file itself.")
    return resolved


def _would_change(output: Path, given: Path) -> bool:
    """Whether an output is an input, or a file that is read when an input folder is read, also through links."""
    if output.exists() and given.exists() and output.samefile(given):
        return True
    folder = Path(os.path.realpath(given))
    parts = folder.rglob("*") if output.is_file() and folder.is_dir() else ()
    if any(part.is_file() and output.samefile(part) for part in parts):
        return True
    is_read = folder.suffix.lower() == ".zarr" or output.suffix.lower() in (*IMAGES, ".parquet")
    return folder.is_dir() and (output in folder.parents or (folder in output.parents and is_read))


def _is_own_array(folder: Path) -> bool:
    """Whether a folder is a zarr array that polyfold has written, without any other file in it."""
    if folder.suffix.lower() != ".zarr":
        return False
    parts = {part for file in folder.rglob("*") for part in file.relative_to(folder).parts}
    if not all(re.fullmatch(r"zarr\.json|\.zarray|\.zattrs|c|[\d.]+", part) for part in parts):
        return False
    try:
        attributes = import_extra("zarr", "cli").open_array(str(folder), mode="r").attrs
        return all(attributes.get(key) == value for key, value in WRITER.items())
    except Exception:  # not a zarr array; the types differ between versions of zarr
        return False


def is_report(path: Path) -> bool:
    """Whether a file is an HTML report that polyfold has written."""
    return path.is_file() and b'<meta name="generator" content="polyfold">' in path.read_bytes()[:1000]


def write_blocks(
    path: Path, blocks: Iterable[Any], names: Sequence[str], n_rows: int, *, size: str | None = None
) -> None:
    """Write blocks of rows to a file of the kind of its ending; without an ending, as a folder of images."""
    with replacing(path) as temporary:
        if path.suffix == "":
            write_images(temporary, blocks, size)
        else:
            FORMATS[path.suffix.lower()].write(temporary, blocks, list(names), n_rows)


def write_result(path: Path, rows: Any, names: Sequence[str]) -> None:
    """Write an array or a table in memory."""
    write_blocks(path, [rows], names, len(rows))


def write_arrays(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays to an .npz file."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def draw(path: Path, Z: np.ndarray, y: np.ndarray | None) -> None:
    """Write a plot of points in two dimensions, coloured by their targets."""
    from polyfold.report import RepresentationDisplay

    axes = import_extra("matplotlib.figure", "plot").Figure(figsize=(8, 7), layout="constrained").subplots()
    RepresentationDisplay(Z, y=y).plot(axes, theme="light")
    axes.set_axis_off()
    for name in axes.get_legend().get_texts() if axes.get_legend() else ():
        name.set_parse_math(False)  # a class may be called $x$
    with replacing(path) as temporary:
        axes.figure.savefig(temporary, dpi=150)
