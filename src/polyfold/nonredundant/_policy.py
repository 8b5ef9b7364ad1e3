"""What [Blau2017] leaves open: how wide the smoother is, which of nearly equal directions to take, when to stop.

One score decides: the share of a coordinate's variance that is *news*, what leave-one-out regression on the earlier
coordinates F leaves of it with the bandwidth that predicts best. A harmonic of F has a share near 0, a new direction
one near 1, and half (`MOSTLY`) tells them apart.

    Take the widest smoother that leaves a direction of which most is news; where none does, the widest.

- Widths: the plain coordinate first (`PLAIN`: only uncorrelated with F), then `WIDTHS`, the range of the paper.
  Narrower ones cost more and bend what they leave. Once the plain coordinate is no news it is not tried again: the
  harmonic that it shows stays the cheapest direction. Where nothing is news (clusters, late coordinates of images), the
  widest of `WIDTHS` is kept: on MNIST and a bootstrap network's graph narrower ones raised the error.
- Not tried are widths that see more than √n functions of F, since so many means of n points are not known well enough
  to be zeroed, or more than `MOST_FUNCTIONS`, which bounds the time.
- Ties: directions within `CLOSE` of the smallest cost are one choice, made by the sample. A harmonic that costs the
  same mixes with the new direction: combinations that are mostly predictable are dropped. cos(πx₂)·u(x₁) with a slow u
  costs hardly more than cos(πx₂), and where u vanishes x₂ cannot be read off. E[f | F] = 0 is silent on E[f² | F] = u²:
  take the combination whose size F predicts least (`evenest`).
- ``n_components="auto"`` stops before a coordinate of which less than half is news that neighbours in the data share.

Evidence: docs/guide/nonredundant.md, "The policy", and benchmarks/studies/nonredundant.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyfold._regression import loo_rows
from polyfold.nonredundant._factor import gaussian_block

__all__ = [
    "CLOSE",
    "MOSTLY",
    "MOST_FUNCTIONS",
    "PLAIN",
    "TIES",
    "WIDTHS",
    "Judge",
    "evenest",
    "mostly_news",
    "too_fine",
]

PLAIN = np.inf
WIDTHS = (0.6, 0.35, 0.2, 0.12)
CLOSE, TIES = 0.2, 5
MOSTLY = 0.5
MOST_FUNCTIONS = 40
_REFERENCES, _QUERIES = 2500, 300
_STARTS, _DESCENTS = 8, 300


@dataclass(frozen=True)
class Judge:
    """Says what share of a coordinate's variance is news beside the earlier ones."""

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

    def __call__(self, F: NDArray) -> NDArray:
        """Return the matrix (k, k) of news of the columns of `F` (n, k): its diagonal holds their shares."""
        F = (F - F.mean(axis=0))[self.references] / np.maximum(F.std(axis=0), np.finfo(np.float64).tiny)
        left = F[self.queries] - self.rows @ F
        left = left[np.mean(left**2, axis=(1, 2)).argmin()]
        return left.T @ left / len(left)


def mostly_news(news: NDArray) -> NDArray:
    """Return the orthonormal combinations (k, m) of which most is news, by the matrix of news (k, k)."""
    shares, U = np.linalg.eigh(news)
    return U[:, shares >= MOSTLY]


def _some(n: int, most: int, rng: np.random.RandomState) -> NDArray:
    return np.arange(n) if n <= most else rng.choice(n, most, replace=False)


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
    best = np.eye(k)[0]
    C = np.concatenate([np.eye(k), np.random.RandomState(0).standard_normal((_STARTS, k))])
    for _ in range(_DESCENTS):
        C /= np.linalg.norm(C, axis=1, keepdims=True)
        slopes = ((C[:, :, None] * C[:, None, :]).reshape(-1, k * k) @ quartic).reshape(-1, k, k)
        values = np.einsum("skl,sk,sl->s", slopes, C, C)
        best = C[values.argmin()]
        C = shift * C - np.einsum("skl,sl->sk", slopes, C)
    return best
