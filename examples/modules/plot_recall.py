"""
Recall and query time
=====================

A scan of all modules finds all neighbours. A scan of a few modules finds nearly all, in less time. ``recall=`` selects
the number of modules and candidates on the training rows and estimates the recall.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

import polyfold as pf
from polyfold.metrics import retrieval_precision

X = load_digits().data
# sphinx_gallery_start_ignore
import os

if "POLYFOLD_SMALL" in os.environ:
    X = X[:400]
# sphinx_gallery_end_ignore
model = pf.ModularKernelPCA(8, 8, diversity=0.99, random_state=0).fit(X)
index = pf.ModularNeighbors(FrozenEstimator(model)).fit(X)
truth = index.kneighbors(X, modules=8, return_distance=False)

# %%
# Modules scanned, candidates ranked
# ----------------------------------

figure, axis = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for modules, expand in ((1, 10), (1, 20), (2, 10), (2, 20), (3, 12), (4, 12)):
    start = time.perf_counter()
    found = index.kneighbors(X, modules=modules, expand=expand, return_distance=False)
    micros = 1e6 * (time.perf_counter() - start) / len(X)
    recall = 100 * retrieval_precision(found, truth)
    axis.plot(recall, micros, "o", color="#0072B2", ms=8)
    axis.annotate(f"{modules} × {expand}", (recall, micros), xytext=(6, 4), textcoords="offset points", fontsize=9)
axis.set(xlabel="recall of the ten nearest in all modules, %", ylabel="µs per query", ylim=(0, None))
plt.show()

# %%
# Choose the recall, not the settings
# -----------------------------------

wanted = pf.ModularNeighbors(FrozenEstimator(model), recall=0.95).fit(X)
print(f"recall estimated at {wanted.recall_:.3f} ± {wanted.recall_error_:.3f}")
