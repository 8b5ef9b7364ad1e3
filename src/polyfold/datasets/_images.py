"""Loaders of image sets: digits, clothing, shapes, objects, faces."""

from __future__ import annotations

import os
from typing import Any

from polyfold.datasets._load import load_named

PathLike = str | os.PathLike[str]


def load_mnist(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load MNIST: 70,000 handwritten digits, the first 60,000 for training.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with the ``.npz`` files; None reads the environment variable ``POLYFOLD_DATA``.
    return_X_y : bool, default=False
        Return the pair (data, target) instead of a Bunch.
    download : bool, default=True
        Fetch the set from openml.org into the folder if it is not there.
    verify : bool, default=True
        Compare the content with the known checksum.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch` or tuple
        data (70000, 784) uint8, target, n_train, image_shape.
    """
    return load_named("mnist", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_fashion_mnist(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Fashion-MNIST: 70,000 images of clothing, the first 60,000 for training.

    Arguments as those of :func:`load_mnist`; the Bunch holds data (70000, 784) uint8, target, n_train,
    image_shape.
    """
    return load_named("fashion_mnist", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_rectangles(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Rectangles of [Larochelle2007]: is the outline tall (1) or wide (0).

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (51200, 784) uint8,
    target, n_train (1,200), image_shape.
    """
    return load_named("rectangles", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_usps(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load USPS: 1,100 of each handwritten digit in 16×16 pixels.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (11000, 256) uint8,
    target, image_shape.
    """
    return load_named("usps", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_coil20(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load COIL-20: 20 objects on a turntable in 32×32 pixels.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (1440, 1024) uint8,
    target, image_shape.
    """
    return load_named("coil20", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_orl(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load ORL: 10 faces of each of 40 people in 32×32 pixels.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (400, 1024) uint8,
    target, image_shape.
    """
    return load_named("orl", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_umist(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load UMIST: 20 people turning their heads, resized to 32×32 pixels.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (575, 1024) uint8,
    target, image_shape.
    """
    return load_named("umist", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_yaleb(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Extended Yale B: 38 people under varying light in 32×32 pixels.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (2414, 1024) uint8,
    target, image_shape.
    """
    return load_named("yaleb", data_home, return_X_y=return_X_y, download=download, verify=verify)


def load_isomap_faces(
    data_home: PathLike | None = None, *, return_X_y: bool = False, download: bool = True, verify: bool = True
) -> Any:
    """Load Isomap faces: one head rendered under 698 poses and lights.

    Arguments as those of :func:`load_mnist`, `download` without effect; the Bunch holds data (698, 1024)
    float32, target (698, 3) (light, pan, tilt; standardised), image_shape.
    """
    return load_named("isomap_faces", data_home, return_X_y=return_X_y, download=download, verify=verify)
