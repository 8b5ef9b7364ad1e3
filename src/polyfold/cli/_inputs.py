"""Open files as rows: arrays, tables and folders of images, with the columns and targets that options select."""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

from polyfold._validation import import_extra
from polyfold.cli import rows_text, suggestion
from polyfold.sources import Source, as_source, stack_rows
from polyfold.tables import Csv, Parquet, TableData, parquet_files

SUFFIXES = (".npy", ".npz", ".csv", ".parquet", ".zarr")
IMAGES = (".png", ".jpg", ".jpeg")
# Arrays of an .npz file that are a CSR or CSC matrix, as scipy.sparse.save_npz writes it.
CSR = {"data", "indices", "indptr", "shape"}
# Columns of an array; a vector of them must fit in memory, whatever a sparse or empty file declares.
MOST_COLUMNS = 2**24
# Bytes of a block of rows in double precision, and bounds of its rows.
BLOCK_BYTES = 2**26
MIN_ROWS, MAX_ROWS = 256, 65_536


@dataclass(frozen=True)
class Selection:
    """The options that select rows, columns and targets of a file."""

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
        return [self.target] if self.target and Path(self.target).suffix.lower() in SUFFIXES else []


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
        if shape[1] > MOST_COLUMNS:
            raise ValueError(f"{self.path} must have at most {MOST_COLUMNS} columns, got {shape[1]}.")

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


FileData: TypeAlias = ArrayData | TableData


def block_rows(data: FileData) -> int:
    """Return the number of rows to work on at a time."""
    return int(np.clip(BLOCK_BYTES // (8 * data.n_columns), MIN_ROWS, MAX_ROWS))


def open_data(path: str | Path, selection: Selection) -> FileData:
    """Open a file or folder with all of its columns."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    kind = path.suffix.lower()
    if kind == ".zarr":
        return ArrayData(path, read_zarr(path))
    if path.is_dir() and not parquet_files(path):
        return _open_images(path, selection)
    if path.is_dir() or kind in (".csv", ".parquet"):
        table = Csv(path, selection.encoding, selection.header) if kind == ".csv" and path.is_file() else Parquet(path)
        return TableData(table, table.names)
    if kind == ".npy":
        return ArrayData(path, load_arrays(path, mmap_mode="r"))
    if kind == ".npz":
        return ArrayData(path, *read_npz(path, selection.array))
    raise ValueError(
        f"{path} must end in {', '.join(SUFFIXES)}, or be a folder of images or of parquet files, got "
        f"{kind or 'no ending'!r}."
    )


def select_features(data: FileData, selection: Selection) -> FileData:
    """Return the same rows with the selected columns: those of --columns, without --drop, --target and --id."""
    names = data.names or tuple(map(str, range(data.n_columns)))
    known = names if data.index is None else (data.index, *names)
    wanted = column_names("--columns", selection.columns, known, data.path) or names
    left_out = set(column_names("--drop", selection.drop, known, data.path))
    left_out |= {selection.target, selection.id} if data.names else set()
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        raise ValueError(f"no column of {data.path} is left; select some with --columns, or drop fewer.")
    return data.select(chosen)


def column_names(option: str, wanted: Sequence[str], names: Sequence[str], path: Any) -> list[str]:
    """Return the columns that an option names, each once: whole names, or ranges of numbers such as 0-9."""
    known, chosen = set(names), {}
    for part in wanted:
        first, dash, last = part.partition("-")
        is_range = part not in known and dash and first.isdecimal() and last.isdecimal()
        if is_range and int(first) > int(last):
            raise ValueError(f"{option} must have ranges from the lower to the higher number, got {part!r}.")
        for name in map(str, range(int(first), int(last) + 1)) if is_range else [part]:
            if name not in known:
                raise ValueError(f"{option} must name columns of {path}, got {name!r}; {suggestion(name, names)}.")
            chosen[name] = True
    return list(chosen)


def _open_images(path: Path, selection: Selection) -> ArrayData:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in IMAGES)
    if not files:
        raise ValueError(f"{path} must be a folder with {', '.join(IMAGES)} or .parquet files, got none in it.")
    images = ImageSource(files, parse_size(selection.size) if selection.size else None, selection.color)
    folders = np.array([str(file.parent.relative_to(path)) for file in files])
    names = np.array([str(file.relative_to(path)) for file in files])
    return ArrayData(path, images, {"folder": folders, "file": names}, images.image_shape)


def read_target(data: FileData, selection: Selection, kind: str = "either") -> np.ndarray | None:
    """Return the targets, or None without --target.

    Text tables give "labels" exactly as they are written, "numbers", or "either": numbers if that keeps labels apart.
    """
    if selection.target is None:
        return None
    column = pd.Series(find_target(data, selection), name=selection.target)
    if column.isna().any():
        raise ValueError(f"--target must have a value in every row, got {int(column.isna().sum())} missing values.")
    if len(column) != data.n_rows:
        raise ValueError(f"--target must have one value per row, {data.n_rows}, got {len(column)}.")
    if column.dtype.kind in "fiub":
        return column.to_numpy()
    text, numbers = column.astype(str), pd.to_numeric(column, errors="coerce")
    if kind == "numbers" and numbers.isna().any():
        raise ValueError(f"--target must hold numbers, got {text[numbers.isna()].iloc[0]!r}.")
    is_lossless = numbers.notna().all() and numbers.nunique() == text.nunique()
    return numbers.to_numpy() if kind == "numbers" or (kind == "either" and is_lossless) else text.to_numpy(object)


def find_target(data: FileData, selection: Selection) -> Any:
    """Return the values of --target: a column, an array of the .npz file, or a file of its own."""
    target = str(selection.target)
    if target in data.all_names:
        return data.column(target)
    if not selection.files:
        raise ValueError(
            f"--target must be a column of {data.path}, or a file that ends in {', '.join(SUFFIXES)}, got {target!r}; "
            f"{suggestion(target, data.all_names)}."
        )
    return _read_target_file(target, selection)


def _read_target_file(path: str, selection: Selection) -> Any:
    if path.lower().endswith(".npy") and os.path.exists(path):
        values = load_arrays(Path(path))
    else:
        data = open_data(path, replace(selection, array=None))
        if isinstance(data, TableData) and len(data.names) == 1:
            return data.reader.labels(data.names[0])
        values = data.whole() if isinstance(data, ArrayData) else np.empty((data.n_rows, data.n_columns))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{path} must hold one target per row, got shape {values.shape}.")
    return values


def target_for(data: FileData, selection: Selection, estimator: Any) -> np.ndarray | None:
    """Return the targets as an estimator takes them; warn of classes that a fitted classifier does not have."""
    if not is_classifier(estimator):
        return read_target(data, selection, "numbers" if is_regressor(estimator) else "either")
    y, classes = read_target(data, selection, "labels"), getattr(estimator, "classes_", None)
    if y is None or classes is None:
        return y
    if np.asarray(classes).dtype.kind in "OUS":
        y = y.astype(str).astype(object)
    elif y.dtype == object:
        y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy()
    new = pd.Series(y)[~pd.Series(y).isin(list(classes))]
    if new.size:
        warnings.warn(
            f"--target has classes that the model has not seen: {rows_text(new.size)}, such as {new.iloc[0]!r}; they "
            "count as errors.",
            stacklevel=2,
        )
    return y


def read_column(option: str, name: str, data: FileData) -> Any:
    """Return the values of a column that an option names, or of an array next to the rows."""
    column_names(option, [name], data.all_names, data.path)
    return data.column(name)


def read_ids(data: FileData, selection: Selection) -> tuple[str, Any]:
    """Return the name and the values that identify rows: --id, the index of the file, file names, or row numbers."""
    name = selection.id or ("file" if data.image_shape else None)
    if name is not None:
        return name, read_column("--id", name, data)
    return ("row", np.arange(data.n_rows)) if data.index is None else ("index", data.column(data.index))


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


def read_npz(path: Path, array: str | None) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the rows of an .npz file, and its other arrays that have one value per row."""
    arrays = load_arrays(path)
    if not isinstance(arrays, dict):
        raise ValueError(f"{path} cannot be read as a file of numpy.savez: it holds a single array.")
    if set(arrays) >= CSR and array is None:
        values: Any = _sparse(path, arrays)
    else:
        matrices = [name for name, value in arrays.items() if value.ndim == 2]
        usual = [name for name in ("X", "data", "arr_0") if name in matrices]
        name = array or (usual[0] if usual else matrices[0] if len(matrices) == 1 else None)
        if name not in arrays:
            raise ValueError(f"{path}: select the array with the rows by --array; it has {', '.join(sorted(arrays))}.")
        values = arrays.pop(name)
    return values, {name: value for name, value in arrays.items() if value.shape == values.shape[:1]}


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


def read_zarr(path: Path) -> Any:
    """Return a zarr array, opened for reading."""
    zarr = import_extra("zarr", "cli")
    try:
        return zarr.open_array(str(path), mode="r")
    except Exception as error:  # the types differ between versions of zarr
        raise ValueError(f"{path} cannot be read as a zarr array: {error}") from error


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
        with pillow.open(file) as image:
            image = ops.exif_transpose(image)
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
