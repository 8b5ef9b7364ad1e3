"""
Modular Isomap
==============

Any kernel can be divided among modules, also the geodesic distances of Isomap. New rows are transformed without a new
fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.model_selection import train_test_split

import polyfold as pf

n = 1200
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n = 400
# sphinx_gallery_end_ignore
X, turn = make_swiss_roll(n, random_state=0)
X, X_new, turn, turn_new = train_test_split(X, turn, test_size=0.3, random_state=0)

# %%
# Modules of a roll
# -----------------
# Three modules of two dimensions. With λ = 0 they are equal. With more diversity, each module rotates and stretches
# the unrolled sheet differently, and weaker directions get more weight.

figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for row, diversity in zip(axes, (0.0, 0.9), strict=True):
    model = pf.ModularKernelPCA(3, 2, kernel="isomap", diversity=diversity, random_state=0).fit(X)
    for number, (axis, Z) in enumerate(zip(row, model.transform_modules(X_new), strict=True)):
        axis.scatter(*Z.T, c=turn_new, cmap="viridis", s=9)
        axis.set(title=f"λ = {diversity}, module {number + 1}", xticks=[], yticks=[])
plt.show()

# %%
# Linear regression from each module
# ----------------------------------
# How well the position along and across the roll is predicted by a linear model, on new rows.

from sklearn.linear_model import LinearRegression

for number, (old, new) in enumerate(zip(model.transform_modules(X), model.transform_modules(X_new), strict=True)):
    along = LinearRegression().fit(old, turn**2).score(new, turn_new**2)
    across = LinearRegression().fit(old, X[:, 1]).score(new, X_new[:, 1])
    print(f"module {number + 1}: along the roll R² = {along:.2f}, across R² = {across:.2f}")
together = LinearRegression().fit(model.transform(X), np.c_[turn**2, X[:, 1]])
print(f"all together: R² = {together.score(model.transform(X_new), np.c_[turn_new**2, X_new[:, 1]]):.2f}")
