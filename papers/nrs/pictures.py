"""Cells of Figs. 6, 7 and 8 of [Blau2017]: rendered heads, and the patches of a photograph."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.datasets import load_sample_image

from papers.data import load_dataset
from papers.nrs.embeddings import embed, read_off
from polyfold.metrics import loo_reconstruction, psnr, redundancy

SIDE, STEP = 7, 4  # patches of 7 × 7 that overlap by 3
FEATURES = ("brightness", "vertical edges", "horizontal edges")


def heads(data: Path | None, *, kernel: str, method: str, tilt: float, light: float, seed: int) -> dict[str, Any]:
    """Two coordinates of the heads with a reduced range of tilt and light: PSNR of all heads rebuilt from them."""
    X, angles = reduced_heads(data, tilt, light)
    Z = embed(method, X, 2, seed, kernel=kernel)
    rebuilt = loo_reconstruction(Z, X)
    follows = [abs(float(spearmanr(z, angle)[0])) for z in Z.T for angle in angles.T]
    return {
        "images": len(X),
        "PSNR": float(np.mean([psnr(a, b, data_range=1.0) for a, b in zip(X, rebuilt, strict=True)])),
        "news": float(redundancy(Z)[1]),
        "rank correlation": follows,
        "tilt by both": read_off(Z, angles[:, 1]),
        "coordinates": Z.round(3),
        "angles": angles.round(3),
    }


def reduced_heads(data: Path | None, tilt: float, light: float) -> tuple[NDArray, NDArray]:
    """Images with |φ| at most `tilt` of its range's half, ψ in the lowest share `light` of its range; pan and tilt."""
    bunch = load_dataset("isomap_faces", data)
    lights, pan, tilts = bunch.target.T
    shares = [(v - v.min()) / np.ptp(v) for v in (lights, tilts)]
    rows = (shares[0] <= light) & (np.abs(shares[1] - 0.5) <= tilt / 2)
    return bunch.data[rows].astype(float), np.column_stack([pan, tilts])[rows]


def patches(data: Path | None, *, image: str, method: str, thin: int, seed: int) -> dict[str, Any]:
    """Three Isomap coordinates of all patches of a photograph: what each shows, and what is rebuilt from them."""
    picture, corners, X = cut(image, thin)
    Z = embed(method, X, 3, seed, kernel="isomap")
    rebuilt, seen = overlaid(picture.shape, corners, loo_reconstruction(Z, X))
    features = patch_features(X)
    return {
        "patches": len(X),
        "PSNR": psnr(picture[seen], rebuilt[seen], data_range=1.0),
        "news": redundancy(Z),
        "shown": [[read_off(z[:, None], feature) for feature in features] for z in Z.T],
        "by all": [read_off(Z, feature) for feature in features],
        "plane": Z[:: max(1, len(Z) // 600), :2].round(3),
        "maps": [as_map(corners, z).round(2) for z in Z.T],
        "rebuilt": rebuilt.round(2),
    }


@lru_cache(maxsize=1)
def cut(image: str, thin: int) -> tuple[NDArray, list[tuple[int, int]], NDArray]:
    """Photograph in grey, every `thin`-th pixel, the corners of its patches, and the patches."""
    picture = load_sample_image(image).mean(axis=2)[::thin, ::thin] / 255.0
    height, width = picture.shape
    corners = [(i, j) for i in range(0, height - SIDE + 1, STEP) for j in range(0, width - SIDE + 1, STEP)]
    return picture, corners, np.array([picture[i : i + SIDE, j : j + SIDE].ravel() for i, j in corners])


def patch_features(X: NDArray) -> list[NDArray]:
    """Mean of every patch, and its mean slopes across (vertical edges) and down (horizontal edges)."""
    P = X.reshape(-1, SIDE, SIDE)
    ramp = np.arange(SIDE) - SIDE // 2
    return [P.mean(axis=(1, 2)), np.einsum("nij,j->n", P, ramp), np.einsum("nij,i->n", P, ramp)]


def as_map(corners: list[tuple[int, int]], z: NDArray) -> NDArray:
    """Values of patches as a picture, in deviations from their mean."""
    places = np.array(corners) // STEP
    out = np.zeros(places.max(axis=0) + 1)
    out[places[:, 0], places[:, 1]] = (z - z.mean()) / z.std()
    return np.clip(out, -2.5, 2.5)


def overlaid(shape: tuple[int, ...], corners: list[tuple[int, int]], X: NDArray) -> tuple[NDArray, NDArray]:
    """Return the mean of overlapping patches, and which pixels they cover."""
    total, count = np.zeros(shape), np.zeros(shape)
    for (i, j), patch in zip(corners, X, strict=True):
        total[i : i + SIDE, j : j + SIDE] += patch.reshape(SIDE, SIDE)
        count[i : i + SIDE, j : j + SIDE] += 1
    return total / np.maximum(count, 1), count > 0
