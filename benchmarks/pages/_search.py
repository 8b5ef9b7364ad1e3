"""Section on retrieval."""

from __future__ import annotations

from typing import Any

from benchmarks.pages._markdown import cells, listed, table

TEXT = """## Retrieval

MNIST, 60,000 images to search, as 300 columns (15 modules of 20 dimensions); one thread. Recall: share of the 10
nearest in all columns; precision: of the 10 nearest in pixels."""


def section(figures: dict[str, Any]) -> str:
    """Levels that both graphs reach, and all points of the curves."""
    blocks = [TEXT]
    if "target" in figures:
        blocks.append(f"### The least effort that reaches a level\n\n{_target(figures['target']['rows'])}")
    if "curves" in figures:
        picture = "![Query time against recall](images/peers-search.png)"
        blocks.append(f"### Recall against time\n\n{picture}\n\n{_curves(figures['curves'])}")
    return "\n\n".join(blocks)


def _target(rows: list[dict[str, Any]]) -> str:
    head = ["level", "FAISS HNSW, M", "query, ours / HNSW", "build, ours / HNSW", "recall, ours", "recall, HNSW"]
    lines = [
        [
            row["level"],
            str(row["HNSW M"]),
            *cells([row["query ratio"], row["build ratio"]], 2, None),
            *cells([row["ours"]["recall"], row["HNSW"]["recall"]], 1, None),
        ]
        for row in rows
    ]
    lost = [f"{row['level']}, M = {row['HNSW M']} ({row['query ratio']:.2f})" for row in rows if row["query ratio"] > 1]
    return f"{table(head, lines)}\n\nSlower to answer than HNSW at: {listed(lost)}."


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
