"""Tables of few coordinates: errors of classifiers, and directions of manifolds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.labelled import is_held_out
from benchmarks.pages._markdown import cells, table

COUNTS = (2, 3, 5, 10)
JUDGES = ("10-NN", "SVM")


def summary(figures: dict[str, Any]) -> str:
    """Error of 10 nearest neighbours by number of coordinates on the held-out sets; the lowest is bold."""
    held = [name for name in figures if is_held_out(name)]
    return "\n\n".join(f"{name}, error in %:\n\n{_errors(figures[name], JUDGES[:1])}" for name in held)


def section(figures: dict[str, Any]) -> str:
    """Errors of both classifiers, CPU seconds and memory of every method."""
    blocks = []
    for name, methods in figures.items():
        title = f"### {name}{' (held out)' if is_held_out(name) else ''}: error, % by number of coordinates"
        blocks.append(f"{title}\n\n{_errors(methods, JUDGES, ('cpu', 'megabytes'))}")
    return "\n\n".join(blocks)


def _errors(methods: dict[str, Any], judges: tuple[str, ...], costs: tuple[str, ...] = ()) -> str:
    columns = [
        cells([float(np.mean([draw[i] for draw in rows[judge]])) for rows in methods.values()], 1, "lowest")
        for judge in judges
        for i in range(len(COUNTS))
    ]
    columns += [[f"{np.mean(rows[cost]):.0f}" for rows in methods.values()] for cost in costs]
    names = {"cpu": "CPU s", "megabytes": "MB"}
    head = ["", *(f"{judge}, {d}" for judge in judges for d in COUNTS), *(names[cost] for cost in costs)]
    return table(head, [[method, *row] for method, row in zip(methods, zip(*columns, strict=True), strict=True)])


def manifolds(figures: dict[str, Any]) -> str:
    """Shapes in rows, methods in columns, lowest R² of any direction, and their mean; best in bold."""
    methods = list(next(iter(figures.values())))
    rows = [[name, *cells([float(np.mean(found[m])) for m in methods], 2)] for name, found in figures.items()]
    means = [float(np.mean([figures[name][m] for name in figures])) for m in methods]
    return table(["shape, coordinates", *methods], [*rows, ["mean", *cells(means, 2)]])


def unseen(figures: dict[str, Any]) -> str:
    """R² of the default axes and of the best single kernel on shapes that no rule was designed on."""
    rows = []
    for name, found in figures.items():
        kernels = found["every kernel"]
        best = max(kernels, key=kernels.__getitem__)
        directions = name.rpartition(", ")[2]
        rows.append([name, f"{found['R²']:.3f}", f"{kernels[best]:.3f} ({best})", f"{found['number']} of {directions}"])
    return table(["shape, directions", "R², default", "R², best single kernel", "number of axes found"], rows)


def svm(figures: dict[str, list[float]], errors: dict[str, dict[int, float]]) -> str:
    """Errors of the paper's SVM on 15,000 images: UMAP's, and those of the paper's table as reproduced."""
    umap = {int(d): float(np.mean(found)) for d, found in figures.items()}
    counts = sorted({*umap, *(d for found in errors.values() for d in found)})
    methods = {"UMAP": umap, **{f"eigenmaps, {name}": found for name, found in errors.items()}}
    rows = [[label, *cells([found.get(d) for d in counts], 1, None)] for label, found in methods.items()]
    return table(["error, % by coordinates", *map(str, counts)], rows)
