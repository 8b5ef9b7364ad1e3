"""Networks on MNIST, layer by layer: the cells that most figures of [Zhang2016] share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.cells import Cells
from papers.mbn.settings import draw_digits, fitted, mean_nmi, means, network, shown
from polyfold.metrics import clustering_accuracy, nmi

BEST_OF = 50


def layers(
    data: Path | None,
    *,
    rows: int,
    queries: int,
    first_layer: Any,
    decay: float,
    clusterings: int,
    fraction: float,
    dimensions: Sequence[int],
    every: bool,
    part: str,
    runs: int,
    seed: int,
) -> dict[str, Any]:
    """Mean NMI of k-means for every layer (or the last) and output dimension, on training or test images, or both.

    Beside it the best of 50 runs at as many dimensions as classes, and the plane of the top layer and, where there
    are so many, of the third from the top.
    """
    (X, y), (Q, y_test) = draw_digits(data, rows, queries, seed)
    classes = len(np.unique(y))
    options = {"decay": decay, "clusterings": clusterings, "fraction": fraction, "seed": seed}
    model = fitted(network(max(dimensions), classes, first_layer=first_layer, **options), X)
    sizes = model.layer_sizes_
    levels = range(len(sizes)) if every else [len(sizes) - 1]
    outputs = [model if level == len(sizes) - 1 else model.at_layer(level) for level in levels]
    numbers: dict[str, Any] = {"sizes": [sizes[level] for level in levels], "disagreement": model.disagreement_}
    planes = [one.embedding_ for one in outputs]
    if part != "test":
        numbers["train"] = [_by_dimension(Z, y, dimensions, runs, seed) for Z in planes]
    if classes in dimensions:
        numbers |= best_of_many(model.embedding_[:, :classes], y, seed)
    if part != "train":
        codes, y = model.network_.encode_layers(Q), y_test
        planes = [one.output_.transform(codes[level]) for level, one in zip(levels, outputs, strict=True)]
        numbers["test"] = [_by_dimension(Z, y, dimensions, runs, seed) for Z in planes]
    if every:
        numbers |= {"top": shown(planes[-1], y), "below": shown(planes[max(len(planes) - 3, 0)], y)}
    return numbers


def best_of_many(Z: NDArray, y: NDArray, seed: int) -> dict[str, float]:
    """NMI and accuracy of the best of 50 runs of k-means, by its own objective [App. E]."""
    labels = means(Z, len(np.unique(y)), seed, BEST_OF)
    return {"best nmi": 100 * nmi(y, labels), "best accuracy": 100 * clustering_accuracy(y, labels)}


def _by_dimension(Z: NDArray, y: NDArray, dimensions: Sequence[int], runs: int, seed: int) -> list[float]:
    return [mean_nmi(Z[:, :p], y, runs=runs, seed=seed) for p in dimensions]


def at(found: Cells, part: str, *, level: int = -1, dimension: int, **parameters: Any) -> list[float]:
    """NMI of all draws in one layer, at one output dimension."""
    return [
        cell.numbers[part][level][cell.parameters["dimensions"].index(dimension)]
        for cell in found.of(layers).where(**parameters)
    ]


def by_layer(found: Cells, part: str, *, dimension: int, **parameters: Any) -> dict[int, list[float]]:
    """NMI of all draws for every number of centres."""
    sizes = [cell.numbers["sizes"] for cell in found.of(layers).where(**parameters)]
    levels = range(len(sizes[0])) if sizes else ()
    return {sizes[0][level]: at(found, part, level=level, dimension=dimension, **parameters) for level in levels}
