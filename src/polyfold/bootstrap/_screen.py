"""Exact nearest centres, most of them ruled out in a few dimensions.

For an orthonormal basis Q of p directions, with y = Qᵀx and the residual norm r = √(‖x‖² − ‖y‖²),

    ‖x − w‖² ≥ ‖y_x − y_w‖² + (r_x − r_w)²,

because the residuals live in the complement of Q, where the reverse triangle inequality holds. The right side
is one matrix product of width p + 2 in single precision. A centre is looked at in full only if this bound,
less a rigorous allowance for rounding, does not exceed the smallest distance found so far, so the result is the
one of brute force, ties going to the lowest index.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from polyfold.bootstrap._rows import REASSOCIATE, squared_distance, sum_kind

__all__ = ["Screen", "nearest", "nearest_linear", "principal_screen"]

# With fewer features than this all of them enter the bound.
FULL_WIDTH = 64
# Directions of the bound, and of the neighbour search, which can afford more.
DIRECTIONS = 48
SEARCH_DIRECTIONS = 96
# Rows from which the principal directions are estimated; they affect speed, never the result.
SAMPLE = 2000
CHUNK = 64
BLOCK_ENTRIES = 2**20


@dataclass(frozen=True)
class Screen:
    """Directions in which centres are told apart: mean (d,) and, for wide data, basis (d, p)."""

    mean: np.ndarray
    basis: np.ndarray | None

    def restrict(self, features: np.ndarray) -> Screen:
        """Return the same directions on some of the features, orthonormal there."""
        if self.basis is None or len(features) <= FULL_WIDTH:
            return Screen(self.mean[features], None)
        return Screen(self.mean[features], np.linalg.qr(self.basis[features, :DIRECTIONS])[0])

    def coordinates(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centred coordinates with the residual norm appended, (n, p + 1), and squared norms (n,)."""
        centered = rows - self.mean
        squares = np.einsum("ij,ij->i", centered, centered)
        if self.basis is None:
            return centered, squares
        # In double precision the residual norm is good to single precision even where it cancels.
        y = centered @ self.basis
        residual = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", y, y), 0.0))
        return np.column_stack([y, residual]), squares


def principal_screen(X: np.ndarray, *, unit: bool, seed: int) -> Screen:
    """Mean and leading principal directions of a sample of the rows of `X`, scaled to norm one if `unit`."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(X), min(len(X), SAMPLE), replace=False))
    sample = X[rows].astype(np.float64)
    if unit:
        norms = np.linalg.norm(sample, axis=1, keepdims=True)
        sample /= np.where(norms > 0, norms, 1.0)
    mean = sample.mean(axis=0)
    if X.shape[1] <= FULL_WIDTH:
        return Screen(mean, None)
    return Screen(mean, _leading_directions(sample - mean, rng))


def _leading_directions(centered: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Range finder with two power steps: (d, p) orthonormal, by falling variance."""
    width = min(SEARCH_DIRECTIONS, centered.shape[1])
    Y = centered.T @ (centered @ rng.standard_normal((centered.shape[1], width)))
    for _ in range(2):
        Y = centered.T @ (centered @ np.linalg.qr(Y)[0])
    Q = np.linalg.qr(Y)[0]
    return Q @ np.linalg.svd(centered @ Q, full_matrices=False)[2].T


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
    W, w_squares = screen.coordinates(centers)
    step = max(1, BLOCK_ENTRIES // len(centers))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y, squares = screen.coordinates(block)
        # Everything is divided by the largest norm: single precision can neither overflow nor underflow.
        scale = max(np.sqrt(w_squares.max()), np.sqrt(squares.max())) or 1.0
        weights = np.column_stack([-2.0 * W / scale, w_squares / scale**2]).astype(np.float32)
        bounds = np.column_stack([Y / scale, np.ones(len(Y))]).astype(np.float32) @ weights.T
        # Rounding of the entries and of p + 2 products, each at most (‖x‖ + ‖w‖)² ≤ 4 in this scale.
        slack = 8.0 * (weights.shape[1] + 8) * float(np.finfo(np.float32).eps)
        _verify(block, centers, bounds, squares / scale**2, scale**2, slack, kind, False, out[start : start + step])
    return out


def nearest_linear(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Index of the centre with the largest inner product, the lowest one of several: (n,) int32."""
    kind = sum_kind(points)
    out = np.empty(len(points), dtype=np.int32)
    W = centers.astype(np.float64)
    step = max(1, BLOCK_ENTRIES // len(centers))
    slack = 4.0 * (W.shape[1] + 4) * float(np.finfo(np.float32).eps)
    for start in range(0, len(points), step):
        block = points[start : start + step]
        Y = block.astype(np.float64)
        scale = max(_largest_norm(W), _largest_norm(Y)) or 1.0
        bounds = (Y / scale).astype(np.float32) @ (-W / scale).astype(np.float32).T
        _verify(block, centers, bounds, np.zeros(len(Y)), scale**2, slack, kind, True, out[start : start + step])
    return out


def _largest_norm(rows: np.ndarray) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))


@njit(cache=True, nogil=True)
def _verify(points, centers, bounds, squares, unit, slack, kind, linear, out):
    """Smallest cost in full among the centres whose bound, plus ‖x‖², does not exceed it."""
    k = len(centers)
    minima = np.empty((k + CHUNK - 1) // CHUNK, np.float32)
    for i in range(len(points)):
        row = bounds[i]
        winner = _chunk_minima(row, minima)
        best = _cost(points[i], centers[winner], kind, linear)
        limit = np.float32(best / unit - squares[i] + slack)
        for chunk in range(len(minima)):
            if minima[chunk] > limit:
                continue
            for j in range(chunk * CHUNK, min(k, (chunk + 1) * CHUNK)):
                if row[j] > limit or j == winner:
                    continue
                cost = _cost(points[i], centers[j], kind, linear)
                if cost < best or (cost == best and j < winner):
                    best, winner = cost, j
                    limit = np.float32(best / unit - squares[i] + slack)
        out[i] = winner


@njit(cache=True, nogil=True, fastmath=REASSOCIATE)
def _cost(a, b, kind, linear):
    """Squared distance, or the negative inner product if `linear`."""
    if not linear:
        return squared_distance(a, b, kind)
    total = kind.dtype.type(0)
    for j in range(len(a)):
        total = kind.dtype.type(total - kind.dtype.type(kind.dtype.type(a[j]) * kind.dtype.type(b[j])))
    return total


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _chunk_minima(row, minima):
    """Fill the minimum of every chunk of `row`; return the place of the overall one."""
    k = len(row)
    for chunk in range(len(minima)):
        part = row[chunk * CHUNK : min(k, (chunk + 1) * CHUNK)]
        low = np.float32(np.inf)
        for e in range(len(part)):
            low = min(low, part[e])
        minima[chunk] = low
    start = np.argmin(minima) * CHUNK
    return start + np.argmin(row[start : min(k, start + CHUNK)])
