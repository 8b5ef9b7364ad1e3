"""Section on retrieval."""

from __future__ import annotations

from typing import Any

from benchmarks.pages._markdown import cells, listed, table

TEXT = """## Retrieval

MNIST, 60,000 images to search, as 300 columns (15 modules of 20 dimensions); one thread. Recall: share of the 10
nearest in all columns; precision: of the 10 nearest in pixels."""


PATHS = """FAISS scans by matrix products, several times as fast, only where queries times columns of one call are
128,000 or more: with these queries scans of two and three modules are below, those of more modules and of all columns
above."""


def section(figures: dict[str, Any]) -> str:
    """Levels that both graphs reach, and all points of the curves."""
    blocks = [TEXT]
    if "target" in figures:
        blocks.append(f"### The least effort that reaches a level\n\n{_target(figures['target'])}")
    if "curves" in figures:
        picture = "![Query time against recall](images/peers-search.png)"
        blocks.append(f"### Recall against time\n\n{PATHS}\n\n{picture}\n\n{_curves(figures['curves'])}")
    return "\n\n".join(blocks)


def _target(figures: dict[str, Any]) -> str:
    head = ["level", "HNSW: M, efConstruction", "query, ours / HNSW", "build, ours / HNSW", "µs, ours", "µs, HNSW"]
    rows, lines = figures["rows"], []
    for before, row in zip([None, *rows], rows, strict=False):
        level = "" if before and before["level"] == row["level"] else row["level"]
        ratios = cells([row["query ratio"], row["build ratio"]], 2, None)
        times = cells([1e6 * row[who]["s"] / figures["queries"] for who in ("ours", "HNSW")], 1, None)
        lines.append([level, _peer(row), *ratios, *times])
    slow = [f"{row['level']} ({_peer(row)})" for row in rows if row["query ratio"] > 1]
    long = [f"{row['level']} ({_peer(row)})" for row in rows if row["build ratio"] > 0.5]
    ends = f"Slower to answer than HNSW at: {listed(slow)}. More than half of its time to build at: {listed(long)}."
    return f"Each level has its own graphs, the least effort of both.\n\n{table(head, lines)}\n\n{ends}"


def _peer(row: dict[str, Any]) -> str:
    return f"{row['HNSW']['M']}, {row['HNSW']['efConstruction']}"


def _curves(curves: dict[str, Any]) -> str:
    head = ["index", "setting", "build, s", "MB", "query, ms", "recall, %", "precision, %"]
    lines = []
    for name, method in curves["methods"].items():
        for i, point in enumerate(method["points"]):
            cost = cells([method["build s"], method["MB"]], 1, None) if i == 0 else ["", ""]
            query = 1000 * point["s"] / curves["queries"]
            quality = cells([point["recall"], point["precision"]], 1, None)
            lines.append([name if i == 0 else "", point["setting"], *cost, f"{query:.3f}", *quality])
    return f"{table(head, lines)}\n\n{_outrun(curves['methods'])}"


def _outrun(methods: dict[str, Any]) -> str:
    """Say at which points of our graph one of FAISS's finds as much in less time."""
    others = [p for name, method in methods.items() if name.startswith("FAISS HNSW") for p in method["points"]]
    points = methods["graph on modules"]["points"]
    slower = [p for p in points if any(o["recall"] >= p["recall"] and o["s"] < p["s"] for o in others)]
    found = listed(f"{p['setting']} (recall {p['recall']:.1f} %)" for p in slower)
    return (
        "One graph each here, ours built for a recall of 95 %: FAISS's HNSW finds as much in less time as ours at: "
        f"{found}."
    )
