"""Parameters of a network, sizes of its layers, random streams, and what every clustering is made of.

Equation → function:

- k_l = δ k_{l-1}, k_L ≥ 1.5 c [Zhang2016, sec. 2.1] → `decaying_sizes`
- random feature selection and random sampling [Zhang2016, sec. 2] → `sample_clusterings`
"""

import itertools
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from polyfold._linalg import n_distinct
from polyfold._policy import CENTERS_PER_CLASS
from polyfold._validation import check_choice, check_count, check_real

# Names of the random streams; every part of a fit has its own.
STREAMS = (
    "sampling",
    "bound",
    "assignment error",
    "recall",
    "reliability",
    "pilot",
    "rows",
    "output",
    "readout",
    "tree",
    "levels",
    "subsample",
)


def child_stream(seeds: np.random.SeedSequence, name: str, *numbers: int) -> np.random.SeedSequence:
    """Return the stream of a named part of a fit, independent of all others."""
    return np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, STREAMS.index(name), *numbers))


def stream_seed(seeds: np.random.SeedSequence) -> int:
    """Return an integer seed, for libraries that take one."""
    return int(seeds.generate_state(1)[0])


@dataclass(frozen=True)
class ClusteringSpec:
    """What one clustering is made of.

    Attributes
    ----------
    rows : (k,) int32
        Training rows that are its centres, in random order, so that ties do not follow the order of the data.
    features : (u,) int32
        Features (first layer) or clusterings of the layer below that it compares, ascending.
    """

    rows: np.ndarray
    features: np.ndarray


def sample_clusterings(
    count: int, *, n_rows: int, n_centers: int, n_features: int, fraction: float, seeds: np.random.SeedSequence
) -> list[ClusteringSpec]:
    """Draw the centres and features of the clusterings of a layer, one after another from one stream."""
    rng, n_seen = np.random.default_rng(seeds), n_selected(fraction, n_features)
    return [
        ClusteringSpec(
            rng.choice(n_rows, n_centers, replace=False, shuffle=True).astype(np.int32),
            np.sort(rng.choice(n_features, n_seen, replace=False)).astype(np.int32),
        )
        for _ in range(count)
    ]


def n_selected(fraction: float, total: int) -> int:
    """Return a fraction of `total`, rounded down as the sizes of the layers are, at least one."""
    # The allowance keeps fractions such as 0.29 of 100, a little under 29 in binary, from losing one.
    return max(1, int(fraction * total + 1e-9))


def decaying_sizes(first: int, decay: float, n_classes: int) -> list[int]:
    """Numbers of centres, layer by layer: floor of `decay` times the one before, never under 1.5 `n_classes`.

    Examples
    --------
    >>> decaying_sizes(2500, 0.5, 10)
    [2500, 1250, 625, 312, 156, 78, 39, 19]
    """
    sizes = [first]
    # A decay close to one must still shrink, or the list would never end.
    while (following := min(int(sizes[-1] * decay), sizes[-1] - 1)) >= max(CENTERS_PER_CLASS * n_classes, 1):
        sizes.append(following)
    return sizes


def check_settings(given: Any, metrics: tuple[str, ...], *, auto: bool = False) -> None:
    """Raise if a parameter of a network, or of a kernel made of one, is out of its range.

    With `auto`, numbers that the network can select may be "auto".
    """
    check_count("n_classes", given.n_classes)
    check_real("decay", given.decay, minimum=0, maximum=1, open_minimum=True)
    if not (auto and is_auto(given.n_clusterings)):
        hint = "pass 'auto' to select it by its reliability" if auto else ""
        check_count("n_clusterings", given.n_clusterings, hint=hint)
    if not (auto and is_auto(given.feature_fraction)):
        hint = "or pass 'auto'" if auto else ""
        check_real("feature_fraction", given.feature_fraction, minimum=0, maximum=1, open_minimum=True, hint=hint)
    check_choice("metric", given.metric, metrics)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the library."""
    return isinstance(value, str) and value == "auto"


def check_layer(layer: Any) -> None:
    """Raise if `layer` cannot be the number of a layer, before there are any."""
    if not is_auto(layer) and (isinstance(layer, bool) or not isinstance(layer, Integral)):
        raise ValueError(f"layer must be an integer or 'auto', got {layer!r}; 0 is the first layer, -1 the last.")


def level_of(layer: Any, count: int) -> int:
    """Return which of `count` layers is meant."""
    if isinstance(layer, bool) or not isinstance(layer, Integral) or not -count <= int(layer) < count:
        raise ValueError(f"layer must be an integer >= {-count} and < {count}, got {layer!r}.")
    return int(layer) % count


def layer_sizes(given: Any, rows: Any) -> list[int]:
    """Numbers of centres of every layer, from `first_layer`, `decay` and `n_classes`.

    A fraction counts distinct rows: with as many centres as distinct rows, a row would share its code with its
    duplicates only.
    """
    n = rows.shape[0]
    if given.n_classes > n:
        raise ValueError(f"n_classes must be <= n_samples={n}, got {given.n_classes}; lower it or pass more samples.")
    first = given.first_layer
    if isinstance(first, list | tuple | np.ndarray):
        return _check_list(first, n)
    if isinstance(first, Integral) and not isinstance(first, bool):
        return decaying_sizes(_check_centers(first, n), given.decay, given.n_classes)
    fraction = check_real("first_layer", first, minimum=0, maximum=1, open_minimum=True)
    if int(fraction * n) >= n:
        raise ValueError(f"first_layer must be < 1, got {first!r}; {_identity_hint(n)}.")
    # A fraction gives at least two centres; one centre would give every row the same code.
    distinct = n if given.metric == "precomputed" else n_distinct(rows)
    return decaying_sizes(min(n - 1, max(2, int(fraction * distinct))), given.decay, given.n_classes)


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
