"""Data for examples and comparisons: loaders from a data folder, and seeded generators."""

from polyfold.datasets._loaders import (
    load_20newsgroups,
    load_coil20,
    load_dermatology,
    load_fashion_mnist,
    load_isolet1,
    load_isomap_faces,
    load_mnist,
    load_new_thyroid,
    load_orl,
    load_rectangles,
    load_reuters,
    load_umist,
    load_usps,
    load_yaleb,
)
from polyfold.datasets._manifolds import make_ring, make_strip, make_swiss_roll
from polyfold.datasets._mixtures import make_gaussian_mixture
from polyfold.datasets._shapes import make_convex, make_rectangles
from polyfold.datasets._store import data_folder
from polyfold.datasets._variations import make_image_background, make_random_background, make_rotations

__all__ = [
    "data_folder",
    "load_20newsgroups",
    "load_coil20",
    "load_dermatology",
    "load_fashion_mnist",
    "load_isolet1",
    "load_isomap_faces",
    "load_mnist",
    "load_new_thyroid",
    "load_orl",
    "load_rectangles",
    "load_reuters",
    "load_umist",
    "load_usps",
    "load_yaleb",
    "make_convex",
    "make_gaussian_mixture",
    "make_image_background",
    "make_random_background",
    "make_rectangles",
    "make_ring",
    "make_rotations",
    "make_strip",
    "make_swiss_roll",
]
