"""Cells of Figs. 2, 6, 7 and 8 of [Reeve2015]: votes and metric structure of modules on six image sets."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from papers.images import draw_images
from polyfold import ModularAutoencoder
from polyfold.baselines import BaggingAutoencoder
from polyfold.metrics import ensemble_errors, module_correlation, module_fidelity

FOLDS = 5
BAGGING = "BAE"
Fold = tuple[NDArray, NDArray, NDArray, NDArray]


def votes(
    data: Path | None, *, set: str, method: str, modules: int, components: int, rows: int, fold: int, seed: int
) -> dict[str, Any]:
    """Errors in per cent of one-nearest-neighbour classifiers on the codes of "MAE λ" or "BAE", alone and together."""
    X, y, Q, y_test = split(data, set, rows, fold, seed)
    model = _model(data, set, method, modules, components, rows, fold, seed)
    pairs = zip(model.transform_modules(X), model.transform_modules(Q), strict=True)
    predictions = [KNeighborsClassifier(1, algorithm="brute").fit(own, y).predict(new) for own, new in pairs]
    errors = ensemble_errors(predictions, y_test)
    return {"ensemble": 100 * errors.ensemble, "individual": 100 * errors.individual}


def structure(
    data: Path | None, *, set: str, method: str, modules: int, components: int, rows: int, sample: int, seed: int
) -> dict[str, Any]:
    """Mean distance correlation of the modules with the pixels, and with one another, on held-out images."""
    Q = split(data, set, rows, 0, seed)[2][:sample]
    codes = _model(data, set, method, modules, components, rows, 0, seed).transform_modules(Q)
    return {"with the pixels": float(np.mean(module_fidelity(codes, Q))), "pairs": float(module_correlation(codes))}


def reweighted(
    data: Path | None, *, set: str, power: float, components: int, rows: int, sample: int, fold: int, seed: int
) -> dict[str, Any]:
    """One PCA whose coordinates are divided by their spread to some power: its error and its distance correlation."""
    X, y, Q, y_test = split(data, set, rows, fold, seed)
    pca = PCA(components, random_state=seed).fit(X)
    weights = pca.explained_variance_ ** (-power / 2)
    own, new = (pca.transform(rows) * weights for rows in (X, Q))
    error = 1 - KNeighborsClassifier(1, algorithm="brute").fit(own, y).score(new, y_test)
    return {"error": 100 * float(error), "with the pixels": float(module_fidelity(new[None, :sample], Q[:sample])[0])}


@lru_cache(maxsize=2)
def split(data: Path | None, name: str, rows: int, fold: int, seed: int) -> Fold:
    """Training and test images of one of five folds, with their classes."""
    X, y = draw_images(data, name, rows, seed)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    train, test = list(folds.split(X, y))[fold]
    return X[train], y[train], X[test], y[test]


def _model(
    data: Path | None, name: str, method: str, modules: int, components: int, rows: int, fold: int, seed: int
) -> Any:
    if method == BAGGING:
        X = split(data, name, rows, fold, seed)[0]
        return BaggingAutoencoder(modules, components, random_state=seed + fold).fit(X)
    path = _fitted(data, name, modules, components, rows, fold, seed)
    return path.remix(diversity=float(method.split()[1]))


@lru_cache(maxsize=1)
def _fitted(
    data: Path | None, name: str, modules: int, components: int, rows: int, fold: int, seed: int
) -> ModularAutoencoder:
    X = split(data, name, rows, fold, seed)[0]
    return ModularAutoencoder(modules, components, random_state=seed + fold).fit(X)
