"""The closed form: water-filling, then a frame that realises it [docs/theory/modular-closed-form.md].

Where M projections of the right rank with the wanted sum exist, the result is the global minimum of the
modular loss. Where they do not, directions are grouped, each group is solved exactly, and the groups of
lowest level are merged into one frame where that exists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyfold._running import blas_threads
from polyfold.modular._frames import frame_may_exist, projection_frame, unit_frames
from polyfold.modular._grouping import Groups, balance, deal, group_solution, grouped_loss, pad, refine
from polyfold.modular._solution import ModularSolution
from polyfold.modular._waterfill import MIN_DIVERSITY, Allocation, bound_of, waterfill

__all__ = ["solve_closed"]

MAX_FRAME = 200  # a Gauss-Newton frame of more directions costs seconds; grouping is as good there
MAX_REFINED = 120  # beyond, groups are so many that balanced sums leave nothing to exchange
WORTH = 1e-7  # a merged block must lower the loss by more than this share of it
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
    d = _rounded(d)
    allocation, is_cut = _feasible_waterfill(d, M, H, lam)
    with blas_threads(1):  # the matrices are small: waking a second thread costs more than it does
        groups = _saturated_alone(allocation, M, H)
        F = _grouped_if_balanced(groups, d, M, H, lam, rng)
        if F is None and not is_cut:
            F = _framed(d, M, H, allocation, rng)
        if F is None:
            F = _grouped_and_merged(groups, d, M, H, lam, rng)
    return ModularSolution(F)


def _rounded(d: NDArray) -> NDArray:
    """Keep DIGITS significant digits: rounding of other threads or chunks must not choose another frame.

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
    """Water-fill, leaving out the weakest directions where the free dimensions cannot hold them all."""
    allocation, is_cut = waterfill(d, M, H, lam), False
    while allocation.active - allocation.saturated > M * (H - allocation.saturated):
        room = allocation.saturated + M * (H - allocation.saturated)
        allocation, is_cut = waterfill(d[:room], M, H, lam), True
    return allocation, is_cut


def _saturated_alone(allocation: Allocation, M: int, H: int) -> Groups:
    """Full directions in groups of their own, the others in groups of numbers of copies as equal as may be."""
    q, p = allocation.saturated, allocation.active
    groups: Groups = [[j] for j in range(q)]
    if q < H:
        n = allocation.copies[q:p]
        groups += [[q + j for j in group] for group in balance(deal(n, H - q, M), n, float(M), M)]
    return groups


def _grouped_if_balanced(
    groups: Groups, d: NDArray, M: int, H: int, lam: float, rng: np.random.RandomState
) -> NDArray | None:
    """Take the groups where their loss is the bound; None where it is not."""
    optimum = bound_of(d, waterfill(d, M, H, lam), M, lam)
    gap = grouped_loss(groups, d, M, lam) - optimum
    return _grouped_factors(groups, d, M, lam, rng) if gap <= GAP * np.sum(d**2) else None


def _framed(d: NDArray, M: int, H: int, allocation: Allocation, rng: np.random.RandomState) -> NDArray | None:
    """Saturated directions in every module, a projection frame on the rest, or None where that fails."""
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
    """Best grouping found by exchanges, its low levels merged into one frame where that exists."""
    even = deal(d, H, M)
    if d.size <= MAX_REFINED:
        starts = [refine(start, d, M, lam) for start in (even, groups)]
    else:
        starts = [balance(even, d, float(d.sum()) / H, M), groups]
    best = min(starts, key=lambda groups: grouped_loss(groups, d, M, lam))
    return _merge_low_levels(best, d, M, lam, rng)


def _merge_low_levels(groups: Groups, d: NDArray, M: int, lam: float, rng: np.random.RandomState) -> NDArray:
    """Replace the largest possible tail of low-level groups by one projection frame, where that gains."""
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
