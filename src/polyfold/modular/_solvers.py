"""Solvers of the modular problem by name, and modules without a diversity term, for comparison.

The comparisons are those of [Reeve2018, Sec. 6.2] and [Reeve2015, Sec. 4].
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import eigh_descending
from polyfold._progress import track
from polyfold._typing import Matrix
from polyfold.modular._adam_sgd import solve_adam, solve_stochastic
from polyfold.modular._backfit import solve_backfit
from polyfold.modular._closed import solve_closed
from polyfold.modular._gradient import solve_gradient
from polyfold.modular._problem import ModularSolution
from polyfold.modular._sweeps import solve_sweeps
from polyfold.spectra import linear_spectrum

# All take the eigenvalues, M, H, λ and a generator.
SOLVERS: dict[str, Callable[..., ModularSolution]] = {
    "closed": solve_closed,
    "mbm": solve_sweeps,
    "adam": solve_adam,
    "sgd": solve_stochastic,
    "drop-module": partial(solve_stochastic, drop=True),
    "backfit": solve_backfit,
    "gradient": solve_gradient,
}
DATA_SOLVERS = ("sgd", "drop-module")  # they need the coordinates of the points, not the directions alone


def partition_maps(rank: int, M: int, H: int, rng: np.random.RandomState) -> NDArray:
    """Top M·H directions dealt at random, H to a module; directions the data lack stay zero."""
    W = np.zeros((M * H, min(rank, M * H)))
    places = rng.permutation(M * H)[: W.shape[1]]
    W[places, np.arange(W.shape[1])] = 1
    return W.reshape(M, H, -1)


def random_maps(rank: int, M: int, H: int, rng: np.random.RandomState) -> NDArray:
    """Gaussian directions of unit length in the space of the empirical kernel map."""
    W = rng.standard_normal((M, H, rank))
    return W / np.linalg.norm(W, axis=2, keepdims=True)


def bootstrap_maps(C: NDArray, M: int, H: int, rng: np.random.RandomState) -> tuple[NDArray, NDArray]:
    """Kernel PCA of M bootstrap samples of the coordinates C: maps (M, H, r) and offsets (M, H)."""
    n, r = C.shape
    W, offsets = np.zeros((M, H, r)), np.zeros((M, H))
    if r == 0:
        return W, offsets
    for m in track(range(M), "bootstrap samples"):
        counts = rng.multinomial(n, np.full(n, 1 / n)).astype(C.dtype)
        mean = (counts @ C / n).astype(np.float64)
        scatter = ((C * counts[:, None]).T @ C).astype(np.float64) - n * np.outer(mean, mean)
        _, V = eigh_descending(scatter, min(H, r))
        W[m, : V.shape[1]] = V.T
        offsets[m] = -W[m] @ mean
    return W, offsets


def bagged_autoencoders(X: Matrix, M: int, H: int, rng: np.random.RandomState) -> tuple[NDArray, NDArray, int]:
    """Principal directions of M bootstrap samples of rows: encoders (M, H, D), means (M, D), fewest directions."""
    n, D = X.shape
    encoders, means, fewest = np.zeros((M, H, D)), np.zeros((M, D)), D
    for m in track(range(M), "bootstrap samples"):
        sample = linear_spectrum(X[np.sort(rng.randint(n, size=n))], H, rng)
        top = sample.readout[:, :H]
        encoders[m, : top.shape[1]], means[m] = top.T, sample.shift
        fewest = min(fewest, sample.rank)
    return encoders, means, fewest
