"""Images of points as one sheet of thumbnails."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyfold._validation import import_extra

# Sides of thumbnails, largest first, and the bytes a sheet may take.
_SIDES, SHEET_BYTES = (64, 48, 32, 28, 24, 20, 16), 900_000


def as_images(images: ArrayLike, n: int, *, like: ArrayLike | None = None) -> NDArray:
    """Return images as bytes of shape (n, h, w) or (n, h, w, 3).

    Numbers other than bytes are stretched to 0…255, by the smallest and largest value of `like` if given.
    """
    images = np.asarray(images)
    if images.ndim == 2 and int(np.sqrt(images.shape[1])) ** 2 == images.shape[1]:
        images = images.reshape(len(images), *2 * (int(np.sqrt(images.shape[1])),))
    coloured = images.ndim == 4 and images.shape[3] in (3, 4)
    if len(images) != n or not (images.ndim == 3 or coloured):
        raise ValueError(
            f"images must have shape ({n}, height, width), with 3 channels at most at the end, got {images.shape}; "
            "reshape them, one image for each row of X."
        )
    images = images[..., :3] if coloured else images
    if images.dtype == np.uint8 and like is None:
        return images
    return _stretched(images, images if like is None else np.asarray(like))


def sheet(images: NDArray, budget: int = SHEET_BYTES) -> dict[str, Any]:
    """Return the thumbnails as one WebP image in a data address, as large as the budget allows."""
    pillow = import_extra("PIL.Image", "plot")
    across = int(np.ceil(np.sqrt(len(images))))
    longest = max(images.shape[1:3])
    # A sheet of WebP ends at 16,383 pixels.
    sides = [s for s in _SIDES if s <= longest and across * s <= 16_000] or [min(_SIDES[-1], longest)]
    tiles, content = images, b""
    for side in sides:
        tiles = _shrunk(images, side) if longest > side else images
        whole = pillow.fromarray(_in_rows(tiles, across))
        for quality in (80, 50, 25):
            buffer = io.BytesIO()
            whole.save(buffer, "WEBP", quality=quality, method=2)
            content = buffer.getvalue()
            if len(content) <= budget:
                return _sheet(content, tiles, across)
    return _sheet(content, tiles, across)


def _sheet(content: bytes, tiles: NDArray, across: int) -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    height, width = tiles.shape[1:3]
    return {"url": f"data:image/webp;base64,{data}", "width": width, "height": height, "across": across}


def _in_rows(tiles: NDArray, across: int) -> NDArray:
    """Tiles (n, h, w, …) as one image with `across` of them in a row."""
    n, h, w = tiles.shape[:3]
    down = -(-n // across)
    padded = np.zeros((down * across, *tiles.shape[1:]), dtype=np.uint8)
    padded[:n] = tiles
    rows = padded.reshape(down, across, h, w, -1).swapaxes(1, 2)
    return rows.reshape(down * h, across * w, *tiles.shape[3:])


def _shrunk(images: NDArray, side: int) -> NDArray:
    """Resize the longer side of all images to `side` pixels, each the mean of the area it covers."""
    down, across = (
        _areas(length, max(1, round(side * length / max(images.shape[1:3])))) for length in images.shape[1:3]
    )
    planes = images[..., None] if images.ndim == 3 else images
    small = [down @ planes[..., c].astype(np.float32) @ across.T for c in range(planes.shape[3])]
    return (
        np.stack(small, axis=-1)
        .round()
        .astype(np.uint8)
        .reshape(len(images), len(down), len(across), *images.shape[3:])
    )


def _areas(length: int, count: int) -> NDArray:
    """Fractions of `length` pixels in `count` larger ones, shape (count, length)."""
    ends = np.linspace(0, length, count + 1)
    pixels = np.arange(length)
    covered = np.minimum(ends[1:, None], pixels + 1) - np.maximum(ends[:-1, None], pixels)
    return (np.maximum(covered, 0) * count / length).astype(np.float32)


def _stretched(images: NDArray, like: NDArray) -> NDArray:
    low, high = (0.0, 255.0) if like.dtype == np.uint8 else (float(np.nanmin(like)), float(np.nanmax(like)))
    shades = (images.astype(np.float64) - low) / ((high - low) or 1.0)
    return np.nan_to_num(255 * np.clip(shades, 0, 1)).round().astype(np.uint8)
