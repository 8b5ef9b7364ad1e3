"""Seeded generators of data for examples and comparisons."""

from polyfold.datasets._manifolds import make_ring, make_strip, make_swiss_roll
from polyfold.datasets._mixtures import make_gaussian_mixture
from polyfold.datasets._rendered import make_rendered_object
from polyfold.datasets._shapes import make_convex, make_rectangles
from polyfold.datasets._variations import make_image_background, make_random_background, make_rotations

__all__ = [
    "make_convex",
    "make_gaussian_mixture",
    "make_image_background",
    "make_random_background",
    "make_rectangles",
    "make_rendered_object",
    "make_ring",
    "make_rotations",
    "make_strip",
    "make_swiss_roll",
]
