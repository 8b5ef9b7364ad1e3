"""What does a fit cost in its sizes, and how many machines would it pay to use?

Design: the terms of `benchmarks.costs` (products, numbers read, …) are given seconds by fits in this process on one
thread, at sizes that vary one by one; every run is also predicted from the others (``work``, and ``samples`` for fits
that learn from some of the rows). Tasks that do nothing tell what Dask's scheduler needs for one (``tasks``). Fits on
one and on two worker processes are compared with what the simulation of `benchmarks.cluster` says of such a cluster;
how many times as long work takes on workers, which share the machine's caches and memory with one another and with
client and scheduler, is the median of those fits, for each number of workers; every fit is also predicted from the
others (``workers``). Then the simulation runs fits of 10⁸ and
10⁹ rows on 10, 100 and 1,000 workers: all alike; with one in twenty three times as slow; with a worker's death every
ten hours as well (``plan``; D = 256, R = 500, M = H = 10, Q = 1,000 queries, k = 10, chunks of 100,000 rows, 1 GB/s
to every machine).

Expected: errors of some ten per cent; fits scale until a worker has a few chunks, then slow workers and the client's
part decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

import polyfold as pf
from benchmarks._record import RESULTS
from benchmarks.cluster import Cluster, simulate
from benchmarks.costs import COSTS, fitted, paces, plan
from benchmarks.pages._markdown import results
from benchmarks.studies.scale import some_rows

Sizes = dict[str, int]
MEDIUM = {"N": 100_000, "D": 128, "R": 300, "M": 5, "H": 6, "Q": 300, "k": 10, "n": 4000, "V": 100}
VARIED = {"N": (25_000, 200_000), "D": (32, 512, 1024), "R": (100, 1200), "Q": (100, 900)}
SMALL = {**MEDIUM, "N": 40_000}
SAMPLES = {"N": (10_000, 20_000, 80_000), "n": (2000, 8000), "V": (50,)}
SAMPLED = {"BootstrapClustering": 131_072, "NonRedundantEmbedding": 50_000}  # rows they learn from
LARGE = {"D": 256, "R": 500, "M": 10, "H": 10, "Q": 1000, "k": 10, "V": 200}
CHUNK = 100_000


def rows_of(sizes: Sizes) -> np.ndarray:
    """Rows of the mixture with so many columns."""
    rows = some_rows(sizes["N"], 1)
    copies = -(-sizes["D"] // rows.shape[1])
    return np.ascontiguousarray(np.tile(rows, copies)[:, : sizes["D"]])


def kernel_model(sizes: Sizes) -> pf.ModularKernelPCA:
    """Return the model of these sizes."""
    return pf.ModularKernelPCA(sizes["M"], sizes["H"], rank=sizes["R"], random_state=0, n_jobs=1)


def calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    """Return what is measured, ready to be called."""
    X = rows_of(sizes)
    small = kernel_model(sizes).fit(X[: 2 * sizes["R"] + 1])
    index = pf.ModularNeighbors(FrozenEstimator(small), engine="sklearn").fit(X)
    return {
        "ModularKernelPCA": lambda: kernel_model(sizes).fit(X),
        "ModularAutoencoder": lambda: pf.ModularAutoencoder(sizes["M"], sizes["H"], random_state=0, n_jobs=1).fit(X),
        "transform": lambda: small.transform(X),
        "search": lambda: index.kneighbors(X[: sizes["Q"]], n_neighbors=sizes["k"]),
    }


def sampled_calls(sizes: Sizes) -> dict[str, Callable[[], Any]]:
    """Return fits that learn from a sample of the rows, ready to be called."""
    X, n = rows_of(sizes), sizes["n"]
    network = pf.MultilayerBootstrapNetwork(
        50, n_classes=50, n_clusterings=sizes["V"], feature_fraction=0.5, metric="euclidean", max_samples=n, n_jobs=1
    )
    axes = pf.NonRedundantEmbedding(2, random_state=0, n_jobs=1)
    turned = np.random.RandomState(0).standard_normal((3, sizes["D"]))
    roll = pf.datasets.make_swiss_roll(sizes["N"], random_state=0)[0] @ turned
    return {
        "BootstrapClustering": lambda: pf.BootstrapClustering(50, network=network, layer=-1, random_state=0).fit(X),
        "NonRedundantEmbedding": lambda: axes.fit(roll[:n]).transform(roll[n:]),
    }


def work(data: Path) -> dict[str, Any]:
    """Measure sums over all rows, and uses, at all sizes, and fit the terms."""
    return measured(calls, MEDIUM, VARIED, 3)


def samples(data: Path) -> dict[str, Any]:
    """Measure fits that learn from a sample in the same way."""
    return measured(sampled_calls, SMALL, SAMPLES, 1)


def measured(made: Callable[[Sizes], dict[str, Callable[[], Any]]], base: Sizes, varied: Any, repeats: int) -> Any:
    """Processor seconds of every call at sizes that vary one by one, and those of its terms."""
    runs: dict[str, list[dict[str, Any]]] = {}
    with threadpool_limits(1):
        for call in made({**base, "N": 5000, "n": 1000}).values():
            call()  # what is compiled or loaded on first use
        for sizes in [base, *({**base, name: value} for name, values in varied.items() for value in values)]:
            for name, call in made(sizes).items():
                runs.setdefault(name, []).append({"sizes": sizes, "cpu": min(_cpu(call) for _ in range(repeats))})
    return {name: {**fitted(COSTS[name], found), "runs": found} for name, found in runs.items()}


def _clock(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def nothing(number: int) -> int:
    """Return the number: a task that costs the scheduler's time only."""
    return number


def tasks(data: Path) -> dict[str, float]:
    """Seconds that a task costs the scheduler, on two worker processes."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers) as client:
        client.gather(client.map(nothing, range(100)))
        start = time.perf_counter()
        client.gather(client.map(nothing, range(1000, 6000)))
        return {"seconds": (time.perf_counter() - start) / 5000}


def workers(data: Path) -> dict[str, Any]:
    """Seconds of fits on one and on two workers, measured and simulated."""
    import dask.array as da
    from distributed import Client, LocalCluster

    known, found = results("costs", RESULTS)["figures"], {}
    for count in (1, 2):
        with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
            for n in (50_000, 200_000, 400_000):
                sizes = {**LARGE, "N": n}
                rows = da.from_array(rows_of(sizes), chunks=(10_000, sizes["D"])).persist()  # pyright: ignore[reportArgumentType]
                for name, model in (
                    ("ModularKernelPCA", kernel_model(sizes)),
                    ("ModularAutoencoder", pf.ModularAutoencoder(10, 10, random_state=0)),
                ):
                    model.fit(rows)  # workers import
                    took = min(_clock(lambda model=model, rows=rows: model.fit(rows)) for _ in range(3))
                    stages = plan(COSTS[name], known["work"][name]["seconds"], sizes, 10_000)
                    told = simulate(stages, Cluster(count, overhead=known["tasks"]["seconds"], jitter=0))
                    run = {"rows": n, "workers": count, "measured": took, "simulated": told["seconds"]}
                    found[f"{name}, {n:,} rows, {count} workers"] = run
    return found


CLUSTERS = {
    "alike": {},
    "one in twenty slow": {"slow": 0.05},
    "slow, and deaths": {"slow": 0.05, "deaths": 0.1},
}


def planned(data: Path) -> dict[str, Any]:
    """Fits of very many rows on clusters of three sizes: median of three simulations."""
    known = results("costs", RESULTS)["figures"]
    seconds = {name: fit["seconds"] for part in ("work", "samples") for name, fit in known[part].items()}
    pace = paces(known["workers"].values())[2]  # workers that fill their machine
    found: dict[str, Any] = {}
    for name, cost in COSTS.items():
        for n in (10**8, 10**9):
            for count in (10, 100, 1000):
                sizes = {**LARGE, "N": n, "n": SAMPLED.get(name, 1)}
                # An index keeps its rows: one shard a worker.
                chunk = CHUNK if name != "search" else n // count
                stages = plan(cost, seconds[name], sizes, chunk, pace)
                for kind, changed in CLUSTERS.items():
                    cluster = Cluster(count, overhead=known["tasks"]["seconds"], **changed)
                    runs = sorted((simulate(stages, cluster, seed) for seed in range(3)), key=lambda r: r["seconds"])
                    found.setdefault(name, {}).setdefault(str(n), {}).setdefault(str(count), {})[kind] = runs[1]
    return found


PARTS = {"work": work, "samples": samples, "tasks": tasks, "workers": workers, "plan": planned}
