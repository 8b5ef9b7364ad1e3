"""Exact nearest centres, most of them ruled out in a few dimensions.

A centre is looked at in full only if the lower bound of its distance in principal directions (`Screen`), less a
rigorous allowance for rounding, does not exceed the smallest distance found so far, so the result is the one of brute
force, ties going to the lowest index.
"""

import numpy as np
from numba import njit

from polyfold.bootstrap._rows import REASSOCIATE, squared_distance, sum_kind
from polyfold.neighbors import Screen

CHUNK = 64
BLOCK_ENTRIES = 2**20


def nearest(points: np.ndarray, centers: np.ndarray, screen: Screen) -> np.ndarray:
    """Index of the nearest centre of every point, the lowest one of several.

    Parameters
    ----------
    points : (n, d) uint8, float32 or float64
    centers : (k, d), same type
    screen : Screen
        Restricted to the same d features.

    Returns
    -------
    (n,) int32

    Notes
    -----
    O(n k p) time for the bounds; memory for a block of bounds of at most 2²⁰ entries, or one row.
    """
    kind = sum_kind(points)
    out = np.empty(len(points), dtype=np.int32)
    W, w_norms = screen.coordinates(centers)
    step = max(1, BLOCK_ENTRIES // len(centers))
    minima = np.empty(-(-len(centers) // CHUNK), dtype=np.float32)
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y, norms = screen.coordinates(block)
        # Everything is divided by the largest norm: single precision can neither overflow nor underflow.
        scale = max(w_norms.max(), norms.max()) or 1.0
        weights = np.column_stack([-2.0 * W / scale, (w_norms / scale) ** 2]).astype(np.float32)
        bounds = np.column_stack([Y / scale, np.ones(len(Y))]).astype(np.float32) @ weights.T
        # Rounding of the entries and of p + 2 products, each at most (‖x‖ + ‖w‖)² ≤ 4 in this scale.
        slack = 8.0 * (weights.shape[1] + 8) * float(np.finfo(np.float32).eps)
        squares = (norms / scale) ** 2
        _verify(block, centers, bounds, squares, scale**2, slack, kind, False, minima, out[start : start + step])
    return out


def nearest_linear(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Index of the centre with the largest inner product, the lowest one of several: (n,) int32."""
    kind = sum_kind(points)
    out = np.empty(len(points), dtype=np.int32)
    W = centers.astype(np.float64)
    step = max(1, BLOCK_ENTRIES // len(centers))
    minima = np.empty(-(-len(centers) // CHUNK), dtype=np.float32)
    slack = 4.0 * (W.shape[1] + 4) * float(np.finfo(np.float32).eps)
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y = block.astype(np.float64)
        scale = max(_largest_norm(W), _largest_norm(Y)) or 1.0
        bounds = (Y / scale).astype(np.float32) @ (-W / scale).astype(np.float32).T
        squares = np.zeros(len(Y))
        _verify(block, centers, bounds, squares, scale**2, slack, kind, True, minima, out[start : start + step])
    return out


def _largest_norm(rows: np.ndarray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))


# Inlined pieces are compiled once, with the flags of the whole: no bound is NaN.
@njit(cache=True, nogil=True, fastmath=REASSOCIATE | {"nnan", "nsz"})
def _verify(points, centers, bounds, squares, unit, slack, kind, linear, minima, out):
    """Smallest cost in full among the centres whose bound, plus ‖x‖², does not exceed it."""
    k = len(centers)
    for i in range(len(points)):
        winner = _chunk_minima(bounds, i, minima)
        best = _cost(points[i], centers[winner], kind, linear)
        limit = np.float32(best / unit - squares[i] + slack)
        for chunk in range(len(minima)):
            if minima[chunk] > limit:
                continue
            for j in range(chunk * CHUNK, min(k, (chunk + 1) * CHUNK)):
                if bounds[i, j] > limit or j == winner:
                    continue
                cost = _cost(points[i], centers[j], kind, linear)
                if cost < best or (cost == best and j < winner):
                    best, winner = cost, j
                    limit = np.float32(best / unit - squares[i] + slack)
        out[i] = winner


@njit(inline="always")
def _cost(a, b, kind, linear):
    """Squared distance, or the negative inner product if `linear`."""
    if not linear:
        return squared_distance(a, b, kind)
    total = kind.dtype.type(0)
    for j in range(len(a)):
        total = kind.dtype.type(total - kind.dtype.type(kind.dtype.type(a[j]) * kind.dtype.type(b[j])))
    return total


@njit(inline="always")
def _chunk_minima(bounds, i, minima):
    """Fill the minimum of every chunk of row `i`; return the place of the overall one, the first of several."""
    k = bounds.shape[1]
    least = 0
    for chunk in range(len(minima)):
        low = np.float32(np.inf)
        for e in range(chunk * CHUNK, min(k, (chunk + 1) * CHUNK)):
            low = min(low, bounds[i, e])
        minima[chunk] = low
        least = chunk if low < minima[least] else least
    place = least * CHUNK
    for e in range(place, min(k, place + CHUNK)):
        place = e if bounds[i, e] < bounds[i, place] else place
    return place
