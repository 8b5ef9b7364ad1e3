"""
Clusters, and how many there are
================================

Groups of any shape, without a width to tune. The number of groups may be left open.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

import polyfold as pf
from polyfold.exceptions import GuessWarning
from polyfold.metrics import clustering_accuracy, nmi
from polyfold.report import ClusterNumberDisplay

# %%
# Two moons
# ---------

moons, side = make_moons(400, noise=0.08, random_state=0)
models = {
    "k-means": KMeans(2, n_init=20, random_state=0),
    "bootstrap network": pf.BootstrapClustering(
        2, network=pf.MultilayerBootstrapNetwork(2, n_classes=2, decay=0.7, random_state=0), random_state=0
    ),
}
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    labels = model.fit_predict(moons)
    axis.scatter(*moons.T, c=np.array(["#0072B2", "#D55E00"])[labels], s=14)
    axis.set(title=f"{name}: {100 * clustering_accuracy(side, labels):.0f} % right", xticks=[], yticks=[])
plt.show()

# %%
# Digits nobody labelled
# ----------------------

X, y = load_digits(return_X_y=True)
n_init = 50
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y, n_init = X[:500], y[:500], 5
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
ours = pf.BootstrapClustering(10, n_init=n_init, random_state=0).fit(X)
plain = KMeans(10, n_init=n_init, random_state=0).fit(X)
for name, model in {"bootstrap clustering": ours, "k-means": plain}.items():
    labels = model.predict(X_new)
    print(f"{name}: {100 * clustering_accuracy(y_new, labels):.0f} % of new digits right, NMI {nmi(y_new, labels):.2f}")
spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0).fit(X)
print(
    f"spectral clustering, which cannot place new rows: {100 * clustering_accuracy(y, spectral.labels_):.0f} % of old"
)

# %%
# How many?
# ---------
# Leave the number out. Every number gets a score, and the share of samples in which it is the highest says how sure it
# is; a number that the data do not settle comes with a warning.

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", GuessWarning)
    found = pf.BootstrapClustering(n_init=n_init, random_state=0).fit(X)
for warning in told:
    print(warning.message)
print(f"{found.n_clusters_} groups found")
ClusterNumberDisplay.from_estimator(found)
plt.show()
