"""
Clusters of cells and their marker genes
========================================

Simulated single cells: counts of 300 genes in 800 cells of four types. With real data, take the counts and the names of
the genes from an AnnData object.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import polyfold as pf

rng = np.random.default_rng(0)
n_cells, n_genes = 800, 300
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    n_cells = 300
# sphinx_gallery_end_ignore
kind = rng.integers(4, size=n_cells)
changed = rng.normal(0, 1.8, size=(4, n_genes)) * (rng.random((4, n_genes)) < 0.1)
rates = rng.gamma(0.4, 1.0, size=n_genes) * np.exp(changed)
counts = rng.poisson(3 * rates[kind])
genes = [f"gene{i}" for i in range(n_genes)]

# %%
# Normalise, reduce, cluster
# --------------------------
# Divide by the counts of each cell, take logarithms, and keep 30 principal components.

logs = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
components = PCA(30, random_state=0).fit_transform(logs)
clustering = pf.BootstrapClustering(4, random_state=0).fit(components)
print(f"adjusted Rand index with the simulated types: {adjusted_rand_score(kind, clustering.labels_):.2f}")

# %%
# Marker genes
# ------------
# Effects are differences between the means inside and outside a cluster, in standard deviations.

markers = pf.explain(clustering.labels_, logs, feature_names=genes, random_state=0)
for cluster, name in markers.names.items():
    print(cluster, name, sep=": ")

layout = pf.BootstrapMap(random_state=0).fit_transform(components)
table = markers.clusters
first = list(dict.fromkeys(table[table["rank"] <= 3].sort_values(["cluster", "rank"])["feature"]))
effects = table.pivot_table(index="cluster", columns="feature", values="effect", sort=False)[first]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.scatter(*layout.T, c=clustering.labels_, cmap="tab10", vmax=9, s=8, linewidths=0)
left.set(title="Map, coloured by cluster", xticks=[], yticks=[])
limit = np.abs(effects.to_numpy()).max()
image = right.imshow(effects.to_numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
right.set_yticks(range(len(effects)), [f"cluster {c}" for c in effects.index])
right.set_xticks(range(len(first)), first, rotation=60, ha="right")
right.set_title("Effects of the first three genes of each cluster")
figure.colorbar(image, ax=right, label="effect")
plt.show()
