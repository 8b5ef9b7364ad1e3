"""Pictures of the page on peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.labelled import is_held_out
from benchmarks.pages._clusterings import NMI, label_score, mean, measured, together
from benchmarks.pages._markdown import results

OURS, PEER = "BootstrapClustering(c)", "UMAP + k-means"
COLORS = {OURS: "#c0392b", "KernelClustering(c)": "#e59866", PEER: "#2c6fbb", "k-means, 1 run": "#8a8a8a"}


def draw(folder: Path) -> None:
    """Draw all pictures whose figures are there."""
    _save(clusters(together(measured())), folder / "peers-clusters.png")
    few = results("coordinates").get("figures", {})
    if "classes" in few:
        _save(errors(few["classes"]), folder / "peers-coordinates.png")
    if "curves" in (found := results("search").get("figures", {})):
        _save(search(found["curves"]), folder / "peers-search.png")


def clusters(runs: dict[str, Any]) -> Any:
    """NMI on every set with the number of clusters given, ordered by what is gained; held-out sets marked."""
    nmi = {name: {m: mean(runs, name, m, label_score(NMI)) for m in COLORS} for name in runs}
    nmi = {name: found for name, found in nmi.items() if found[OURS] is not None and found[PEER] is not None}
    names = sorted(nmi, key=lambda name: nmi[name][OURS] - nmi[name][PEER])
    figure, axis = plt.subplots(figsize=(7.5, 0.27 * len(names) + 1.2))
    for method, color in COLORS.items():
        rows = [i for i, name in enumerate(names) if nmi[name][method] is not None]
        if rows:
            values = [nmi[names[i]][method] for i in rows]
            axis.scatter(values, rows, 34 if method == OURS else 22, color=color, label=method, zorder=2)
    axis.set_yticks(range(len(names)), [f"{name} *" if is_held_out(name) else name for name in names])
    axis.grid(axis="y", color="#dddddd", zorder=1)
    axis.set_xlabel("NMI, % (* held out)")
    axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def errors(figures: dict[str, Any]) -> Any:
    """Error of 10 nearest neighbours against the number of coordinates, one panel a set."""
    figure, axes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 3.4), squeeze=False)
    for axis, (name, methods) in zip(axes[0], figures.items(), strict=True):
        for method, rows in methods.items():
            style = "-" if method.startswith("polyfold") else "--"
            axis.plot((2, 3, 5, 10), np.mean(rows["10-NN"], axis=0), style, marker="o", markersize=3, label=method)
        axis.set_title(f"{name} *" if is_held_out(name) else name, fontsize=10)
        axis.set_xlabel("coordinates")
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("error of 10-NN, %")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 0.98))
    return figure


def search(curves: dict[str, Any]) -> Any:
    """Query time against recall, one line an index."""
    figure, axis = plt.subplots(figsize=(6.4, 4))
    for name, method in curves["methods"].items():
        points = sorted(method["points"], key=lambda point: point["recall"])
        times = [1000 * point["s"] / curves["queries"] for point in points]
        style = "--" if name.startswith("FAISS") else "-"
        axis.plot([p["recall"] for p in points], times, style, marker="o", markersize=3, label=name)
    axis.set_xlabel("recall of the 10 nearest, %")
    axis.set_ylabel("ms a query")
    axis.set_yscale("log")
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=130, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
