"""How do graph kernels grow with the rows, in time, in memory and in what their coordinates say?

Design: ``NonRedundantEmbedding(5)`` with its default kernel, every size in a fresh process and from a memmap.

- ``images``: MNIST, every image as often as it takes, each time turned (10° standard deviation), scaled (5 %) and moved
  (1 pixel) by a seed of its block; error of 10 nearest neighbours in the coordinates of 10,000 rows, one half by the
  other.
- ``roll``: a Swiss roll of two known coordinates (`polyfold.datasets.make_swiss_roll`); R² of both by 10 nearest
  neighbours in the five coordinates, in the same way.
- ``landmarks``: the largest size as a stream with a budget of half of its rows, and on Dask: 50,000 rows stand for all,
  which are placed block by block; R² and errors as above.
- ``kernels``: plain embeddings by the other graph kernels on the roll.
- ``million``: 1,000,000 rows of the roll, non-redundant and plain.

``POLYFOLD_SIZES`` sets the sizes, 60000,125000,250000,500000 unless given. Seconds, processor seconds and the peak of
the anonymous memory above what was there before; pages of the mapped file are the system's. The exponent is that of
processor seconds between the first size and the last.

Expected: at most 12 GB and N^1.25; error and R² of the largest size not worse than those of the smallest.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import polyfold as pf
from benchmarks.studies.scale import in_fresh_process, watched
from papers.data import load_dataset

SIZES = tuple(map(int, os.environ.get("POLYFOLD_SIZES", "60000,125000,250000,500000").split(",")))
BLOCK, SIDE, SCORED = 10_000, 28, 10_000
KERNELS = ("diffusion", "lle", "ltsa", "hessian_lle", "isomap")


def write_images(path: str, data: Path, rows: int) -> np.ndarray:
    """Write distorted images in single precision, block by block; return their digits."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    images = X.reshape(-1, SIDE, SIDE).astype(np.float32)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, SIDE * SIDE))
    numbers = np.arange(rows) % len(images)
    for start in range(0, rows, BLOCK):
        block = slice(start, min(start + BLOCK, rows))
        count = block.stop - block.start
        rng = np.random.RandomState(start)
        angles, scales = 0.17 * rng.standard_normal(count), 1 + 0.05 * rng.standard_normal(count)
        moves = rng.standard_normal((count, 2))
        distort(images[numbers[block]], angles, scales, moves, out[block].reshape(count, SIDE, SIDE))
    return y[numbers]


@njit(cache=True)
def distort(images, angles, scales, moves, out):
    """Turn, scale and move images about their centres, by bilinear interpolation; zero outside."""
    n, height, width = images.shape
    for i in range(n):
        cos, sin = np.cos(angles[i]) / scales[i], np.sin(angles[i]) / scales[i]
        for a in range(height):
            for b in range(width):
                y, x = a - (height - 1) / 2 - moves[i, 0], b - (width - 1) / 2 - moves[i, 1]
                row, column = cos * y - sin * x + (height - 1) / 2, sin * y + cos * x + (width - 1) / 2
                r, c = int(np.floor(row)), int(np.floor(column))
                value = 0.0
                for u in range(2):
                    for v in range(2):
                        if 0 <= r + u < height and 0 <= c + v < width:
                            share = (1 - abs(row - r - u)) * (1 - abs(column - c - v))
                            value += share * images[i, r + u, c + v]
                out[i, a, b] = value


def write_roll(path: str, rows: int) -> np.ndarray:
    """Write a roll in single precision; return its coordinates."""
    X, places = pf.datasets.make_swiss_roll(rows, random_state=0)
    np.save(path, X.astype(np.float32))
    return places


def scores(Z: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Error of the digits or R² of the places of half of some rows, by their neighbours in the other half."""
    some = np.random.RandomState(0).choice(len(Z), min(len(Z), SCORED), replace=False)
    Z, truth = Z[some] / Z[some].std(axis=0), truth[some]
    half = len(some) // 2
    if truth.ndim == 1:
        model = KNeighborsClassifier(10).fit(Z[:half], truth[:half])
        return {"error, %": 100 * (1 - model.score(Z[half:], truth[half:]))}
    models = [KNeighborsRegressor(10).fit(Z[:half], place[:half]) for place in truth.T]
    return {"R²": [model.score(Z[half:], place[half:]) for model, place in zip(models, truth.T, strict=True)]}


def fitted(path: str, truth: np.ndarray) -> dict[str, Any]:
    """Measure one fit in this process, and judge it."""
    X = np.load(path, mmap_mode="r")
    pf.NonRedundantEmbedding(2, random_state=0).fit(np.array(X[:1500]))  # what is compiled and loaded on first use
    model = pf.NonRedundantEmbedding(5, random_state=0)
    figures: dict[str, Any] = watched(lambda: model.fit(X))
    return {**figures, **scores(model.embedding_, truth), **told(model)}


def told(model: Any) -> dict[str, Any]:
    """Return what the fitted model says of itself."""
    said: dict[str, Any] = {"recall": model.neighbor_recall_, "residuals": model.residuals_}
    if hasattr(model, "novelty_"):
        said |= {"redundancy": model.novelty_, "bandwidths": model.bandwidths_}
    if model.landmarks_ is not None:
        said |= {"landmarks": len(model.landmarks_)}
    return said


def grown(write: Any) -> dict[str, Any]:
    """Measure every size, and how they grow."""
    figures: dict[str, Any] = {}
    for rows in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            truth = write(f"{folder}/X.npy", rows)
            figures[str(rows)] = in_fresh_process(fitted, f"{folder}/X.npy", truth)
            print(rows, figures[str(rows)], flush=True)
    first, last = (figures[str(rows)]["cpu"] for rows in (SIZES[0], SIZES[-1]))
    return {**figures, "exponent": float(np.log(last / first) / np.log(SIZES[-1] / SIZES[0]))}


def images(data: Path) -> dict[str, Any]:
    """Measure fits of distorted images."""
    return grown(lambda path, rows: write_images(path, data, rows))


def roll(data: Path) -> dict[str, Any]:
    """Measure fits of a roll."""
    return grown(write_roll)


def by_landmarks(path: str, truth: np.ndarray, kind: str) -> dict[str, Any]:
    """Measure a fit by landmarks, and the placing of all rows, in this process."""
    import dask.array as da

    X = np.load(path, mmap_mode="r")
    rows: Any = da.from_array(X).rechunk((BLOCK, X.shape[1])) if kind == "dask" else X
    pf.NonRedundantEmbedding(2, random_state=0).fit(np.array(X[:1500]))
    model, placed = pf.NonRedundantEmbedding(5, random_state=0), []
    with pf.sources.memory_budget(max(10**7, X.nbytes // 2)):
        fit = watched(lambda: model.fit(rows))
        place = watched(lambda: placed.append(np.asarray(model.transform(rows))))
    return {"fit": fit, "transform": place, **scores(placed[0], truth), **told(model)}


def landmarks(data: Path) -> dict[str, Any]:
    """Measure fits by landmarks of the largest size."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, truth, kinds in (
            ("roll", write_roll(f"{folder}/roll.npy", SIZES[-1]), ("dask",)),  # as a stream, it fits any budget
            ("images", write_images(f"{folder}/images.npy", data, SIZES[-1]), ("stream", "dask")),
        ):
            for kind in kinds:
                path = f"{folder}/{name}.npy"
                figures[f"{name}, {kind}"] = in_fresh_process(by_landmarks, path, truth, kind)
                print(name, kind, figures[f"{name}, {kind}"], flush=True)
    return figures


def plain(path: str, truth: np.ndarray, kernel: str) -> dict[str, Any]:
    """Measure a plain embedding by one kernel in this process."""
    X = np.load(path, mmap_mode="r")
    pf.KernelEmbedding(2, kernel=kernel, random_state=0).fit(np.array(X[:1500]))
    model = pf.KernelEmbedding(5, kernel=kernel, random_state=0)
    figures: dict[str, Any] = watched(lambda: model.fit(X))
    some = np.random.RandomState(1).choice(len(X), SCORED, replace=False)
    return {**figures, **scores(model.transform(np.array(X[some])), truth[some]), **told(model)}


def kernels(data: Path) -> dict[str, Any]:
    """Measure the other graph kernels on the roll."""
    figures: dict[str, Any] = {}
    for rows in (SIZES[0], SIZES[-1]):
        with tempfile.TemporaryDirectory() as folder:
            truth = write_roll(f"{folder}/X.npy", rows)
            for kernel in KERNELS:
                figures[f"{kernel}, {rows}"] = in_fresh_process(plain, f"{folder}/X.npy", truth, kernel)
                print(kernel, rows, figures[f"{kernel}, {rows}"], flush=True)
    return figures


def million(data: Path) -> dict[str, Any]:
    """Measure both kinds of embedding on a million rows of the roll."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/X.npy"
        truth = write_roll(path, 10**6)
        return {
            "NonRedundantEmbedding": in_fresh_process(fitted, path, truth),
            "KernelEmbedding": in_fresh_process(plain, path, truth, "laplacian_eigenmaps"),
        }


PARTS = {"images": images, "roll": roll, "landmarks": landmarks, "kernels": kernels, "million": million}
