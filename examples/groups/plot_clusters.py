"""
Clusters at several levels
==========================

Clusters of any shape, without a bandwidth to tune. The number of clusters may be unknown: the clusters form a tree, and
you choose the level.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

import polyfold as pf
from polyfold.metrics import clustering_accuracy, nmi
from polyfold.report import ClusterTreeDisplay

# %%
# Two moons
# ---------

moons, side = make_moons(400, noise=0.08, random_state=0)
models = {
    "k-means": KMeans(2, n_init=20, random_state=0),
    "Laplacian eigenmaps": pf.KernelClustering(2, kernel="laplacian_eigenmaps", random_state=0),
}
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    labels = model.fit_predict(moons)
    axis.scatter(*moons.T, c=np.array(["#0072B2", "#D55E00"])[labels], s=14)
    axis.set(title=f"{name}: {100 * clustering_accuracy(side, labels):.0f} % right", xticks=[], yticks=[])
plt.show()

# %%
# Digits, with the number of clusters
# -----------------------------------

X, y = load_digits(return_X_y=True)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, y = X[:500], y[:500]
# sphinx_gallery_end_ignore
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
ours = pf.BootstrapClustering(10, random_state=0).fit(X)
plain = KMeans(10, n_init=20, random_state=0).fit(X)
for name, model in {"bootstrap clustering": ours, "k-means": plain}.items():
    labels = model.predict(X_new)
    print(f"{name}: {100 * clustering_accuracy(y_new, labels):.0f} % of new digits right, NMI {nmi(y_new, labels):.2f}")
spectral = SpectralClustering(10, affinity="nearest_neighbors", random_state=0).fit(X)
accuracy = clustering_accuracy(y, spectral.labels_)
print(f"spectral clustering, which has no predict: {100 * accuracy:.0f} % of the training digits right")

# %%
# Digits, without the number of clusters
# --------------------------------------
# Omit the number. The levels are nested, and each has a stability: the agreement (adjusted Rand index) between the
# clusters of two halves of the rows. In the plot, a cluster lies below the one that holds it. Its width is its size,
# its colour its own stability.

clustering = pf.BootstrapClustering(random_state=0).fit(X)
for number, labels in zip(clustering.level_scores_, clustering.levels_, strict=True):
    print(f"{number:4} clusters: stability {clustering.level_scores_[number]:.2f}, NMI {nmi(y, labels):.2f}")
print(f"labels_ has {clustering.n_clusters_} clusters")
ClusterTreeDisplay.from_estimator(clustering)
plt.show()

# %%
# Any other number comes from the same tree, also for new rows, without fitting again.

print(nmi(y, clustering.labels_at(10)), nmi(y_new, clustering.predict(X_new, n_clusters=10)))

# %%
# Embeddings
# ----------
# Sentence embeddings have rows of unit length. ``KernelClustering`` then uses diffusion maps. The vectors here are
# generated: 36 kinds of sentences, in 6 topics.

rng = np.random.default_rng(0)
topics = np.repeat(rng.standard_normal((6, 64)), 6, axis=0)
kinds = topics + 0.8 * rng.standard_normal((36, 64))
kind = rng.integers(36, size=3000)
sentences = kinds[kind] + rng.standard_normal((3000, 64))
sentences /= np.linalg.norm(sentences, axis=1, keepdims=True)
clustering = pf.KernelClustering(random_state=0).fit(sentences)
print(clustering.kernel_)
for number, labels in zip(clustering.level_scores_, clustering.levels_, strict=True):
    print(f"{number:4} clusters: NMI with topics {nmi(kind // 6, labels):.2f}, with kinds {nmi(kind, labels):.2f}")
ClusterTreeDisplay.from_estimator(clustering)
plt.show()
