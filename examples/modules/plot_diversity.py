"""
How diverse should modules be?
==============================

With λ = 0, all modules are the same kernel PCA. With λ = 1, they are parts of one large kernel PCA. The best value
depends on the task: almost 1 for search, less for votes. :func:`polyfold.select_diversity` finds it by
cross-validation. Each fold is fitted once, for any number of values.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import polyfold as pf

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:400], y[:400]
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)

# %%
# Choose by task
# --------------
# Without labels, the score is the fraction of true neighbours found. With labels, it is the accuracy of the vote.

grid = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999]
modules = pf.ModularKernelPCA(n_modules=10, n_components=6, random_state=0)
for_search = pf.select_diversity(modules, X, grid=grid)
for_votes = pf.select_diversity(modules, X, y, grid=grid)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
tasks = {"fraction of neighbours found": (for_search, "#0072B2"), "accuracy of the vote": (for_votes, "#D55E00")}
for axis, (task, (chosen, colour)) in zip(axes, tasks.items(), strict=True):
    place = np.arange(len(grid))
    axis.fill_between(place, chosen.mean - chosen.std, chosen.mean + chosen.std, color=colour, alpha=0.2, lw=0)
    axis.plot(place, chosen.mean, "o-", color=colour)
    axis.axvline(grid.index(chosen.best_diversity), color="grey", lw=1, ls=":")
    axis.set(xticks=place, xticklabels=grid, xlabel="diversity λ", title=f"{task}: best λ = {chosen.best_diversity}")
plt.show()

# %%
# Another λ costs milliseconds
# ----------------------------
# The directions of the data are found once. :meth:`~polyfold.ModularKernelPCA.remix` divides them among modules again.
# ``allocation_`` is the number of modules that contain a direction: strong ones are in all modules, weak ones in few.

fitted = modules.fit(X)
figure, axis = plt.subplots(figsize=(9, 3.2), layout="constrained")
for value, colour in zip((0.0, 0.6, 0.9, 0.99), ("#000000", "#009E73", "#E69F00", "#CC79A7"), strict=True):
    held = fitted.remix(diversity=value).allocation_
    axis.plot(np.arange(1, len(held) + 1), held, drawstyle="steps-mid", color=colour, label=f"λ = {value}")
axis.set(xlabel="direction of the data, strongest first", ylabel="number of modules")
axis.legend(frameon=False)
plt.show()

# %%
# Accuracy on new rows
# --------------------

voters = pf.ModularClassifier(fitted.remix(diversity=for_votes.best_diversity)).fit(X, y)
print(f"accuracy on new rows with the λ chosen: {voters.score(X_new, y_new):.3f}")
