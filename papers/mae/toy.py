"""Cells of Figs. 3 to 5 of [Reeve2015]: two one-dimensional modules on three Gaussians in the plane."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from polyfold import ModularAutoencoder
from polyfold.datasets import make_gaussian_mixture
from polyfold.metrics import ensemble_errors

# The paper prints neither means nor deviation; these have its error at λ = 0.
CENTERS, STD = ((-1.0, -0.3), (0.0, 0.6), (1.0, -0.3)), 0.5
BINS, SIDE = 40, 45


def toy(data: Path | None, *, diversity: float, rows: int, test: int, seed: int) -> dict[str, Any]:
    """Error of averaged softmax classifiers on the two features, and how well each separates a class."""
    model, classifiers = _fitted(diversity, rows, seed)[2:]
    Q, y_test = make_gaussian_mixture(test, centers=CENTERS, std=STD, random_state=1000 + seed)
    codes = model.transform_modules(Q)
    errors = ensemble_errors(_probabilities(codes, classifiers), y_test)
    return {
        "ensemble": 100 * errors.ensemble,
        "individual": 100 * errors.individual,
        "correlation": abs(float(np.corrcoef(codes[0, :, 0], codes[1, :, 0])[0, 1])),
        "apart": [[_one_against_others(code[:, 0], y_test == k) for k in range(3)] for code in codes],
    }


def shown(data: Path | None, *, diversity: float, rows: int, seed: int) -> dict[str, Any]:
    """Densities of the classes on each feature, and the classes predicted on a lattice of the plane."""
    X, y, model, classifiers = _fitted(diversity, rows, seed)
    densities = []
    for code in model.transform_modules(X)[:, :, 0]:
        edges = np.linspace(code.min(), code.max(), BINS + 1)
        counts = [np.histogram(code[y == k], edges, density=True)[0].round(3) for k in range(3)]
        densities.append({"middle": (0.5 * (edges[1:] + edges[:-1])).round(3), "classes": counts})
    lattice = np.stack(np.meshgrid(np.linspace(-2.5, 2.5, SIDE), np.linspace(-2, 2.5, SIDE)), axis=-1).reshape(-1, 2)
    mean = _probabilities(model.transform_modules(lattice), classifiers).mean(axis=0)
    angles = np.degrees(np.arctan2(*model.encoders_[:, 0].T[::-1])) % 180
    return {
        "densities": densities,
        "lattice": lattice.round(3),
        "predicted": mean.argmax(axis=1),
        "angles": angles,
        "by one line": _by_one_line(lattice, mean.argmax(axis=1), model.encoders_[0, 0]),
    }


def _fitted(diversity: float, rows: int, seed: int) -> tuple[NDArray, NDArray, ModularAutoencoder, list[Any]]:
    X, y = make_gaussian_mixture(rows, centers=CENTERS, std=STD, random_state=seed)
    model = ModularAutoencoder(2, 1, diversity=diversity, random_state=seed).fit(X)
    return X, y, model, [LogisticRegression(C=1e4).fit(code, y) for code in model.transform_modules(X)]


def _probabilities(codes: NDArray, classifiers: list[Any]) -> NDArray:
    return np.array([one.predict_proba(code) for one, code in zip(classifiers, codes, strict=True)])


def _one_against_others(code: NDArray, inside: NDArray) -> float:
    """Best share of right answers to "is it this class?" by one threshold on a feature."""
    order = inside[np.argsort(code)]
    below = np.concatenate([[0], np.cumsum(order)])
    right = below + np.arange(len(order), -1, -1) - (order.sum() - below)  # this class below the threshold
    return float(max(right.max(), len(order) - right.min()) / len(order))


def _by_one_line(lattice: NDArray, predicted: NDArray, direction: NDArray) -> float:
    """Fraction of neighbours along the order of one projection with equal predictions: 1 if it alone decides."""
    order = predicted[np.argsort(lattice @ direction, kind="stable")]
    return float(np.mean(order[1:] == order[:-1]))
