"""Tables of the study ``clusterings``: means over groups of sets, then every set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.labelled import NAMES, is_held_out
from benchmarks.pages._markdown import cells, table
from benchmarks.rivals import METHODS

SMALL = 2000
CLUSTERS, NMI, ARI, NOISE = range(4)  # places in what is recorded of a clustering
Run = dict[str, Any]
Runs = dict[str, dict[str, dict[str, Run]]]  # by set, method and seed


def label_score(place: int) -> Callable[[Run], float]:
    """Read a score of the labels."""
    return lambda run: run["labels"][place]


def best_score(place: int) -> Callable[[Run], float]:
    """Read the best score among all levels."""
    return lambda run: max(level[place] for level in run.get("levels", [run["labels"]]))


def section(figures: dict[str, Any]) -> str:
    """Tables of what is recorded: means over groups of sets, then NMI, ARI and CPU seconds of every set."""
    runs: Runs = {}
    for part in ("rivals", "ours"):
        for name, found in figures.get(part, {}).items():
            runs.setdefault(name, {}).update(found)
    sizes = figures["sets"]
    methods = [label for label in METHODS if any(label in found for found in runs.values())]
    levels = [
        m for m in methods if any("levels" in run for found in runs.values() for run in found.get(m, {}).values())
    ]
    groups = {
        "held out": [n for n in runs if is_held_out(n)],
        "other labelled": [n for n in runs if n in NAMES and not is_held_out(n)],
        "embeddings": [n for n in runs if n not in NAMES],
    }
    same = {group: [n for n in names if all(m in runs[n] for m in levels)] for group, names in groups.items()}
    small = {f"at most {SMALL} rows": [n for n in runs if sizes[n]["rows"] <= SMALL]}
    told = [m for m in methods if METHODS[m].is_told]
    untold = [m for m in methods if not METHODS[m].is_told]
    tables = {
        "Number given, mean NMI": _means(runs, groups, told, label_score(NMI)),
        "Number given, mean ARI": _means(runs, groups, told, label_score(ARI)),
        "Number not given, default labels, mean NMI": _means(runs, groups, untold, label_score(NMI)),
        "Number not given, default labels, mean ARI": _means(runs, groups, untold, label_score(ARI)),
        "Best level on sets that all of them read, mean NMI": _means(runs, same, levels, best_score(NMI)),
        "Best level on sets that all of them read, mean ARI": _means(runs, same, levels, best_score(ARI)),
        "Noise, %": _means(runs, groups, untold, label_score(NOISE)),
        "CPU seconds, median": _means(runs, {**groups, **small}, methods, lambda run: run["cpu"], np.median),
        "NMI of every set (best level if there are several)": _by_set(runs, groups, methods, best_score(NMI)),
        "ARI of every set (best level if there are several)": _by_set(runs, groups, methods, best_score(ARI)),
        "CPU seconds of every set": _by_set(runs, groups, methods, lambda run: run["cpu"]),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in tables.items())


def _mean(runs: Runs, name: str, label: str, read: Callable[[Run], float]) -> float | None:
    """Mean over seeds."""
    found = runs[name].get(label, {})
    return float(np.mean([read(run) for run in found.values()])) if found else None


def _means(
    runs: Runs, groups: dict[str, list[str]], methods: list[str], read: Callable[[Run], float], middle: Any = np.mean
) -> str:
    """One line per method; a number in brackets says how many sets it ran on if it is not all of them."""
    rows = []
    for label in methods:
        row = [label]
        for names in groups.values():
            known = [v for n in names if (v := _mean(runs, n, label, read)) is not None]
            fewer = f" ({len(known)})" if len(known) < len(names) else ""
            row.append(f"{middle(known):.1f}{fewer}" if known else "–")
        rows.append(row)
    return table(["", *(f"{group} ({len(names)})" for group, names in groups.items())], rows)


def _by_set(runs: Runs, groups: dict[str, list[str]], methods: list[str], read: Callable[[Run], float]) -> str:
    names = [name for group in groups.values() for name in group]
    rows = [[name, *cells([_mean(runs, name, m, read) for m in methods], best=None)] for name in names]
    return table(["", *methods], rows)
