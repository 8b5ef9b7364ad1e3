"""Cells of Table 1 of [Reeve2015] and of its two theorems: how fast the modular loss is minimised, and its bounds."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyfold import ModularAutoencoder
from polyfold.datasets import make_gaussian_mixture

FALL = 1e-5  # an epoch must lower the mean loss by this much
SOLVERS = {"Algorithm 1": "backfit", "gradient descent": "gradient", "closed form": "closed"}


def convergence(
    data: Path | None,
    *,
    method: str,
    diversity: float,
    modules: int,
    components: int,
    features: int,
    rows: int,
    epochs: int,
    seed: int,
) -> dict[str, Any]:
    """Processor seconds, epochs and loss of one solver on one mixture, one thread.

    Gradient descent is counted in epochs over the points, without the search for its rate.
    """
    X, _ = make_gaussian_mixture(rows, n_features=features, n_clusters=10, random_state=seed)
    shape = {"n_modules": modules, "n_components": components, "diversity": diversity, "random_state": seed}
    lowest = ModularAutoencoder(**shape, n_jobs=1).fit(X).loss_
    model = ModularAutoencoder(**shape, n_jobs=1, solver=SOLVERS[method], tol=FALL / lowest, max_iter=epochs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told by "epochs"
        start = time.process_time()
        model.fit(X)
        seconds = time.process_time() - start
    if method == "gradient descent":
        seconds = model.n_iter_ * epoch_seconds(X, model)
    curve = np.asarray(model.loss_curve_)
    rises = int(np.sum(np.diff(curve) > 1e-12 * curve[0])) if len(curve) > 1 else 0
    return {"seconds": seconds, "epochs": model.n_iter_, "loss": model.loss_, "rises": rises}


def epoch_seconds(X: NDArray, model: ModularAutoencoder, repeats: int = 10) -> float:
    """Shortest processor time of one gradient over all points."""
    X, times = X - X.mean(axis=0), []
    for _ in range(repeats):
        start = time.process_time()
        gradient(X, model.decoders_, model.encoders_, model.diversity)
        times.append(time.process_time() - start)
    return min(times)


def gradient(X: NDArray, A: NDArray, B: NDArray, lam: float) -> tuple[NDArray, NDArray]:
    """Gradients of E_λ with respect to decoders and encoders, from the rows of `X`."""
    codes = X @ B.transpose(0, 2, 1)
    outputs = codes @ A.transpose(0, 2, 1)
    signal = (2 / outputs[..., 0].size) * (outputs - X - lam * (outputs - outputs.mean(axis=0)))
    back = signal.transpose(0, 2, 1)
    return back @ codes, A.transpose(0, 2, 1) @ back @ X


def bounds(data: Path | None, *, diversity: float, scale: float, features: int, rows: int, seed: int) -> dict[str, Any]:
    """E_λ of two modules that rebuild `scale` times a point and its negative."""
    X, _ = make_gaussian_mixture(rows, n_features=features, n_clusters=10, random_state=seed)
    X = X - X.mean(axis=0)
    outputs = np.array([scale * X, -scale * X])
    error = np.mean(np.sum((outputs - X) ** 2, axis=2))
    spread = np.mean(np.sum((outputs - outputs.mean(axis=0)) ** 2, axis=2))
    return {"loss": float(error - diversity * spread), "reconstruction error": float(error)}
