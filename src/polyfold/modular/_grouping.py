"""Directions dealt into groups that each solve a one-dimensional modular problem exactly.

A group of at most M directions with eigenvalues v is served by one dimension of every module. With
k = #{i : v_i (λ + (1-λ) i) > (1-λ)(v_1 + … + v_i)} and β = (v_1 + … + v_k)/(λ + (1-λ)k) its loss is
(1-λ)/λ [(v_1 + … + v_k)²/(λ + (1-λ)k) - Σ_{i≤k} v_i²] + Σ_{i>k} v_i².
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "balance", "deal", "group_solution", "grouped_loss", "pad", "refine"]

Groups = list[list[int]]


@dataclass(frozen=True)
class GroupSolution:
    """Copies (summing to M), level and loss of every group; arrays are padded with zeros to M columns."""

    copies: NDArray  # (G, M)
    level: NDArray  # (G,)
    loss: NDArray  # (G,)


def group_solution(values: NDArray, M: int, lam: float) -> GroupSolution:
    """Solve groups of values (G, M), each row descending and padded with zeros."""
    sums, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
    i = np.arange(1, values.shape[1] + 1)
    open_ = (values * (lam + (1 - lam) * i) > (1 - lam) * sums) & (values > 0)
    k = np.maximum(open_.sum(axis=1), 1)
    rows = np.arange(values.shape[0])
    weight = lam + (1 - lam) * k
    total, used = sums[rows, k - 1], squares[rows, k - 1]
    level = total / weight
    safe = np.where(level > 0, level, 1.0)[:, None]
    copies = np.where(i <= k[:, None], (M / lam) * (values / safe - (1 - lam)), 0.0)
    # β²·weight - Σv² by Σ(v - mean)²: no cancellation when the values of a group are alike.
    spread = np.where(i <= k[:, None], (values - (total / k)[:, None]) ** 2, 0.0).sum(axis=1)
    loss = (1 - lam) / lam * (total**2 * lam * (k - 1) / (k * weight) - spread)
    return GroupSolution(np.maximum(copies, 0), level, np.maximum(loss, 0) + squares[:, -1] - used)


def pad(groups: Groups, d: NDArray, M: int) -> NDArray:
    """Eigenvalues of every group in a row of length M, descending."""
    values = np.zeros((len(groups), M))
    for row, group in zip(values, groups, strict=True):
        row[: len(group)] = np.sort(d[group])[::-1]
    return values


def deal(weights: NDArray, n_groups: int, size: int) -> Groups:
    """Deal items, heaviest first, each to the lightest group that has room."""
    heap = [(0.0, g) for g in range(n_groups)]
    groups: Groups = [[] for _ in range(n_groups)]
    for item in np.argsort(-weights, kind="stable"):
        total, g = heapq.heappop(heap)
        groups[g].append(int(item))
        if len(groups[g]) < size:
            heapq.heappush(heap, (total + float(weights[item]), g))
    return groups


def balance(groups: Groups, weights: NDArray, target: float, size: int, *, max_iter: int = 400) -> Groups:
    """Exchange single items (or move one) between groups until all sums are as near `target` as that gets."""
    G = len(groups)
    table = np.full((G, size), -1)  # item per place; -1 is an empty place of weight zero
    for g, group in enumerate(groups):
        table[g, : len(group)] = group
    padded = np.append(weights, 0.0)
    off = padded[table].sum(axis=1) - target
    asleep = np.zeros(G, dtype=bool)  # groups whose best exchange does not help
    for _ in range(max_iter):
        if G < 2 or asleep.all() or np.abs(off).max() < 1e-12 * target:
            break
        a = int(np.argmax(np.where(asleep, -1.0, np.abs(off))))
        change = padded[table[a]][:, None, None] - padded[table][None]  # what a loses and b wins, (size, G, size)
        gain = 2 * change * (off[a] - off)[None, :, None] - 2 * change**2
        gain[:, a] = 0
        i, b, j = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[i, b, j] <= 1e-15 * target**2:
            asleep[a] = True
            continue
        off[a] -= change[i, b, j]
        off[b] += change[i, b, j]
        table[a, i], table[b, j] = table[b, j], table[a, i]
        asleep[[a, b]] = False
    return [[int(item) for item in row if item >= 0] for row in table]


def grouped_loss(groups: Groups, d: NDArray, M: int, lam: float) -> float:
    """Loss of a grouping, directions in no group included."""
    unused = np.ones(d.size, dtype=bool)
    unused[[j for group in groups for j in group]] = False
    return float(group_solution(pad(groups, d, M), M, lam).loss.sum() + np.sum(d[unused] ** 2))


def refine(groups: Groups, d: NDArray, M: int, lam: float) -> Groups:
    """Exchange single directions between pairs of groups while the exact loss falls."""
    from polyfold.modular._exchange import exchange_all  # compiled: imported where it is needed

    items, sizes = np.full((len(groups), M), -1), np.array([len(group) for group in groups])
    for row, group in zip(items, groups, strict=True):
        row[: len(group)] = sorted(group, key=lambda j: -d[j])
    exchange_all(np.append(d, 0.0)[items], items, sizes, lam, 1e-14 * float(np.sum(d**2)))
    return [[int(item) for item in row[:size]] for row, size in zip(items, sizes, strict=True)]
