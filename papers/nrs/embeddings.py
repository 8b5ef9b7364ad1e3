"""Embeddings that the experiments of [Blau2017] compare, and the numbers that describe them."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from polyfold import KernelEmbedding, NonRedundantEmbedding
from polyfold.baselines import SelectedEmbedding, SequentialRegressionEmbedding

PLAIN, OURS, DSILVA, SEQUENTIAL = "plain", "non-redundant", "Dsilva et al.", "sequential regression"
LINEAR = ("PCA", "ICA")
LEM = "laplacian_eigenmaps"
BOTH = (PLAIN, OURS)
SHORT = {"lle": "LLE", "hessian_lle": "HLLE", "ltsa": "LTSA", LEM: "LEM"}
NEWS = 0.5  # a coordinate of which less than half is left unpredicted repeats the earlier ones


def embed(method: str, X: NDArray, count: int, seed: int, *, kernel: Any = LEM, **options: Any) -> NDArray:
    """Coordinates of the rows of `X` by one of the methods compared; `options` are those of the non-redundant one."""
    if method == OURS:
        return NonRedundantEmbedding(count, kernel=kernel, random_state=seed, **options).fit_transform(X)
    if method in LINEAR:
        return _linear(method, X, count, seed)
    rivals = {PLAIN: KernelEmbedding, DSILVA: SelectedEmbedding, SEQUENTIAL: SequentialRegressionEmbedding}
    Z = rivals[method](count, kernel=kernel, random_state=seed).fit_transform(X)
    return Z if kernel == "isomap" else Z / Z.std(axis=0)  # only Isomap's coordinates have a unit


def _linear(method: str, X: NDArray, count: int, seed: int) -> NDArray:
    """Principal components; independent components are made of them, as the paper did."""
    Z = PCA(count, random_state=seed).fit_transform(X)
    if method == "PCA":
        return Z
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rotation that is not yet the last one is one as well
        return FastICA(count, random_state=seed, max_iter=1000).fit_transform(Z)


def read_off(Z: NDArray, target: NDArray) -> float:
    """Cross-validated R² of a direction by 10 nearest neighbours among the coordinates."""
    folds = KFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(KNeighborsRegressor(10), np.atleast_2d(Z.T).T, target, cv=folds).mean())


def mean(values: list[Any]) -> float:
    """Mean of all draws."""
    return float(np.mean(values)) if values else float("nan")


def told(values: list[float], digits: int = 2) -> str:
    """Every draw of a number."""
    return " / ".join(f"{value:.{digits}f}" for value in values)
