"""Does `recall_` ± 2 `recall_error_` of a search cover the true recall?

Design: 8,000 rows in 8 modules of 4 dimensions, 3,000 new rows from the same distribution, a wanted recall of 0.9 of
10 neighbours, 100 repetitions with other rows. Three kinds of data: rows near a surface of six dimensions, Gaussian
noise in 32 dimensions (hard for graphs), and rows near a surface rounded to a grid (ties and duplicate rows). The truth
is the recall of all training rows, each without itself, and of all new rows, by exact search; a neighbour at the
distance of the k-th true one is a hit.

Expected: coverage of at least 90 % for scans and graphs, for training rows and new rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

import polyfold as pf
from benchmarks.studies.modular import Given

M, H, K = 8, 4, 10
ROWS, NEW = 8000, 3000
REPETITIONS = 100


def surface(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows near a curved surface of six dimensions."""
    axes = np.random.default_rng(7).standard_normal((6, M * H))
    return np.tanh(rng.standard_normal((n, 6)) @ axes) + 0.1 * rng.standard_normal((n, M * H))


def noise(n: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian rows without structure."""
    return rng.standard_normal((n, M * H))


def grid(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows near a curve rounded to a coarse grid."""
    axes = np.random.default_rng(7).standard_normal((2, M * H))
    return np.rint(3 * np.tanh(rng.standard_normal((n, 2)) @ axes))


KINDS = {"surface": surface, "noise": noise, "grid": grid}


def true_recall(index: Any, Z: np.ndarray, new: np.ndarray | None) -> float:
    """Recall of all training rows, or of all new rows."""
    exact = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(Z)
    limits = exact.kneighbors(new)[0][:, -1:]
    return float(np.mean(index.kneighbors(new)[0] * M**0.5 <= limits * (1 + 1e-6) + 1e-6))


def repetition(kind: str, engine: str, seed: int, recall: float = 0.9) -> dict[str, float]:
    """Estimate and truth for one draw of rows."""
    rng = np.random.default_rng(seed)
    Z, new = KINDS[kind](ROWS, rng), KINDS[kind](NEW, rng)
    index = pf.ModularNeighbors(Given(M), n_neighbors=K, engine=engine, recall=recall).fit(Z)
    found = {"training": true_recall(index, Z, None), "new": true_recall(index, Z, new)}
    return {"estimate": index.recall_, "error": index.recall_error_, **found}


def coverage(folder: Path) -> dict[str, Any]:
    """Fraction of repetitions in which two errors cover the truth, mean deviation and mean error."""
    return {
        f"{kind}, {engine}": summary([repetition(kind, engine, seed) for seed in range(REPETITIONS)])
        for kind in KINDS
        for engine in ("faiss", "hnsw")
    }


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Summarise the repetitions of one setting."""
    values = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    figures = {
        "repetitions": len(runs),
        "mean estimate": values["estimate"].mean(),
        "mean error": values["error"].mean(),
    }
    for name in ("training", "new"):
        deviation = values["estimate"] - values[name]
        figures[f"covered, {name} rows"] = np.mean(np.abs(deviation) <= 2 * values["error"])
        figures[f"mean deviation, {name} rows"] = deviation.mean()
    return {name: float(value) for name, value in figures.items()}


PARTS = {"coverage": coverage}
