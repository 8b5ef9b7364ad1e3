"""
How diverse should modules be?
==============================

λ = 0 makes every module the same kernel PCA, λ = 1 makes them a large one cut into pieces. What is best depends on
the use: search wants nearly 1, votes a little less. :func:`polyfold.select_diversity` finds out on folds of the
training data; every fold looks at its rows once, whatever the number of values tried.
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
# Choose by what you want
# -----------------------
# Without labels: the share of true neighbours found. With labels: how often the modules' vote is right.

grid = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999]
modules = pf.ModularKernelPCA(n_modules=10, n_components=6, random_state=0)
for_search = pf.select_diversity(modules, X, grid=grid)
for_votes = pf.select_diversity(modules, X, y, grid=grid)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
wishes = {"share of neighbours found": (for_search, "#0072B2"), "accuracy of the vote": (for_votes, "#D55E00")}
for axis, (wish, (chosen, colour)) in zip(axes, wishes.items(), strict=True):
    place = np.arange(len(grid))
    axis.fill_between(place, chosen.mean - chosen.std, chosen.mean + chosen.std, color=colour, alpha=0.2, lw=0)
    axis.plot(place, chosen.mean, "o-", color=colour)
    axis.axvline(grid.index(chosen.best_diversity), color="grey", lw=1, ls=":")
    axis.set(xticks=place, xticklabels=grid, xlabel="diversity λ", title=f"{wish}: best λ = {chosen.best_diversity}")
plt.show()

# %%
# Another λ costs milliseconds
# ----------------------------
# The directions of the data are found once; :meth:`~polyfold.ModularKernelPCA.remix` deals them to modules anew.
# ``allocation_`` says in how many modules a direction is held: strong ones in all, weak ones in a few.

fitted = modules.fit(X)
figure, axis = plt.subplots(figsize=(9, 3.2), layout="constrained")
for value, colour in zip((0.0, 0.6, 0.9, 0.99), ("#000000", "#009E73", "#E69F00", "#CC79A7"), strict=True):
    held = fitted.remix(diversity=value).allocation_
    axis.plot(np.arange(1, len(held) + 1), held, drawstyle="steps-mid", color=colour, label=f"λ = {value}")
axis.set(xlabel="direction of the data, strongest first", ylabel="held in so many modules")
axis.legend(frameon=False)
plt.show()

# %%
# On rows that took no part
# -------------------------

voters = pf.ModularClassifier(fitted.remix(diversity=for_votes.best_diversity)).fit(X, y)
print(f"accuracy on new rows with the λ chosen: {voters.score(X_new, y_new):.3f}")
