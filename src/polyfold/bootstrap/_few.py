"""Nearest centres of one point among all training rows, in every clustering, by one matrix product."""

import numpy as np

from polyfold.bootstrap._draws import Draw
from polyfold.bootstrap._rows import nearest_directly, take

# Points up to which gathering centres would cost more than comparing one by one.
FEW_EXACT = 8
# Training rows whose squared differences from a point are held at a time.
BLOCK = 1024


def nearest_of_all(X: np.ndarray, point: np.ndarray, draws: list[Draw]) -> np.ndarray | None:
    """Nearest centres of one point in every clustering, exactly: (V,) int32; None where numbers leave their range.

    One product of the chosen features, as zeros and ones, with the squared differences of all training rows gives all
    distances in single precision. Sums of positive numbers have a small relative error, so only the centres within it
    of the smallest are compared again.
    """
    n, d = X.shape
    chosen = np.zeros((len(draws), d), dtype=np.float32)
    for v, one in enumerate(draws):
        chosen[v, one.chosen] = 1.0
    # Squared differences of bytes are exact in single precision; others are divided by the largest, to stay in range.
    exact = X.dtype == point.dtype == np.uint8
    x = point.astype(np.float32 if exact else np.float64)
    scale = 1.0 if exact else _largest_difference(X, x) or 1.0
    if not np.isfinite(scale):
        return None
    distances = np.empty((len(draws), n), dtype=np.float32)
    for start in range(0, n, BLOCK):
        difference = X[start : start + BLOCK] - x
        squares = np.square(difference if exact else difference / scale).astype(np.float32, copy=False)
        distances[:, start : start + BLOCK] = chosen @ squares.T
    eps, tiny = float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny)
    out = np.empty(len(draws), dtype=np.int32)
    for v, one in enumerate(draws):
        near = distances[v, one.rows]
        limit = float(near.min()) * (1 + 4 * (d + 4) * eps) + 4 * d * tiny
        candidates = np.flatnonzero(near <= limit)
        if len(candidates) > 1:
            dtype = np.result_type(X, point)
            centers = take(X, one.rows[candidates], one.chosen).astype(dtype, copy=False)
            mine = point[one.chosen][None].astype(dtype, copy=False)
            candidates = candidates[nearest_directly(mine, centers)]
        out[v] = candidates[0]
    return out


def _largest_difference(X: np.ndarray, x: np.ndarray) -> float:
    return max(float(np.abs(X[s : s + BLOCK] - x).max(initial=0.0)) for s in range(0, len(X), BLOCK))
