"""The closed form: water-filling, then a frame that realises it [docs/explanations/modular-closed-form.md].

If M projections of the right rank with the required sum exist, the result is the global minimum of the
modular loss. Otherwise, directions are grouped, each group is solved exactly, and the groups of
lowest level are merged into one frame if that exists.

A group of at most M directions with eigenvalues v is a modular problem of one dimension, solved exactly: with
k = #{i : v_i (λ + (1-λ) i) > (1-λ)(v_1 + … + v_i)} and β = (v_1 + … + v_k)/(λ + (1-λ)k) its loss is
(1-λ)/λ [(v_1 + … + v_k)²/(λ + (1-λ)k) - Σ_{i≤k} v_i²] + Σ_{i>k} v_i².
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._threads import single_threaded_libraries
from polyfold.modular._frames import frame_may_exist, projection_frame, unit_frames
from polyfold.modular._problem import MIN_DIVERSITY, Allocation, ModularSolution, bound_of, waterfill

Groups = list[list[int]]

MAX_FRAME = 200  # a Gauss-Newton frame of more directions costs seconds; grouping is as good there
MAX_REFINED = 120  # beyond, balanced sums leave nothing to exchange
WORTH = 1e-7  # a merged block must lower the loss by more than this fraction of it
DIGITS = 9
GAP = 1e-12  # relative to ‖T‖²: a grouped solution this near the bound is the optimum


def solve_closed(
    eigenvalues: NDArray, n_modules: int, n_components: int, diversity: float, rng: np.random.RandomState
) -> ModularSolution:
    """Minimise the modular loss over M modules of H dimensions.

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Positive, descending.
    n_modules, n_components : int
    diversity : float
        λ in [0, 1].
    rng : RandomState
        The optimum is unique up to rotations of the frame; the seed picks one.

    Returns
    -------
    solution : ModularSolution
        With factors of shape (M, H, k), k = min(r, M·H).
    """
    M, H, lam = n_modules, n_components, diversity
    d = eigenvalues[: min(eigenvalues.size, M * H)]
    if d.size <= H or lam < MIN_DIVERSITY:
        return ModularSolution(_same_everywhere(d, M, H))
    unit, d = d[0], _rounded(d / d[0])
    allocation, is_cut = _feasible_waterfill(d, M, H, lam)
    with single_threaded_libraries():  # the matrices are small: waking a second thread costs more than it does
        groups = _saturated_alone(allocation, M, H)
        F = _grouped_if_balanced(groups, d, M, H, lam, rng)
        if F is None and not is_cut:
            F = _framed(d, M, H, allocation, rng)
        if F is None:
            F = _grouped_and_merged(groups, d, M, H, lam, rng)
    return ModularSolution(np.sqrt(unit) * F)


def _rounded(d: NDArray) -> NDArray:
    """Keep DIGITS significant digits: rounding of other threads, chunks or units must not choose another frame.

    At a minimum the loss answers to the square of what is cut off, far below its own rounding.
    """
    unit = 10.0 ** (np.floor(np.log10(d)) - (DIGITS - 1))
    return np.round(d / unit) * unit


def _same_everywhere(d: NDArray, M: int, H: int) -> NDArray:
    """Kernel PCA in every module."""
    F = np.zeros((M, H, d.size))
    top = np.arange(min(H, d.size))
    F[:, top, top] = np.sqrt(d[top])
    return F


def _feasible_waterfill(d: NDArray, M: int, H: int, lam: float) -> tuple[Allocation, bool]:
    """Water-fill; leave out the weakest directions if the free dimensions cannot hold them all."""
    allocation, is_cut = waterfill(d, M, H, lam), False
    while allocation.active - allocation.saturated > M * (H - allocation.saturated):
        most = allocation.saturated + M * (H - allocation.saturated)
        allocation, is_cut = waterfill(d[:most], M, H, lam), True
    return allocation, is_cut


def _saturated_alone(allocation: Allocation, M: int, H: int) -> Groups:
    """Put every saturated direction in its own group, and balance the copies of the others over the other groups."""
    q, p = allocation.saturated, allocation.active
    groups: Groups = [[j] for j in range(q)]
    if q < H:
        n = allocation.copies[q:p]
        groups += [[q + j for j in group] for group in balance(deal(n, H - q, M), n, float(M), M)]
    return groups


def _grouped_if_balanced(
    groups: Groups, d: NDArray, M: int, H: int, lam: float, rng: np.random.RandomState
) -> NDArray | None:
    """Take the groups if their loss is the bound, otherwise None."""
    optimum = bound_of(d, waterfill(d, M, H, lam), M, lam)
    gap = grouped_loss(groups, d, M, lam) - optimum
    return _grouped_factors(groups, d, M, lam, rng) if gap <= GAP * np.sum(d**2) else None


def _framed(d: NDArray, M: int, H: int, allocation: Allocation, rng: np.random.RandomState) -> NDArray | None:
    """Saturated directions in every module, a projection frame on the rest, or None if that fails."""
    q, p = allocation.saturated, allocation.active
    n, h = allocation.copies[q:p], H - q
    if h < 1 or p - q > MAX_FRAME or not frame_may_exist(n, M, h):
        return None
    U = projection_frame(n, M, h, rng)
    if U is None:
        return None
    F = np.zeros((M, H, d.size))
    F[:, np.arange(q), np.arange(q)] = np.sqrt(d[:q])
    F[:, q:, q:p] = np.sqrt(allocation.level) * U
    return F


def _grouped_factors(groups: Groups, d: NDArray, M: int, lam: float, rng: np.random.RandomState) -> NDArray:
    """Factors (M, G, k) of a grouping: dimension g of module m is row m of the frame of group g."""
    solution = group_solution(pad(groups, d, M), M, lam)
    U = unit_frames(solution.copies, rng) * np.sqrt(solution.level)[:, None, None]
    F = np.zeros((M, len(groups), d.size))
    for g, group in enumerate(groups):
        order = sorted(group, key=lambda j: -d[j])
        F[:, g, order] = U[g][:, : len(order)]
    return F


def _grouped_and_merged(groups: Groups, d: NDArray, M: int, H: int, lam: float, rng: np.random.RandomState) -> NDArray:
    """Best grouping found by exchanges, its low levels merged into one frame if that exists."""
    even = deal(d, H, M)
    if d.size <= MAX_REFINED:
        starts = [refine(start, d, M, lam) for start in (even, groups)]
    else:
        starts = [balance(even, d, float(d.sum()) / H, M), groups]
    best = min(starts, key=lambda groups: grouped_loss(groups, d, M, lam))
    return _merge_low_levels(best, d, M, lam, rng)


def _merge_low_levels(groups: Groups, d: NDArray, M: int, lam: float, rng: np.random.RandomState) -> NDArray:
    """Replace the largest possible tail of low-level groups by one projection frame, if that lowers the loss."""
    solution = group_solution(pad(groups, d, M), M, lam)
    order = np.argsort(-solution.level, kind="stable")
    groups, losses = [groups[g] for g in order], solution.loss[order]
    for first in range(len(groups) - 1):
        tail = sorted(j for group in groups[first:] for j in group)
        h = len(groups) - first
        allocation = waterfill(d[tail], M, h, lam)
        n = allocation.copies[: allocation.active]
        gain = losses[first:].sum() - bound_of(d[tail], allocation, M, lam)
        if gain <= WORTH * losses.sum() or M == 2 or allocation.saturated or n.size > MAX_FRAME:
            continue
        U = projection_frame(n, M, h, rng) if frame_may_exist(n, M, h) else None
        if U is not None:
            F = np.zeros((M, len(groups), d.size))
            F[:, :first] = _grouped_factors(groups[:first], d, M, lam, rng)
            F[:, first:, tail[: allocation.active]] = np.sqrt(allocation.level) * U
            return F
    return _grouped_factors(groups, d, M, lam, rng)


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
    # β²·weight - Σv² by Σ(v - mean)²: no cancellation when the values of a group are nearly equal.
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
    """Assign items, heaviest first, each to the lightest group that is not full."""
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
