"""What do diverse modules cost, and what do they give beside their quality?

The paper's own tables and figures are in ``papers`` (``mbm``). Design: MNIST, 12,000 training images;
M = 15 modules of H = 20 dimensions, Gaussian kernel with the mean-distance width, Nyström rank R = 1000, single
precision. Times are ratios of the best of several runs within one process; the floor is what no implementation can
avoid, in bare BLAS and LAPACK.

Expected: a fit near its floor; the closed form costs a few per cent of it and is never above Algorithm 1; a few
modules answer several times as fast as all dimensions, and losing some costs points, not the answer.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import polyfold as pf
from benchmarks._record import best_of
from papers.data import load_dataset
from polyfold.metrics import retrieval_precision
from polyfold.modular import bound_of, solve_adam, solve_closed, solve_sweeps, spectral_loss, waterfill
from polyfold.modular._frames import frame_may_exist

M, H, R = 15, 20, 1000
GRID = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999, 1.0)


def images(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """All images in single precision, and their digits."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    return X.astype(np.float32), y


def training_images(data: Path) -> np.ndarray:
    """Draw 12,000 images."""
    X, _ = images(data)
    return X[np.random.RandomState(0).permutation(len(X))[:12000]]


def fit_ratios(X: np.ndarray) -> dict[str, float]:
    """Seconds of a fit against scikit-learn's pipeline and against the floor."""
    model = pf.ModularKernelPCA(M, H, rank=R, random_state=0).fit(X)
    gamma = model.spectrum_.features.kernel.gamma_

    def sklearn_fit() -> None:
        PCA(300, random_state=0).fit(Nystroem(gamma=gamma, n_components=R, random_state=0).fit_transform(X))

    def fit() -> None:
        pf.ModularKernelPCA(M, H, rank=R, random_state=0).fit(X)

    seconds = {"fit": best_of(fit), "sklearn": best_of(sklearn_fit), "floor": best_of(lambda: floor(X, gamma))}
    seconds["path of 10"] = best_of(lambda: model.diversity_path(GRID))
    seconds["closed solver"] = best_of(lambda: model.remix(diversity=0.99))
    return {
        **{f"{name}, s": value for name, value in seconds.items()},
        "fit / sklearn": seconds["fit"] / seconds["sklearn"],
        "fit / floor": seconds["fit"] / seconds["floor"],
        "(fit + path) / fit": 1 + seconds["path of 10"] / seconds["fit"],
        "solver / fit": seconds["closed solver"] / seconds["fit"],
    }


def floor(X: np.ndarray, gamma: float) -> None:
    """Kernel blocks, Gram matrix and two R × R eigendecompositions in bare BLAS and LAPACK."""
    L = X[:R]
    norms = np.einsum("ij,ij->i", L, L)
    gram = np.zeros((R, R))
    for start in range(0, len(X), 1024):
        block = X[start : start + 1024]
        K = block @ L.T
        K *= 2 * gamma
        K -= gamma * norms
        K -= gamma * np.einsum("ij,ij->i", block, block)[:, None]
        np.exp(K, out=K)
        K = K.astype(np.float64)
        gram += K.T @ K
    scipy.linalg.eigh(gram[::-1, ::-1].copy(), driver="evd", check_finite=False)
    scipy.linalg.eigh(gram, driver="evd", check_finite=False)


def solver_ratios(X: np.ndarray) -> dict[str, Any]:
    """Seconds of Algorithm 1 as printed and of Adam against the closed form, the spectrum given."""
    d = pf.ModularKernelPCA(M, H, rank=R, random_state=0).fit(X).eigenvalues_
    figures: dict[str, Any] = {}
    rng = np.random.RandomState
    for lam in (0.9, 0.99):
        closed = solve_closed(d, M, H, lam, rng(0))
        seconds = best_of(lambda lam=lam: solve_closed(d, M, H, lam, rng(0)), 5)
        # All epochs cost the same: three of them in the full space are timed, and the loss after sixty comes from
        # the reduced space, where the sweeps do the same for less.
        sweeps = 20 * best_of(lambda lam=lam: solve_sweeps(d, M, H, lam, rng(0), max_iter=3, tol=0, reduce=False), 1)
        printed = solve_sweeps(d, M, H, lam, rng(0), max_iter=60, tol=0)
        rate = best_rate(d, lam)
        start = time.perf_counter()
        adam = solve_adam(d, M, H, lam, rng(0), max_iter=60, learning_rates=(rate,), reduce=False)
        adam_seconds = time.perf_counter() - start
        figures[f"λ={lam}"] = {
            "loss": {
                "bound": bound_of(d[: M * H], waterfill(d[: M * H], M, H, lam), M, lam, float(np.sum(d**2))),
                "closed": spectral_loss(closed.factors, d, lam),
                "Algorithm 1, 60 epochs": printed.loss_curve[-1],
                "Adam, 60 steps": min(adam.loss_curve),
            },
            "closed, s": seconds,
            "Algorithm 1 / closed": sweeps / seconds,
            "Adam, 60 steps / closed": adam_seconds / seconds,
            "Adam learning rate": rate,
        }
    return figures


def best_rate(d: np.ndarray, lam: float) -> float:
    """Learning rate with the lowest loss after 100 steps on the reduced problem."""
    losses = {
        rate: min(solve_adam(d, M, H, lam, np.random.RandomState(0), max_iter=100, learning_rates=(rate,)).loss_curve)
        for rate in (0.003, 0.01, 0.03, 0.1, 0.3)
    }
    return min(losses, key=losses.get)


class Given(BaseEstimator):
    """Modules that are already there, side by side: the search is timed without the kernel."""

    def __init__(self, n_modules: int):
        self.n_modules = n_modules

    def fit(self, Z: Any, y: Any = None) -> Given:
        """Do nothing."""
        return self

    def transform_modules(self, Z: np.ndarray) -> np.ndarray:
        """Split columns into modules."""
        return Z.reshape(len(Z), self.n_modules, -1).transpose(1, 0, 2)


def search_figures(X: np.ndarray, Q: np.ndarray) -> dict[str, Any]:
    """Anytime search at λ = 0.999 over 60,000 rows, one thread, against exact search in all 300 dimensions."""
    import faiss
    import numba

    model = pf.ModularKernelPCA(M, H, diversity=0.999, rank=R, random_state=0).fit(X)
    Z, ZQ = model.transform(X), model.transform(Q)
    pixels = faiss.IndexFlatL2(X.shape[1])
    pixels.add(X)
    truth = pixels.search(Q, 10)[1]
    index = pf.ModularNeighbors(Given(M), engine="faiss").fit(Z)
    exact = faiss.IndexFlatL2(Z.shape[1])
    exact.add(Z)
    faiss.omp_set_num_threads(1)
    numba.set_num_threads(1)
    with threadpool_limits(1):
        exact_precision = 100 * retrieval_precision(exact.search(ZQ, 10)[1], truth)
        rows = []
        for modules, expand in ((2, 50), (3, 25), (4, 12), (4, 15), (5, 10)):
            settings = {"modules": modules, "expand": expand, "return_distance": False}
            found = index.kneighbors(ZQ, **settings)
            exact_seconds = best_of(lambda: exact.search(ZQ, 10))
            seconds = best_of(lambda settings=settings: index.kneighbors(ZQ, **settings))
            rows.append(
                {
                    "modules": modules,
                    "expand": expand,
                    "precision": 100 * retrieval_precision(found, truth),
                    "exact s": exact_seconds,
                    "s": seconds,
                    "speed-up": exact_seconds / seconds,
                }
            )
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    return {"exact precision": exact_precision, "anytime": rows}


def lost_figures(X: np.ndarray) -> dict[str, float]:
    """Precision at λ = 0.999 with modules lost, 12,000 images and 2,000 queries, mean of three choices."""
    order = np.random.RandomState(0).permutation(len(X))
    X, Q = X[order[:12000]], X[order[12000:14000]]
    truth = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X).kneighbors(Q, return_distance=False)
    model = pf.ModularKernelPCA(M, H, diversity=0.999, rank=R, random_state=0).fit(X)
    index = pf.ModularNeighbors(FrozenEstimator(model)).fit(X)
    return {
        f"{n} lost": 100
        * float(np.mean([retrieval_precision(index.kneighbors(Q, modules=kept)[1], truth) for kept in surviving(n)]))
        for n in (0, 1, 3, 5)
    }


def surviving(n_lost: int) -> list[list[int]]:
    """Three random choices of the modules that are left."""
    rng = np.random.RandomState(0)
    return [sorted(rng.permutation(M)[n_lost:].tolist()) for _ in range(3 if n_lost else 1)]


def gap_figures(mnist: np.ndarray) -> dict[str, Any]:
    """Relative gap between loss and bound, and milliseconds, over spectra and settings."""
    spectra = {
        "MNIST": mnist,
        "geometric": 0.9 ** np.arange(400),
        "flat": np.ones(500),
        "ties": np.repeat(0.8 ** np.arange(40), 5),
        "rank 30": np.linspace(1, 0.1, 30),
    }
    rows = []
    for d in spectra.values():
        for m, h, lam in product((2, 3, 5, 10, 15, 30, 60), (1, 2, 5, 10, 20), (0.1, 0.5, 0.9, 0.99, 0.999)):
            start = time.perf_counter()
            solution = solve_closed(d, m, h, lam, np.random.RandomState(0))
            ms = 1000 * (time.perf_counter() - start)
            top, energy = d[: m * h], float(np.sum(d**2))
            allocation = waterfill(top, m, h, lam)
            bound = bound_of(top, allocation, m, lam, energy)
            gap = (spectral_loss(solution.factors, d, lam) - bound) / max(bound, 1e-12 * energy)
            full, free = allocation.saturated, h - allocation.saturated
            possible = free == 0 or frame_may_exist(allocation.copies[full : allocation.active], m, free)
            rows.append((possible, gap, ms))
    possible, gap, ms = (np.array(column) for column in zip(*rows, strict=True))
    return {
        "settings": len(rows),
        "frame may exist": int(possible.sum()),
        "of these, gap at most 1e-6": int(np.sum(gap[possible] <= 1e-6)),
        "largest gap of these": float(gap[possible].max()),
        "frame proven impossible": int(np.sum(~possible)),
        "median gap of these": float(np.median(gap[~possible])),
        "ms, median": float(np.median(ms)),
        "ms, max": float(ms.max()),
    }


PARTS = {
    "fit": lambda data: fit_ratios(training_images(data)),
    "solvers": lambda data: solver_ratios(training_images(data)),
    "search": lambda data: search_figures(images(data)[0][:60000], images(data)[0][60000:62000]),
    "precision with modules lost": lambda data: lost_figures(images(data)[0]),
    "gap": lambda data: gap_figures(
        pf.ModularKernelPCA(M, H, rank=R, random_state=0).fit(training_images(data)).eigenvalues_
    ),
}
