"""Exchanges of single directions between groups, compiled: thousands of tiny losses, too small for array calls.

`exchange_all` is the loop behind `polyfold.modular._closed.refine`; `group_loss` is the loss in the head of that
module, for one group with one value taken out and one put in.
"""

import numpy as np

from polyfold._threads import njit


@njit()
def exchange_all(values: np.ndarray, items: np.ndarray, sizes: np.ndarray, lam: float, least: float) -> None:
    """Exchange between pairs of groups, the best exchange of a pair at a time, until none gains more than `least`.

    Parameters
    ----------
    values : ndarray of shape (G, M), changed in place
        Eigenvalues of every group, descending.
    items : ndarray of shape (G, M), changed in place
        Their numbers.
    sizes : ndarray of shape (G,), changed in place
    lam : float
    least : float
    """
    improved = True
    while improved:
        improved = False
        for a in range(len(sizes)):
            for b in range(a):
                i, j, gain = _best_exchange(values[a, : sizes[a]], values[b, : sizes[b]], values.shape[1], lam)
                if gain > least:
                    _swap(values, items, sizes, a, b, i, j)
                    improved = True


@njit()
def _best_exchange(a: np.ndarray, b: np.ndarray, M: int, lam: float) -> tuple[int, int, float]:
    """Places of the best exchange (-1: nothing goes that way), and what it gains."""
    before = group_loss(a, -1, 0.0, lam) + group_loss(b, -1, 0.0, lam)
    best_i, best_j, gain = -1, -1, 0.0
    for i in range(-1, len(a)):
        for j in range(-1, len(b)):
            if (j < 0 and i < 0) or (i < 0 and len(a) == M) or (j < 0 and len(b) == M):
                continue
            into_a, into_b = b[j] if j >= 0 else 0.0, a[i] if i >= 0 else 0.0
            found = before - group_loss(a, i, into_a, lam) - group_loss(b, j, into_b, lam)
            if found > gain:
                best_i, best_j, gain = i, j, found
    return best_i, best_j, gain


@njit()
def group_loss(values: np.ndarray, out: int, into: float, lam: float) -> float:
    """Loss of descending `values` without the one at `out` (-1: none) and with `into` (0: none)."""
    merged = np.empty(len(values) + 1)
    n, waiting = 0, into > 0
    for place in range(len(values)):
        if place == out:
            continue
        if waiting and into >= values[place]:
            merged[n] = into
            n, waiting = n + 1, False
        merged[n] = values[place]
        n += 1
    if waiting:
        merged[n] = into
        n += 1
    k, total, total_open = 0, 0.0, 0.0
    for place in range(n):
        total += merged[place]
        if merged[place] * (lam + (1 - lam) * (place + 1)) > (1 - lam) * total:
            k, total_open = place + 1, total
    if k == 0:
        return 0.0
    weight, spread, closed = lam + (1 - lam) * k, 0.0, 0.0
    for place in range(n):
        if place < k:
            spread += (merged[place] - total_open / k) ** 2
        else:
            closed += merged[place] ** 2
    # β²·weight - Σv² by Σ(v - mean)²: no cancellation when the values of a group are nearly equal.
    return max((1 - lam) / lam * (total_open**2 * lam * (k - 1) / (k * weight) - spread), 0.0) + closed


@njit()
def _swap(values: np.ndarray, items: np.ndarray, sizes: np.ndarray, a: int, b: int, i: int, j: int) -> None:
    """Exchange place i of group a for place j of group b (-1: nothing), keeping both descending."""
    value_a, item_a = (values[a, i], items[a, i]) if i >= 0 else (0.0, -1)
    value_b, item_b = (values[b, j], items[b, j]) if j >= 0 else (0.0, -1)
    if i >= 0:
        _remove(values[a], items[a], sizes, a, i)
    if j >= 0:
        _remove(values[b], items[b], sizes, b, j)
    if j >= 0:
        _insert(values[a], items[a], sizes, a, value_b, item_b)
    if i >= 0:
        _insert(values[b], items[b], sizes, b, value_a, item_a)


@njit()
def _remove(values: np.ndarray, items: np.ndarray, sizes: np.ndarray, group: int, place: int) -> None:
    for p in range(place, sizes[group] - 1):
        values[p], items[p] = values[p + 1], items[p + 1]
    sizes[group] -= 1


@njit()
def _insert(values: np.ndarray, items: np.ndarray, sizes: np.ndarray, group: int, value: float, item: int) -> None:
    place = sizes[group]
    while place > 0 and values[place - 1] < value:
        values[place], items[place] = values[place - 1], items[place - 1]
        place -= 1
    values[place], items[place] = value, item
    sizes[group] += 1
