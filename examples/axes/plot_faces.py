"""
The axes of faces
=================

A head turns, nods, and is lit from left or right: three causes, 1,024 pixels. Plain spectral coordinates repeat the
strongest cause. Non-redundant ones find the others, and a walk along each axis shows its meaning.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

import polyfold as pf

n, side = 1000, 32
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n = 300
# sphinx_gallery_end_ignore

# %%
# Draw heads
# ----------
# An ellipsoid with a nose, brows and a chin, turned, then lit by Lambert's law. No image is downloaded.


def head(pan, tilt, light, side=side):
    grid = np.linspace(-1.25, 1.25, side)
    x, y = np.meshgrid(grid, -grid)
    # A turn moves nose, eyes and chin over the ellipsoid, the more the nearer they are to the viewer.
    z = np.sqrt(np.clip(1.3 - x**2 / 0.62 - y**2 / 1.1, 0, None)) * 0.8
    inside = x**2 / 0.62 + y**2 / 1.1 < 1.25
    u, v = x - 0.75 * pan * z, y - 0.75 * tilt * z
    bump = lambda a, b, s, t: np.exp(-(((u - a) / s) ** 2) - ((v - b) / t) ** 2)  # noqa: E731
    z = z + 0.45 * bump(0, -0.05, 0.14, 0.3) - 0.22 * (bump(-0.3, 0.22, 0.17, 0.12) + bump(0.3, 0.22, 0.17, 0.12))
    z = z + 0.12 * bump(0, -0.75, 0.25, 0.15) - 0.12 * bump(0, -0.45, 0.28, 0.06)
    slope_y, slope_x = np.gradient(z, -(grid[1] - grid[0]), grid[1] - grid[0])
    normal = np.stack([-slope_x, -slope_y, np.ones_like(z)]) / np.sqrt(1 + slope_x**2 + slope_y**2)
    shade = np.tensordot([np.sin(light), 0.25, np.cos(light)], normal, axes=1)
    return np.where(inside, np.clip(shade, 0.05, None), 0).ravel()


rng = np.random.default_rng(0)
causes = {"turn": rng.uniform(-1, 1, n), "nod": rng.uniform(-0.5, 0.5, n), "light": rng.uniform(-0.7, 0.7, n)}
X = np.array([head(*values) for values in zip(*causes.values(), strict=True)])

# %%
# Three coordinates
# -----------------
# How well can each cause be predicted from three coordinates? R² of nearest neighbours on the other half of the heads.

models = {
    "plain eigenmaps": pf.KernelEmbedding(3, kernel="laplacian_eigenmaps", random_state=0),
    "non-redundant": pf.NonRedundantEmbedding(3, random_state=0),
}
scores = {}
for name, model in models.items():
    Z = model.fit_transform(X)
    half = KNeighborsRegressor(10).fit(Z[::2], np.c_[tuple(causes.values())][::2])
    truth, guess = np.c_[tuple(causes.values())][1::2], half.predict(Z[1::2])
    scores[name] = 1 - ((truth - guess) ** 2).mean(axis=0) / truth.var(axis=0)

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for shift, (name, score), colour in zip((-0.2, 0.2), scores.items(), ("#D55E00", "#0072B2"), strict=True):
    axis.bar(np.arange(3) + shift, score, 0.38, color=colour, label=name)
axis.set(xticks=range(3), xticklabels=causes, ylabel="R² from three coordinates", ylim=(0, 1))
axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()

# %%
# Walk along the axes
# -------------------
# Each row is one axis: heads from one end to the other that are near the middle of the other two axes.

figure, axes = plt.subplots(3, 8, figsize=(9, 3.7), layout="constrained")
for number, row in enumerate(axes):
    others = np.delete(Z, number, axis=1) / np.delete(Z, number, axis=1).std(axis=0)
    central = np.argsort((others**2).sum(axis=1))[: n // 6]
    order = central[np.argsort(Z[central, number])]
    for axis, which in zip(row, order[np.linspace(0, len(order) - 1, 8).astype(int)], strict=True):
        axis.imshow(X[which].reshape(side, side), cmap="gray")
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(f"axis {number + 1}")
plt.show()
