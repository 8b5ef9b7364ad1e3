"""
A map of the data
=================

A layout of the nearest neighbours that a bootstrap network finds. You do not have to choose a bandwidth or a number of
neighbours, and new rows can be transformed.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import polyfold as pf

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:400], y[:400]
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)

# %%
# Training rows as dots, new rows as numbers
# ------------------------------------------
# The score is the accuracy of ten nearest neighbours in the map, for new rows.

maps = {"principal components": PCA(2), "BootstrapMap": pf.BootstrapMap(random_state=0)}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for axis, (name, model) in zip(axes, maps.items(), strict=True):
    Z = model.fit_transform(X)
    Z_new = model.transform(X_new)
    accuracy = KNeighborsClassifier(10).fit(Z, y).score(Z_new, y_new)
    axis.scatter(*Z.T, c=y, cmap="tab10", s=6, alpha=0.5, linewidths=0)
    for (a, b), digit in zip(Z_new[:150], y_new[:150], strict=False):
        axis.text(a, b, str(digit), color=plt.cm.tab10(digit), fontsize=8, ha="center", va="center")
    axis.set(title=f"{name}: accuracy on new digits {100 * accuracy:.0f} %", xticks=[], yticks=[])
plt.show()

# %%
# The neighbour graph
# -------------------
# Pass the neighbours of the network to any method that accepts a graph.

network = maps["BootstrapMap"].network_
graph = network.kneighbors_graph(n_neighbors=10)
print(f"a graph of {graph.shape[0]} rows, {graph.nnz / graph.shape[0]:.0f} neighbours each")
