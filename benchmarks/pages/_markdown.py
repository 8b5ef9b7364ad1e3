"""Tables in Markdown, and figures read from the results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._record import RESULTS


def results(study: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Read what a study recorded; nothing if it was not run."""
    path = folder / f"{study}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cells(values: Sequence[float | None], digits: int = 1, best: str | None = "highest") -> list[str]:
    """Numbers with the best of them in bold, equals as well; a dash where there is none."""
    shown = [None if v is None or not np.isfinite(v) else round(float(v), digits) for v in values]
    known = [v for v in shown if v is not None]
    top = None if best is None or not known else (max(known) if best == "highest" else min(known))
    return ["–" if v is None else f"**{v:.{digits}f}**" if v == top else f"{v:.{digits}f}" for v in shown]


def listed(items: Iterable[str], otherwise: str = "none") -> str:
    """Items with commas between."""
    return ", ".join(items) or otherwise
