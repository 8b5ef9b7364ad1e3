"""Pictures of points as one sheet of thumbnails."""

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
            "reshape them, one picture for each row of X."
        )
    images = images[..., :3] if coloured else images
    if images.dtype == np.uint8 and like is None:
        return images
    return _stretched(images, images if like is None else np.asarray(like))


def sheet(images: NDArray, budget: int = SHEET_BYTES) -> dict[str, Any]:
    """Return the thumbnails as one WebP picture in a data address, as large as the budget allows."""
    Image = import_extra("PIL.Image", "plot")  # noqa: N806 - a class
    n, longest = len(images), max(images.shape[1:3])
    for side in [s for s in _SIDES if s <= longest or s == _SIDES[-1]]:
        tiles = _resized(images, side, Image) if longest > side else images
        h, w = tiles.shape[1:3]
        across = int(np.ceil(np.sqrt(n)))
        if across * max(h, w) > 16_000:  # WebP ends at 16,383
            continue
        whole = np.zeros((-(-n // across) * h, across * w, *tiles.shape[3:]), dtype=np.uint8)
        for i, tile in enumerate(tiles):
            r, c = divmod(i, across)
            whole[r * h : (r + 1) * h, c * w : (c + 1) * w] = tile
        for quality in (80, 50, 25):
            buffer = io.BytesIO()
            Image.fromarray(whole).save(buffer, "WEBP", quality=quality, method=2)
            if buffer.tell() <= budget:
                break
        else:
            continue
        break
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"url": f"data:image/webp;base64,{data}", "width": w, "height": h, "across": across}


def _resized(images: NDArray, side: int, Image: Any) -> NDArray:  # noqa: N803
    scale = side / max(images.shape[1:3])
    size = tuple(max(1, round(scale * length)) for length in (images.shape[2], images.shape[1]))
    return np.stack([np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX)) for image in images])


def _stretched(images: NDArray, like: NDArray) -> NDArray:
    low, high = (0.0, 255.0) if like.dtype == np.uint8 else (float(np.nanmin(like)), float(np.nanmax(like)))
    shades = (images.astype(np.float64) - low) / ((high - low) or 1.0)
    return np.nan_to_num(255 * np.clip(shades, 0, 1)).round().astype(np.uint8)
