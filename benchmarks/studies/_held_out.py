"""Shapes on which the criterion of non-redundant axes was designed: topologies, densities, directions and noise.

Each generator takes a RandomState and returns points and the latent directions. A closed direction counts as two
coordinates (its cosine and sine), and so does a centre line with three arms. Shapes that were not used to choose
anything: `_unseen_shapes.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

N = 2000
Shape = tuple[np.ndarray, np.ndarray]


def lifted(X: np.ndarray, dimensions: int, rng: np.random.RandomState, noise: float = 0.0) -> np.ndarray:
    """Rotate into `dimensions` at random, and add noise in all of them."""
    frame = np.linalg.qr(rng.standard_normal((dimensions, X.shape[1])))[0]
    return X @ frame.T + noise * rng.standard_normal((len(X), dimensions))


def bent(T: np.ndarray, dimensions: int, rng: np.random.RandomState) -> np.ndarray:
    """Keep `T` as it is and append half as large waves of it, then rotate: a nonlinear map that folds nothing."""
    waves = np.sin(T @ rng.uniform(-1.5, 1.5, (T.shape[1], 2 * T.shape[1])) + rng.uniform(0, 6, 2 * T.shape[1]))
    return lifted(np.column_stack([T, 0.5 * waves]), dimensions, rng)


def cylinder(rng: np.random.RandomState) -> Shape:
    """Open tube, circumference 2.5, length 6."""
    a, h = rng.uniform(0, 2 * np.pi, N), rng.uniform(0, 6, N)
    circle = np.column_stack([np.cos(a), np.sin(a)])
    return np.column_stack([0.4 * circle, h]), np.column_stack([circle, h])


def annulus(rng: np.random.RandomState) -> Shape:
    """Flat ring of radii 0.7 and 1, rotated into 10 dimensions with noise 0.01."""
    a, r = rng.uniform(0, 2 * np.pi, N), np.sqrt(rng.uniform(0.49, 1.0, N))
    circle = np.column_stack([np.cos(a), np.sin(a)])
    return lifted(r[:, None] * circle, 10, rng, 0.01), np.column_stack([circle, r])


def moebius(rng: np.random.RandomState) -> Shape:
    """Band of width 0.6 with one twist: no place across it has a sign everywhere, so it takes two coordinates."""
    a, s = rng.uniform(0, 2 * np.pi, N), rng.uniform(-0.3, 0.3, N)
    circle = np.column_stack([np.cos(a), np.sin(a)])
    across = s[:, None] * np.column_stack([np.cos(a / 2), np.sin(a / 2)])
    X = np.column_stack([(1 + across[:, :1]) * circle, across[:, 1]])
    return X, np.column_stack([circle, across])


def torus_patch(rng: np.random.RandomState) -> Shape:
    """Three quarters of the outer turn of a torus and half of the inner one."""
    a, b = rng.uniform(0, 1.5 * np.pi, N), rng.uniform(0, np.pi, N)
    across = 1 + 0.4 * np.cos(b)
    X = np.column_stack([across * np.cos(a), across * np.sin(a), 0.4 * np.sin(b)])
    return X, np.column_stack([a, b])


def s_curve_with_hole(rng: np.random.RandomState) -> Shape:
    """S of length 9.4 and height 2 with a round hole in the middle, noise 0.03."""
    t, h = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, 2 * N), rng.uniform(-1, 1, 2 * N)
    keep = np.flatnonzero(t**2 + h**2 > 0.36)[:N]
    t, h = t[keep], h[keep]
    X = np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1)])
    return X + 0.03 * rng.standard_normal(X.shape), np.column_stack([t, h])


def helix_ribbon(rng: np.random.RandomState) -> Shape:
    """Ribbon of width 1 wound three times: length 24, as many as the points resolve."""
    t, s = rng.uniform(0, 6 * np.pi, N), rng.uniform(-0.5, 0.5, N)
    X = np.column_stack([1.2 * np.cos(t), 1.2 * np.sin(t), 0.4 * t + s])
    return X, np.column_stack([t, s])


def sphere_cap(rng: np.random.RandomState) -> Shape:
    """Cap of 60 degrees, densest at its pole, in 20 dimensions: two directions of the same length."""
    polar, a = np.pi / 3 * rng.uniform(0, 1, N) ** 0.8, rng.uniform(0, 2 * np.pi, N)
    flat = polar[:, None] * np.column_stack([np.cos(a), np.sin(a)])
    X = np.column_stack([np.sin(polar) * np.cos(a), np.sin(polar) * np.sin(a), np.cos(polar)])
    return lifted(X, 20, rng), flat


def box(rng: np.random.RandomState) -> Shape:
    """Solid of sides 1 : 0.5 : 0.3, bent into 20 dimensions."""
    T = rng.uniform(size=(N, 3)) * [1.0, 0.5, 0.3]
    return bent(T, 20, rng), T


def fork(rng: np.random.RandomState) -> Shape:
    """Three thin arms of lengths 1, 0.8 and 0.6 that meet, in 10 dimensions with noise 0.01."""
    arm = rng.choice(3, N, p=np.array([1.0, 0.8, 0.6]) / 2.4)
    length = rng.uniform(size=N) * np.array([1.0, 0.8, 0.6])[arm]
    ends = np.array([[0.0, -1.0], [0.8, 0.6], [-0.8, 0.6]])
    flat = length[:, None] * ends[arm]
    return lifted(flat, 10, rng, 0.01), flat


def curve(rng: np.random.RandomState) -> Shape:
    """One direction in 30 dimensions, ten times denser at one end, noise 0.01."""
    t = rng.beta(1.0, 2.0, N)
    waves = np.sin(2 * np.pi * t[:, None] * np.arange(1, 4) + np.arange(3))
    return lifted(np.column_stack([3 * t, waves]), 30, rng, 0.01), t[:, None]


def uneven_strip(rng: np.random.RandomState) -> Shape:
    """Strip of 5 by 1, several times denser in its middle, bent into 50 dimensions with noise 0.02."""
    T = np.column_stack([5 * rng.beta(2.0, 2.0, N), rng.uniform(0, 1, N)])
    X = bent(T, 50, rng)
    return X + 0.02 * rng.standard_normal(X.shape), T


def noisy_slab(rng: np.random.RandomState) -> Shape:
    """Solid of sides 3 : 1 : 1, curved along its length, with noise 0.05."""
    T = rng.uniform(size=(N, 3)) * [3.0, 1.0, 1.0]
    X = np.column_stack([(2 + T[:, 1]) * np.cos(T[:, 0]), (2 + T[:, 1]) * np.sin(T[:, 0]), T[:, 2]])
    return X + 0.05 * rng.standard_normal(X.shape), T


SHAPES: dict[str, Callable[[np.random.RandomState], Shape]] = {
    "cylinder, 3": cylinder,
    "annulus, 3": annulus,
    "Möbius band, 4": moebius,
    "torus patch, 2": torus_patch,
    "S with a hole, 2": s_curve_with_hole,
    "helix ribbon, 2": helix_ribbon,
    "sphere cap, 2": sphere_cap,
    "box 1 : 0.5 : 0.3, 3": box,
    "fork, 2": fork,
    "curve, 1": curve,
    "uneven strip, 2": uneven_strip,
    "slab 3 : 1 : 1, noise, 3": noisy_slab,
}
