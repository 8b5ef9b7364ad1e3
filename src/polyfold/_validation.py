"""Border checks shared by the estimators: parameter, rule, received value, way out."""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from polyfold.exceptions import MissingExtraError

__all__ = [
    "all_or_nothing",
    "check_choice",
    "check_count",
    "check_range",
    "check_real",
    "check_rows",
    "draw_seed",
    "import_extra",
    "own_rows",
]


def check_count(name: str, value: Any, *, minimum: int = 1, maximum: int | None = None, hint: str = "") -> int:
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
    value: Any,
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


def check_choice(name: str, value: Any, choices: tuple[str, ...], *, hint: str = "") -> str:
    """Return `value` if it is one of `choices`, or raise listing them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(_message(name, f"one of {', '.join(map(repr, choices))}", value, hint))
    return value


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one sentence how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module} is needed for this and is not installed; run: pip install 'polyfold[{extra}]'"
        ) from error


def _message(name: str, rule: str, value: Any, hint: str) -> str:
    return f"{name} must be {rule}, got {value!r}" + (f"; {hint}." if hint else ".")


def check_rows(
    estimator: Any, X: Any, *, reset: bool, minimum: int = 1, sparse: bool = True, dtype: Any = None, order: Any = None
) -> Any:
    """Validate the rows given to an estimator: floats or bytes in range; sparse ones as CSR in its canonical form."""
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
    return _canonical(rows) if sp.issparse(rows) else rows


def check_range(X: Any) -> None:
    """Raise where entries are so large that kernels (squares) and their losses (squares of those) overflow."""
    values = X.data if sp.issparse(X) else X
    if values.size == 0 or not np.issubdtype(values.dtype, np.floating):
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    limit = float(np.finfo(values.dtype).max) ** (0.5 if values.dtype == np.float32 else 0.25) / (4 * X.shape[1] ** 0.5)
    if largest > limit:
        raise ValueError(
            f"X must have magnitudes <= {limit:.3g} in {values.dtype}, so that squared distances stay finite, got "
            f"{largest:.3g}; scale the columns, or remove the outliers."
        )


def _canonical(X: Any) -> Any:
    """CSR without duplicate entries, columns in order, indices as short as they can be."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, X.shape[1]) < np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
    return X


def own_rows(rows: Any, given: Any) -> Any:
    """Copy validated `rows` where their memory is the caller's, so that overwriting it later changes nothing.

    Rows of a read-only memory map stay where they are.
    """
    if sp.issparse(rows):
        shared = sp.issparse(given) and given.format == rows.format and np.may_share_memory(rows.data, given.data)
        return rows.copy() if shared else rows
    if isinstance(rows, np.memmap) and not rows.flags.writeable:
        return rows
    shared = np.may_share_memory(rows, given) if isinstance(given, np.ndarray) else hasattr(given, "__array__")
    return rows.copy() if shared else rows


def draw_seed(random_state: Any) -> int:
    """Return one number from `random_state`, from which everything random in a fit follows."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Give an estimator back the state it had where fitting fails or is interrupted: never half of each."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
