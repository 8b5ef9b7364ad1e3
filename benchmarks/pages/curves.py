"""Draw recall against query time as benchmarks/results has it: ``python -m benchmarks.pages.curves [picture]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.pages._markdown import results

OURS = {"modules scanned": "#0072b2", "graph on modules": "#d55e00"}
PEERS = {
    "FAISS flat": "#000000",
    "FAISS HNSW, M = 16": "#009e73",
    "FAISS HNSW, M = 32": "#66c2a5",
    "FAISS IVF": "#cc79a7",
    "FAISS IVF-PQ": "#999999",
}


def draw(figures: dict[str, Any]) -> Any:
    """Return a figure with a curve for every method that was measured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6))
    axes = figure.subplots()
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
    axes.set_xlim(80, 100.5)
    axes.set_xlabel("recall of the 10 nearest in all modules, %")
    axes.set_ylabel("µs a query, one thread")
    axes.grid(alpha=0.3, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def main(arguments: list[str]) -> None:
    """Draw the picture."""
    recorded = results("search")
    if not recorded:
        raise SystemExit("benchmarks/results/search.json is not there; `python -m benchmarks search` measures it.")
    path = Path(arguments[0] if arguments else "search.png")
    draw(recorded["figures"]["curves"]).savefig(path, dpi=130, bbox_inches="tight")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
