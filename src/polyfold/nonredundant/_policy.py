"""What [Blau2017] leaves open: how wide the smoother is, which of nearly equal directions to take, when to stop.

One score decides. A candidate coordinate f costs λ (fᵀ cost f, or 1/fᵀKf where a kernel is maximised), and a share s
of its variance is *news*: what leave-one-out regression on the earlier coordinates F leaves, with the bandwidth that
predicts best. Take the width that pays least for its news, λ/s: 1/λ is the variance of f in the kernel, s/λ the
variance that F does not know. A harmonic is cheap and no news; the next direction of a manifold costs several times as
much and is all news; on clusters every width costs alike, and the widest is kept.

- Widths: `WIDTHS`, the range of the paper, widest first; the widest within one standard error of the best score.
- The end of the search: a width whose coordinate is all news within one standard error, since narrower ones cost more;
  or one that sees more than √n functions of F (so many means of n points are not known well enough to be zeroed) or
  more than `MOST_FUNCTIONS`, which bounds the time.
- Before them, once, the plain coordinate (width ∞: uncorrelated with F). It is taken only where it is all news. Once
  it is not, it never is: the harmonic that it shows stays the cheapest direction.
- Ties: where cos(πx₂) is the next coordinate of a strip, cos(πx₂)·u(x₁) with a slow u costs hardly more, and where u
  vanishes x₂ cannot be read off. E[f | F] = 0 is silent on E[f² | F] = u². Of the directions within `CLOSE` of the
  cheapest, take the combination whose size F predicts least: `evenest`.
- ``n_components="auto"`` stops before a coordinate less than half of which is news that neighbours in the data share.

Evidence: docs/guide/nonredundant.md, "The policy", and benchmarks/studies/nonredundant.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._regression import loo_rows
from polyfold.nonredundant._factor import gaussian_block

__all__ = ["CLOSE", "MOSTLY", "MOST_FUNCTIONS", "PLAIN", "TIES", "WIDTHS", "Judge", "evenest", "too_fine", "widest"]

PLAIN = np.inf
WIDTHS = (0.6, 0.35, 0.2, 0.12)
CLOSE, TIES = 0.2, 5
MOSTLY = 0.5
MOST_FUNCTIONS = 40
_REFERENCES, _QUERIES = 2500, 300
_STARTS, _DESCENTS = 8, 300


@dataclass(frozen=True)
class Judge:
    """Says what share of a coordinate's variance is news beside `F`, and the standard error of that share."""

    rows: NDArray  # (b, q, m): the regression at the queries, one matrix for each bandwidth
    references: NDArray  # (m,)
    queries: NDArray  # (q,), places among the references

    @classmethod
    def of(cls, F: NDArray, seed: int) -> Judge:
        """Prepare the regressions on `F` (n, p), which all candidates share."""
        rng = np.random.RandomState(seed)
        references = _some(len(F), _REFERENCES, rng)
        queries = _some(len(references), _QUERIES, rng)
        return cls(loo_rows(F[references], queries), references, queries)

    def __call__(self, f: NDArray) -> tuple[float, float]:
        """Return the share and its error."""
        f = f[self.references]
        errors = (f[self.queries] - self.rows @ f) ** 2 / max(float(f.var()), np.finfo(np.float64).tiny)
        best = errors[errors.mean(axis=1).argmin()]
        return float(best.mean()), float(best.std() / np.sqrt(len(best)))


    def news_directions(self, F: NDArray) -> NDArray:
        """Return orthonormal combinations (k, m) of the columns of `F` (n, k), unit variances, that are mostly news."""
        F = F[self.references]
        left = F[self.queries] - self.rows @ F
        left = left[np.mean(left**2, axis=(1, 2)).argmin()]
        shares, U = np.linalg.eigh(left.T @ left / len(left))
        return U[:, min(int(np.searchsorted(shares, MOSTLY)), len(shares) - 1) :]


def _some(n: int, most: int, rng: np.random.RandomState) -> NDArray:
    return np.arange(n) if n <= most else rng.choice(n, most, replace=False)


def widest(costs: Sequence[float], shares: Sequence[float], errors: Sequence[float]) -> int:
    """Return the first candidate (widest first) whose cost for its news is within one standard error of the least."""
    news = np.clip(shares, np.finfo(np.float64).tiny, 1.0)
    prices = np.asarray(costs) / news
    best = int(prices.argmin())
    return int(np.flatnonzero(prices <= prices[best] * (1 + errors[best] / news[best]))[0])


def too_fine(F: NDArray, bandwidth: float, cut: float, seed: int) -> bool:
    """Whether a smoother of the rows of `F` sees more functions than are tried, judged by four times as many rows."""
    most = min(np.sqrt(len(F)), MOST_FUNCTIONS)
    rows = F[_some(len(F), int(4 * most), np.random.RandomState(seed))]
    G = gaussian_block(rows, rows, bandwidth)
    root = np.sqrt(G.sum(axis=1))
    gains = np.linalg.eigvalsh(G / root / root[:, None])
    return bool(np.count_nonzero(gains > cut * gains[-1]) > most)


def evenest(G: NDArray, V: NDArray, weights: NDArray) -> NDArray:
    """Return unit c for which V (n, q), functions of F, predict the size of G c (n, k) least.

    Minimises Σ_v (cᵀA_v c)² with A_v = Σ_i v_i (g_i g_iᵀ − I) by shifted power iteration [Kolda2011] from many starts.
    """
    k = G.shape[1]
    if k == 1:
        return np.ones(1)
    products = (G[:, :, None] * G[:, None, :]).reshape(len(G), k * k)
    A = V.T @ products - np.average(V, axis=0, weights=weights)[:, None] * np.eye(k).ravel()
    quartic = A.T @ A
    shift = max(float(np.linalg.eigvalsh(quartic)[-1]), np.finfo(np.float64).tiny)
    C = np.concatenate([np.eye(k), np.random.RandomState(0).standard_normal((_STARTS, k))])
    for _ in range(_DESCENTS):
        C /= np.linalg.norm(C, axis=1, keepdims=True)
        slopes = ((C[:, :, None] * C[:, None, :]).reshape(-1, k * k) @ quartic).reshape(-1, k, k)
        values = np.einsum("skl,sk,sl->s", slopes, C, C)
        best = C[values.argmin()]
        C = shift * C - np.einsum("skl,sl->sk", slopes, C)
    return best
