"""The kinds of files that hold rows: how each is read, block by block, and written. `FORMATS` lists them."""

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from polyfold._files import map_new_array
from polyfold._validation import import_extra
from polyfold.sources import Source, as_source, stack_rows
from polyfold.tables import Csv, Parquet, TableData, parquet_files

IMAGES = (".png", ".jpg", ".jpeg")
# Arrays of an .npz file that are a CSR or CSC matrix, as scipy.sparse.save_npz writes it.
CSR = {"data", "indices", "indptr", "shape"}
# Rows and columns that a sparse, empty or compressed file may have in any case; beyond, it must have a byte for each.
MOST_WITHOUT_BYTES = 2**20
# Bytes of a block of rows in double precision, and bounds of its rows.
BLOCK_BYTES = 2**26
MIN_ROWS, MAX_ROWS = 256, 65_536
# The attribute of zarr arrays that polyfold has written.
WRITER = {"written by": "polyfold"}


@dataclass(frozen=True)
class Selection:
    """The options of commands by which a file is read, and which of its columns and targets are used."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    target: str | None = None
    id: str | None = None
    array: str | None = None
    size: str | None = None
    color: bool = False
    encoding: str | None = None
    header: bool | None = None

    @property
    def files(self) -> list[str]:
        """The file that --target names, if it names one: an input that is not overwritten."""
        return [self.target] if self.target and Path(self.target).suffix.lower() in FORMATS else []


@dataclass(frozen=True)
class ArrayData:
    """Rows of an array or of a folder of images; `labels` are further arrays with one value per row."""

    path: Path
    values: Any
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    image_shape: tuple[int, ...] | None = None
    columns: tuple[int, ...] | None = None
    names: None = None
    index: None = None
    plan: None = None

    def __post_init__(self) -> None:
        shape, dtype = self.values.shape, np.dtype(self.values.dtype)
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"{self.path} must hold a matrix with rows and columns, got shape {tuple(shape)}.")
        if dtype.kind not in "fiub":
            raise ValueError(f"{self.path} must hold numbers, got {dtype}.")
        most, what = max((shape[0], "rows"), (shape[1], "columns"))
        if most > MOST_WITHOUT_BYTES and most > (size := _n_bytes(self.path)):
            raise ValueError(
                f"{self.path} has {most} {what} in {size} bytes; remove {what} without values, or resize images with "
                "--size."
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of selected columns."""
        return self.values.shape[1] if self.columns is None else len(self.columns)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of the arrays next to the rows."""
        return tuple(self.labels)

    def column(self, name: str) -> np.ndarray:
        """Return an array next to the rows."""
        return self.labels[name]

    def shown_columns(self, rows: Any) -> dict[str, np.ndarray] | None:
        """Return the columns that describe rows in a report: the names of image files and their folders."""
        return {name: self.labels[name] for name in ("file", "folder") if name in self.labels} or None

    def select(self, names: Sequence[str]) -> "ArrayData":
        """Return the same rows with some columns only, given as text."""
        numbers = tuple(map(int, names))
        return self if numbers == tuple(range(self.values.shape[1])) else replace(self, columns=numbers)

    def pick(self, rows: Any) -> Any:
        """Return the selected columns of rows."""
        return rows if self.columns is None else rows[:, list(self.columns)]

    def blocks(self, size: int | None = None) -> Iterator[Any]:
        """Yield `size` rows at a time, or all at once."""
        if size is None:
            yield self.whole()
            return
        for _, block in as_source(self.values).in_bytes().blocks(size):
            yield self.pick(block)

    def whole(self) -> Any:
        """Return all rows in memory, or mapped from an .npy file."""
        if isinstance(self.values, np.ndarray) or sp.issparse(self.values):
            return self.pick(self.values)
        return stack_rows(list(self.blocks(block_rows(self))))


def _n_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]))


FileData: TypeAlias = ArrayData | TableData


def block_rows(data: FileData) -> int:
    """Return the number of rows to work on at a time."""
    return int(np.clip(BLOCK_BYTES // (8 * data.n_columns), MIN_ROWS, MAX_ROWS))


def load_arrays(path: Path, **options: Any) -> Any:
    """Return the array of an .npy file, or the arrays of an .npz file by name."""
    try:
        loaded = np.load(path, allow_pickle=False, **options)
        if isinstance(loaded, np.ndarray):
            return loaded
        # Members of the archive that are not arrays are bytes.
        return {name: array for name in loaded.files if isinstance(array := loaded[name], np.ndarray)}
    except Exception as error:  # a damaged file raises many types
        reason = "it holds Python objects" if "pickle" in str(error) else error
        raise ValueError(f"{path} cannot be read as a file of numpy.save or numpy.savez: {reason}.") from error


def _read_npy(path: Path, _: Selection) -> ArrayData:
    return ArrayData(path, load_arrays(path, mmap_mode="r"))


def _read_npz(path: Path, selection: Selection) -> ArrayData:
    """Return the rows of an .npz file, and its other arrays that have one value per row."""
    arrays = load_arrays(path)
    if not isinstance(arrays, dict):
        raise ValueError(f"{path} cannot be read as a file of numpy.savez: it holds a single array.")
    if set(arrays) >= CSR and selection.array is None:
        values: Any = _sparse(path, arrays)
    else:
        matrices = [name for name, value in arrays.items() if value.ndim == 2]
        usual = ["X"] if "X" in arrays else [name for name in ("data", "arr_0") if name in matrices]
        name = selection.array or (usual[0] if usual else matrices[0] if len(matrices) == 1 else None)
        if name not in arrays:
            raise ValueError(f"{path}: select the array with the rows by --array; it has {', '.join(sorted(arrays))}.")
        values = arrays.pop(name)
    return ArrayData(path, values, {name: value for name, value in arrays.items() if value.shape == values.shape[:1]})


def _sparse(path: Path, arrays: dict[str, np.ndarray]) -> sp.csr_matrix:
    """Return the matrix of scipy.sparse.save_npz; its arrays are taken out of `arrays`."""
    parts, shape = tuple(arrays.pop(name) for name in ("data", "indices", "indptr")), arrays.pop("shape")
    form = np.asarray(arrays.pop("format", b"csr")).item()
    try:
        make = {b"csr": sp.csr_matrix, b"csc": sp.csc_matrix}[form]
        matrix = make(parts, shape=tuple(int(length) for length in shape))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as a CSR or CSC matrix of scipy.sparse.save_npz: {error}.") from error
    return matrix.tocsr()


def _read_csv(path: Path, selection: Selection) -> TableData:
    table = Csv(path, selection.encoding, selection.header)
    return TableData(table, table.names)


def _read_parquet(path: Path, _: Selection) -> TableData:
    table = Parquet(path)
    return TableData(table, table.names)


def _read_zarr(path: Path, _: Selection) -> ArrayData:
    zarr = import_extra("zarr", "cli")
    try:
        array = zarr.open_array(str(path), mode="r")
    except Exception as error:  # the types differ between versions of zarr
        raise ValueError(f"{path} cannot be read as a zarr array: {error}") from error
    return ArrayData(path, array)


def _write_npy(path: Path, blocks: Iterable[np.ndarray], names: list[str], n_rows: int) -> None:
    array, row = None, 0
    for rows in blocks:
        array = map_new_array(path, rows.dtype, (n_rows, *rows.shape[1:])) if array is None else array
        array[row : row + len(rows)] = rows
        row += len(rows)


def _write_npz(path: Path, blocks: Iterable[np.ndarray], names: list[str], n_rows: int) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, X=np.concatenate(list(blocks)), names=np.array(names))


def _write_csv(path: Path, blocks: Iterable[Any], names: list[str], n_rows: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        for rows in itertools.chain([pd.DataFrame([names])], blocks):
            frame = pd.DataFrame(rows)
            frame.to_csv(file, index=False, header=False, quoting=_quoting(frame))


def _quoting(frame: pd.DataFrame) -> Literal[0, 2]:
    """Return csv's mode of quoting: all texts if one has a carriage return, which Python 3.11.7 does not quote."""
    texts = frame.select_dtypes(exclude="number").to_numpy(dtype=object).ravel()
    has_return = any("\r" in text for text in texts if isinstance(text, str))
    return csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL


def _write_parquet(path: Path, blocks: Iterable[Any], names: list[str], n_rows: int) -> None:
    arrow, parquet = import_extra("pyarrow", "cli"), import_extra("pyarrow.parquet", "cli")
    with ExitStack() as stack:
        file = None
        for rows in blocks:
            table = arrow.Table.from_pandas(pd.DataFrame(rows).set_axis(names, axis=1), preserve_index=False)
            file = stack.enter_context(parquet.ParquetWriter(path, table.schema)) if file is None else file
            file.write_table(table)


def _write_zarr(path: Path, blocks: Iterable[np.ndarray], names: list[str], n_rows: int) -> None:
    zarr, array = import_extra("zarr", "cli"), None
    for rows in blocks:
        if array is None:
            shape, chunks = (0, *rows.shape[1:]), (max(1, len(rows)), *rows.shape[1:])
            array = zarr.open_array(str(path), mode="w", shape=shape, chunks=chunks, dtype=rows.dtype)
            array.attrs.update(WRITER)
        array.append(rows)


def _read_images(path: Path, selection: Selection) -> ArrayData:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in IMAGES and not _is_hidden(file, path))
    if not files:
        raise ValueError(f"{path} must be a folder with {', '.join(IMAGES)} or .parquet files, got none in it.")
    images = ImageSource(files, parse_size(selection.size) if selection.size else None, selection.color)
    folders = np.array([str(file.parent.relative_to(path)) for file in files])
    names = np.array([str(file.relative_to(path)) for file in files])
    return ArrayData(path, images, {"folder": folders, "file": names}, images.image_shape)


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file, or a folder that it is in, begins with a dot, as thumbnails do."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


class ImageSource(Source):
    """Images of a folder as rows of pixels."""

    stored = np.dtype(np.uint8)

    def __init__(self, files: list[Path], size: tuple[int, int] | None, color: bool):
        self._files, self._size, self._color = files, size, color
        self.image_shape = read_image(files[0], size, color).shape
        self.n_features, self.dtype = int(np.prod(self.image_shape)), np.dtype(np.float64)

    @property
    def n_rows(self) -> int:
        """Number of images."""
        return len(self._files)

    def read(self, rows: int) -> Iterator[np.ndarray]:
        """Yield the pixels of several images."""
        for start in range(0, self.n_rows, rows):
            yield np.array([self._pixels(file) for file in self._files[start : start + rows]], dtype=self.dtype)

    def _pixels(self, file: Path) -> np.ndarray:
        image = read_image(file, self._size, self._color)
        if image.shape != self.image_shape:
            raise ValueError(
                f"{file} has the size {_size_text(image.shape)}, {self._files[0].name} has "
                f"{_size_text(self.image_shape)}; pass --size, for example --size 32x32."
            )
        return image.ravel()


def read_image(file: Path, size: tuple[int, int] | None, color: bool) -> np.ndarray:
    """Return an image as bytes, (height, width) or (height, width, 3), turned as its camera noted."""
    pillow, ops = import_extra("PIL.Image", "cli"), import_extra("PIL.ImageOps", "cli")
    try:
        with pillow.open(file, formats=("PNG", "JPEG")) as image:  # others can start programs
            ops.exif_transpose(image, in_place=True)
            if image.mode.startswith("I"):  # 16 bits, which convert() would clip
                image = pillow.fromarray((np.asarray(image) // 256).astype(np.uint8))
            image = image.convert("RGB" if color else "L")
            return np.asarray(image if size is None else image.resize(size))
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{file} cannot be read as an image: {error}") from error


def parse_size(size: str) -> tuple[int, int]:
    """Return width and height of text such as 32x32."""
    width, _, height = size.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise ValueError(f"--size must be width and height such as 32x32, got {size!r}.")
    return int(width), int(height)


def _size_text(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"


def write_images(folder: Path, blocks: Iterable[np.ndarray], size: str | None) -> None:
    """Write rows as grey PNG files with numbers for names."""
    pillow, number, limits = import_extra("PIL.Image", "cli"), 0, None
    folder.mkdir()
    for rows in blocks:
        limits = limits or grey_limits(rows)  # one scale for all blocks, so that images can be compared
        for image in _pixels(rows, size, *limits):
            pillow.fromarray(image).save(folder / f"{number:07d}.png")
            number += 1


def _pixels(rows: np.ndarray, size: str | None, low: float, high: float) -> np.ndarray:
    """Return rows as images of bytes: (n, height, width)."""
    width, height = parse_size(size) if size else (round(rows.shape[1] ** 0.5),) * 2
    if width * height != rows.shape[1]:
        raise ValueError(f"--size must fit the {rows.shape[1]} values of a row, got {width}x{height}.")
    grey = np.clip(255 * (rows - low) / max(high - low, np.finfo(float).tiny), 0, 255)
    return grey.astype(np.uint8).reshape(-1, height, width)


def grey_limits(rows: np.ndarray) -> tuple[float, float]:
    """Return the values of black and white: 0 and 255 if the rows are bytes, else their smallest and largest value."""
    low, high = float(rows.min()), float(rows.max())
    return (0.0, 255.0) if low >= -1 and 1 < high <= 256 else (low, high)


class Format(NamedTuple):
    """How a kind of file is read and written, and the module it needs from the extra ``cli``."""

    read: Callable[[Path, Selection], FileData]
    write: Callable[[Path, Iterable[Any], list[str], int], None]
    module: str | None = None


FORMATS = {
    ".npy": Format(_read_npy, _write_npy),
    ".npz": Format(_read_npz, _write_npz),
    ".csv": Format(_read_csv, _write_csv),
    ".parquet": Format(_read_parquet, _write_parquet, "pyarrow.parquet"),
    ".zarr": Format(_read_zarr, _write_zarr, "zarr"),
}


def open_data(path: str | Path, selection: Selection) -> FileData:
    """Open a file or folder with all of its columns."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    if not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} must be a file or folder, because it is read several times; save the data first.")
    kind = path.suffix.lower()
    if path.is_dir() and kind != ".zarr":
        if not parquet_files(path):
            return _read_images(path, selection)
        kind = ".parquet"
    if kind not in FORMATS:
        raise ValueError(
            f"{path} must end in {', '.join(FORMATS)}, or be a folder of images or of parquet files, got "
            f"{kind or 'no ending'!r}."
        )
    return FORMATS[kind].read(path, selection)
