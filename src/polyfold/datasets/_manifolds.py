"""Manifolds with known coordinates, as the papers describe them: strip, ring, Swiss roll."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polyfold._typing import FloatArray, RandomState
from polyfold._validation import check_count, check_real

_ROLL_START, _ROLL_END = 1.5 * np.pi, 4.5 * np.pi


def make_strip(
    n_samples: int = 1000, *, ratio: float = 2.5, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw points uniformly from a flat strip of width 1 and length `ratio`.

    Its Laplacian eigenfunctions are cos(πk₁x₁/L₁)·cos(πk₂x₂/L₂), so the first floor(L₁/L₂) of them do
    not depend on x₂: the redundancy of spectral methods in its simplest form.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    ratio : float, default=2.5
        Length over width, L₁/L₂.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to the points.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    coordinates : ndarray of shape (n_samples, 2)
        Position along the strip and across it, without noise.

    References
    ----------
    [Blau2017], Fig. 2.
    """
    check_count("n_samples", n_samples)
    check_real("ratio", ratio, minimum=0.0, open_minimum=True)
    rng = check_random_state(random_state)
    coordinates = rng.uniform(size=(n_samples, 2)) * [ratio, 1.0]
    return _noisy(coordinates, noise, rng), coordinates


def make_ring(
    n_samples: int = 1000,
    *,
    radius: float = 1.0,
    tube: float = 0.3,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw points uniformly (by area) from the surface of a ring in space.

    Parameters
    ----------
    n_samples, noise, random_state : optional
        As in :func:`make_strip`.
    radius : float, default=1.0
        Distance of the tube's middle from the axis.
    tube : float, default=0.3
        Radius of the tube, below `radius`.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Points.
    angles : ndarray of shape (n_samples, 2)
        Outer angle (around the axis) and inner angle (around the tube).

    References
    ----------
    [Blau2017], Fig. 4.
    """
    check_count("n_samples", n_samples)
    check_real("radius", radius, minimum=0.0, open_minimum=True)
    check_real("tube", tube, minimum=0.0, maximum=radius, open_minimum=True)
    rng = check_random_state(random_state)
    outer = rng.uniform(0, 2 * np.pi, n_samples)
    inner = _inner_angles(n_samples, tube / radius, rng)
    across = radius + tube * np.cos(inner)
    X = np.column_stack([across * np.cos(outer), across * np.sin(outer), tube * np.sin(inner)])
    return _noisy(X, noise, rng), np.column_stack([outer, inner])


def make_swiss_roll(
    n_samples: int = 1000, *, height: float = 21.0, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw points uniformly (by area) from a rolled-up strip.

    Unlike :func:`sklearn.datasets.make_swiss_roll`, density along the roll is constant, so the roll is
    isometric to the strip of its coordinates.

    Parameters
    ----------
    n_samples, noise, random_state : optional
        As in :func:`make_strip`.
    height : float, default=21.0
        Extent along the axis of the roll; the strip is about 90 long.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Points.
    coordinates : ndarray of shape (n_samples, 2)
        Arc length along the roll and height.

    References
    ----------
    [Blau2017], Fig. 1.
    """
    check_count("n_samples", n_samples)
    check_real("height", height, minimum=0.0, open_minimum=True)
    rng = check_random_state(random_state)
    angles = np.linspace(_ROLL_START, _ROLL_END, 10_001)
    lengths = _arc_length(angles) - _arc_length(_ROLL_START)
    place, level = rng.uniform(size=(2, n_samples)) * [[lengths[-1]], [height]]
    angle = np.interp(place, lengths, angles)
    X = np.column_stack([angle * np.cos(angle), level, angle * np.sin(angle)])
    return _noisy(X, noise, rng), np.column_stack([place, level])


def _noisy(X: np.ndarray, noise: float, rng: np.random.RandomState) -> np.ndarray:
    check_real("noise", noise, minimum=0.0)
    return X + noise * rng.standard_normal(X.shape) if noise > 0 else X.copy()


def _inner_angles(n: int, thickness: float, rng: np.random.RandomState) -> np.ndarray:
    """Draw angles with density 1 + thickness·cos, the area of the ring's surface, by rejection."""
    kept = np.empty(0)
    while len(kept) < n:
        angle = rng.uniform(0, 2 * np.pi, 2 * n)
        kept = np.concatenate([kept, angle[rng.uniform(size=2 * n) * (1 + thickness) < 1 + thickness * np.cos(angle)]])
    return kept[:n]


def _arc_length(angle: FloatArray | float) -> FloatArray:
    """Return the length of the spiral r = angle from 0 to `angle`."""
    return 0.5 * (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle))
