"""Cells of Figs. 1, 2 and 4 of [Blau2017]: the roll, the strip and the ring."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import kneighbors_graph

from papers.nrs.embeddings import PLAIN, embed, read_off
from polyfold.datasets import make_ring, make_strip, make_swiss_roll
from polyfold.metrics import redundancy

NEIGHBORS = 10


def roll(
    data: Path | None, *, kernel: str, method: str, noise: float, height: float, rows: int, shown: int, seed: int
) -> dict[str, Any]:
    """Score two coordinates of a roll: novelty of the second, and R² of length and height."""
    X, sheet = make_swiss_roll(rows, height=height, noise=noise, random_state=seed)
    Z = embed(method, X, 2, seed, kernel=kernel)
    names = ("length by the first", "height by the second", "height by both")
    read = (read_off(Z[:, :1], sheet[:, 0]), read_off(Z[:, 1:], sheet[:, 1]), read_off(Z, sheet[:, 1]))
    return {"news": float(redundancy(Z)[1]), **dict(zip(names, read, strict=True)), **_shown(sheet, Z, shown)}


def strip(data: Path | None, *, ratio: float, coordinates: int, rows: int, shown: int, seed: int) -> dict[str, Any]:
    """R² of every plain coordinate of a strip by its place along and across."""
    X, place = make_strip(rows, ratio=ratio, random_state=seed)
    Z = embed(PLAIN, X, coordinates, seed)
    by = {name: [read_off(place[:, i : i + 1], z) for z in Z.T] for i, name in enumerate(("along", "across"))}
    return {**by, **_shown(place, Z, shown)}


def ring(data: Path | None, *, method: str, rows: int, shown: int, seed: int) -> dict[str, Any]:
    """Score three coordinates of a ring: novelty of the third, and R² of going up and down, which it should show."""
    X, angles = make_ring(rows, random_state=seed)
    Z = embed(method, X, 3, seed)
    up = np.sin(angles[:, 1])  # the cosine is the distance from the axis, which plain coordinates show
    return {"news": redundancy(Z).tolist(), "inner angle": read_off(Z, up), **_shown(X, Z, shown)}


def collapsed(data: Path | None, *, rows: int, seed: int) -> dict[str, Any]:
    """Move every point of a ring along its outer angle θ to where cos θ is 0, and count the parts of its graph."""
    X, angles = make_ring(rows, random_state=seed)
    across = np.hypot(X[:, 0], X[:, 1])
    side = np.where(np.sin(angles[:, 0]) > 0, 1.0, -1.0)
    moved = np.column_stack([np.zeros(rows), side * across, X[:, 2]])
    parts = [_parts(points, min(NEIGHBORS, rows - 1)) for points in (X, moved)]
    return {"parts before": parts[0], "parts after": parts[1]}


def _parts(X: NDArray, neighbors: int) -> int:
    return int(connected_components(kneighbors_graph(X, neighbors), directed=False)[0])


def _shown(place: NDArray, Z: NDArray, shown: int) -> dict[str, Any]:
    """Return the first points, for the figure."""
    return {"place": place[:shown].round(2), "coordinates": Z[:shown].round(3)} if shown else {}
