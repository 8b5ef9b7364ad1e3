"""Tables of maps in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.pages._markdown import cells, table
from benchmarks.studies.maps import HELD_OUT

# Score -> title, digits, which value is best.
SCORES = {
    "accuracy": ("Accuracy, %", 1, "highest"),
    "trustworthiness": ("Trustworthiness", 3, "highest"),
    "time": ("CPU time / umap-learn", 2, None),
    "megabytes": ("Peak memory above the data, MB", 0, None),
}
NAMES = {"umap": "umap-learn", "tsne": "openTSNE", "pacmap": "PaCMAP", "trimap": "TriMap", "ours": "BootstrapMap"}


def by_set(figures: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of every method by set, with the time relative to umap-learn."""
    sets = {name: found for name, found in figures.items() if "ours" in found}
    return {
        name: {m: {**s, "time": s["cpu"] / found["umap"]["cpu"]} for m, s in found.items() if isinstance(s, dict)}
        for name, found in sets.items()
    }


def summary(figures: dict[str, Any]) -> str:
    """Means over the held-out sets, and over the others."""
    sets = by_set(figures)
    groups = {
        "held out": [n for n in sets if n in HELD_OUT],
        "others": [n for n in sets if n not in HELD_OUT],
    }
    known = [m for m in NAMES if all(m in found for found in sets.values())]
    head, columns = [""], []
    for score, (title, digits, best) in SCORES.items():
        if score == "megabytes":
            continue
        for group, names in groups.items():
            head.append(f"{title}: {group} ({len(names)})")
            columns.append(cells([float(np.mean([sets[n][m][score] for n in names])) for m in known], digits, best))
    return table(head, [[NAMES[m], *values] for m, *values in zip(known, *columns, strict=True)])


def section(figures: dict[str, Any]) -> str:
    """One table per score, held-out sets first."""
    sets = by_set(figures)
    methods = list(dict.fromkeys(method for found in sets.values() for method in found))
    names = sorted(sets, key=lambda name: name not in HELD_OUT)
    blocks = []
    for score, (title, digits, best) in SCORES.items():
        rows = [
            [_label(name), *cells([sets[name].get(m, {}).get(score) for m in methods], digits, best)] for name in names
        ]
        blocks.append(f"### {title}\n\n{table(['', *methods], rows)}")
    return "\n\n".join(blocks)


def _label(name: str) -> str:
    return f"{name} (held out)" if name in HELD_OUT else name
