"""Images of a head-like surface that turns and is lit from changing sides.

The surface is a height above a grid of two angles, a sum of smooth bumps on an ellipsoid: brow, nose, lips, chin, ears
and two hollows for the eyes. Eyes, lips and hair are darker. The surface is rotated, projected in parallel and shaded
by Lambert's law. A depth buffer keeps the points in front.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polyfold._typing import RandomState
from polyfold._validation import check_count, check_real

# Half-axes of the ellipsoid: width, height, depth.
_AXES = np.array([0.72, 1.0, 0.8])
# Bumps: longitude and latitude of the centre, radius of each, height.
_BUMPS = np.array(
    [
        [0.0, -0.05, 0.14, 0.32, 0.30],  # nose
        [0.0, -0.22, 0.20, 0.12, 0.14],  # tip of the nose
        [-0.42, 0.16, 0.20, 0.14, -0.14],  # eyes
        [0.42, 0.16, 0.20, 0.14, -0.14],
        [0.0, 0.42, 0.70, 0.10, 0.07],  # brow
        [0.0, -0.52, 0.30, 0.08, 0.08],  # lips
        [0.0, -0.95, 0.32, 0.18, 0.14],  # chin
        [-1.55, 0.0, 0.16, 0.28, 0.22],  # ears
        [1.55, 0.0, 0.16, 0.28, 0.22],
    ]
)
# Dark spots: longitude and latitude of the centre, radius of each, brightness that is lost.
_SPOTS = np.array([[-0.42, 0.16, 0.13, 0.08, 0.7], [0.42, 0.16, 0.13, 0.08, 0.7], [0.0, -0.52, 0.22, 0.05, 0.4]])
_HAIR, _AMBIENT = 0.35, 0.35


def make_rendered_object(
    n_samples: int = 500,
    *,
    size: int = 32,
    pan: float = 60.0,
    tilt: float = 30.0,
    light: float = 45.0,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Render images of a head-like object with known pan, tilt and light.

    Parameters
    ----------
    n_samples : int, default=500
        Number of images.
    size : int, default=32
        Height and width of an image.
    pan : float, default=60.0
        The head turns left and right by angles that are uniform between -pan and pan degrees.
    tilt : float, default=30.0
        It nods by angles between -tilt and tilt degrees.
    light : float, default=45.0
        The light comes from angles between -light and light degrees, right to left.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on the pixels, which lie between 0 and 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, size * size)
        Images in rows.
    factors : ndarray of shape (n_samples, 3)
        Pan, tilt and light in degrees.

    Examples
    --------
    >>> from polyfold.datasets import make_rendered_object
    >>> X, factors = make_rendered_object(10, random_state=0)
    >>> X.shape, factors.shape
    ((10, 1024), (10, 3))
    """
    n_samples, size = check_count("n_samples", n_samples), check_count("size", size, minimum=8)
    limits = [
        check_real(name, value, minimum=0, maximum=most)
        for name, value, most in (("pan", pan, 180), ("tilt", tilt, 90), ("light", light, 90))
    ]
    check_real("noise", noise, minimum=0)
    rng = check_random_state(random_state)
    factors = rng.uniform(-1, 1, (n_samples, 3)) * limits
    surface = _surface(3 * size)
    X = np.stack([_render(surface, a, b, c, size) for a, b, c in np.deg2rad(factors)]).reshape(n_samples, -1)
    return X + noise * rng.standard_normal(X.shape), factors


def _surface(steps: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return points of the surface (m, 3), its unit normals and its colour (m,): x right, y up, z to the viewer."""
    longitude = np.linspace(-np.pi, np.pi, 2 * steps, endpoint=False)
    latitude = np.linspace(-np.pi / 2, np.pi / 2, steps)[1:-1]
    u, v = np.meshgrid(longitude, latitude)
    height = np.ones_like(u)
    for a, b, width, length, bump in _BUMPS:
        height += bump * np.exp(-0.5 * (((u - a) / width) ** 2 + ((v - b) / length) ** 2))
    # The hairline is high above the face, and low at the back of the head.
    color = _HAIR + (1 - _HAIR) / (1 + np.exp(12 * (v - 0.75 * np.cos(u) + 0.1)))
    for a, b, width, length, lost in _SPOTS:
        color *= 1 - lost * np.exp(-0.5 * (((u - a) / width) ** 2 + ((v - b) / length) ** 2))
    directions = np.stack([np.cos(v) * np.sin(u), np.sin(v), np.cos(v) * np.cos(u)], axis=-1)
    points = directions * height[..., None] * _AXES
    along = np.roll(points, -1, axis=1) - np.roll(points, 1, axis=1)
    normals = np.cross(along, np.gradient(points, axis=0))
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-12)
    return points.reshape(-1, 3), normals.reshape(-1, 3), color.ravel()


def _render(surface: tuple[NDArray, NDArray, NDArray], pan: float, tilt: float, light: float, size: int) -> NDArray:
    """Return one image (size, size) with values between 0 and 1."""
    points, normals, color = surface
    turn = np.array([[np.cos(pan), 0, np.sin(pan)], [0, 1, 0], [-np.sin(pan), 0, np.cos(pan)]])
    nod = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    points, normals = points @ (nod @ turn).T, normals @ (nod @ turn).T
    front = normals[:, 2] > 0
    points, normals, color = points[front], normals[front], color[front]
    lamp = np.array([np.sin(light), 0.3, np.cos(light)])
    shade = color * (_AMBIENT + (1 - _AMBIENT) * np.maximum(normals @ (lamp / np.linalg.norm(lamp)), 0))
    column = np.clip(((points[:, 0] / 1.3 + 1) / 2 * size).astype(np.intp), 0, size - 1)
    row = np.clip(((1 - points[:, 1] / 1.3) / 2 * size).astype(np.intp), 0, size - 1)
    pixel = row * size + column
    # A pixel shows the mean of the points in it that are within a small depth of the nearest one.
    nearest = np.full(size * size, -np.inf)
    np.maximum.at(nearest, pixel, points[:, 2])
    seen = points[:, 2] > nearest[pixel] - 0.15
    count = np.bincount(pixel[seen], minlength=size * size)
    image = np.bincount(pixel[seen], shade[seen], minlength=size * size) / np.maximum(count, 1)
    return image.reshape(size, size)
