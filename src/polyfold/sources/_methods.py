"""Methods of estimators on streams: blocks in; an array, a file or a lazy array out."""

import functools
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polyfold._files import map_new_array, replacing
from polyfold._typing import Matrix, Rows
from polyfold._validation import import_extra
from polyfold.sources._budget import rows_within
from polyfold.sources._opening import as_source, is_stream
from polyfold.sources._source import Source

Estimator = TypeVar("Estimator")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class WritableRows(Protocol):
    """An array that rows are written into: ndarray, memmap, zarr or HDF5."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def __setitem__(self, rows: Any, part: Any, /) -> None: ...


# An array, or the name of a new file.
Output: TypeAlias = WritableRows | str | Path
# Largest block that a method is called with: enough work for all threads, little memory.
MOST_BYTES, MOST_ROWS = 64_000_000, 65_536
SUFFIXES = (".npy", ".zarr")


def by_blocks(
    method: Callable[Concatenate[Estimator, Parameters], Result],
) -> Callable[Concatenate[Estimator, Parameters], Result]:
    """Decorate a method that treats every row on its own, so that it takes streams block by block.

    The result is in memory, or lazy for Dask rows; `write_rows` writes it to a file.
    """

    @functools.wraps(method)
    def applied(self: Any, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        X = args[0] if args else kwargs.get("X")
        if not is_stream(X):
            return method(self, *args, **kwargs)
        check_is_fitted(self)
        source, rest = as_source(X).in_bytes(), {key: value for key, value in kwargs.items() if key != "X"}
        # By name: workers of Dask receive the estimator, not this function.
        return source.map(functools.partial(_call, self, method.__name__, args[1:], rest), method_rows(source))

    return applied


def write_rows(method: Callable[..., Any], X: Rows, out: Output | tuple[Output, ...], **kwargs: object) -> Any:
    """Write the output of a method for all rows of `X`, block by block.

    Neither the rows nor the results have to fit into memory.

    Parameters
    ----------
    method : bound method
        For example ``model.transform``, ``model.predict`` or ``model.kneighbors``.
    X : object
        Rows in any container of :func:`as_source` except Dask, whose arrays have their own methods for writing.
    out : array, path or tuple of them
        Target: a ``numpy.memmap``, zarr array or array with as many rows, or the name of a new file that ends in
        ``.npy`` or ``.zarr``. The file appears when it is complete. Pass a tuple for a method that returns several
        arrays.
    **kwargs : object
        Passed to the method.

    Returns
    -------
    out : array or tuple of arrays
        The targets; files are opened for reading.

    Examples
    --------
    >>> import numpy as np
    >>> import polyfold as pf
    >>> blocks = [np.random.RandomState(seed).standard_normal((500, 8)) for seed in range(4)]
    >>> model = pf.ModularKernelPCA(3, 2, rank=50, random_state=0).fit(blocks)
    >>> Z = pf.sources.write_rows(model.transform, blocks, np.empty((2000, 6)))
    >>> bool(np.allclose(Z, model.transform(np.concatenate(blocks))))
    True
    """
    estimator = getattr(method, "__self__", None)
    if estimator is None:
        raise TypeError(f"method must be a method of a fitted estimator, such as model.transform, got {method!r}.")
    source, outs = as_source(X).in_bytes(), out if isinstance(out, tuple) else (out,)
    names = [os.path.realpath(given) for given in outs if isinstance(given, str | Path)]
    if len(set(names)) < len(names):
        raise ValueError(f"out must name a different file for every result, got {names[0]!r} more than once.")
    call = functools.partial(_call, estimator, method.__name__, (), kwargs)
    with ExitStack() as stack:
        targets = tuple(_target(given, source, stack) for given in outs)
        source.map(functools.partial(_fitting, call, targets), method_rows(source), targets)
    opened = tuple(_opened(given) for given in outs)
    return opened if isinstance(out, tuple) else opened[0]


def _call(
    estimator: object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], block: Matrix
) -> NDArray | tuple[NDArray, ...]:
    answer = getattr(estimator, name)(block, *args, **kwargs)
    # set_output applies to the whole result, not to blocks.
    return tuple(map(np.asarray, answer)) if isinstance(answer, tuple) else np.asarray(answer)


def _fitting(
    call: Callable[[Matrix], NDArray | tuple[NDArray, ...]],
    targets: tuple["WritableRows | _NewFile", ...],
    block: Matrix,
) -> NDArray | tuple[NDArray, ...]:
    """Return the result of a method for a block, after checking that the targets can hold it."""
    answer = call(block)
    parts = answer if isinstance(answer, tuple) else (answer,)
    if len(parts) != len(targets):
        raise ValueError(f"out must be {len(parts)} targets, one for each result of the method, got {len(targets)}.")
    for target, part in zip(targets, parts, strict=True):
        if isinstance(target, _NewFile):
            continue
        if tuple(target.shape[1:]) != part.shape[1:] or not np.can_cast(part.dtype, target.dtype, "same_kind"):
            raise ValueError(
                f"out must hold rows of shape {part.shape[1:]} and type {part.dtype}, got an array of shape "
                f"{tuple(target.shape)} and type {target.dtype}."
            )
    return answer


def method_rows(source: Source) -> int:
    """Return the rows that a method is called with at a time."""
    return min(MOST_ROWS, rows_within(1 / 16, 8 * max(1, source.n_features), MOST_BYTES))


def _target(out: Output, source: Source, stack: ExitStack) -> "WritableRows | _NewFile":
    if not isinstance(out, str | Path):
        if out.shape[0] != source.n_rows:
            raise ValueError(f"out must have a row for every row of X, {source.n_rows}, got shape {tuple(out.shape)}.")
        return out
    path = Path(out)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"out must be an array or a name that ends in {' or '.join(SUFFIXES)}, got {str(out)!r}.")
    path = Path(os.path.realpath(path))  # a link is followed, not replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(f"out must be in a folder that exists, got {str(out)!r}; create {path.parent} first.")
    is_array = path.is_file() if path.suffix == ".npy" else _is_zarr_array(path)
    if path.exists() and not is_array:
        raise FileExistsError(
            f"out must be a new file, or an array that is replaced, got {str(out)!r}, which is neither; choose another "
            "name."
        )
    return _NewFile(stack.enter_context(replacing(path)), source.n_rows)


def _is_zarr_array(path: Path) -> bool:
    """Whether a folder is a single zarr array."""
    if (path / ".zarray").is_file():
        return True
    described = path / "zarr.json"
    return described.is_file() and json.loads(described.read_text()).get("node_type") == "array"


class _NewFile:
    """A file that is created with the first rows, which determine its width and type."""

    def __init__(self, path: Path, n_rows: int):
        self._path, self._n_rows, self._array = path, n_rows, None

    def __setitem__(self, rows: slice, part: NDArray) -> None:
        if self._array is None:
            self._array = self._make((self._n_rows, *part.shape[1:]), part)
        self._array[rows] = part

    def _make(self, shape: tuple[int, ...], part: NDArray) -> "WritableRows":
        if self._path.suffix == ".npy":
            return map_new_array(self._path, part.dtype, shape)
        zarr = import_extra("zarr", "cli")
        return zarr.open_array(str(self._path), mode="w", shape=shape, chunks=part.shape, dtype=part.dtype)


def _opened(out: Output) -> "WritableRows":
    if not isinstance(out, str | Path):
        return out
    if str(out).endswith(".npy"):
        return np.load(out, mmap_mode="r")
    return import_extra("zarr", "cli").open_array(str(out), mode="r")
