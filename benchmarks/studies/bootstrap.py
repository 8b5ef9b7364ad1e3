"""Are bootstrap networks fast enough to be used, and what does their quality cost?

The paper's own tables and figures are in ``papers`` (``mbn``). Design, one part each:

- ``small``: 5,000 MNIST images (500 per digit), recommended settings, three seeds; fit against the bare
  single-precision products of its bottom layer.
- ``full``: 60,000 images, k1 = 8000, train and test; the same ratio, estimated from a sample of the products in the
  same run; peak memory; umap-learn (10 components, min_dist 0) + k-means on the same images.
- ``student``: a network of 2048-2048 units in the place of the full one, on the 10,000 test images.
- ``upper``: the layers above against scipy's sparse products doing the same, per clustering, on one thread.
- ``growth``: time against n at fixed k1 and V, and against V.

Times are given as wall-clock and as processor seconds, and ratios of both, because the machine is shared.

Expected: fits at a fraction of the products the definition asks for, clusters better than those of umap-learn, linear
growth.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import polyfold as pf
from papers.data import load_dataset
from polyfold._threads import using_threads
from polyfold.bootstrap import CodeSearch, fit_encoder
from polyfold.ensembles import DropoutNetwork
from polyfold.metrics import clustering_accuracy, nmi

JOBS = 2
V = 400
SEEDS = (0, 1, 2)


def timed(function: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call a function; return its result with wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def ratio(a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
    """Quotients of both clocks."""
    return {clock: a[clock] / b[clock] for clock in ("wall", "cpu")}


def bare_products(n: int, k: int, d: int, sample: int = 5000) -> dict[str, float]:
    """Seconds of the V single-precision products of a bottom layer, from a few of `sample` rows."""
    rng = np.random.default_rng(0)
    A, B = rng.random((sample, d), dtype=np.float32), rng.random((d, k), dtype=np.float32)
    with threadpool_limits(JOBS, user_api="blas"):
        A @ B
        _, seconds = timed(lambda: [A @ B for _ in range(3)])
    return {clock: s / 3 * V * n / sample for clock, s in seconds.items()}


def scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """NMI and clustering accuracy in per cent."""
    return {"nmi": 100 * nmi(y, labels), "acc": 100 * clustering_accuracy(y, labels)}


def best_of_fifty(Z: np.ndarray, c: int, seed: int) -> KMeans:
    """Best of fifty runs of k-means."""
    return KMeans(c, n_init=50, random_state=seed).fit(Z)


def network(c: int, seed: int, **options: Any) -> pf.MultilayerBootstrapNetwork:
    """Recommended settings of the paper."""
    options = {"feature_fraction": 0.5, "metric": "euclidean"} | options
    return pf.MultilayerBootstrapNetwork(c, n_classes=c, n_clusterings=V, random_state=seed, n_jobs=JOBS, **options)


def warm_up() -> None:
    """Compile the kernels of every mode, so that no timing contains it."""
    X = np.random.default_rng(0).integers(0, 255, (2500, 784)).astype(np.uint8)
    for neighbors in ("exact", "graph"):
        model = pf.MultilayerBootstrapNetwork(2, n_classes=10, first_layer=800, n_clusterings=4, neighbors=neighbors)
        model.fit(X).transform(X[:50])


def digits(data: Path, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """500 images of every digit from the training part."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y[:60000] == c), 500, replace=False) for c in range(10)])
    return X[rows], y[rows]


def small(data: Path) -> dict[str, Any]:
    """5,000 images, exact and by graph."""
    warm_up()
    figures: dict[str, Any] = {}
    for mode in ("exact", "graph"):
        runs = []
        for seed in SEEDS:
            X, y = digits(data, seed)
            products = bare_products(5000, 2500, 392)
            model, seconds = timed(lambda X=X, seed=seed, mode=mode: network(10, seed, neighbors=mode).fit(X))
            labels = best_of_fifty(model.embedding_, 10, seed).labels_
            again = bare_products(5000, 2500, 392)
            products = {clock: (products[clock] + again[clock]) / 2 for clock in products}
            runs.append({**scores(y, labels), "fit": seconds, "fit/products": ratio(seconds, products)})
        figures[mode] = {
            "nmi": np.mean([r["nmi"] for r in runs]),
            "acc": np.mean([r["acc"] for r in runs]),
            "disagreement": model.assignment_error_,
            "runs": runs,
        }
    return figures


def full(data: Path) -> dict[str, Any]:
    """60,000 images, with umap-learn beside."""
    import umap

    warm_up()
    X, y = load_dataset("mnist", data, return_X_y=True)
    train, test = X[:60000], X[60000:]
    shutil.rmtree(checkpoint(), ignore_errors=True)
    before = bare_products(60000, 8000, 392)
    model, fit = timed(lambda: network(10, 0, first_layer=8000).fit(train, checkpoint=checkpoint()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    after = bare_products(60000, 8000, 392)
    products = {clock: (before[clock] + after[clock]) / 2 for clock in before}
    kmeans, clustering = timed(lambda: best_of_fifty(model.embedding_, 10, 0))
    Z, transform = timed(lambda: model.transform(test))
    reducer = umap.UMAP(n_components=10, min_dist=0.0)
    rival, umap_fit = timed(lambda: reducer.fit_transform(train.astype(np.float32)))
    rival_scores = scores(y[:60000], best_of_fifty(rival, 10, 0).labels_)
    train_scores = scores(y[:60000], kmeans.labels_)
    return {
        "train": train_scores,
        "test": scores(y[60000:], kmeans.predict(Z)),
        "fit": fit,
        "transform_10000": transform,
        "clustering": clustering,
        "fit/products": ratio(fit, products),
        "peak_memory_gb": memory,
        "disagreement": model.assignment_error_,
        "neighbor_recall": model.neighbor_recall_,
        "umap": {
            **rival_scores,
            "fit": umap_fit,
            "nmi_gain": train_scores["nmi"] - rival_scores["nmi"],
            "acc_gain": train_scores["acc"] - rival_scores["acc"],
            "fit/umap": ratio(fit, umap_fit),
        },
    }


def checkpoint() -> Path:
    """Folder of the full fit, which ``student`` takes up again."""
    return Path(os.environ.get("POLYFOLD_SCRATCH", tempfile.gettempdir())) / "polyfold-bootstrap-full"


def student(data: Path) -> dict[str, Any]:
    """Teach a small network the clusters of the large one."""
    X, y = load_dataset("mnist", data, return_X_y=True)
    train, test = X[:60000], X[60000:]
    model = network(10, 0, first_layer=8000).fit(train, checkpoint=checkpoint())
    kmeans = best_of_fifty(model.embedding_, 10, 0)
    model.transform(test[:200])
    Z, ours = timed(lambda: model.transform(test))
    taught = DropoutNetwork((2048, 2048), output="sigmoid", max_iter=STUDENT_EPOCHS, random_state=0)
    compressed = pf.Compressed(kmeans, student=taught, random_state=0)
    _, training = timed(lambda: compressed.fit(train, target=kmeans.labels_))
    compressed.predict(test)
    labels, theirs = timed(lambda: compressed.predict(test))
    network_scores, student_scores = scores(y[60000:], kmeans.predict(Z)), scores(y[60000:], labels)
    return {
        "network": network_scores,
        "student": student_scores,
        "nmi_gain": student_scores["nmi"] - network_scores["nmi"],
        "fidelity": compressed.fidelity_,
        "epochs": STUDENT_EPOCHS,
        "training": training,
        "network_seconds": ours,
        "student_seconds": theirs,
        "speedup": ratio(ours, theirs),
    }


STUDENT_EPOCHS = 8


def upper(data: Path) -> dict[str, Any]:
    """Codes matched by our kernels and by scipy's sparse product, layer by layer, on one thread."""
    X, _ = load_dataset("mnist", data, return_X_y=True)
    n = 20000
    model = network(10, 0, first_layer=8000).fit(X[:n])
    net, layers, ours, theirs = model.encoder_, [], 0.0, 0.0
    for level in range(1, len(net.sizes)):
        below, k_below = net.codes[level - 1], net.sizes[level - 1]
        specs = net.specs[level][:20]
        search = CodeSearch(below, k_below, specs)
        search.assign(below.T[:10])
        got, fast = timed(lambda search=search, b=below: search.assign(b.T))
        H = one_of_k(below[specs[0].features], k_below)
        W = H[specs[0].rows].T.tocsr()
        expected, slow = timed(lambda H=H, W=W: sparse_winners(H, W))
        np.testing.assert_array_equal(got[0], expected)
        ours, theirs = ours + fast["cpu"] / len(specs), theirs + slow["cpu"]
        layers.append({"k": net.sizes[level], "ours/scipy": fast["cpu"] / len(specs) / slow["cpu"]})
    return {"layers": layers, "ours/scipy": ours / theirs, "speedup": theirs / ours}


def one_of_k(codes: np.ndarray, k: int) -> sp.csr_matrix:
    """Form the one-of-k matrix of (u, n) codes, in single precision."""
    u, n = codes.shape
    columns = (codes.T.astype(np.int64) + k * np.arange(u)).ravel()
    return sp.csr_matrix(
        (np.ones(len(columns), np.float32), columns, np.arange(0, len(columns) + 1, u)), shape=(n, u * k)
    )


def sparse_winners(H: sp.csr_matrix, W: sp.csr_matrix) -> np.ndarray:
    """Most similar centre of every row, by blocks of the sparse product."""
    blocks = [(H[s : s + 1000] @ W).argmax(axis=1) for s in range(0, H.shape[0], 1000)]
    return np.concatenate([np.asarray(b).ravel() for b in blocks])


def growth(data: Path) -> dict[str, Any]:
    """Exponents of time in n and in V."""
    warm_up()
    X, _ = load_dataset("mnist", data, return_X_y=True)
    sizes = (5000, 10000, 20000, 40000)
    rows = [by_graph(X[:n]) for n in sizes]
    exact = [fit_seconds(X[:n], 1000, 50, "exact") for n in sizes]
    counts = (50, 100, 200, 400)
    by_count = [fit_seconds(X[:10000], 5000, count, "exact") for count in counts]
    return {
        "n": sizes,
        "graph": [r["graph"] for r in rows],
        "with_graph": [r["graph"] + r["rest"] for r in rows],
        "without_graph": [r["rest"] for r in rows],
        "exact": exact,
        "recall": [r["recall"] for r in rows],
        "exponent_with_graph": exponent(sizes, [r["graph"] + r["rest"] for r in rows]),
        "exponent_without_graph": exponent(sizes, [r["rest"] for r in rows]),
        "exponent_exact": exponent(sizes, exact),
        "V": counts,
        "by_V": by_count,
        "exponent_V": exponent(counts, by_count),
    }


def by_graph(X: np.ndarray) -> dict[str, float]:
    """Processor seconds of the neighbour lists and of everything else, k1 = 1000 and V = 50."""
    model = pf.MultilayerBootstrapNetwork(
        10, first_layer=1000, n_clusterings=50, neighbors="graph", random_state=0, n_jobs=JOBS
    ).fit(X)
    first = model.encoder_.first
    seeds = np.random.SeedSequence(0)
    options = {"n_clusterings": 50, "feature_fraction": 0.5, "seeds": seeds}
    with using_threads(JOBS):
        rows, graph = timed(lambda: first.prepare(X))
        _, rest = timed(lambda: fit_encoder(rows, first, model.layer_sizes_, **options))
    return {"graph": graph["cpu"], "rest": rest["cpu"], "recall": model.neighbor_recall_}


def fit_seconds(X: np.ndarray, k: int, count: int, mode: str) -> float:
    """Processor seconds of a fit."""
    model = pf.MultilayerBootstrapNetwork(
        10, first_layer=k, n_clusterings=count, neighbors=mode, random_state=0, n_jobs=JOBS
    )
    return timed(lambda: model.fit(X))[1]["cpu"]


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


PARTS = {p.__name__: p for p in (small, full, student, upper, growth)}
