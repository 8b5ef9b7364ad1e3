"""Do a few coordinates say more with our methods, for a classifier and of the directions of a manifold?

Design, one part each, three draws; every method has 15 neighbours and otherwise its own settings, ours all their own:

- ``classes``: 5,000 images of MNIST, of USPS (held out), and digits; 5-fold error of 10 nearest neighbours, and of an
  SVM (Gaussian kernel, C = 10, coordinates of unit variance), on 2, 3, 5 and 10 coordinates. Embeddings see all rows,
  but no labels.
- ``manifolds``: rolls, strip and ring, and the twelve shapes of `_held_out.py`, 2,000 points; as many
  coordinates as directions; lowest R² of any direction by 10-nearest-neighbours regression.
- ``fifteen``: 15,000 images, UMAP judged by the SVM of the paper's Table 1, whose errors (`docs/reproduction`, other
  draws) stand beside it on the page.

Expected: UMAP separates digits with the fewest coordinates; directions of manifolds are read off ours.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polyfold as pf
from benchmarks._measure import measured
from benchmarks._record import RESULTS, record
from benchmarks.clusterers import NEIGHBORS
from benchmarks.labelled import load_labelled
from benchmarks.studies._held_out import SHAPES, N
from benchmarks.studies.nonredundant import read_off, svm_error
from papers.data import load_dataset

DRAWS = (0, 1, 2)
COUNTS = (2, 3, 5, 10)
SETS = ("digits", "mnist", "usps_11000")
# Whose first coordinates are others where more are asked for.
UNNESTED = ("UMAP", "polyfold BootstrapMap")
Embed = Callable[[np.ndarray, int, int], np.ndarray]


def umap(X: np.ndarray, d: int, seed: int) -> np.ndarray:
    """umap-learn with its own settings."""
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="umap|sklearn")
        return UMAP(n_components=d, n_neighbors=NEIGHBORS, random_state=seed, n_jobs=1).fit_transform(X)


def eigenmaps(X: np.ndarray, d: int, seed: int) -> np.ndarray:
    """Plain eigenmaps, columns of unit variance."""
    Z = pf.KernelEmbedding(d, kernel="laplacian_eigenmaps", random_state=seed).fit_transform(X)
    return Z / Z.std(axis=0)


def bootstrap_map(X: np.ndarray, d: int, seed: int) -> np.ndarray:
    """Map of a network's neighbours, by t-SNE in two dimensions and by UMAP in more."""
    layout = "tsne" if d <= 2 else "umap"
    return pf.BootstrapMap(d, layout=layout, random_state=seed, n_jobs=1).fit_transform(X)


def bootstrap_network(X: np.ndarray, d: int, seed: int) -> np.ndarray:
    """Output of a bootstrap network."""
    return pf.MultilayerBootstrapNetwork(d, random_state=seed).fit_transform(X)


METHODS: dict[str, Embed] = {
    "SpectralEmbedding": lambda X, d, seed: SpectralEmbedding(
        d, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=seed
    ).fit_transform(X),
    "Isomap": lambda X, d, seed: Isomap(n_neighbors=NEIGHBORS, n_components=d).fit_transform(X),
    # It gives no more coordinates than there are columns.
    "LLE": lambda X, d, seed: LocallyLinearEmbedding(
        n_neighbors=NEIGHBORS, n_components=min(d, X.shape[1]), random_state=seed
    ).fit_transform(X),
    "UMAP": umap,
    "polyfold KernelEmbedding": eigenmaps,
    "polyfold NonRedundantEmbedding": lambda X, d, seed: pf.NonRedundantEmbedding(d, random_state=seed).fit_transform(
        X
    ),
}


def classes(data: Path) -> dict[str, Any]:
    """Errors of both classifiers, for every set, method and number of coordinates, one value for every draw."""
    figures = _recorded("classes")
    methods = {
        **METHODS,
        "polyfold MultilayerBootstrapNetwork": bootstrap_network,
        "polyfold BootstrapMap": bootstrap_map,
    }
    for name in SETS:
        for method, embed in methods.items():
            if method in figures.get(name, {}):
                continue
            draws = [class_errors(name, data, embed, method not in UNNESTED, seed) for seed in DRAWS]
            rows = {key: [draw[key] for draw in draws] for key in draws[0]}
            figures.setdefault(name, {})[method] = rows
            print(name, method, rows, flush=True)
            record("coordinates", "classes", figures)
    return figures


def class_errors(name: str, data: Path, embed: Embed, nested: bool, seed: int) -> dict[str, Any]:
    """Errors in per cent by number of coordinates, and processor seconds and peak memory of all fits."""
    whole = load_labelled(name, data, rows=None)
    rows = np.random.RandomState(seed).permutation(len(whole.y))[:5000]
    X, y = whole.X[rows].astype(np.float32), whole.y[rows]
    if nested:
        seen = measured(lambda: embed(X, max(COUNTS), seed))
        Z = {d: seen.result[:, :d] for d in COUNTS}
    else:
        seen = measured(lambda: {d: embed(X, d, seed) for d in COUNTS})
        Z = seen.result
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    judges = {"10-NN": KNeighborsClassifier(10), "SVM": make_pipeline(StandardScaler(), SVC(C=10.0))}
    return {
        **{
            judge: [round(100 * (1 - cross_val_score(model, Z[d], y, cv=folds).mean()), 2) for d in COUNTS]
            for judge, model in judges.items()
        },
        "cpu": round(seen.cpu, 1),
        "megabytes": round(seen.megabytes or 0.0),
    }


def roll(noise: float) -> Callable[[np.random.RandomState], tuple[np.ndarray, np.ndarray]]:
    """Swiss roll of even density."""
    return lambda rng: pf.datasets.make_swiss_roll(N, noise=noise, random_state=rng)


def strip(rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Flat strip, 3.5 times as long as wide."""
    return pf.datasets.make_strip(N, ratio=3.5, random_state=rng)


def ring(rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Surface of a ring: around the axis, and up and down, which the distance from the axis does not tell."""
    X, angles = pf.datasets.make_ring(N, random_state=rng)
    outer, inner = angles.T
    return X, np.column_stack([np.cos(outer), np.sin(outer), np.sin(inner)])


KNOWN = {"Swiss roll, 2": roll(0.0), "Swiss roll, noise 0.5, 2": roll(0.5), "strip, 2": strip, "ring, 3": ring}


def manifolds(_: Path) -> dict[str, Any]:
    """Lowest R² of any direction, for every shape and method, one value for every draw."""
    figures = _recorded("manifolds")
    for name, make in {**KNOWN, **SHAPES}.items():
        for method, embed in METHODS.items():
            if method in figures.get(name, {}):
                continue
            figures.setdefault(name, {})[method] = [lowest(make, embed, seed) for seed in DRAWS]
            print(name, method, figures[name][method], flush=True)
        record("coordinates", "manifolds", figures)
    return figures


def lowest(make: Callable[..., tuple[np.ndarray, np.ndarray]], embed: Embed, seed: int) -> float:
    """R² of the direction that is read off worst."""
    X, directions = make(np.random.RandomState(seed))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected|The number of connected components")
        Z = embed(X, directions.shape[1], seed)
    return round(min(read_off(Z, t) for t in directions.T), 3)


def fifteen(data: Path) -> dict[str, Any]:
    """UMAP of 15,000 images on two and five coordinates: errors of the SVM of the paper's Table 1, by draw."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    errors: dict[str, list[float]] = {"2": [], "5": []}
    for seed in DRAWS:
        rows = np.random.RandomState(seed).choice(len(X), 15000, replace=False)
        for d, found in errors.items():
            found.append(round(svm_error(umap(X[rows].astype(np.float32), int(d), seed), y[rows], seed), 2))
            print(seed, d, found, flush=True)
    return errors


def _recorded(part: str) -> dict[str, Any]:
    """Figures of a part that are already there: a run adds what is missing."""
    path = RESULTS / "coordinates.json"
    return json.loads(path.read_text())["figures"].get(part, {}) if path.exists() else {}


PARTS = {"classes": classes, "manifolds": manifolds, "fifteen": fifteen}
