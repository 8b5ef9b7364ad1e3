"""
polyfold in one picture
=======================

What is usual above or dashed, what polyfold does below or solid: groups that come apart without labels, axes that do
not repeat each other, and views that still find their neighbours when most of them are gone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

import polyfold as pf
from polyfold.baselines import PartitionKernelPCA
from polyfold.metrics import retrieval_precision

X, y = load_digits(return_X_y=True)
roll, turn = make_swiss_roll(2000, random_state=0)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y, roll, turn = X[:400], y[:400], roll[:400], turn[:400]
# sphinx_gallery_end_ignore
figure = plt.figure(figsize=(11, 5.2), layout="constrained")
grid = figure.add_gridspec(2, 3, width_ratios=[1, 1, 1.25])


def picture(row, column, Z, colours, title, palette):
    axis = figure.add_subplot(grid[row, column])
    axis.scatter(*Z.T, c=colours, cmap=palette, s=5, linewidths=0)
    axis.set_title(title, fontsize=10)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


# Groups: 1,797 digits in two dimensions, no labels used.

network = pf.MultilayerBootstrapNetwork(2, n_classes=10, decay=0.7, random_state=0)
picture(0, 0, PCA(2).fit_transform(X), y, "digits: principal components", "tab10")
picture(1, 0, network.fit_transform(X), y, "digits: bootstrap network", "tab10")

# Axes: a rolled sheet, coloured by the direction across, which plain eigenmaps do not show at all.

plain = pf.KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0)
axes = pf.NonRedundantEmbedding(2, random_state=0)
picture(0, 1, plain.fit_transform(roll), roll[:, 1], "roll: Laplacian eigenmaps", "viridis")
picture(1, 1, axes.fit_transform(roll), roll[:, 1], "roll: non-redundant axes", "viridis")

# Views: ten of six dimensions; the true neighbours of new digits that are found when some views are lost.

rows, queries = X[::2], X[1::2]
truth = NearestNeighbors(n_neighbors=10).fit(rows).kneighbors(queries, return_distance=False)
rng = np.random.default_rng(0)
left = [[rng.permutation(10)[:k].tolist() for _ in range(5)] for k in (10, 8, 6, 4, 2)]
axis = figure.add_subplot(grid[:, 2])
for name, views, style in (
    ("polyfold's modules", pf.ModularKernelPCA(10, 6, random_state=0), "o-"),
    ("kernel PCA, cut in ten", PartitionKernelPCA(10, 6, random_state=0), "s--"),
):
    index = pf.ModularNeighbors(views).fit(rows)
    found = [[index.kneighbors(queries, modules=m, return_distance=False) for m in sets] for sets in left]
    share = [100 * np.mean([retrieval_precision(one, truth) for one in sets]) for sets in found]
    axis.plot([0, 2, 4, 6, 8], share, style, color="#0072B2" if style == "o-" else "#D55E00", label=name)
axis.set(xlabel="views lost, of ten", ylim=(0, 100), xticks=[0, 2, 4, 6, 8])
axis.set_title("search: true neighbours found, %", fontsize=10)
axis.legend(frameon=False, loc="lower left")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
