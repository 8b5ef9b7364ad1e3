"""
Axes that do not repeat each other
==================================

Laplacian eigenmaps of a long strip often repeat its length: the second and the third coordinate are functions of the
first one. Each coordinate of :class:`polyfold.NonRedundantEmbedding` is unpredictable from the earlier ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_swiss_roll

import polyfold as pf
from polyfold.metrics import redundancy

n = 2000
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n = 500
# sphinx_gallery_end_ignore
X, turn = make_swiss_roll(n, random_state=0)

figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
models = {
    "plain eigenmaps": pf.KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0),
    "non-redundant": pf.NonRedundantEmbedding(2, random_state=0),
}
for row, (name, model) in zip(axes, models.items(), strict=True):
    Z = model.fit_transform(X)
    news = redundancy(Z)[1]
    for axis, values, what in zip(row, (turn, X[:, 1]), ("along the roll", "across"), strict=True):
        axis.scatter(*Z.T, c=values, cmap="viridis", s=5)
        axis.set(title=f"{name}, coloured {what}", xticks=[], yticks=[])
    print(f"{name}: {100 * news:.0f} % of the second coordinate is unpredictable from the first")
plt.show()

# %%
# How many axes are there?
# ------------------------
# ``n_components="auto"`` stops before a coordinate that does not explain more of the data. ``kernel="auto"``, the
# default, selects a kernel that leaves little unexplained.

found = pf.NonRedundantEmbedding("auto", random_state=0).fit(X)
print(f"{found.n_components_} axes by {found.kernel_}; novelty of each: {found.novelty_.round(2)}")
print(f"unexplained fraction of the data after 1, 2, … axes: {found.component_scores_.round(3)}")
