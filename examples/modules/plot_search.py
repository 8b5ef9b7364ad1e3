"""
Search after the loss of machines
=================================

Put one module on each machine. Together they find nearly the same neighbours as a search in all dimensions. If some
machines are down, the others still find most of them. Parts of one large embedding do not have this property.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

import polyfold as pf
from polyfold.baselines import PartitionKernelPCA
from polyfold.metrics import retrieval_precision

X, queries = train_test_split(load_digits().data, test_size=0.3, random_state=0)
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X, queries = X[:300], queries[:60]
# sphinx_gallery_end_ignore
truth = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(queries, return_distance=False)

# %%
# Ten modules of six dimensions
# -----------------------------

views = {
    "diverse modules": pf.ModularKernelPCA(10, 6, diversity=0.99, random_state=0),
    "one kernel PCA, cut in pieces": PartitionKernelPCA(10, 6, random_state=0),
}
indices = {name: pf.ModularNeighbors(view, n_neighbors=10).fit(X) for name, view in views.items()}


def precision(index, modules=None):
    return retrieval_precision(index.kneighbors(queries, modules=modules, return_distance=False), truth)


# %%
# Lost modules
# ------------
# Each value is the mean over ten random sets of remaining modules.

rng = np.random.default_rng(0)
lost = [0, 2, 4, 6, 8]
left = {k: [rng.permutation(10)[: 10 - k].tolist() for _ in range(10 if k else 1)] for k in lost}
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, index), colour in zip(indices.items(), ("#0072B2", "#D55E00"), strict=True):
    curve = [100 * np.mean([precision(index, chosen) for chosen in left[k]]) for k in lost]
    axis.plot(lost, curve, "o-", color=colour, label=name)
    print(f"{name}: {curve[0]:.1f} % with all, {curve[2]:.1f} % with four of ten lost")
axis.set(xlabel="modules lost, of ten", ylabel="true neighbours found, %", ylim=(0, 100), xticks=lost)
axis.legend(frameon=False)
plt.show()

# %%
# Search on fewer modules
# -----------------------
# ``modules=2, expand=15`` scans two modules for thirty candidates and ranks these by all modules.

index = indices["diverse modules"]
quick = index.kneighbors(queries, modules=2, expand=15, return_distance=False)
print(f"two modules scanned, {100 * retrieval_precision(quick, truth):.1f} % found")

# %%
# A fitted representation is not fitted again if it is frozen.

frozen = pf.ModularNeighbors(FrozenEstimator(index.representation_), n_neighbors=5).fit(X)
distances, neighbors = frozen.kneighbors(queries[:1])

figure, axes = plt.subplots(1, 6, figsize=(8, 1.7), layout="constrained")
for axis, digit, title in zip(axes, [queries[0], *X[neighbors[0]]], ["query", *"12345"], strict=True):
    axis.imshow(digit.reshape(8, 8), cmap="gray_r")
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
