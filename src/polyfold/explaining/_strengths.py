"""How much of a coordinate one feature explains: leave-one-out regression on one column, for many columns at once.

A number is replaced by its normal score, the normal quantile of its rank, and scores are cut into bins. A local line
with Gaussian weights of bandwidth h, fitted without the row itself, then needs the sums of every bin only. With
S_k = Σ w d^k and T_k = Σ w d^k y over the bins, at distance d from the bin of the row,

    m = (S_2 T_0 - S_1 T_1) / (S_2 S_0 - S_1²),    y - ŷ = (y - m) D / (D - S_2),    D = S_2 S_0 - S_1²,

where ŷ is the prediction without the row. The straight line in the values themselves is a further candidate, exact in
any tail. The strength is 1 - (sum of squared errors) / (sum of squares) of the best candidate.

Categories and words are predicted by the mean of the other rows of the same category.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from polyfold._progress import track
from polyfold._threads import threaded

# Bins of the normal scores, the score at which they end, and bandwidths in units of the scores.
BINS, END, BANDWIDTHS = 64, 3.0, (0.1, 0.25, 0.5, 1.0)
# One more than these permutations makes 20: an independent target exceeds them all in 5 % of the cases.
PERMUTATIONS = 19
# Columns per block: bounds the memory.
BLOCK = 64


@dataclass(frozen=True)
class Strengths:
    """Fractions of variance of t targets that each of D features explains alone."""

    fraction: NDArray  # (D, t)
    sign: NDArray  # (D, t), of the trend
    monotone: NDArray  # (D, t), net change of the fitted curve over its total variation


def centred(Y: NDArray) -> NDArray:
    """Return columns of mean 0 and variance 1; constant columns become zero."""
    Y = np.asarray(Y, dtype=np.float64)
    Y = Y - Y.mean(axis=0)
    spread = Y.std(axis=0)
    return Y / np.where(spread > 0, spread, 1)


def with_permutations(Y: NDArray, rng: np.random.RandomState) -> NDArray:
    """Return the t columns of `Y` and, after them, their random permutations in turn: at least 19, and t."""
    t = Y.shape[1]
    return np.hstack([Y, *(Y[rng.permutation(len(Y)), k % t][:, None] for k in range(max(PERMUTATIONS, t)))])


def null_of(fraction: NDArray, n_targets: int) -> float:
    """Return the largest fraction of any feature for the permuted targets.

    With 19 permutations, all features that are independent of a target stay below it in 95 % of the cases.
    """
    return float(fraction[:, n_targets:].max(initial=0.0))


def number_strengths(X: NDArray, ranks: NDArray, Y: NDArray) -> Strengths:
    """Return the strengths of numbers `X` (n, D) with relative ranks `ranks` for centred targets `Y` (n, t)."""
    blocks = [slice(start, start + BLOCK) for start in range(0, X.shape[1], BLOCK)]
    parts = threaded(lambda block: _of_block(X[:, block], ranks[:, block], Y), blocks)
    return joined(list(track(parts, "blocks of features", total=len(blocks))), Y.shape[1])


def joined(parts: list[Strengths], n_targets: int) -> Strengths:
    """Return the strengths of several sets of features as one."""
    fields = ("fraction", "sign", "monotone")
    none = np.empty((0, n_targets))
    return Strengths(*(np.vstack([none, *(getattr(part, name) for part in parts)]) for name in fields))


def _of_block(X: NDArray, ranks: NDArray, Y: NDArray) -> Strengths:
    n, columns = X.shape
    total = np.maximum(np.sum(Y**2, axis=0), np.finfo(float).tiny)
    scores = np.clip(ndtri(ranks), -END, END)
    bins = np.minimum(((scores + END) / (2 * END) * BINS).astype(np.intp), BINS - 1) + BINS * np.arange(columns)
    member = sp.csr_array((np.ones(n * columns), (bins.ravel(), np.repeat(np.arange(n), columns))))
    member.resize(BINS * columns, n)
    count, sums, squares = (
        np.asarray(member @ V).reshape(columns, BINS, -1).transpose(1, 0, 2) for V in (np.ones((n, 1)), Y, Y**2)
    )
    errors, curves = [_straight_errors(X, Y)], []
    for h in BANDWIDTHS:
        curve, factor = _local_lines(count, sums, h, n)
        curves.append(curve)
        errors.append(np.sum(factor**2 * (squares - 2 * curve * sums + count * curve**2), axis=0))
    fraction = 1 - np.min(errors, axis=0) / total
    varies = np.ptp(X, axis=0) > 0
    fraction = np.where(varies[:, None], np.clip(fraction, 0, 1), 0)
    # The second widest bandwidth: the widest flattens bends, the narrow ones follow the noise.
    net, variation = _changes(curves[-2], count[:, :, 0] > 0)
    return Strengths(fraction, np.sign(centred(ranks).T @ Y), np.abs(net) / np.where(variation > 0, variation, 1))


def _local_lines(count: NDArray, sums: NDArray, h: float, n: int) -> tuple[NDArray, NDArray]:
    """Return the fitted value of every bin (bins, D, t), and the factor from errors to leave-one-out errors."""
    places = ((np.arange(BINS) + 0.5) / BINS - 0.5) * 2 * END
    d = places[None, :] - places[:, None]
    weights = np.exp(-0.5 * (d / h) ** 2)
    flat = sums.reshape(BINS, -1)
    S0, S1, S2 = ((weights * d**k) @ count[:, :, 0] for k in range(3))
    T0, T1 = (((weights * d**k) @ flat).reshape(sums.shape) for k in range(2))
    S2 = S2 + 1e-6 * h**2 * S0  # a ridge: a single bin has no slope
    D = S2 * S0 - S1**2
    alone = D - S2 <= 1e-3 * D  # no other row is near: predict the mean of all rows
    safe = np.where(alone, 1.0, D)
    curve = (S2[:, :, None] * T0 - S1[:, :, None] * T1) / safe[:, :, None]
    factor = np.where(alone, n / (n - 1), safe / np.where(alone, 1.0, D - S2))
    return np.where(alone[:, :, None], 0.0, curve), factor[:, :, None]


def _straight_errors(X: NDArray, Y: NDArray) -> NDArray:
    """Return the squared leave-one-out errors of straight lines, shape (D, t)."""
    n = len(X)
    x = centred(X)
    size = np.maximum(np.sum(x**2, axis=0), np.finfo(float).tiny)
    slope = (x.T @ Y) / size[:, None]
    leverage = 1 / n + x**2 / size
    alone = leverage > 1 - 1e-3  # without this row there is no slope: predict the mean of the others
    weights = np.where(alone, 0, 1 / np.where(alone, 1, 1 - leverage) ** 2)
    errors = weights.T @ Y**2 - 2 * slope * ((weights * x).T @ Y) + slope**2 * np.sum(weights * x**2, axis=0)[:, None]
    return errors + (n / (n - 1)) ** 2 * (alone.T.astype(float) @ Y**2)


def _changes(curve: NDArray, occupied: NDArray) -> tuple[NDArray, NDArray]:
    """Return the net change and the total variation of curves (bins, D, t) over the occupied bins (bins, D)."""
    net, variation = np.zeros(curve.shape[1:]), np.zeros(curve.shape[1:])
    for j in range(curve.shape[1]):
        steps = np.diff(curve[occupied[:, j], j], axis=0)
        net[j], variation[j] = steps.sum(axis=0), np.abs(steps).sum(axis=0)
    return net, variation


def category_strengths(codes: NDArray, Y: NDArray) -> Strengths:
    """Return the strengths of categories, codes (n, K) of integers >= 0, for centred targets `Y` (n, t)."""
    n, total = len(Y), np.maximum(np.sum(Y**2, axis=0), np.finfo(float).tiny)
    fractions = []
    for column in codes.T:
        member = sp.csr_array((np.ones(n), (column, np.arange(n))))
        errors = _group_errors(np.asarray(member @ np.ones((n, 1))), member @ Y, member @ Y**2, n)
        fractions.append(np.clip(1 - errors.sum(axis=0) / total, 0, 1))
    fraction = np.vstack([np.empty((0, Y.shape[1])), *fractions])
    return Strengths(fraction, np.zeros_like(fraction), np.zeros_like(fraction))


def word_strengths(words: sp.csr_array, Y: NDArray) -> Strengths:
    """Return the strengths of words, by whether rows of a sparse matrix (n, V) have them."""
    n, total = len(Y), np.maximum(np.sum(Y**2, axis=0), np.finfo(float).tiny)
    present = sp.csr_array(words > 0, dtype=np.float64).T.tocsr()
    count, sums, squares = np.asarray(present @ np.ones((n, 1))), present @ Y, present @ Y**2
    errors = _group_errors(count, sums, squares, n)
    errors += _group_errors(n - count, Y.sum(axis=0) - sums, np.sum(Y**2, axis=0) - squares, n)
    varies = (count > 0) & (count < n)
    fraction = np.where(varies, np.clip(1 - errors / total, 0, 1), 0)
    return Strengths(fraction, np.sign(sums), np.ones_like(fraction))


def _group_errors(count: NDArray, sums: NDArray, squares: NDArray, n: int) -> NDArray:
    """Return the squared errors of the mean of the other rows of a group; a row alone gets the mean of all rows."""
    many = np.maximum(count, 2)
    errors = (many / (many - 1)) ** 2 * (squares - sums**2 / many)
    return np.where(count > 1, errors, (n / (n - 1)) ** 2 * squares)
