"""
Generated data sets
===================

Generators of points on curved sheets, with their true coordinates, and of images with one difficulty each. All take
``random_state``, and none downloads anything.
"""

import matplotlib.pyplot as plt

from polyfold import datasets

figure = plt.figure(figsize=(10, 5), layout="constrained")
n = 1500
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n = 200
# sphinx_gallery_end_ignore
points = {
    "make_strip": datasets.make_strip(n, random_state=0),
    "make_ring": datasets.make_ring(n, random_state=0),
    "make_swiss_roll": datasets.make_swiss_roll(n, random_state=0),
    "make_gaussian_mixture": datasets.make_gaussian_mixture(n, random_state=0),
}
for place, (name, (X, truth)) in enumerate(points.items(), 1):
    solid = X.shape[1] == 3
    axis = figure.add_subplot(2, 4, place, **({"projection": "3d"} if solid else {}))
    colours = truth if truth.ndim == 1 else truth[:, 0]
    axis.scatter(*X.T[: 3 if solid else 2], c=colours, cmap="viridis", s=4)
    axis.set_title(name, fontsize=10)
    axis.set(xticks=[], yticks=[])

rectangles = datasets.make_rectangles(6, random_state=0)[0]
images = {
    "make_rectangles": rectangles,
    "make_convex": datasets.make_convex(6, random_state=0)[0],
    "make_rotations": datasets.make_rotations(rectangles, random_state=0),
    "make_random_background": datasets.make_random_background(rectangles, random_state=0),
}
for place, (name, X) in enumerate(images.items(), 5):
    axis = figure.add_subplot(2, 4, place)
    side = int(X.shape[1] ** 0.5)
    pictures = X.reshape(2, 3, side, side).transpose(0, 2, 1, 3).reshape(2 * side, 3 * side)
    axis.imshow(pictures, cmap="gray")
    axis.set_title(name, fontsize=10)
    axis.set(xticks=[], yticks=[])
plt.show()
