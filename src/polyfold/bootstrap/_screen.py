"""Exact nearest centres, most of them ruled out in a few dimensions.

A centre is looked at in full only if the lower bound of its distance in principal directions (`Screen`), less a
rigorous allowance for rounding, does not exceed the smallest distance found so far, so the result is the one of brute
force, ties going to the lowest index.
"""

import numpy as np
from numba import njit

from polyfold.bootstrap._rows import REASSOCIATE, sum_kind
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


# Plain loops, and the cost at one place only: helpers, `min` and a second copy would double the time of compilation.
# No bound is NaN.
@njit(cache=True, nogil=True, error_model="numpy", fastmath=REASSOCIATE | {"nnan", "nsz"})
def _verify(points, centers, bounds, squares, unit, slack, kind, linear, minima, out):
    """Smallest cost in full among the centres whose bound, plus ‖x‖², does not exceed it.

    The cost is the squared distance, or the negative inner product if `linear`. The centre of the lowest bound comes
    first, as a chunk of its own, then the chunks in order.
    """
    n_chunks, k, d = len(minima), len(centers), points.shape[1]
    for i in range(len(points)):
        lowest, first = np.float32(np.inf), 0
        for chunk in range(n_chunks):
            low = np.float32(np.inf)
            for j in range(chunk * CHUNK, k if chunk == n_chunks - 1 else (chunk + 1) * CHUNK):
                low = bounds[i, j] if bounds[i, j] < low else low
            minima[chunk] = low
            first = chunk if low < lowest else first
            lowest = low if low < lowest else lowest
        first *= CHUNK
        while bounds[i, first] > lowest:
            first += 1
        best, winner, limit = kind.dtype.type(0), -1, lowest
        for chunk in range(-1, n_chunks):
            begin, end = first, first + 1
            if chunk >= 0:
                if minima[chunk] > limit:
                    continue
                begin, end = chunk * CHUNK, k if chunk == n_chunks - 1 else (chunk + 1) * CHUNK
            for j in range(begin, end):
                if bounds[i, j] > limit or j == winner:
                    continue
                cost = kind.dtype.type(0)
                if linear:
                    for f in range(d):
                        product = kind.dtype.type(kind.dtype.type(points[i, f]) * kind.dtype.type(centers[j, f]))
                        cost = kind.dtype.type(cost - product)
                else:
                    for f in range(d):
                        gap = kind.dtype.type(kind.dtype.type(points[i, f]) - kind.dtype.type(centers[j, f]))
                        cost = kind.dtype.type(cost + kind.dtype.type(gap * gap))
                if winner < 0 or cost < best or (cost == best and j < winner):
                    best, winner = cost, j
                    limit = np.float32(best / unit - squares[i] + slack)
        out[i] = winner
