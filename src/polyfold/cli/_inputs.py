"""Open files as rows: arrays, tables and folders of images, with the columns and targets that options select."""

import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

from polyfold._validation import import_extra
from polyfold.cli._column_kinds import CATEGORY, NUMBER, Column, Form, Plan, make_plan
from polyfold.cli._readers import IMAGES, Csv, ImageSource, Parquet, parquet_files, parse_size
from polyfold.sources import as_source, stack_rows

SUFFIXES = (".npy", ".npz", ".csv", ".parquet", ".zarr")
CSR = {"data", "indices", "indptr", "shape"}
# Bytes of a block of rows in double precision, and bounds of its rows.
BLOCK_BYTES = 2**26
MIN_ROWS, MAX_ROWS = 256, 65_536
# Values by which the kinds of columns are found, and bounds of their rows.
PLAN_CELLS, PLAN_ROWS = 2_000_000, (1_000, 50_000)


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
    def target_file(self) -> str | None:
        """The file that --target names, if it names one."""
        return self.target if self.target and Path(self.target).suffix.lower() in SUFFIXES else None


@dataclass(frozen=True)
class ArrayData:
    """Rows of an array or of a folder of images; `labels` are further arrays with one value per row."""

    path: Path
    values: Any
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    image_shape: tuple[int, ...] | None = None
    columns: tuple[int, ...] | None = None
    names: None = None

    def __post_init__(self) -> None:
        shape, dtype = self.values.shape, np.dtype(self.values.dtype)
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"{self.path} must hold a matrix with rows and columns, got shape {tuple(shape)}.")
        if dtype.kind not in "fiub":
            raise ValueError(f"{self.path} must hold numbers, got {dtype}.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of selected columns."""
        return self.values.shape[1] if self.columns is None else len(self.columns)

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


@dataclass(frozen=True)
class TableData:
    """Rows of a table; with a plan, as numbers, categories and text."""

    reader: Csv | Parquet
    names: tuple[str, ...]
    plan: Plan | None = None
    labels: None = None
    image_shape: None = None

    @property
    def path(self) -> Path:
        """The file or folder."""
        return self.reader.path

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.reader.n_rows

    @property
    def n_columns(self) -> int:
        """Number of selected columns."""
        return len(self.names)

    def select(self, names: Sequence[str]) -> "TableData":
        """Return the same rows with some columns only."""
        return replace(self, names=tuple(names))

    def planned(self, categorical: Iterable[str] = (), *, keep: bool = False) -> "TableData":
        """Return the same rows with a kind for every column, found from the file; `keep` leaves no column out."""
        sample = self.reader.sample(self.names, int(np.clip(PLAN_CELLS // len(self.names), *PLAN_ROWS)))
        given = set(categorical)
        forms, doubts = self.reader.forms([name for name in self.names if name not in given])
        is_whole = len(sample) == self.n_rows
        plan = make_plan(sample, {**dict.fromkeys(given), **forms}, doubts, given, keep=keep, is_whole=is_whole)
        if not plan.used:
            raise ValueError(
                f"{self.path} has only identifiers and constants ({shortened(self.names)}); name columns to use with "
                "--columns."
            )
        return replace(self, plan=plan)

    def as_numbers(self) -> "TableData":
        """Return the same rows with codes as numbers."""
        assert self.plan is not None
        columns = tuple(replace(column, kind=NUMBER) for column in self.plan.columns)
        return replace(self, plan=replace(self.plan, columns=columns))

    def unplanned(self, *, only_numbers: bool) -> "TableData":
        """Return the same rows as numbers, and categories for other columns, for models fitted without a plan."""
        forms, _ = self.reader.forms(self.names)
        kinds = {name: NUMBER if only_numbers or forms[name] is not None else CATEGORY for name in self.names}
        return replace(self, plan=Plan(tuple(Column(*kind) for kind in kinds.items()), forms=forms))

    def as_planned(self, plan: Plan) -> "TableData":
        """Return the columns of a stored plan, with its kinds; numbers may be written in another form."""
        forms, _ = self.reader.forms(plan.names(NUMBER))
        known = {column.name for column in plan.columns if column.remark}
        parsed = [
            f"{name} ({form})" for name, form in forms.items() if form not in (None, Form()) and name not in known
        ]
        if parsed:
            warnings.warn(f"{self.path}: text is read as numbers in {', '.join(parsed)}.", stacklevel=2)
        return replace(self, names=tuple(column.name for column in plan.used), plan=replace(plan, forms=forms))

    def blocks(self, size: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield `size` rows at a time, or all at once."""
        if self.plan is None:
            yield from self.reader.read(self.names, size)
            return
        names = [column.name for column in self.plan.used]
        for frame in self.reader.read(names, size, self.plan.written()):
            yield self.plan.apply(frame)

    def whole(self) -> pd.DataFrame:
        """Return all rows in memory."""
        (frame,) = self.blocks()
        return frame


def block_rows(data: ArrayData | TableData) -> int:
    """Return the number of rows to work on at a time."""
    return int(np.clip(BLOCK_BYTES // (8 * data.n_columns), MIN_ROWS, MAX_ROWS))


def open_data(path: str | Path, selection: Selection) -> ArrayData | TableData:
    """Open a file or folder with all of its columns."""
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    kind = path.suffix.lower()
    if kind == ".zarr":
        return ArrayData(path, _read_zarr(path))
    if path.is_dir() and not parquet_files(path):
        return _open_images(path, selection)
    if path.is_dir() or kind in (".csv", ".parquet"):
        table = Csv(path, selection.encoding, selection.header) if kind == ".csv" and path.is_file() else Parquet(path)
        return TableData(table, table.names)
    if kind == ".npy":
        return ArrayData(path, load_arrays(path, mmap_mode="r"))
    if kind == ".npz":
        return _open_npz(path, selection.array)
    raise ValueError(
        f"{path} must end in {', '.join(SUFFIXES)}, or be a folder of images or of parquet files, got "
        f"{kind or 'no ending'!r}."
    )


def open_features(path: str, selection: Selection) -> ArrayData | TableData:
    """Open a file with the selected columns: those of --columns, without --drop, --target and --id."""
    data = open_data(path, selection)
    index = data.reader.index if isinstance(data, TableData) else None
    names = data.names or tuple(map(str, range(data.n_columns)))
    known = names if index is None else (index, *names)
    wanted = column_names("--columns", selection.columns, known, path) or names
    left_out = set(column_names("--drop", selection.drop, known, path))
    left_out |= {selection.target, selection.id} if data.names else set()
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        raise ValueError(f"no column of {path} is left; select some with --columns, or drop fewer.")
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
                raise ValueError(f"{option} must name columns of {path}, got {name!r}; {nearest(name, names)}.")
            chosen[name] = True
    return list(chosen)


def nearest(name: str, names: Sequence[str]) -> str:
    """Return the name that may have been meant, or all names."""
    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return f"the nearest name is {lower[close[0]]!r}" if close else f"it has {shortened(names)}"


def shortened(names: Any) -> str:
    """Return the first names of a list."""
    names = list(map(str, names))
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "") if names else "none"


def load_arrays(path: Path, **options: Any) -> Any:
    """Return the array of an .npy file, or the arrays of an .npz file by name."""
    try:
        loaded = np.load(path, allow_pickle=False, **options)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else error
        raise ValueError(f"{path} cannot be read as a file of numpy.save or numpy.savez: {reason}.") from error


def _open_npz(path: Path, array: str | None) -> ArrayData:
    arrays = load_arrays(path)
    if not isinstance(arrays, dict):
        raise ValueError(f"{path} cannot be read as a file of numpy.savez: it holds a single array.")
    if set(arrays) >= CSR and array is None:
        parts = (arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr"))
        values: Any = sp.csr_matrix(parts, shape=tuple(int(length) for length in arrays.pop("shape")))
        values.check_format(full_check=True)
    else:
        matrices = [name for name, value in arrays.items() if value.ndim == 2]
        usual = [name for name in ("X", "data", "arr_0") if name in matrices]
        name = array or (usual[0] if usual else matrices[0] if len(matrices) == 1 else None)
        if name not in arrays:
            raise ValueError(f"{path}: select the array with the rows by --array; it has {shortened(sorted(arrays))}.")
        values = arrays.pop(name)
    labels = {name: value for name, value in arrays.items() if value.ndim == 1 and len(value) == values.shape[0]}
    return ArrayData(path, values, labels)


def _read_zarr(path: Path) -> Any:
    zarr = import_extra("zarr", "cli")
    try:
        return zarr.open_array(str(path), mode="r")
    except Exception as error:  # the types differ between versions of zarr
        raise ValueError(f"{path} cannot be read as a zarr array: {error}") from error


def _open_images(path: Path, selection: Selection) -> ArrayData:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in IMAGES)
    if not files:
        raise ValueError(f"{path} must be a folder with {', '.join(IMAGES)} or .parquet files, got none in it.")
    images = ImageSource(files, parse_size(selection.size) if selection.size else None, selection.color)
    folders = np.array([str(file.parent.relative_to(path)) for file in files])
    names = np.array([str(file.relative_to(path)) for file in files])
    return ArrayData(path, images, {"folder": folders, "file": names}, images.image_shape)


def read_target(data: ArrayData | TableData, selection: Selection, kind: str = "either") -> np.ndarray | None:
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


def find_target(data: ArrayData | TableData, selection: Selection) -> Any:
    """Return the values of --target: a column, an array of the .npz file, or a file of its own."""
    target = str(selection.target)
    if isinstance(data, TableData) and target in data.reader.names:
        return data.reader.labels(target)
    if isinstance(data, ArrayData) and target in data.labels:
        return data.labels[target]
    if selection.target_file is None:
        names = data.reader.names if isinstance(data, TableData) else tuple(data.labels)
        raise ValueError(
            f"--target must be a column of {data.path}, or a file that ends in {', '.join(SUFFIXES)}, got {target!r}; "
            f"{nearest(target, names)}."
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


def target_for(data: ArrayData | TableData, selection: Selection, estimator: Any) -> np.ndarray | None:
    """Return the targets with the type of a fitted classifier's classes; warn of classes it does not have."""
    if not is_classifier(estimator):
        return read_target(data, selection, "numbers" if is_regressor(estimator) else "either")
    y = read_target(data, selection, "labels")
    if y is None:
        return None
    classes = np.asarray(estimator.classes_)
    if classes.dtype.kind in "OUS":
        y = y.astype(str).astype(object)
    elif y.dtype == object:
        y = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy()
    new = pd.Series(y)[~pd.Series(y).isin(classes.tolist())]
    if new.size:
        warnings.warn(
            f"--target has classes that the model has not seen: {new.size} rows, such as {new.iloc[0]!r}; they count "
            "as errors.",
            stacklevel=2,
        )
    return y


def read_ids(data: ArrayData | TableData, selection: Selection) -> tuple[str, Any]:
    """Return the name and the values that identify rows: --id, the index of the file, file names, or row numbers."""
    name = selection.id
    if isinstance(data, TableData):
        if name is not None:
            column_names("--id", [name], data.reader.names, data.path)
            return name, data.reader.labels(name)
        if data.reader.index is not None:
            return "index", data.reader.labels(data.reader.index)
    else:
        name = name or ("file" if data.image_shape else None)
        if name is not None:
            column_names("--id", [name], tuple(data.labels), data.path)
            return name, data.labels[name]
    return "row", np.arange(data.n_rows)
