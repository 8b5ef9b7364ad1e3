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
from benchmarks.pages._clusters import OURS, UMAP, floor_of, mean, together
from benchmarks.pages._markdown import results

COLORS = {"polyfold": "#c0392b", UMAP: "#2c6fbb", "k-means (text: LSA + k-means)": "#8a8a8a"}


def draw(folder: Path) -> None:
    """Draw all pictures whose figures are there."""
    figures = results("peers").get("figures", {})
    if runs := together(figures):
        _save(clusters(runs), folder / "peers-clusters.png")
    few = results("coordinates").get("figures", {})
    if "classes" in few:
        _save(errors(few["classes"]), folder / "peers-coordinates.png")
    if "curves" in (found := results("search").get("figures", {})):
        _save(search(found["curves"]), folder / "peers-search.png")


def clusters(runs: dict[str, Any]) -> Any:
    """NMI on every set, ordered by what is gained; held-out sets marked."""
    names = sorted(runs, key=lambda n: mean(runs, n, OURS, "nmi") - mean(runs, n, UMAP, "nmi"))
    figure, axis = plt.subplots(figsize=(7.5, 0.27 * len(names) + 1.2))
    places = np.arange(len(names))
    columns = ([OURS] * len(names), [UMAP] * len(names), [floor_of(runs, n) for n in names])
    values = [[mean(runs, n, m, "nmi") for n, m in zip(names, methods, strict=True)] for methods in columns]
    axis.hlines(places, np.min(values, axis=0), np.max(values, axis=0), color="#dddddd", zorder=1)
    for (label, color), found in zip(COLORS.items(), values, strict=True):
        axis.scatter(found, places, 34 if label == OURS else 22, color=color, label=label, zorder=2)
    axis.set_yticks(places, [f"{n} *" if is_held_out(n) else n for n in names])
    axis.set_xlabel("NMI, % (* held out)")
    axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)
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
