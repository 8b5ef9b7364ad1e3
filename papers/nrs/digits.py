"""Cells of Table 1 and Figs. 3 and 5 of [Blau2017]: coordinates of MNIST, their errors and their redundancy."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

from papers.images import MNIST, draw_images
from papers.nrs.embeddings import DSILVA, LEM, PLAIN, embed
from polyfold.kernels import LaplacianEigenmaps
from polyfold.metrics import redundancy

GRAPHS = {"self-tuned, 10": LEM, "binary, 5": LaplacianEigenmaps(5, weights="binary")}
SELF_TUNED, BINARY = GRAPHS
WIDTH = 0.6  # bandwidth of the smoother, the widest in the paper


def svm_errors(
    data: Path | None,
    *,
    method: str,
    graph: str,
    alpha: float,
    count: int,
    most: int,
    rows: int,
    labelled: int | None,
    splits: int,
    seed: int,
) -> dict[str, Any]:
    """Test errors in per cent of a tuned cubic SVM on the first `count` of `most` coordinates, one for each split."""
    Z, y = coordinates(data, method, graph, alpha, count if method == DSILVA else most, rows, seed)
    draws = [1000 + 100 * seed + split for split in range(splits)]
    return {"errors": [svm_error(Z[:, :count], y, draw, labelled) for draw in draws]}


@lru_cache(maxsize=2)
def coordinates(
    data: Path | None, method: str, graph: str, alpha: float, count: int, rows: int, seed: int
) -> tuple[NDArray, NDArray]:
    """Coordinates of a draw of digits, and their classes."""
    X, y = draw_images(data, MNIST, rows, seed)
    return embed(method, X, count, seed, kernel=GRAPHS[graph], bandwidth=alpha), y


def svm_error(Z: NDArray, y: NDArray, draw: int, labelled: int | None) -> float:
    """Tune on a sixth of the rows, test on another sixth; train on `labelled` of the others, or on all of them."""
    order = np.random.RandomState(draw).permutation(len(y))
    train, tune, test = np.split(order, [2 * len(y) // 3, 5 * len(y) // 6])
    train = train[:labelled]
    Z = Z / np.maximum(Z[train].std(axis=0), np.finfo(Z.dtype).tiny)
    machines = [
        SVC(C=C, gamma=gamma, kernel="poly", degree=3, coef0=1.0, cache_size=500).fit(Z[train], y[train])
        for C in (1.0, 10.0)
        for gamma in (0.1, 0.2)
    ]
    best = max(machines, key=lambda svm: svm.score(Z[tune], y[tune]))
    return 100 * (1 - float(best.score(Z[test], y[test])))


def unpredicted(
    data: Path | None, *, method: str, count: int, most: int, rows: int, queries: int, seed: int
) -> dict[str, Any]:
    """Residual of every coordinate regressed on all before it, in three conventions."""
    Z = coordinates(data, method, SELF_TUNED, WIDTH, most, rows, seed)[0][:, :count]
    own = {"bandwidth": WIDTH, "regressor": "nadaraya_watson", "n_queries": queries}
    widths = [_median_width(Z[:, :i], queries, seed) for i in range(1, count)]
    published = [float(redundancy(Z[:, : i + 2], bandwidth=h, n_queries=queries)[-1]) for i, h in enumerate(widths)]
    return {
        "width of the fit": redundancy(Z, **own),
        "a third of the median distance": [1.0, *published],
        "best width": redundancy(Z, n_queries=queries),
    }


def _median_width(F: NDArray, queries: int, seed: int) -> float:
    """Width of [Dsilva2015], weights exp(−9d²/median²), in units of the root mean squared norm of the coordinates."""
    some = F[np.random.RandomState(seed).permutation(len(F))[:queries]]
    median = float(np.median(pairwise_distances(some)[np.triu_indices(len(some), 1)]))
    return median / 3 / np.sqrt(2) / float(np.sqrt(np.mean(np.sum((F - F.mean(axis=0)) ** 2, axis=1))))


def singular_values(
    data: Path | None, *, alpha: float, most: int, landmarks: int, rows: int, seed: int
) -> dict[str, Any]:
    """Top 100 singular values of the smoother on the first coordinate, and the share that one in a thousand holds."""
    f = coordinates(data, PLAIN, SELF_TUNED, WIDTH, most, rows, seed)[0][:, :1].astype(np.float64)
    width = alpha * float(np.sqrt(np.mean(f**2)))
    features = Nystroem(gamma=0.5 / width**2, n_components=min(landmarks, rows), random_state=seed).fit_transform(f)
    total = features @ features.sum(axis=0)
    R, S = (np.linalg.qr(part, mode="r") for part in (features / total[:, None], features))
    values = np.linalg.svd(R @ S.T, compute_uv=False)
    share = float(np.sum(values[: max(1, round(rows / 1000))] ** 2) / np.sum(values**2))
    unseen = float(1 - np.mean(np.sum(features**2, axis=1)))
    return {"values": values[:100], "share": 100 * share, "norm share": 100 * np.sqrt(share), "unseen": unseen}
