"""Border checks shared by the estimators: parameter, rule, received value, what to do."""

import functools
import importlib
import numbers
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import requires
from types import ModuleType
from typing import Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from polyfold._typing import Matrix, RandomState, SparseMatrix
from polyfold.exceptions import MissingExtraError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Estimator = TypeVar("Estimator")
# Shapes of the arrays that metrics take, by their number of axes.
_SHAPES = {1: "(n,)", 2: "(n, n_components)", 3: "(n_modules, n, n_components)"}
# Squares of smaller doubles lose digits, and become zero from 1e-162 on.
SMALLEST = 1e-150


def check_count(name: str, value: object, *, minimum: int = 1, maximum: int | None = None, hint: str = "") -> int:
    """Return `value` as an int within [minimum, maximum], or raise with the rule that failed."""
    rule = f"an integer >= {minimum}" + (f" and <= {maximum}" if maximum is not None else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(_message(name, rule, value, hint))
    count = int(value)
    if count < minimum or (maximum is not None and count > maximum):
        raise ValueError(_message(name, rule, value, hint))
    return count


def check_real(
    name: str,
    value: object,
    *,
    minimum: float = -np.inf,
    maximum: float = np.inf,
    open_minimum: bool = False,
    hint: str = "",
) -> float:
    """Return `value` as a finite float within the interval, or raise with the rule that failed."""
    lower = f"{'>' if open_minimum else '>='} {minimum:g}" if np.isfinite(minimum) else "finite"
    rule = f"a number {lower}" + (f" and <= {maximum:g}" if np.isfinite(maximum) else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(_message(name, rule, value, hint))
    number = float(value)
    below = number <= minimum if open_minimum else number < minimum
    if not np.isfinite(number) or below or number > maximum:
        raise ValueError(_message(name, rule, value, hint))
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...], *, hint: str = "") -> str:
    """Return `value` if it is one of `choices`, or raise listing them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(_message(name, f"one of {', '.join(map(repr, choices))}", value, hint))
    return value


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or raise an error with the pip command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module} is needed for this and is not installed; run: {install_command(extra)}"
        ) from error


def install_command(extra: str) -> str:
    """Return the pip command that installs the packages of an extra.

    It names the packages instead of ``polyfold[extra]``, which pip finds only if polyfold itself is on a package index.
    Double quotes work in every shell, including those of Windows.
    """
    lines = (line.replace('"', "'").partition(";") for line in requires("polyfold") or [])
    packages = [f'"{package.strip()}"' for package, _, marker in lines if f"extra == '{extra}'" in marker]
    return " ".join(["pip install", *packages])


def _message(name: str, rule: str, value: object, hint: str) -> str:
    return f"{name} must be {rule}, got {value!r}" + (f"; {hint}." if hint else ".")


def outside() -> int:
    """Stack level, for a warning, of the first caller who is neither polyfold nor scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("polyfold", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def draw_seed(random_state: RandomState) -> int:
    """Draw the integer that all randomness of one fit comes from."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_rows(
    estimator: BaseEstimator,
    X: object,
    *,
    reset: bool,
    minimum: int = 1,
    sparse: bool = True,
    dtype: DTypeLike | list[DTypeLike] | None = None,
    order: Literal["C", "F"] | None = None,
) -> Matrix:
    """Validate the rows given to an estimator: floats or bytes in range; sparse ones as CSR in its canonical form."""
    check_container(X)
    rows = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if sparse else False,
        dtype=[np.float64, np.float32] if dtype is None else dtype,
        order=order,
        ensure_min_samples=minimum,
    )
    check_range(rows)
    if reset:  # new rows may be nearer to zero than the training rows
        check_not_tiny(rows)
    return _canonical(rows) if sp.issparse(rows) else rows


def check_container(X: object) -> None:
    """Raise for containers that NumPy misreads: AnnData objects, which hold several arrays, and masked arrays."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"X must not have masked values, got {np.ma.count_masked(X)}; fill them with X.filled(value), or drop "
            "their rows."
        )
    if all(hasattr(type(X), name) for name in ("X", "obs", "var", "obsm")):
        raise TypeError(
            f'X must be an array, got an {type(X).__name__} object; pass adata.X, or adata.obsm["X_pca"] for its '
            "principal components."
        )


def check_range(X: Matrix, name: str = "X") -> None:
    """Raise if squared distances between rows of `X` (in double precision: their squares as well) could overflow."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f" or values.size == 0:
        return
    largest = float(max(values.max(), -values.min()))
    power = 0.5 if values.dtype == np.float32 else 0.25
    limit = float(np.finfo(values.dtype).max) ** power / (4 * max(1, X.shape[1]) ** 0.5)
    if largest > limit:
        raise ValueError(
            f"{name} must have magnitudes <= {limit:.0e} in {values.dtype}, so that squared distances stay finite, got "
            f"{largest:.0e}; remove outliers, or divide by a constant."
        )


def check_not_tiny(X: Matrix) -> None:
    """Raise if squared differences of the entries would leave the range of doubles."""
    values = X.data if sp.issparse(X) else X
    if values.dtype == np.float64 and values.size:
        check_largest(float(max(values.max(), -values.min())))


def check_largest(largest: float) -> None:
    """Raise if data of this magnitude, unless it is zero, have squares outside the range of doubles."""
    if 0 < largest < SMALLEST:
        raise ValueError(
            f"X must have magnitudes >= {SMALLEST:.0e}, so that squared distances are not zero, got {largest:.0e}; "
            "multiply by a constant."
        )


def _canonical(X: SparseMatrix) -> SparseMatrix:
    """CSR in which no entry is stored twice, columns in order, indices as short as can be; `X` is not changed."""
    X = sum_duplicates(X)
    if X.indices.dtype != np.int32 and max(X.nnz, X.shape[1]) < np.iinfo(np.int32).max:
        X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def own_rows(validated: Matrix, given: object) -> Matrix:
    """Return `validated` rows that later changes of `given` cannot reach: a copy if they share memory.

    Files mapped for reading only are kept as they are: they may not fit into memory.
    """
    if isinstance(given, list | tuple):
        return validated
    if sp.issparse(validated):
        parts = [(part, getattr(given, name, None)) for name, part in _csr_parts(validated)]
        shared = any(isinstance(other, np.ndarray) and np.may_share_memory(part, other) for part, other in parts)
    else:
        shared = np.may_share_memory(validated, np.asarray(given)) and not _maps_read_only(validated)
    return validated.copy() if shared else validated


def sum_duplicates(X: SparseMatrix) -> SparseMatrix:
    """Return a CSR matrix in which no entry is stored twice; the given one is not changed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def keeps_state_on_failure(
    fit: Callable[Concatenate[Estimator, Parameters], Result],
) -> Callable[Concatenate[Estimator, Parameters], Result]:
    """Decorate a `fit` that, when it fails or is interrupted, leaves the estimator as it was: fitted before, or not."""

    @functools.wraps(fit)
    def guarded(self: Estimator, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return guarded


def _csr_parts(X: SparseMatrix) -> list[tuple[str, np.ndarray]]:
    return [(name, getattr(X, name)) for name in ("data", "indices", "indptr")]


def _maps_read_only(X: object) -> bool:
    while X is not None:
        if isinstance(X, np.memmap) and X.mode == "r":
            return True
        X = getattr(X, "base", None)
    return False


def check_numbers(name: str, X: ArrayLike, *, ndim: int | None = 2, minimum: int = 1) -> NDArray[np.float64]:
    """Return `X` as dense, finite float64 of `ndim` axes with at least `minimum` rows, or raise."""
    if sp.issparse(X):
        raise TypeError(f"{name} must be a dense array, got a sparse one of shape {X.shape}; pass {name}.toarray().")
    # The shape is checked afterwards: scikit-learn's message is about single samples.
    values: NDArray[np.float64] = check_array(
        X,
        dtype=np.float64,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    _check_shape(name, values, ndim, minimum)
    return values


def check_labels(name: str, y: ArrayLike, *, ndim: int | None = 1) -> NDArray:
    """Return labels of any type as an array of `ndim` axes, or raise."""
    if sp.issparse(y):
        raise TypeError(f"{name} must be a dense array, got a sparse one of shape {y.shape}; pass {name}.toarray().")
    labels = np.asarray(y)
    _check_shape(name, labels, ndim, 1)
    return labels


def check_same_length(**arrays: Matrix) -> None:
    """Raise unless all arrays describe the same points."""
    lengths = {name: X.shape[0] for name, X in arrays.items()}
    if len(set(lengths.values())) > 1:
        names, counts = " and ".join(lengths), " and ".join(map(str, lengths.values()))
        raise ValueError(f"{names} must describe the same points, got {counts} rows; pass the same rows to both.")


def _check_shape(name: str, X: NDArray, ndim: int | None, minimum: int) -> None:
    if ndim is not None and X.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} axes, {_SHAPES[ndim]}, got shape {X.shape}; reshape it, "
            "or pass the array of all points."
        )
    rows = X.shape[-2] if ndim == 3 else X.shape[0] if X.ndim else 0
    if rows < minimum or X.size == 0:
        raise ValueError(f"{name} must hold at least {minimum} point(s), got shape {X.shape}; pass more rows.")


def check_indices(numbers: np.ndarray, count: int, *, minimum: int = 0) -> None:
    """Raise if numbers of rows or columns would lead compiled loops outside their arrays."""
    if numbers.size and not minimum <= int(numbers.min()) <= int(numbers.max()) < count:
        raise IndexError(
            f"numbers of rows or columns must be >= {minimum} and < {count}, got {numbers.min()} to {numbers.max()}; "
            "the model is damaged, or the rows have another number of columns than the training rows."
        )


def shortened(names: Iterable[object]) -> str:
    """Return the first names of a list."""
    listed = list(map(str, names))
    return ", ".join(listed[:12]) + (f", … ({len(listed)} in all)" if len(listed) > 12 else "") if listed else "none"
