"""Shapes on which the rules were not designed: other topologies, densities, directions and noise than `_held_out.py`.

Each generator takes a RandomState and returns points and the latent directions. A closed direction has two coordinates,
its cosine and its sine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.studies._held_out import N, Shape, bent, lifted


def cone(rng: np.random.RandomState) -> Shape:
    """Part of a cone, denser at its wide end, in 8 dimensions with noise 0.01."""
    s, a = np.sqrt(rng.uniform(0.1, 1, N)), rng.uniform(0, 1.2 * np.pi, N)
    X = np.column_stack([s * np.cos(a), s * np.sin(a), 1.5 * s])
    return lifted(X, 8, rng, 0.01), np.column_stack([s, s * a])


def log_spiral(rng: np.random.RandomState) -> Shape:
    """Sheet wound into an opening spiral, denser inside, in 30 dimensions with noise 0.02."""
    t, h = rng.uniform(0, 1, N) ** 1.3 * 3.2 * np.pi, rng.uniform(0, 3, N)
    r = 1 + 0.35 * t
    return lifted(np.column_stack([r * np.cos(t), r * np.sin(t), h]), 30, rng, 0.02), np.column_stack([t, h])


def trefoil(rng: np.random.RandomState) -> Shape:
    """Draw a closed curve with a knot, noise 0.02."""
    a = rng.uniform(0, 2 * np.pi, N)
    X = np.column_stack([np.sin(a) + 2 * np.sin(2 * a), np.cos(a) - 2 * np.cos(2 * a), -np.sin(3 * a)])
    return X + 0.02 * rng.standard_normal(X.shape), np.column_stack([np.cos(a), np.sin(a)])


def saddle(rng: np.random.RandomState) -> Shape:
    """Saddle, denser on one side, in 12 dimensions with noise 0.01."""
    x, y = 2 * rng.beta(2, 1, N) - 1, rng.uniform(-0.6, 0.6, N)
    return lifted(np.column_stack([x, y, x**2 - 2 * y**2]), 12, rng, 0.01), np.column_stack([x, y])


def corrugated(rng: np.random.RandomState) -> Shape:
    """Sheet with waves along its length, noise 0.02."""
    x, y = rng.uniform(0, 4, N), rng.uniform(0, 1.5, N)
    X = np.column_stack([x, y, 0.35 * np.sin(2.5 * x)])
    return X + 0.02 * rng.standard_normal(X.shape), np.column_stack([x, y])


def sphere(rng: np.random.RandomState) -> Shape:
    """Whole sphere in 6 dimensions with noise 0.02."""
    X = rng.standard_normal((N, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return lifted(X, 6, rng, 0.02), X


def horseshoe(rng: np.random.RandomState) -> Shape:
    """Three quarters of a bent ring in 5 dimensions with noise 0.01: not convex."""
    a, r = rng.uniform(0, 1.5 * np.pi, N), rng.uniform(1, 1.5, N)
    X = np.column_stack([r * np.cos(a), r * np.sin(a), 0.3 * np.sin(4 * r)])
    return lifted(X, 5, rng, 0.01), np.column_stack([a, r])


def helix(rng: np.random.RandomState) -> Shape:
    """Open curve of two and a half turns, uneven density, in 15 dimensions with noise 0.03."""
    t = rng.beta(1.5, 1, N) * 5 * np.pi
    return lifted(np.column_stack([np.cos(t), np.sin(t), 0.25 * t]), 15, rng, 0.03), t[:, None]


def spots(rng: np.random.RandomState) -> Shape:
    """Images of a bright spot: two places and a size."""
    T = np.column_stack([rng.uniform(5, 15, (N, 2)), rng.uniform(1.5, 3.5, N)])
    grid = np.arange(20)
    x, y, size = T.T[:, :, None, None]
    images = np.exp(-((grid[:, None] - x) ** 2 + (grid[None, :] - y) ** 2) / (2 * size**2))
    return images.reshape(N, -1), T


def slab4(rng: np.random.RandomState) -> Shape:
    """Solid of sides 2 : 1 : 0.8 : 0.8, bent into 12 dimensions."""
    T = rng.uniform(size=(N, 4)) * [2.0, 1.0, 0.8, 0.8]
    return bent(T, 12, rng), T


def solid_roll(rng: np.random.RandomState) -> Shape:
    """Swiss roll with a thickness: sides of about 50 : 12 : 2.4."""
    t, h, w = rng.uniform(1.5 * np.pi, 3.5 * np.pi, N), rng.uniform(0, 12, N), rng.uniform(-1.2, 1.2, N)
    return np.column_stack([(t + w) * np.cos(t), h, (t + w) * np.sin(t)]), np.column_stack([t, h, w])


def gaussian_sheet(rng: np.random.RandomState) -> Shape:
    """Sheet with a normal distribution, bent into 25 dimensions with noise 0.02."""
    T = rng.standard_normal((N, 2)) * [1.5, 0.6]
    X = bent(T, 25, rng)
    return X + 0.02 * rng.standard_normal(X.shape), T


def arm(rng: np.random.RandomState) -> Shape:
    """Joints of a robot arm with three angles, noise 0.01."""
    T = rng.uniform(-1, 1, (N, 3)) * [1.2, 1.0, 0.8]
    angles = np.cumsum(T, axis=1)
    X = np.column_stack([np.cumsum(np.cos(angles), axis=1), np.cumsum(np.sin(angles), axis=1)])
    return X + 0.01 * rng.standard_normal(X.shape), T


def waves(rng: np.random.RandomState) -> Shape:
    """Sine waves of 64 samples that differ in frequency and phase, noise 0.02."""
    T = rng.uniform(size=(N, 2)) * [2.0, 1.0]
    X = np.sin(np.linspace(0, 3, 64) * (1 + T[:, :1]) + 2 * T[:, 1:])
    return X + 0.02 * rng.standard_normal(X.shape), T


def catenoid(rng: np.random.RandomState) -> Shape:
    """Half of a catenoid in 7 dimensions with noise 0.01."""
    a, v = rng.uniform(0, np.pi, N), rng.uniform(-0.8, 1.2, N)
    X = np.column_stack([np.cosh(v) * np.cos(a), np.cosh(v) * np.sin(a), v])
    return lifted(X, 7, rng, 0.01), np.column_stack([a, v])


def tube(rng: np.random.RandomState) -> Shape:
    """Bent tube with noise 0.02 in 20 dimensions: a closed direction and an open one."""
    a, t = rng.uniform(0, 2 * np.pi, N), rng.uniform(0, 2.5, N)
    circle = np.column_stack([np.cos(a), np.sin(a)])
    r = 2 + 0.5 * circle[:, 0]
    X = np.column_stack([r * np.cos(t), r * np.sin(t), 0.5 * circle[:, 1]])
    return lifted(X, 20, rng, 0.02), np.column_stack([circle, t])


def wiggle(rng: np.random.RandomState) -> Shape:
    """Open curve that winds in 10 dimensions, ten times denser at one end, noise 0.01."""
    t = rng.uniform(0.05, 1, N) ** 2
    return lifted(np.column_stack([2 * t, np.sin(7 * t), np.cos(5 * t), 0.5 * np.sin(11 * t)]), 10, rng, 0.01), t[
        :, None
    ]


def uneven_box(rng: np.random.RandomState) -> Shape:
    """Solid of sides 1.5 : 1 : 0.6, dense at one corner, bent into 15 dimensions with noise 0.01."""
    T = rng.beta(1.2, 1.8, (N, 3)) * [1.5, 1.0, 0.6]
    X = bent(T, 15, rng)
    return X + 0.01 * rng.standard_normal(X.shape), T


def bars(rng: np.random.RandomState) -> Shape:
    """Images of a bar that turns and changes its brightness; half a turn gives the same image."""
    a, b = rng.uniform(0, np.pi, N), rng.uniform(0.5, 1.5, N)
    x, y = np.meshgrid(np.linspace(-1, 1, 16), np.linspace(-1, 1, 16))
    across = x.ravel() * np.sin(a)[:, None] - y.ravel() * np.cos(a)[:, None]
    X = b[:, None] * np.exp(-((across / 0.3) ** 2)) * np.exp(-(x**2 + y**2).ravel())
    return X, np.column_stack([np.cos(2 * a), np.sin(2 * a), b])


def bowl(rng: np.random.RandomState) -> Shape:
    """Elliptic bowl with a hole, noise 0.02 in 9 dimensions."""
    T = rng.uniform(-1, 1, (4 * N, 2))
    T = T[(np.sum(T**2, axis=1) < 1) & (np.sum((T - 0.3) ** 2, axis=1) > 0.06)][:N] * [1.6, 1.0]
    return lifted(np.column_stack([T, 0.5 * np.sum(T**2, axis=1)]), 9, rng, 0.02), T


def helicoid(rng: np.random.RandomState) -> Shape:
    """Spiral staircase in 6 dimensions with noise 0.01."""
    r, a = rng.uniform(0.5, 1.5, N), rng.uniform(0, 1.6 * np.pi, N)
    return lifted(np.column_stack([r * np.cos(a), r * np.sin(a), 0.5 * a]), 6, rng, 0.01), np.column_stack([a, r])


def flat_torus(rng: np.random.RandomState) -> Shape:
    """Two closed directions of lengths 1 and 0.6 in 10 dimensions with noise 0.02."""
    a, b = rng.uniform(0, 2 * np.pi, (2, N))
    X = np.column_stack([np.cos(a), np.sin(a), 0.6 * np.cos(b), 0.6 * np.sin(b)])
    return lifted(X, 10, rng, 0.02), X


def noisy_arc(rng: np.random.RandomState) -> Shape:
    """Two thirds of a circle, denser at its ends, in 12 dimensions with noise 0.06."""
    t = rng.beta(0.7, 0.7, N) * 4 * np.pi / 3
    return lifted(np.column_stack([np.cos(t), np.sin(t)]), 12, rng, 0.06), t[:, None]


def ellipsoid(rng: np.random.RandomState) -> Shape:
    """Solid ellipsoid of axes 1.6 : 1 : 0.7, bent into 10 dimensions."""
    T = rng.standard_normal((N, 3))
    T *= (rng.uniform(size=N) ** (1 / 3) / np.linalg.norm(T, axis=1))[:, None] * [1.6, 1.0, 0.7]
    return bent(T, 10, rng), T


def edges(rng: np.random.RandomState) -> Shape:
    """Images of a soft edge that turns by a third of a turn and shifts."""
    a, s = rng.uniform(0, 2 * np.pi / 3, N), rng.uniform(-0.5, 0.5, N)
    x, y = np.meshgrid(np.linspace(-1, 1, 16), np.linspace(-1, 1, 16))
    across = x.ravel() * np.cos(a)[:, None] + y.ravel() * np.sin(a)[:, None] - s[:, None]
    return 1 / (1 + np.exp(-across / 0.2)), np.column_stack([a, s])


def decays(rng: np.random.RandomState) -> Shape:
    """Damped oscillations of 80 samples that differ in frequency and damping, noise 0.03."""
    T = rng.uniform(size=(N, 2)) * [1.0, 1.5]
    time = np.linspace(0, 3, 80)
    X = np.exp(-time * T[:, 1:]) * np.cos(2 * time * (1 + T[:, :1]))
    return X + 0.03 * rng.standard_normal(X.shape), T


def fan(rng: np.random.RandomState) -> Shape:
    """Wavy quarter of a ring, exponential density along it, in 40 dimensions with noise 0.02."""
    a, r = np.minimum(rng.exponential(0.6, N), 2.0), rng.uniform(1, 2, N)
    X = np.column_stack([r * np.cos(a), r * np.sin(a), 0.3 * np.sin(3 * r + a)])
    return lifted(X, 40, rng, 0.02), np.column_stack([a, r])


def wedge4(rng: np.random.RandomState) -> Shape:
    """Solid of sides 2 : 1.3 : 1 : 0.8, dense in the middle, bent into 16 dimensions with noise 0.01."""
    T = rng.beta(1.5, 1.5, (N, 4)) * [2.0, 1.3, 1.0, 0.8]
    X = bent(T, 16, rng)
    return X + 0.01 * rng.standard_normal(X.shape), T


def eight(rng: np.random.RandomState) -> Shape:
    """Draw a closed curve like an eight whose branches pass each other at a distance, noise 0.03."""
    a = rng.uniform(0, 2 * np.pi, N)
    X = np.column_stack([1.5 * np.sin(a), np.sin(2 * a), 0.5 * np.cos(a)])
    return lifted(X, 8, rng, 0.03), np.column_stack([np.cos(a), np.sin(a)])


def gears(rng: np.random.RandomState) -> Shape:
    """Coupled pendulums: three angles of different ranges, seen by eight sensors, noise 0.01."""
    T = rng.uniform(-1, 1, (N, 3)) * [1.4, 0.9, 0.6]
    X = np.column_stack([np.sin(T), np.cos(T), np.sin(T[:, 0] + T[:, 1]), np.sin(T[:, 1] - T[:, 2])])
    return X + 0.01 * rng.standard_normal(X.shape), T


def snake(rng: np.random.RandomState) -> Shape:
    """Ribbon of length 8 and width 1 that swings three times, in 9 dimensions with noise 0.02."""
    t, s = rng.uniform(0, 8, N), rng.uniform(-0.5, 0.5, N)
    return lifted(np.column_stack([t, np.sin(2.3 * t), s, 0.3 * s**2]), 9, rng, 0.02), np.column_stack([t, s])


def paraboloid(rng: np.random.RandomState) -> Shape:
    """Elliptic paraboloid of axes 1.5 : 1, densest at its rim, in 14 dimensions with noise 0.01."""
    r, a = rng.uniform(0, 1, N) ** 0.4, rng.uniform(0, 2 * np.pi, N)
    T = np.column_stack([1.5 * r * np.cos(a), r * np.sin(a)])
    return lifted(np.column_stack([T, 0.6 * r**2]), 14, rng, 0.01), T


def peaks(rng: np.random.RandomState) -> Shape:
    """Spectra of 60 channels with a peak that moves, widens and has a shoulder, noise 0.01."""
    T = rng.uniform(size=(N, 3))
    x = np.linspace(0, 10, 60)
    centre, width = 3 + 4 * T[:, :1], 0.8 + 0.8 * T[:, 1:2]
    X = np.exp(-(((x - centre) / width) ** 2)) + 0.6 * T[:, 2:] * np.exp(-(((x - 8.5) / 0.9) ** 2))
    return X + 0.01 * rng.standard_normal(X.shape), T


def loop(rng: np.random.RandomState) -> Shape:
    """Draw a closed curve in 20 dimensions with two waves along it, uneven density, noise 0.02."""
    a = 2 * np.pi * rng.beta(1.2, 1.0, N)
    X = np.column_stack([np.cos(a), np.sin(a), 0.4 * np.cos(3 * a), 0.4 * np.sin(2 * a)])
    return lifted(X, 20, rng, 0.02), np.column_stack([np.cos(a), np.sin(a)])


def block(rng: np.random.RandomState) -> Shape:
    """Solid of sides 1.8 : 1.2 : 0.7 with a missing corner, bent into 18 dimensions with noise 0.01."""
    T = rng.uniform(size=(2 * N, 3))
    T = T[np.any(T < 0.6, axis=1)][:N] * [1.8, 1.2, 0.7]
    X = bent(T, 18, rng)
    return X + 0.01 * rng.standard_normal(X.shape), T


def arc(rng: np.random.RandomState) -> Shape:
    """Open curve of one and a half turns that rises unevenly, in 25 dimensions with noise 0.02."""
    t = rng.uniform(0, 3 * np.pi, N)
    return lifted(np.column_stack([np.cos(t), np.sin(t), 0.05 * t**2]), 25, rng, 0.02), t[:, None]


# Written after all rules were fixed.
NEWEST: dict[str, Callable[[np.random.RandomState], Shape]] = {
    "swinging ribbon, 2": snake,
    "paraboloid, 2": paraboloid,
    "moving peaks, 3": peaks,
    "waving loop, 2": loop,
    "block without a corner, 3": block,
    "rising curve, 1": arc,
}
# Written after the rotation was fixed.
LATEST: dict[str, Callable[[np.random.RandomState], Shape]] = {
    "helicoid, 2": helicoid,
    "flat torus, 4": flat_torus,
    "noisy arc, 1": noisy_arc,
    "ellipsoid, 3": ellipsoid,
    "images of an edge, 2": edges,
    "damped oscillations, 2": decays,
    "fan, 2": fan,
    "wedge of four dimensions, 4": wedge4,
    "figure of eight, 2": eight,
    "pendulums, 3": gears,
}
# Written after the last change of the rules for kernel, bandwidth and number.
FRESH: dict[str, Callable[[np.random.RandomState], Shape]] = {
    "catenoid, 2": catenoid,
    "bent tube, 3": tube,
    "winding curve, 1": wiggle,
    "uneven box, 3": uneven_box,
    "images of a bar, 3": bars,
    "bowl with a hole, 2": bowl,
}
UNSEEN: dict[str, Callable[[np.random.RandomState], Shape]] = {
    "cone, 2": cone,
    "opening spiral, 2": log_spiral,
    "trefoil knot, 2": trefoil,
    "saddle, 2": saddle,
    "corrugated sheet, 2": corrugated,
    "sphere, 3": sphere,
    "horseshoe, 2": horseshoe,
    "helix, 1": helix,
    "images of a spot, 3": spots,
    "slab of four dimensions, 4": slab4,
    "thick roll, 3": solid_roll,
    "Gaussian sheet, 2": gaussian_sheet,
    "robot arm, 3": arm,
    "waves, 2": waves,
}
