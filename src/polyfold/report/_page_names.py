"""Names of clusters, axes and modules on the page of the explorer, from an explanation."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyfold.report._explanations import Explained
from polyfold.report._images import as_images, sheet
from polyfold.report._views import View

# Features by which the page describes an axis.
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


def describe_axes(explanations: Mapping[str, Explained | None]) -> list[dict[str, Any]]:
    """Return the axes of methods, given by name, each with what explains it; axes of the method "" have no prefix."""
    axes = []
    for method, explanation in explanations.items():
        if explanation is not None and "axes" in explanation.tables:
            for k in np.unique(explanation.tables["axes"]["axis"]).tolist():
                name = f"{method}, axis {k}" if method else f"axis {k}"
                axes.append({"name": name, **_describe_axis(explanation, k)})
    return axes


def _describe_axis(explanation: Explained, k: int) -> dict[str, Any]:
    """Return the names of the ends of an axis, and the features, or the strip of images, that explain it."""
    ends = [explanation.names[f"axis {k} {end}"] for end in ("low", "high")]
    if explanation.images is not None and explanation.strips is not None:
        images = explanation.strips[k].reshape(-1, *explanation.images)
        return {"ends": ends, "strip": sheet(as_images(images, len(images))) | {"count": len(images)}}
    table = explanation.tables["axes"]
    is_shown = (table["axis"] == k) & (table["repeats"] == "") & (table["strength"] > table["null"])
    features = [
        [str(table["feature"][i]), float(f"{table['strength'][i]:.3g}"), str(table["shape"][i])]
        for i in np.flatnonzero(is_shown)[:SHOWN]
    ]
    return {"ends": ends, "features": features}
