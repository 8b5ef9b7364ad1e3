"""Does bootstrap clustering reach half a million rows on two cores, and is it as good there?

Design: the 60,000 training images of MNIST again and again, in another order every time, each turned by up to 5°,
stretched by up to a twentieth and shifted by up to a pixel, seeded by block (`Distorted`, a stream that is made anew
whenever it is gone through). ``BootstrapClustering(10)`` with everything else left to it, every size in a fresh process
on two threads, or POLYFOLD_JOBS.

- ``growth``: 60,000, 125,000, 250,000 and 500,000 rows: seconds, processor seconds, peak of the anonymous memory above
  what was there before, NMI and accuracy of all rows, and of those that the network has not learned from; the exponents
  of time from 60,000 rows.
- ``sample``: the same 250,000 rows with other `max_samples`.

Expected: exponents of at most 1.2, at most 8 GB, NMI not below that of 60,000 rows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import polyfold as pf
from benchmarks.studies.scale import in_fresh_process, watched
from papers.data import load_dataset
from polyfold.metrics import clustering_accuracy, nmi

SIZES = (60_000, 125_000, 250_000, 500_000)
SAMPLES = (2**15, 2**16, 2**17)
BLOCK = 10_000
IMAGES, SIDE = 60_000, 28
JOBS = int(os.environ.get("POLYFOLD_JOBS", "2"))
# Bounds of angle in radians, of the factor of the size and of the shift in pixels.
TURN, STRETCH, SHIFT = np.pi / 36, 0.05, 1.0


class Distorted:
    """Distorted digits in blocks of bytes.

    Parameters
    ----------
    data : path
        Folder of the data sets.
    rows : int
    """

    def __init__(self, data: Path, rows: int):
        X, y = load_dataset("mnist", data, return_X_y=True)
        self.images, self.digits, self.rows = X[:IMAGES].reshape(-1, SIDE, SIDE), y[:IMAGES], rows

    def __iter__(self) -> Iterator[np.ndarray]:
        for start in range(0, self.rows, BLOCK):
            count = min(BLOCK, self.rows - start)
            rng = np.random.default_rng([start, 1])
            angle, stretch = rng.uniform(-TURN, TURN, count), 1 + rng.uniform(-STRETCH, STRETCH, count)
            maps = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1) / stretch[:, None]
            out = np.empty((count, SIDE, SIDE), dtype=np.uint8)
            _distort(self.images[self._order(start, count)], maps, rng.uniform(-SHIFT, SHIFT, (count, 2)), out)
            yield out.reshape(count, -1)

    @property
    def labels(self) -> np.ndarray:
        """The digits of all rows."""
        starts = range(0, self.rows, BLOCK)
        return np.concatenate([self.digits[self._order(i, min(BLOCK, self.rows - i))] for i in starts])

    def _order(self, start: int, count: int) -> np.ndarray:
        """Which images the rows from `start` on are made of: all of them before one comes again."""
        order = np.random.default_rng(start // IMAGES).permutation(IMAGES)
        return order[start % IMAGES : start % IMAGES + count]


@njit
def _distort(images, maps, shifts, out):
    """Map every image about its centre, by bilinear interpolation, with zeros outside."""
    n, height, width = images.shape
    middle = (height - 1) / 2
    for i in range(n):
        for r in range(height):
            for c in range(width):
                y = maps[i, 0] * (r - middle) + maps[i, 1] * (c - middle) + middle + shifts[i, 0]
                x = maps[i, 2] * (r - middle) + maps[i, 3] * (c - middle) + middle + shifts[i, 1]
                top, left = int(np.floor(y)), int(np.floor(x))
                total = 0.0
                for dy in range(2):
                    for dx in range(2):
                        if 0 <= top + dy < height and 0 <= left + dx < width:
                            share = (1 - abs(y - top - dy)) * (1 - abs(x - left - dx))
                            total += share * images[i, top + dy, left + dx]
                out[i, r, c] = np.uint8(round(total))


def model(seed: int = 0, max_samples: int | None = None) -> pf.BootstrapClustering:
    """Return the clustering of this study."""
    given = {} if max_samples is None else {"max_samples": max_samples}
    network = pf.MultilayerBootstrapNetwork(10, n_classes=10, random_state=seed, n_jobs=JOBS, **given)
    return pf.BootstrapClustering(10, network=network, random_state=seed, n_jobs=JOBS)


def fit_one(data: Path, rows: int, seed: int = 0, max_samples: int | None = None) -> dict[str, Any]:
    """Measure one fit."""
    warm = Distorted(data, 12_000)
    model(max_samples=11_000).fit(warm)  # what is loaded and compiled on first use
    X, clustering = Distorted(data, rows), model(seed, max_samples)
    figures: dict[str, Any] = watched(lambda: clustering.fit(X))
    y, labels = X.labels, clustering.labels_
    figures |= {"nmi": 100 * nmi(y, labels), "acc": 100 * clustering_accuracy(y, labels)}
    network = clustering.network_
    if network.sample_indices_ is not None:
        others = np.delete(np.arange(rows), network.sample_indices_)
        figures["nmi of the others"] = 100 * nmi(y[others], labels[others])
    figures |= {"recall": network.neighbor_recall_, "disagreement": network.disagreement_}
    chosen = {"clusterings": network.n_clusterings_, "share": network.feature_fraction_, "layer": clustering.layer_}
    return figures | chosen | {"threads": JOBS}


def growth(data: Path) -> dict[str, Any]:
    """Time, memory and quality against the number of rows."""
    figures: dict[str, Any] = {str(rows): in_fresh_process(fit_one, data, rows) for rows in SIZES}
    first, last = figures[str(SIZES[0])], figures[str(SIZES[-1])]
    ratio = np.log(SIZES[-1] / SIZES[0])
    exponents = {clock: float(np.log(last[clock] / first[clock]) / ratio) for clock in ("seconds", "cpu")}
    return {**figures, "exponents": exponents, "nmi_gain": last["nmi"] - first["nmi"]}


def sample(data: Path) -> dict[str, Any]:
    """Quality and time against the rows that are learned from."""
    return {str(most): in_fresh_process(fit_one, data, SIZES[2], 0, most) for most in SAMPLES}


PARTS = {"growth": growth, "sample": sample}

if __name__ == "__main__":
    print(fit_one(Path(sys.argv[1]), int(sys.argv[2]), 0, int(sys.argv[3]) if len(sys.argv) > 3 else None))
