"""How good a model is on the rows of a file, by its kind."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from polyfold.cli._data import before_last, last_step, n_modules
from polyfold.metrics import clustering_accuracy, module_correlation, nmi, retrieval_precision

N_NEIGHBORS = 10
# Rows searched, and rows asked for their neighbours.
SEARCHED, ASKED = 10_000, 1_000


def judge(model: Any, rows: Any, y: np.ndarray | None, seed: int) -> dict[str, Any]:
    """Return figures by name."""
    estimator = last_step(model)
    figures: dict[str, Any] = {"rows": rows.shape[0]}
    if is_classifier(estimator) or is_regressor(estimator):
        if y is None:
            raise ValueError("--target is needed to evaluate what predicts targets.")
        return {**figures, **_of_predictions(model, estimator, rows, y)}
    if hasattr(model, "predict"):
        labels = np.asarray(model.predict(rows))
        figures |= {"clusters": len(np.unique(labels))}
        if y is not None:
            codes = np.unique(y, return_inverse=True)[1]
            figures |= {"accuracy": clustering_accuracy(codes, labels), "nmi": nmi(codes, labels)}
    if hasattr(model, "transform"):
        figures |= _of_coordinates(model, estimator, rows, y, seed)
    return figures


def _of_predictions(model: Any, estimator: Any, rows: Any, y: np.ndarray) -> dict[str, Any]:
    found = model.predict(rows)
    if is_regressor(estimator):
        return {"r2": float(r2_score(y, found))}
    figures: dict[str, Any] = {"accuracy": float(np.mean(found == y))}
    if hasattr(estimator, "module_scores"):
        scores = estimator.module_scores(before_last(model, rows), y)
        figures |= {"accuracy of single modules": [float(scores.min()), float(scores.max())]}
    return figures


def _of_coordinates(model: Any, estimator: Any, rows: Any, y: np.ndarray | None, seed: int) -> dict[str, Any]:
    rng = np.random.RandomState(seed)
    some = np.sort(rng.permutation(rows.shape[0])[:SEARCHED])
    rows = rows.iloc[some] if hasattr(rows, "iloc") else rows[some]
    seen, Z = before_last(model, rows), np.asarray(model.transform(rows))
    k = min(N_NEIGHBORS, len(Z) - 1)
    asked = np.sort(rng.permutation(len(Z))[:ASKED])
    truth, found = (_neighbors(points, asked, k) for points in (seen, Z))
    figures: dict[str, Any] = {f"precision at {k}": retrieval_precision(found, truth)}
    if n_modules(estimator) > 1:
        figures["correlation of modules"] = module_correlation(estimator.transform_modules(seen)[:, :ASKED])
    if y is not None:
        figures |= _of_classes(Z, y[some], rng)
    return figures


def _of_classes(Z: np.ndarray, y: np.ndarray, rng: np.random.RandomState) -> dict[str, float]:
    """Share of rows whose class five neighbours tell; nothing where most targets are there once."""
    classes, codes = np.unique(y, return_inverse=True)
    if not 1 < len(classes) <= len(y) / 2 or len(y) < 10:
        return {}
    order = KFold(5, shuffle=True, random_state=rng)
    # Codes: targets such as 0.5 and 1.5 are classes here, and numbers to scikit-learn.
    return {"accuracy of 5 neighbours": float(cross_val_score(KNeighborsClassifier(5), Z, codes, cv=order).mean())}


def _neighbors(points: Any, asked: np.ndarray, k: int) -> np.ndarray:
    points = sp.csr_matrix(points) if sp.issparse(points) else np.asarray(points)
    found = NearestNeighbors(n_neighbors=k + 1).fit(points).kneighbors(points[asked], return_distance=False)
    others = found != asked[:, None]
    others[others.all(axis=1), -1] = False  # copies may stand before the point itself
    return found[others].reshape(len(asked), k)
