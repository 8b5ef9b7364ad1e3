"""[Zhang2016]: its network, and how its outputs are scored."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from papers.images import mnist
from polyfold import MultilayerBootstrapNetwork
from polyfold.exceptions import ScaleWarning
from polyfold.metrics import nmi

DIMENSIONS = (2, 3, 5, 10, 20, 30)
MNIST_TRAINING = 6 / 7  # 60,000 of 70,000
LAST = 15  # centres of a last layer for ten classes
SHOWN = 40  # points of every class in a picture
EXACT_ROWS = 10_000
Part = tuple[NDArray, NDArray]


def network(
    components: int,
    classes: int,
    *,
    first_layer: Any = 0.5,
    decay: float = 0.5,
    clusterings: int = 400,
    fraction: float = 0.5,
    metric: str = "euclidean",
    seed: int = 0,
) -> MultilayerBootstrapNetwork:
    """Return the network with every choice of the paper named, none left to the library [Zhang2016, Sec. 2.1]."""
    return MultilayerBootstrapNetwork(
        components,
        n_classes=classes,
        first_layer=first_layer,
        decay=decay,
        n_clusterings=clusterings,
        feature_fraction=fraction,
        metric=metric,
        random_state=seed,
    )


def halved(first: int, last: int) -> list[int]:
    """Return numbers of centres, each half of the one before, down to `last`."""
    sizes = [first]
    while sizes[-1] // 2 >= last:
        sizes.append(sizes[-1] // 2)
    return sizes


def fitted(model: MultilayerBootstrapNetwork, X: Any) -> MultilayerBootstrapNetwork:
    """Fit on raw columns, as the paper does, without the advice to scale them.

    The search for nearest centres is exact as in the paper, up to the number of rows that this takes minutes for.
    """
    if X.shape[0] <= EXACT_ROWS:
        model.set_params(neighbors="exact")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        return model.fit(X)


def means(Z: Any, clusters: int, seed: int, runs: int = 1) -> NDArray:
    """Return labels of k-means from random rows, the best of some runs."""
    return KMeans(clusters, init="random", n_init=runs, random_state=seed).fit(Z).labels_


def mean_nmi(Z: Any, y: NDArray, *, runs: int, seed: int) -> float:
    """NMI in per cent, averaged over independent runs of k-means with as many clusters as classes [Sec. 5.1]."""
    clusters = len(np.unique(y))
    return 100 * float(np.mean([nmi(y, means(Z, clusters, seed + run)) for run in range(runs)]))


def draw_digits(data: Path | None, rows: int, queries: int, seed: int) -> tuple[Part, Part]:
    """Draw equally many training images of every digit (all of them if `rows` is large enough), and test images."""
    X, y = mnist(data)
    cut, rng = int(MNIST_TRAINING * len(y)), np.random.RandomState(seed)
    digits = np.unique(y)
    of_digit = [np.flatnonzero(y[:cut] == digit) for digit in digits]
    train = np.concatenate([rng.permutation(some)[: rows // len(digits)] for some in of_digit])
    train = np.arange(cut) if rows >= cut else rng.permutation(train)
    test = cut + np.sort(rng.permutation(len(y) - cut)[:queries])
    return (X[train], y[train]), (X[test], y[test])


def product_seconds(rows: Any, centers: Any, first_layer: int, clusterings: int, sample: int = 1000) -> float:
    """Processor seconds of all products of rows and centres of a first layer, from one clustering on some rows."""
    half = rows.shape[1] // 2
    some, drawn = (X[:size, :half].astype(np.float32) for X, size in ((rows, sample), (centers, first_layer)))
    start = time.process_time()
    _ = some @ drawn.T
    return (time.process_time() - start) * clusterings * rows.shape[0] / some.shape[0]


def shown(plane: Any, y: NDArray) -> dict[str, Any]:
    """Return some points of every class in the plane, and how much of the variance there is within classes."""
    Z = np.asarray(plane, dtype=float)[:, :2]
    within = sum(np.square(Z[y == c] - Z[y == c].mean(axis=0)).sum() for c in np.unique(y))
    some = np.concatenate([np.flatnonzero(y == c)[:SHOWN] for c in np.unique(y)])
    scale = np.abs(Z).max() or 1.0
    share = 100 * float(within / np.square(Z - Z.mean(axis=0)).sum())
    return {"plane": np.round(Z[some] / scale, 3), "classes": y[some], "within": share}
