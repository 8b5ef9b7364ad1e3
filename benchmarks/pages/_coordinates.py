"""Sections on few coordinates: errors of classifiers, and directions of manifolds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.labelled import is_held_out
from benchmarks.pages._markdown import cells, listed, table
from benchmarks.pages._papers import OURS
from benchmarks.studies._held_out import SHAPES

COUNTS = (2, 3, 5, 10)


def is_ours(method: str) -> bool:
    """Whether a method is one of the library."""
    return method.startswith("polyfold")


def classes(figures: dict[str, Any]) -> str:
    """One table for each judge and set: methods in rows, numbers of coordinates in columns; lowest error in bold."""
    blocks = []
    for name, methods in figures.items():
        errors = {
            method: [
                float(np.mean([draw[i] for draw in rows[judge]]))
                for judge in ("10-NN", "SVM")
                for i in range(len(COUNTS))
            ]
            for method, rows in methods.items()
        }
        columns = [cells(column, 1, "lowest") for column in zip(*errors.values(), strict=True)]
        rows = [
            [method, *values, *(f"{np.mean(methods[method][cost]):.0f}" for cost in ("cpu", "megabytes"))]
            for method, values in zip(errors, zip(*columns, strict=True), strict=True)
        ]
        head = ["", *[f"{judge}, {d}" for judge in ("10-NN", "SVM") for d in COUNTS], "processor s", "MB"]
        title = f"### {name}{' (held out)' if is_held_out(name) else ''}: error, % by number of coordinates"
        blocks.append(f"{title}\n\n{table(head, rows)}\n\n{_verdict(errors)}")
    return "\n\n".join(blocks)


def _verdict(errors: dict[str, list[float]]) -> str:
    """Where the best of ours is behind the best of the others, and where it is ahead."""
    labels = [f"{judge} on {d}" for judge in ("10-NN", "SVM") for d in COUNTS]
    ours = np.min([e for m, e in errors.items() if is_ours(m)], axis=0)
    others = np.min([e for m, e in errors.items() if not is_ours(m)], axis=0)
    lost = [f"{label} ({a:.1f} against {b:.1f})" for label, a, b in zip(labels, ours, others, strict=True) if a > b]
    return f"The best of ours loses to the best of the others: {listed(lost, 'nowhere')}."


def manifolds(figures: dict[str, Any]) -> str:
    """Shapes in rows, methods in columns, lowest R² of any direction; best in bold."""
    methods = list(next(iter(figures.values())))

    def line(name: str) -> list[str]:
        return [name, *cells([float(np.mean(figures[name][m])) for m in methods], 2)]

    known, held = [n for n in figures if n not in SHAPES], [n for n in figures if n in SHAPES]
    divider = [["*held out:*", *[""] * len(methods)]] if held else []
    means = []
    for label, names in (("mean of those not held out", known), ("mean, held out", held)):
        if names:
            means.append([label, *cells([float(np.mean([figures[n][m] for n in names])) for m in methods], 2)])
    lost = []
    for name in figures:
        ours, others = (
            max(float(np.mean(figures[name][m])) for m in methods if is_ours(m) is own) for own in (True, False)
        )
        if round(others, 2) > round(ours, 2):
            lost.append(f"{name} ({ours:.2f} against {others:.2f})")
    body = table(["shape, coordinates", *methods], [*map(line, known), *divider, *map(line, held), *means])
    return f"{body}\n\nThe best of ours loses to the best of the others on: {listed(lost, 'none')}."


def fifteen(figures: dict[str, list[float]], errors: dict[str, dict[int, float]]) -> str:
    """Errors of the paper's SVM on 15,000 images: UMAP's, and those of the paper's table as reproduced."""
    umap = {int(d): float(np.mean(found)) for d, found in figures.items()}
    counts = sorted({*umap, *(d for found in errors.values() for d in found)})
    labelled = {f"eigenmaps, {name}": found for name, found in errors.items()}
    rows = [
        [label, *cells([found.get(d) for d in counts], 1, None)] for label, found in {"UMAP": umap, **labelled}.items()
    ]
    enough = [d for d, error in sorted(errors[OURS].items()) if error <= umap[2]]
    needs = f"needs {enough[0]}" if enough else "never gets there"
    verdict = f"For the {umap[2]:.1f} % that UMAP reaches with two coordinates, ours {needs}."
    return f"{table(['error, % by coordinates', *map(str, counts)], rows)}\n\n{verdict}"
