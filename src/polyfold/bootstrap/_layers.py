"""What a user's parameters of a network mean: checks, and the numbers of centres of its layers."""

import itertools
from numbers import Integral
from typing import Any

import numpy as np

from polyfold._validation import check_choice, check_count, check_real
from polyfold.bootstrap._draws import decaying_sizes
from polyfold.neighbors import n_places

# Below this, squares of doubles lose digits and then everything.
SMALLEST = 1e-150


def check_settings(given: Any, metrics: tuple[str, ...], *, auto: bool = False) -> None:
    """Raise where a parameter of `given`, a network or a kernel made of one, is out of its range.

    With `auto`, numbers that the network can choose may be left to it.
    """
    check_count("n_classes", given.n_classes)
    check_real("decay", given.decay, minimum=0, maximum=1, open_minimum=True)
    if not (auto and is_auto(given.n_clusterings)):
        hint = "pass 'auto' to let it grow as far as it helps" if auto else ""
        check_count("n_clusterings", given.n_clusterings, hint=hint)
    if not (auto and is_auto(given.feature_fraction)):
        hint = "or pass 'auto'" if auto else ""
        check_real("feature_fraction", given.feature_fraction, minimum=0, maximum=1, open_minimum=True, hint=hint)
    check_choice("metric", given.metric, metrics)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the library."""
    return isinstance(value, str) and value == "auto"


def check_layer(layer: Any) -> None:
    """Raise where `layer` cannot be the number of one, before there are any."""
    if not is_auto(layer) and (isinstance(layer, bool) or not isinstance(layer, Integral)):
        raise ValueError(f"layer must be an integer or 'auto', got {layer!r}; 0 is the first layer, -1 the last.")


def level_of(layer: Any, count: int) -> int:
    """Return which of `count` layers is meant."""
    if isinstance(layer, bool) or not isinstance(layer, Integral) or not -count <= int(layer) < count:
        raise ValueError(f"layer must be an integer >= {-count} and < {count}, got {layer!r}.")
    return int(layer) % count


def check_not_tiny(values: np.ndarray) -> None:
    """Raise where squared differences of the entries would leave the range of doubles."""
    if values.dtype != np.float64 or values.size == 0:
        return
    largest = float(max(values.max(), -values.min()))
    if 0 < largest < SMALLEST:
        raise ValueError(
            f"X must have magnitudes >= {SMALLEST:.0e}, so that squared distances are not zero, got {largest:.0e}; "
            "multiply by a constant."
        )


def layer_sizes(given: Any, rows: Any) -> list[int]:
    """Numbers of centres for the samples in `rows`, layer by layer, from `first_layer`, `decay` and `n_classes`.

    A share is one of the different samples: with as many centres, or more, a sample has only its copies beside it.
    """
    n = rows.shape[0]
    if given.n_classes > n:
        raise ValueError(f"n_classes must be <= n_samples={n}, got {given.n_classes}; lower it or pass more samples.")
    first = given.first_layer
    if isinstance(first, list | tuple | np.ndarray):
        return _check_list(first, n)
    if isinstance(first, Integral) and not isinstance(first, bool):
        first = _check_centers(first, n)
    else:
        share = check_real("first_layer", first, minimum=0, maximum=1, open_minimum=True)
        if int(share * n) >= n:
            raise ValueError(f"first_layer must be < 1, got {first!r}; {_identity_hint(n)}.")
        # One centre tells nothing apart: a share means two at least, where there are that many besides a sample.
        different = n if given.metric == "precomputed" else n_places(rows)
        first = min(n - 1, max(2, int(share * different)))
    return decaying_sizes(first, given.decay, given.n_classes)


def _check_list(layers: Any, n: int) -> list[int]:
    sizes = [_check_centers(k, n) for k in layers]
    if not sizes or any(b >= a for a, b in itertools.pairwise(sizes)):
        raise ValueError(f"first_layer must be a list of falling numbers of centres, got {list(layers)!r}.")
    return sizes


def _check_centers(count: Any, n: int) -> int:
    many = isinstance(count, Integral) and int(count) >= n
    return check_count("first_layer", count, maximum=n - 1, hint=_identity_hint(n) if many else "")


def _identity_hint(n: int) -> str:
    return f"with {n} centres for {n} samples every sample would be its own centre"
