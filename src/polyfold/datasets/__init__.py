"""Data for examples and comparisons: loaders from a data folder, and seeded generators."""

from polyfold.datasets._images import (
    load_coil20,
    load_fashion_mnist,
    load_isomap_faces,
    load_mnist,
    load_orl,
    load_rectangles,
    load_umist,
    load_usps,
    load_yaleb,
)
from polyfold.datasets._tables import (
    load_20newsgroups,
    load_dermatology,
    load_isolet1,
    load_new_thyroid,
    load_reuters,
)

__all__ = [
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
]
