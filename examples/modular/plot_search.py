"""
What does recall cost?
======================

Recall against query time of searches by modules. Run it for a picture on handwritten digits; with the name of a result
file of ``benchmarks/studies/search.py`` it draws that one instead, FAISS's indexes included (the picture of the guide).
"""

import json
import sys
import time
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

import polyfold as pf
from polyfold.metrics import retrieval_precision

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS = {"modules scanned": "#0072b2", "graph on modules": "#d55e00"}
PEERS = {
    "FAISS flat": "#000000",
    "FAISS HNSW, M = 16": "#009e73",
    "FAISS HNSW, M = 32": "#66c2a5",
    "FAISS IVF": "#cc79a7",
    "FAISS IVF-PQ": "#999999",
}


def from_digits():
    X = load_digits().data
    model = pf.ModularKernelPCA(8, 8, diversity=0.99, random_state=0).fit(X)
    index = pf.ModularNeighbors(FrozenEstimator(model)).fit(X)
    truth = index.kneighbors(X, modules=8, return_distance=False)
    points = []
    for modules, expand in ((1, 10), (1, 20), (2, 10), (2, 20), (3, 12), (4, 12)):
        start = time.perf_counter()
        found = index.kneighbors(X, modules=modules, expand=expand, return_distance=False)
        took = time.perf_counter() - start
        points.append({"s": took, "recall": 100 * retrieval_precision(found, truth)})
    return {"queries": len(X), "methods": {"modules scanned": {"build s": 0.0, "points": points}}}


def draw(figures):
    figure, axes = plt.subplots(figsize=(7.5, 4.6))
    for name, colour in {**OURS, **PEERS}.items():
        if name not in figures["methods"]:
            continue
        method = figures["methods"][name]
        points = sorted(method["points"], key=lambda point: point["recall"])
        micros = [1e6 * point["s"] / figures["queries"] for point in points]
        label = f"{name} (build {method['build s']:.1f} s)"
        style = {"marker": "o" if name in OURS else "s", "ms": 4, "lw": 2.2 if name in OURS else 1.2, "color": colour}
        axes.plot([point["recall"] for point in points], micros, label=label, **style)
    axes.set_yscale("log")
    axes.set_xlim(min(80, axes.get_xlim()[0]) if len(figures["methods"]) == 1 else 80, 100.5)
    axes.set_xlabel("recall of the 10 nearest in all modules, %")
    axes.set_ylabel("µs a query, one thread")
    axes.grid(alpha=0.3, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


figures = json.loads(Path(sys.argv[1]).read_text())["figures"]["curves"] if len(sys.argv) > 1 else from_digits()
assert np.isfinite([point["s"] for method in figures["methods"].values() for point in method["points"]]).all()
draw(figures).savefig("search.png", dpi=130, bbox_inches="tight")
print("search.png")
