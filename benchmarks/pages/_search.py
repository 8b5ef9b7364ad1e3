"""Tables of nearest-neighbour search."""

from __future__ import annotations

from typing import Any

from benchmarks.pages._markdown import cells, table

# Setting of FAISS's HNSW in the summary: links and efConstruction.
PEER = (16, 40)


def summary(figures: dict[str, Any]) -> str:
    """Query and build time relative to HNSW on all dimensions, for every level."""
    rows = [[row["level"], *cells([row["query ratio"], row["build ratio"]], 2, None)] for row in compared(figures)]
    return table(["level", "query time, ours / HNSW", "build time, ours / HNSW"], rows)


def compared(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the levels against one setting of HNSW."""
    return [row for row in figures["rows"] if (row["HNSW"]["M"], row["HNSW"]["efConstruction"]) == PEER]


def section(figures: dict[str, Any]) -> str:
    """Every setting of HNSW, and all points of the curves."""
    levels, curves = _levels(figures["target"]), _curves(figures["curves"])
    return f"### Least effort that reaches a level\n\n{levels}\n\n### Recall and query time\n\n{curves}"


def _levels(figures: dict[str, Any]) -> str:
    head = ["level", "HNSW: M, efConstruction", "query, ours / HNSW", "build, ours / HNSW", "µs, ours", "µs, HNSW"]
    lines = []
    for row in figures["rows"]:
        ratios = cells([row["query ratio"], row["build ratio"]], 2, None)
        times = cells([1e6 * row[who]["s"] / figures["queries"] for who in ("ours", "HNSW")], 1, None)
        lines.append([row["level"], f"{row['HNSW']['M']}, {row['HNSW']['efConstruction']}", *ratios, *times])
    return table(head, lines)


def _curves(curves: dict[str, Any]) -> str:
    head = ["index", "setting", "build, s", "MB", "query, ms", "recall, %", "precision, %"]
    lines = []
    for name, method in curves["methods"].items():
        for i, point in enumerate(method["points"]):
            cost = cells([method["build s"], method["MB"]], 1, None) if i == 0 else ["", ""]
            query = 1000 * point["s"] / curves["queries"]
            quality = cells([point["recall"], point["precision"]], 1, None)
            lines.append([name if i == 0 else "", point["setting"], *cost, f"{query:.3f}", *quality])
    return table(head, lines)
