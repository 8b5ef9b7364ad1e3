"""Measure what unpredictable coordinates say beyond uncorrelated ones, and what they cost.

Design, after [Blau2017]; plain and non-redundant embeddings always share the kernel and its defaults. The tables and
figures of the paper are experiments (`python -m papers nrs`).

- rolls: Swiss rolls of 1,500 and 4,000 points, height scaled by 0.5 and 1, six draws; cross-validated R² of the
  height by 10-nearest-neighbours regression from two coordinates; LTSA and Hessian LLE also with noise 0.3, Isomap
  with more and more noise until neighbours join the turns of the roll, with the classical graph and the one that avoids
  shortcuts.
- shapes: the strip with L1 = 3.5 L2 and the ring, six draws: correlation of the first redundant coordinate with the
  missing direction, R² of that direction from all coordinates as on rolls, and n_components="auto" for all kernels.
- new points: 13,000 images fitted and 2,000 new ones; error of a cubic SVM (C in 1 … 10, γ in 0.1 … 0.2, features of
  unit variance, coef0 = 1) on the new ones, against all 15,000 fitted.
- held out: twelve shapes of `_held_out.py` that took no part in choosing anything, three draws of 2,000 points; lowest
  R² of any direction (nearest neighbours, as on rolls) from as many coordinates as there are directions; and digits and
  faces: cross-validated error of 5-NN.
- clusters: neighbour graph of a bootstrap network of 5,000 images (layer 5 of 8, 1 − similarity), error of 10-NN.
- cost: 11 coordinates of 15,000 images against plain eigenmaps with its neighbour graph; growth from 5,000 to 60,000.

Expected: the height is found where plain embeddings do not; a few times the time of plain eigenmaps, nearly
linear in n.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

import polyfold as pf
from benchmarks.studies._held_out import SHAPES
from papers.data import load_dataset

DRAWS = (0, 1, 2)
SHAPE_DRAWS = (0, 1, 2, 3, 4, 5)
KERNELS = ("laplacian_eigenmaps", "diffusion", "lle", "hessian_lle", "ltsa", "isomap")
ISOMAP_NOISE = (0.5, 0.7, 0.8, 0.9, 1.0)


def images(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """All images in single precision, and their digits."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    return X.astype(np.float32), y


def plain(n_components: int, kernel: Any, X: np.ndarray) -> np.ndarray:
    """Plain spectral embedding; columns of unit variance, but for Isomap's, which have units."""
    Z = pf.KernelEmbedding(n_components, kernel=kernel).fit_transform(X)
    return Z if kernel == "isomap" else Z / Z.std(axis=0)


def rolls() -> dict[str, Any]:
    """R² of the height, plain and non-redundant, of every draw."""
    cases = [(kernel, 0.0, (1500, 4000)) for kernel in KERNELS]
    cases += [("ltsa", 0.3, (1500, 4000)), ("hessian_lle", 0.3, (1500, 4000))]
    cases += [(kernel, noise, (1500,)) for kernel in ("isomap", "isomap, avoid") for noise in ISOMAP_NOISE]
    figures: dict[str, Any] = {}
    for kernel, noise, sizes in cases:
        for n in sizes:
            for height in (0.5, 1.0):
                scores = np.array([roll_scores(kernel, n, height, noise, seed) for seed in SHAPE_DRAWS])
                figures[f"{kernel}, noise {noise:g}, {n} points, height {height:g}"] = {
                    "plain": scores[:, 0].round(3),
                    "ours": scores[:, 1].round(3),
                    "bandwidth": scores[:, 2],
                }
    return figures


def roll_scores(kernel: str, n: int, height: float, noise: float, seed: int) -> tuple[float, float, float]:
    """R² of plain and non-redundant coordinates, and the bandwidth found."""
    X, level = scaled_roll(n, height, noise, seed)
    chosen = pf.kernels.Isomap(shortcuts="avoid") if kernel == "isomap, avoid" else kernel
    model = pf.NonRedundantEmbedding(kernel=chosen, random_state=seed).fit(X)
    Z = pf.KernelEmbedding(2, kernel=chosen).fit_transform(X)
    before = Z if kernel.startswith("isomap") else Z / Z.std(axis=0)
    return read_off(before, level), read_off(model.embedding_, level), float(model.bandwidths_[1])


def scaled_roll(n: int, height: float, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Swiss roll, and its height before scaling."""
    X, _ = make_swiss_roll(n, noise=noise, random_state=seed)
    level = X[:, 1].copy()
    X[:, 1] *= height
    return X, level


def read_off(Z: np.ndarray, target: np.ndarray) -> float:
    """Cross-validated R² of a direction by nearest neighbours among the coordinates."""
    folds = KFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(KNeighborsRegressor(10), Z, target, cv=folds).mean())


def shapes() -> dict[str, Any]:
    """Measure what strip and ring miss in plain coordinates and have in ours, and how many coordinates are found."""
    kernel = "laplacian_eigenmaps"
    figures: dict[str, Any] = {}
    for name, missing in (("strip, width", 2), ("ring, inner angle", 3)):
        rows = [shape_scores(kernel, name, missing, seed) for seed in SHAPE_DRAWS]
        for label, values in zip(("correlation", "R²"), np.array(rows).transpose(1, 2, 0), strict=True):
            figures[f"{name}, {label}"] = {"plain": values[0].round(3), "ours": values[1].round(3)}
    figures["n_components='auto'"] = {kernel: counts(kernel) for kernel in KERNELS}
    return figures


def shape_scores(kernel: str, name: str, missing: int, seed: int) -> list[list[float]]:
    """Correlation of the coordinate `missing` with the missing direction, and R² of it; plain and ours."""
    if name.startswith("strip"):
        X, place = pf.datasets.make_strip(2000, ratio=3.5, random_state=seed)
        functions, target = np.cos(np.pi * place[:, 1]), place[:, 1]
    else:
        X, angles = pf.datasets.make_ring(2000, random_state=seed)
        # The cosine is the distance from the axis, which plain coordinates show; up and down is what they miss.
        functions, target = np.column_stack([np.sin(angles[:, 1]), np.cos(angles[:, 1])]), np.sin(angles[:, 1])
    ours = pf.NonRedundantEmbedding(missing, kernel=kernel, random_state=seed).fit_transform(X)
    both = (plain(missing, kernel, X), ours)
    return [[correlation(Z[:, -1], functions) for Z in both], [read_off(Z, target) for Z in both]]


def counts(kernel: str) -> dict[str, list[int]]:
    """Coordinates found by n_components="auto": 2 is right for rolls and strip, 3 for the ring."""
    data: dict[str, list[np.ndarray]] = {
        "strip": [pf.datasets.make_strip(2000, ratio=3.5, random_state=seed)[0] for seed in DRAWS],
        "ring": [pf.datasets.make_ring(2000, random_state=seed)[0] for seed in DRAWS],
        "ring, noise 0.03": [pf.datasets.make_ring(2000, noise=0.03, random_state=seed)[0] for seed in DRAWS],
    }
    for n, height, noise in ((1500, 0.5, 0.0), (1500, 1.0, 0.0), (1500, 1.0, 0.3), (4000, 1.0, 0.0)):
        name = f"roll, {n} points, height {height:g}, noise {noise:g}"
        data[name] = [scaled_roll(n, height, noise, seed)[0] for seed in DRAWS]
    return {
        name: [
            pf.NonRedundantEmbedding("auto", kernel=kernel, random_state=seed).fit(X).n_components_
            for seed, X in zip(DRAWS, draws, strict=True)
        ]
        for name, draws in data.items()
    }


def correlation(f: np.ndarray, functions: np.ndarray) -> float:
    """Multiple correlation of a coordinate with functions of the missing direction."""
    X = np.column_stack([np.ones(len(f)), functions])
    fitted = X @ np.linalg.lstsq(X, f, rcond=None)[0]
    return round(float(np.std(fitted) / np.std(f)), 3)


def svm_error(
    Z: np.ndarray, y: np.ndarray, seed: int, *, labelled: int | None = None, test: np.ndarray | None = None
) -> float:
    """Test error in per cent of a cubic SVM tuned as in the paper."""
    order = np.random.RandomState(1000 + seed).permutation(len(y))
    if test is not None:
        order = np.concatenate([order[~np.isin(order, test)], test])
    a, b = (2 * len(y) // 3, 5 * len(y) // 6) if test is None else (len(y) - 4500, len(y) - 2000)
    train, tune, held = order[:a], order[a:b], order[b:]
    train = train[:labelled]
    Z = Z / Z[train].std(axis=0)
    best: tuple[float, Any] = (np.inf, None)
    for C in (1.0, 3.0, 10.0):
        for gamma in (0.1, 0.2):
            svm = SVC(C=C, gamma=gamma, kernel="poly", degree=3, coef0=1.0, cache_size=500).fit(Z[train], y[train])
            error = 1 - svm.score(Z[tune], y[tune])
            best = min(best, (error, svm), key=lambda pair: pair[0])
    return 100 * (1 - best[1].score(Z[held], y[held]))


def new_points(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Errors on 2,000 images that the embedding did not see, and had it seen them."""
    errors = []
    for seed in DRAWS:
        rows = np.random.RandomState(seed).choice(len(X), 15000, replace=False)
        test = np.arange(13000, 15000)
        model = pf.NonRedundantEmbedding(9, random_state=seed).fit(X[rows[:13000]])
        apart = np.concatenate([model.embedding_, model.transform(X[rows[13000:]])])
        together = pf.NonRedundantEmbedding(9, random_state=seed).fit_transform(X[rows])
        errors.append([[svm_error(Z[:, :d], y[rows], seed, test=test) for d in (5, 7, 9)] for Z in (together, apart)])
    together, apart = np.mean(errors, axis=0)
    return {"coordinates": (5, 7, 9), "all fitted": together.round(2), "new": apart.round(2)}


def held_out(data: Path) -> dict[str, Any]:
    """Lowest R² of the directions of new shapes, plain and ours, and errors on digits and faces."""
    figures: dict[str, Any] = {}
    for name, make in SHAPES.items():
        for kernel in ("laplacian_eigenmaps", "diffusion"):
            rows = [lowest_scores(kernel, *make(np.random.RandomState(seed)), seed) for seed in DRAWS]
            figures[f"{name}, {kernel}"] = {
                "plain": [round(row[0], 3) for row in rows],
                "ours": [round(row[1], 3) for row in rows],
                "bandwidths": [row[2] for row in rows],
            }
        X = make(np.random.RandomState(0))[0]
        figures[f"{name}, n_components='auto'"] = pf.NonRedundantEmbedding("auto", random_state=0).fit(X).n_components_
    digits, faces = load_digits(), load_dataset("umist", data)
    figures["digits"] = neighbor_errors(digits.data, digits.target)
    figures["faces"] = neighbor_errors(faces.data.astype(np.float64), faces.target)
    return figures


def lowest_scores(kernel: str, X: np.ndarray, directions: np.ndarray, seed: int) -> tuple[float, float, list[float]]:
    """Lowest R² of any direction from as many plain and non-redundant coordinates, and the bandwidths."""
    count = directions.shape[1]
    model = pf.NonRedundantEmbedding(count, kernel=kernel, random_state=seed).fit(X)
    lowest = [min(read_off(Z, t) for t in directions.T) for Z in (plain(count, kernel, X), model.embedding_)]
    return lowest[0], lowest[1], model.bandwidths_[1:].tolist()


def neighbor_errors(X: np.ndarray, y: np.ndarray, kernel: Any = "laplacian_eigenmaps", k: int = 5) -> dict[str, Any]:
    """Cross-validated error in per cent of k nearest neighbours on 2 … 9 coordinates, plain and ours."""
    counts = (2, 3, 5, 7, 9)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    both = {
        "plain": plain(max(counts), kernel, X),
        "ours": pf.NonRedundantEmbedding(max(counts), kernel=kernel, random_state=0).fit_transform(X),
    }
    return {
        "coordinates": counts,
        **{
            name: [
                round(100 * (1 - cross_val_score(KNeighborsClassifier(k), Z[:, :d], y, cv=folds).mean()), 1)
                for d in counts
            ]
            for name, Z in both.items()
        },
    }


def clusters(data: Path) -> dict[str, Any]:
    """Errors on the neighbour graph of a bootstrap network, whose coordinates are clusters rather than directions."""
    X, y = images(data)
    rows = np.random.RandomState(0).choice(len(X), 5000, replace=False)
    codes = pf.MultilayerBootstrapNetwork(random_state=0).fit(X[rows]).codes(layer=4)
    similarity = np.zeros((len(rows), len(rows)), dtype=np.float32)
    for column in np.asarray(codes).T:
        similarity += column[:, None] == column[None, :]
    kernel = pf.kernels.LaplacianEigenmaps(neighbors="precomputed")
    return neighbor_errors(1.0 - similarity.astype(np.float64) / codes.shape[1], y[rows], kernel, 10)


def cost(X: np.ndarray) -> dict[str, float]:
    """Seconds of 11 coordinates of 15,000 images, plain and non-redundant, neighbour graph included."""
    rows = X[np.random.RandomState(0).choice(len(X), 15000, replace=False)]
    seconds = {}
    for name, model in (
        ("plain", pf.KernelEmbedding(11, kernel="laplacian_eigenmaps")),
        ("ours", pf.NonRedundantEmbedding(11, random_state=0)),
    ):
        start = time.perf_counter()
        model.fit(rows)
        seconds[name] = time.perf_counter() - start
    return {
        **{f"{name}, s": round(value, 1) for name, value in seconds.items()},
        "ratio": seconds["ours"] / seconds["plain"],
    }


def growth(data: Path) -> dict[str, Any]:
    """Seconds and peak memory of 8 coordinates of more and more images, each in a process of its own."""
    sizes = (5000, 10000, 20000, 40000, 60000)
    measured = []
    for n in sizes:
        command = [sys.executable, "-m", "benchmarks.studies.nonredundant", str(data), str(n)]
        line = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-2:]
        measured.append([float(value) for value in line])
    seconds, megabytes = np.array(measured).T
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return {"images": sizes, "seconds": seconds, "peak, MB": megabytes, "exponent": round(float(slope), 2)}


def one_size(data: Path, n: int) -> None:
    """Fit `n` images and print seconds and peak megabytes."""
    X = load_dataset("mnist", data, return_X_y=True)[0][:n].astype(np.float32)
    pf.NonRedundantEmbedding(2, random_state=0).fit(X[:1000])
    start = time.perf_counter()
    pf.NonRedundantEmbedding(8, random_state=0).fit(X)
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


PARTS = {
    "rolls": lambda _: rolls(),
    "shapes": lambda _: shapes(),
    "held out": held_out,
    "clusters": clusters,
    "new points": lambda data: new_points(*images(data)),
    "cost": lambda data: cost(images(data)[0]),
    "growth": growth,
}

if __name__ == "__main__":
    one_size(Path(sys.argv[1]), int(sys.argv[2]))
