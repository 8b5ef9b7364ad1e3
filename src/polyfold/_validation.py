"""Border checks shared by the estimators: parameter, rule, received value, way out."""

from __future__ import annotations

import importlib
import numbers
from types import ModuleType
from typing import Any

import numpy as np

from polyfold.exceptions import MissingExtraError

__all__ = ["check_choice", "check_count", "check_real", "import_extra"]


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
