"""Sections on studies that record, in each part, numbers by set, method and score: maps and search."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.labelled import HELD_OUT, is_held_out
from benchmarks.pages._markdown import cells, table

# Scores of which less is better.
COSTS = ("cpu", "wall", "seconds", "megabytes", "build", "query", "error", "ratio")


def section(title: str, study: dict[str, Any]) -> str:
    """Tables of every part that has sets, methods and scores; the names of the other parts."""
    parts = study["figures"]
    tables = {name: tables_of(part) for name, part in parts.items() if is_by_set(part)}
    blocks = [f"### {name}\n\n{text}" for name, text in tables.items()]
    rest = [name for name in parts if name not in tables]
    if rest:
        blocks.append(f"More in `benchmarks/results/{study['study']}.json`: {', '.join(rest)}.")
    return "\n\n".join([f"## {title}", *blocks])


def is_by_set(part: Any) -> bool:
    """Whether a part is set → method → score → number, or one number for every seed."""
    levels = [part]
    for _ in range(3):
        if not levels or not all(isinstance(level, dict) and level for level in levels):
            return False
        levels = [value for level in levels for value in level.values()]
    return all(isinstance(value, (int, float)) or is_numbers(value) for value in levels)


def is_numbers(value: Any) -> bool:
    """Whether a value is a list of numbers."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, (int, float)) for v in value)


def tables_of(part: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One table for every score, sets in rows, held-out ones marked, methods in columns."""
    methods = list(dict.fromkeys(m for by_method in part.values() for m in by_method))
    scores = list(dict.fromkeys(s for by_method in part.values() for by_score in by_method.values() for s in by_score))
    blocks = []
    for score in scores:
        best = "lowest" if any(word in score.lower() for word in COSTS) else "highest"
        values = {
            name: [None if score not in found.get(m, {}) else float(np.mean(found[m][score])) for m in methods]
            for name, found in part.items()
        }
        digits = 3 if all(abs(v) <= 1 for row in values.values() for v in row if v is not None) else 1
        rows = [[f"{name} *" if is_held_out(name) else name, *cells(row, digits, best)] for name, row in values.items()]
        blocks.append(f"**{score}**\n\n{table(['', *methods], rows)}")
    note = "\\* held out." if any(name.partition(", ")[0] in HELD_OUT for name in part) else ""
    return "\n\n".join([*blocks, note]).strip()
