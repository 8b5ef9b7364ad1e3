"""What an explanation adds to a chapter of the page: names of clusters, axes and modules, and strips of images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.report._explanations import Explained
from polyfold.report._images import as_images, sheet
from polyfold.report._views import View

# Features by which an axis is described.
SHOWN = 4


def name_clusters(columns: list[dict[str, Any]], levels: list[dict[str, Any]], explanation: Explained) -> None:
    """Add the names of clusters to the encoded column of the labels and to the encoded levels."""
    names = explanation.names
    several = any(key.startswith("level ") for key in names)
    prefix = ""
    for number, level in enumerate(levels):
        if several:
            level["names"] = [names.get(f"level {number} cluster {label}") for label in level["classes"]]
        if level["chosen"]:
            prefix = f"level {number} " if several else ""
            level["names"] = [names.get(f"{prefix}cluster {label}") for label in level["classes"]]
    for column in columns:
        if column.get("role") == "cluster":
            column["names"] = [names.get(f"{prefix}cluster {label}") for label in column["classes"]]


def name_view(view: View, explanation: Explained | None) -> dict[str, Any]:
    """Return the name of the module that a view shows, and the names of the ends of its axes."""
    names = {} if explanation is None else explanation.names
    ends = [[names[f"{part} {end}"] for end in ("low", "high")] for part in view.parts if f"{part} low" in names]
    about = next((names[part] for part in view.parts if part in names), "")
    return {"about": about, "axes": ends}


def describe_axes(explanation: Explained | None, method: str = "") -> list[dict[str, Any]]:
    """Return every axis with the names of its ends and the features, or the strip of images, that explain it.

    The names of the axes start with the name of the method, if given.
    """
    if explanation is None or "axes" not in explanation.tables:
        return []
    table, out = explanation.tables["axes"], []
    for k in np.unique(table["axis"]).tolist():
        part = f"axis {k}"
        axis: dict[str, Any] = {
            "name": f"{method}, {part}" if method else part,
            "ends": [explanation.names[f"{part} {end}"] for end in ("low", "high")],
        }
        if explanation.images is not None and explanation.strips is not None:
            axis["strip"] = _strip(explanation.strips[k].reshape(-1, *explanation.images))
        else:
            is_shown = (table["axis"] == k) & (table["repeats"] == "") & (table["strength"] > table["null"])
            axis["features"] = [
                [str(table["feature"][i]), float(f"{table['strength'][i]:.3g}"), str(table["shape"][i])]
                for i in np.flatnonzero(is_shown)[:SHOWN]
            ]
        out.append(axis)
    return out


def _strip(images: NDArray) -> dict[str, Any]:
    return sheet(as_images(images, len(images))) | {"count": len(images)}
