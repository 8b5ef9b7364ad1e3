"""
Votes of diverse autoencoders
=============================

Ten small autoencoders of the same digits. Without a diversity term they are all equal. With it, each gets a little
worse, and their vote gets better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import polyfold as pf
from polyfold.metrics import ensemble_errors

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:500], y[:500]
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Single modules and their vote
# -----------------------------

grid = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99]
model = pf.ModularAutoencoder(n_modules=10, n_components=4, random_state=0).fit(X)
alone, vote = [], []
for mixed in model.diversity_path(grid):
    voters = pf.ModularClassifier(mixed).fit(X, y)
    answers = [clf.predict(Z) for clf, Z in zip(voters.estimators_, mixed.transform_modules(X_new), strict=True)]
    errors = ensemble_errors(np.array(answers), y_new)
    alone.append(100 * errors.individual)
    vote.append(100 * errors.ensemble)

figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.plot(grid, alone, "s--", color="#D55E00", label="one module, mean")
axis.plot(grid, vote, "o-", color="#0072B2", label="their vote")
axis.set(xlabel="diversity λ", ylabel="error on new rows, %")
axis.legend(frameon=False)
plt.show()

# %%
# Reconstructions
# ---------------
# One module of four dimensions, and the mean of all ten.

mixed = model.remix(diversity=0.9)
rows = {
    "shown": X_new[:10],
    "one module": mixed.reconstruct_modules(X_new[:10])[0],
    "all modules": mixed.inverse_transform(mixed.transform(X_new[:10])),
}
figure, axes = plt.subplots(3, 10, figsize=(9, 3), layout="constrained")
for row, (name, digits) in zip(axes, rows.items(), strict=True):
    for axis, digit in zip(row, digits, strict=True):
        axis.imshow(digit.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()
