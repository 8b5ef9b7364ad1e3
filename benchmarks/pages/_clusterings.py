"""Tables of the study ``clusterings``: means over groups of sets, then every set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.labelled import NAMES, is_held_out
from benchmarks.pages._markdown import cells, results, table
from benchmarks.rivals import METHODS

SMALL = 2000
CLUSTERS, NMI, ARI, NOISE = range(4)  # places in what is recorded of a clustering
Run = dict[str, Any]
Runs = dict[str, dict[str, dict[str, Run]]]  # by set, method and seed


def measured() -> dict[str, Any]:
    """Read the figures of the study."""
    return results("clusterings").get("figures", {"rivals": {}, "ours": {}, "sets": {}})


def together(figures: dict[str, Any]) -> Runs:
    """Return the runs of all methods by set."""
    runs: Runs = {}
    for part in ("rivals", "ours"):
        for name, found in figures.get(part, {}).items():
            runs.setdefault(name, {}).update(found)
    return runs


def groups_of_sets(runs: Runs) -> dict[str, list[str]]:
    """Sort sets by their part in choosing defaults, held-out sets first."""
    return {
        "held out": [n for n in runs if is_held_out(n)],
        "other labelled": [n for n in runs if n in NAMES and not is_held_out(n)],
        "embeddings": [n for n in runs if n not in NAMES],
    }


def label_score(place: int) -> Callable[[Run], float]:
    """Read a score of the labels."""
    return lambda run: run["labels"][place]


def best_score(place: int) -> Callable[[Run], float]:
    """Read the best score among all levels."""
    return lambda run: max(level[place] for level in run.get("levels", [run["labels"]]))


def summary(figures: dict[str, Any]) -> str:
    """Mean NMI of every method over groups of sets, with the number of clusters given and without it."""
    runs = together(figures)
    groups, methods = groups_of_sets(runs), _methods(runs)
    held = {"held out": groups["held out"]}
    head = [*_head(groups), "CPU s, held out"]
    tables = []
    for title, is_told in (("Number of clusters given", True), ("Number of clusters unknown, default labels", False)):
        chosen = [m for m in methods if METHODS[m].is_told is is_told]
        scores = _rows(runs, groups, chosen, label_score(NMI), missing=1)
        costs = _rows(runs, held, chosen, lambda run: run["cpu"], np.median, missing=1)
        rows = [[*row, cost] for row, (_, cost) in zip(scores, costs, strict=True) if set(row[1:]) != {"–"}]
        tables.append(f"{title}, mean NMI in %:\n\n{table(head, rows)}")
    return "\n\n".join(tables)


def faster(figures: dict[str, Any], method: str, other: str) -> str:
    """Count the held-out sets on which a method takes less CPU time than another."""
    runs = together(figures)
    held = [n for n in groups_of_sets(runs)["held out"] if {method, other} <= set(runs[n])]
    less = sum(seconds(runs, name, method) < seconds(runs, name, other) for name in held)
    return f"{method} is faster than `{other}` on {less} of {len(held)} held-out sets."


def section(figures: dict[str, Any]) -> str:
    """Tables of what is recorded: means over groups of sets, then NMI, ARI and CPU seconds of every set."""
    runs, sizes = together(figures), figures["sets"]
    methods, groups = _methods(runs), groups_of_sets(runs)
    levels = [
        m for m in methods if any("levels" in run for found in runs.values() for run in found.get(m, {}).values())
    ]
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
        "Number of clusters of the default labels": _by_set(runs, groups, untold, label_score(CLUSTERS)),
        "CPU seconds of every set": _by_set(runs, groups, methods, lambda run: run["cpu"]),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in tables.items())


def mean(runs: Runs, name: str, label: str, read: Callable[[Run], float]) -> float | None:
    """Mean over seeds; None if the method was not run on the set."""
    found = runs[name].get(label, {})
    return float(np.mean([read(run) for run in found.values()])) if found else None


def seconds(runs: Runs, name: str, method: str) -> float:
    """Mean CPU time of a method on a set."""
    return float(np.mean([run["cpu"] for run in runs[name][method].values()]))


def _methods(runs: Runs) -> list[str]:
    return [label for label in METHODS if any(label in found for found in runs.values())]


def _head(groups: dict[str, list[str]]) -> list[str]:
    return ["", *(f"{group} ({len(names)})" for group, names in groups.items())]


def _rows(
    runs: Runs,
    groups: dict[str, list[str]],
    methods: list[str],
    read: Callable[[Run], float],
    middle: Any = np.mean,
    missing: float = np.inf,
) -> list[list[str]]:
    """One line per method; a number in brackets is the number of sets it ran on if it is not all of them.

    A method that misses more than `missing` sets of a group has a dash, because its mean cannot be compared.
    """
    rows = []
    for label in methods:
        row = [label]
        for names in groups.values():
            known = [v for n in names if (v := mean(runs, n, label, read)) is not None]
            fewer = f" ({len(known)})" if len(known) < len(names) else ""
            shown = known and len(names) - len(known) <= missing
            row.append(f"{middle(known):.1f}{fewer}" if shown else "–")
        rows.append(row)
    return rows


def _means(
    runs: Runs,
    groups: dict[str, list[str]],
    methods: list[str],
    read: Callable[[Run], float],
    middle: Any = np.mean,
) -> str:
    return table(_head(groups), _rows(runs, groups, methods, read, middle))


def _by_set(runs: Runs, groups: dict[str, list[str]], methods: list[str], read: Callable[[Run], float]) -> str:
    names = [name for group in groups.values() for name in group]
    rows = [[name, *cells([mean(runs, name, m, read) for m in methods], best=None)] for name in names]
    return table(["", *methods], rows)
