"""Gradient methods as alternatives to the closed form: Adam on the compressed problem, SGD and drop-module on the data.

Maps are W_m of shape (H, k) on coordinates c(x), so that F_m = W_m diag(√d). For a batch of B points with
second moments Σ = Σ_i c_i c_i' / B the loss of [Reeve2018, Prop. 2] over its pairs is, with E_m = W_m'W_m - I,

    (1-λ)/M Σ_m tr(E_m Σ E_m Σ) + λ tr(Ē Σ Ē Σ),    ∂/∂W_m = 4/M W_m Σ [(1-λ) E_m + λ Ē] Σ.

The whole data set has Σ = diag(d)/N. Drop-module draws η_m ~ Bernoulli(p) and uses Ē = Σ_m η_m W_m'W_m / M - I
alone [Reeve2018, Sec. 5]; its minima are those of the modular loss times √(λ/p), with λ = Mp/(1 + p(M-1)).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold.modular._problem import ModularSolution, spectral_loss
from polyfold.modular._sweeps import random_factors

LEARNING_RATES = tuple(10.0**e for e in range(-6, 3))  # the range searched in [Reeve2018, Sec. 6.1]
PILOT = 10  # epochs given to every learning rate before the best one continues


def drop_probability(diversity: float, n_modules: int) -> float:
    """Probability of keeping a module for which drop-module has the minima of the modular loss at λ."""
    return diversity / (n_modules - diversity * (n_modules - 1))


def modular_gradient(W: NDArray, sigma: NDArray, lam: float) -> NDArray:
    """Gradient of the loss of a batch with second moments `sigma` with respect to W, shape (M, H, k)."""
    M, _, k = W.shape
    rows = W.reshape(-1, k)
    mean = rows.T @ rows / M - np.eye(k)
    Ws = W @ sigma
    # W Σ E_m Σ = (W Σ W') W Σ - W Σ Σ: no k × k matrix per module is formed.
    single = (Ws @ W.transpose(0, 2, 1)) @ Ws - Ws @ sigma
    return (4 / M) * ((1 - lam) * single + lam * (Ws @ mean) @ sigma)


def adam_steps(
    gradient: Callable[[NDArray], NDArray], W: NDArray, rate: float, beta1: float = 0.9, beta2: float = 0.999
) -> Iterator[NDArray]:
    """Yield W after every step of Adam [Kingma2015]_."""
    first, second, step = np.zeros_like(W), np.zeros_like(W), 0
    while True:
        step += 1
        g = gradient(W)
        first = beta1 * first + (1 - beta1) * g
        second = beta2 * second + (1 - beta2) * g**2
        W = W - rate * (first / (1 - beta1**step)) / (np.sqrt(second / (1 - beta2**step)) + 1e-8)
        yield W


def sgd_steps(
    gradient: Callable[[NDArray, NDArray], NDArray], W: NDArray, rate: float, batches: Iterator[list[NDArray]]
) -> Iterator[NDArray]:
    """Yield W after every epoch of plain stochastic gradient descent."""
    for epoch in batches:
        for batch in epoch:
            W = W - rate * gradient(W, batch.T @ batch / batch.shape[0])
        yield W


def solve_adam(
    eigenvalues: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    *,
    max_iter: int = 2000,
    tol: float = 1e-7,
    learning_rates: tuple[float, ...] = LEARNING_RATES,
    reduce: bool = True,
) -> ModularSolution:
    """Adam in batch mode on the compressed problem, with the best of the learning rates."""
    M, H = n_modules, n_components
    d = eigenvalues[: min(eigenvalues.size, M * H)] if reduce else eigenvalues
    scale = d[0]  # the rates then mean the same whatever the units of the kernel
    sigma = np.diag(d / scale)
    start = random_factors(d, M, H, rng) / np.sqrt(d)

    def run(rate: float) -> Iterator[NDArray]:
        return adam_steps(lambda W: modular_gradient(W, sigma, diversity), start, rate)

    return _best_run(run, d, eigenvalues, diversity, learning_rates, max_iter, tol)


def solve_stochastic(
    eigenvalues: NDArray,
    n_modules: int,
    n_components: int,
    diversity: float,
    rng: np.random.RandomState,
    coordinates: NDArray,
    *,
    drop: bool = False,
    max_iter: int = 200,
    tol: float = 1e-7,
    learning_rates: tuple[float, ...] = LEARNING_RATES,
    batch_size: int = 64,
) -> ModularSolution:
    """Stochastic gradient descent over pairs of points, on the modular loss or with dropped modules."""
    M, H = n_modules, n_components
    k = min(eigenvalues.size, M * H)
    d, C = eigenvalues[:k], coordinates[:, :k]
    C = C / np.sqrt(d[0] / C.shape[0])
    keep = drop_probability(diversity, M) if drop else 1.0
    grow = np.sqrt(diversity / keep) if drop else 1.0
    start = random_factors(d, M, H, rng) / np.sqrt(d)
    seed = rng.randint(np.iinfo(np.int32).max)

    def run(rate: float) -> Iterator[NDArray]:
        own = np.random.RandomState(seed)  # every learning rate sees the same batches

        def gradient(W: NDArray, sigma: NDArray) -> NDArray:
            if not drop:
                return modular_gradient(W, sigma, diversity)
            kept = (own.uniform(size=M) < keep)[:, None, None]
            return kept * modular_gradient(kept * W, sigma, 1.0)

        batches = ([C[rows] for rows in _shuffled(own, len(C), batch_size)] for _ in iter(int, 1))
        return (W / grow for W in sgd_steps(gradient, start * grow, rate, batches))

    return _best_run(run, d, eigenvalues, diversity, learning_rates, max_iter, tol)


def _shuffled(rng: np.random.RandomState, n: int, batch_size: int) -> list[NDArray]:
    order = rng.permutation(n)
    return [order[i : i + batch_size] for i in range(0, n, batch_size)]


def _best_run(
    run: Callable[[float], Iterator[NDArray]],
    d: NDArray,
    eigenvalues: NDArray,
    lam: float,
    rates: tuple[float, ...],
    max_iter: int,
    tol: float,
) -> ModularSolution:
    """Try every rate for a few epochs, then follow the best one and keep its lowest point."""
    energy = float(np.sum(eigenvalues**2))

    def loss(W: NDArray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            value = spectral_loss(W * np.sqrt(d), d, lam, energy)
        return value if np.isfinite(value) else np.inf

    rate = rates[0] if len(rates) == 1 else min(rates, key=lambda r: loss(_advance(run(r), PILOT)))
    curve: list[float] = []
    best, lowest, converged, gained = np.empty(0), np.inf, False, 0
    for epoch, W in zip(track(range(max_iter), "epochs"), run(rate), strict=False):
        curve.append(loss(W))
        if curve[-1] < lowest * (1 - tol):
            gained = epoch
        if curve[-1] < lowest:
            lowest, best = curve[-1], W
        converged = epoch - gained >= 20
        if converged or not np.isfinite(curve[-1]):
            break
    return ModularSolution(best * np.sqrt(d), curve, converged)


def _advance(steps: Iterator[NDArray], n: int) -> NDArray:
    W = np.empty(0)
    with np.errstate(over="ignore", invalid="ignore"):
        for _, W in zip(range(n), steps, strict=False):
            if not np.isfinite(W).all():
                break
    return W
