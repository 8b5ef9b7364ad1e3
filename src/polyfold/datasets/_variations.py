"""Variations of a digit set by the recipes of [Larochelle2007]: rotated, on noise, on photographs.

The published files are not redistributed; what these functions make is called *regenerated*.

Deviations from the recipe: (1) the photographs are the ones shipped with scikit-learn, or the caller's, not
the twenty of the authors; (2) digit and background are joined by the pixelwise maximum, while the paper states
only that the background is inserted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from polyfold._typing import RandomState
from polyfold._validation import check_real, import_extra

_BLOCK = 2048  # images rotated at a time: bounds the memory of the coordinate grids


def make_rotations(
    X: ArrayLike, *, image_shape: tuple[int, int] | None = None, random_state: RandomState = None
) -> NDArray:
    """Rotate every image by an angle drawn uniformly from the full circle.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_pixels)
        Images in rows, such as those of MNIST.
    image_shape : tuple of int, default=None
        Height and width; None takes the images as square.
    random_state : int, RandomState or None, default=None
        Seed of the angles.

    Returns
    -------
    rotated : ndarray of shape (n_samples, n_pixels)
        Same type as `X`; bilinear interpolation, zero outside the frame.

    References
    ----------
    [Larochelle2007]
    """
    images = _as_images(X, image_shape)
    angles = check_random_state(random_state).uniform(0.0, 2 * np.pi, len(images))
    blocks = range(0, len(images), _BLOCK)
    rotated = [_rotate(images[i : i + _BLOCK], angles[i : i + _BLOCK]) for i in blocks]
    return np.concatenate(rotated).reshape(len(images), -1)


def make_random_background(X: ArrayLike, *, random_state: RandomState = None) -> np.ndarray:
    """Put each image on a background of uniform noise [Larochelle2007].

    Arguments and result are those of :func:`make_image_background`.
    """
    images = check_array(X, dtype=None)
    background = check_random_state(random_state).randint(0, 256, size=images.shape, dtype=np.uint8)
    return np.maximum(images.astype(np.uint8), background)


def make_image_background(
    X: ArrayLike,
    *,
    photographs: Sequence[np.ndarray] | None = None,
    min_deviation: float = 10.0,
    image_shape: tuple[int, int] | None = None,
    random_state: RandomState = None,
) -> np.ndarray:
    """Put every image on a random patch of a photograph.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_pixels)
        Images in rows with values between 0 and 255.
    photographs : sequence of arrays of shape (height, width) or (height, width, 3), default=None
        Where patches are cut from; None takes the two photographs shipped with scikit-learn (needs Pillow).
    min_deviation : float, default=10.0
        Patches whose grey values have a smaller standard deviation show no texture and are drawn again.
    image_shape : tuple of int, default=None
        Height and width; None takes the images as square.
    random_state : int, RandomState or None, default=None
        Seed of the patches.

    Returns
    -------
    images : ndarray of shape (n_samples, n_pixels), uint8
        Pixelwise maximum of image and patch.

    References
    ----------
    [Larochelle2007]
    """
    images = _as_images(X, image_shape)
    check_real("min_deviation", min_deviation, minimum=0.0)
    sources = [_grey(photograph) for photograph in (_sample_photographs() if photographs is None else photographs)]
    patches = _patches(sources, images.shape, min_deviation, check_random_state(random_state))
    return np.maximum(images.astype(np.uint8), patches).reshape(len(images), -1)


def _as_images(X: ArrayLike, image_shape: tuple[int, int] | None) -> np.ndarray:
    rows: NDArray = check_array(X, dtype=None)
    side = round(rows.shape[1] ** 0.5)
    height, width = image_shape if image_shape is not None else (side, side)
    if height * width != rows.shape[1]:
        raise ValueError(
            f"image_shape must multiply to n_features={rows.shape[1]}, got {(height, width)}; "
            "pass the true height and width."
        )
    return rows.reshape(len(rows), height, width)


def _rotate(images: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotate (n, h, w) images about their centres, all at once, by bilinear interpolation."""
    _, height, width = images.shape
    centre_row, centre_column = (height - 1) / 2, (width - 1) / 2
    rows, columns = np.mgrid[:height, :width]
    rows, columns = rows - centre_row, columns - centre_column
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    source_row = cos * rows - sin * columns + centre_row
    source_column = sin * rows + cos * columns + centre_column
    # A frame of zeros makes every corner outside the image a zero without further cases.
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    top = np.clip(np.floor(source_row), -1, height - 1).astype(np.intp)
    left = np.clip(np.floor(source_column), -1, width - 1).astype(np.intp)
    down = np.clip(source_row - top, 0, 1).astype(np.float32)
    right = np.clip(source_column - left, 0, 1).astype(np.float32)
    image = np.arange(len(images))[:, None, None]
    upper = framed[image, top + 1, left + 1] * (1 - right) + framed[image, top + 1, left + 2] * right
    lower = framed[image, top + 2, left + 1] * (1 - right) + framed[image, top + 2, left + 2] * right
    inside = (abs(source_row - centre_row) <= centre_row + 1) & (
        abs(source_column - centre_column) <= centre_column + 1
    )
    result = np.where(inside, upper * (1 - down) + lower * down, 0)
    return (np.rint(result) if images.dtype.kind in "iu" else result).astype(images.dtype)


def _sample_photographs() -> list[np.ndarray]:
    import_extra("PIL.Image", "plot")  # scikit-learn reads its photographs with it
    from sklearn.datasets import load_sample_images

    return list(load_sample_images().images)


def _grey(photograph: np.ndarray) -> np.ndarray:
    """Return a (height, width) uint8 image; colours are weighted as the eye does (Rec. 601)."""
    picture = np.asarray(photograph)
    if picture.ndim == 3:
        picture = picture[..., :3] @ np.array([0.299, 0.587, 0.114])
    return np.rint(picture).astype(np.uint8)


def _patches(
    sources: Sequence[np.ndarray], shape: tuple[int, ...], min_deviation: float, rng: np.random.RandomState
) -> np.ndarray:
    """Draw `shape` textured patches; every photograph is as likely as any other."""
    n, height, width = shape
    windows = [np.lib.stride_tricks.sliding_window_view(source, (height, width)) for source in sources]
    kept, missing, tries = [], n, 0
    while missing > 0:
        drawn = _draw(windows, missing, rng)
        kept.append(drawn[drawn.reshape(len(drawn), -1).std(axis=1) >= min_deviation])
        missing, tries = missing - len(kept[-1]), tries + 1
        if tries > 200:
            raise ValueError(
                f"min_deviation must leave textured patches to draw, got {min_deviation}; "
                "lower it or pass other photographs."
            )
    return np.concatenate(kept)


def _draw(windows: Sequence[np.ndarray], n: int, rng: np.random.RandomState) -> np.ndarray:
    which = rng.randint(len(windows), size=n)
    place = rng.uniform(size=(n, 2))
    patches = np.empty((n, *windows[0].shape[2:]), dtype=np.uint8)
    for index, window in enumerate(windows):
        chosen = which == index
        rows, columns = (place[chosen] * window.shape[:2]).astype(np.intp).T
        patches[chosen] = window[rows, columns]
    return patches
