"""Does a fit keep to its memory whatever the rows are in, at the speed of its products, and does a cluster pay?

Design: ROWS × 256 rows in single precision (a mixture of 50 Gaussians in 40 directions, with noise) as memmap, zarr
(chunks of 16,384 rows), parquet (row groups of as many) and a stream of blocks; ``ModularKernelPCA(10, 10, rank=500)``.
``POLYFOLD_ROWS`` sets ROWS, 1,000,000 unless given; files lie in a temporary folder.

- ``fit``: every container in a fresh process, all rows and a quarter of them: peak of the anonymous memory above what
  was there before (pages of mapped files are the system's), and seconds against both products of the fit, kernel and
  Gram matrix, by bare sgemm in the same process before and after. Processor seconds as well, because machines are
  shared.
- ``same``: the model of every container, of `partial_fit` in uneven chunks with the same features, and of Dask with 1,
  2 and 4 worker processes against that of the array: relative difference of the loss, largest sine of an angle between
  the spaces of what `transform` returns. A twentieth of the rows.
- ``cluster``: half of the rows from zarr on two worker processes against the same in this process on two threads, cold
  (the first fit, in which workers import) and warm.
- ``killed``: one of two workers is killed during every kind of fit and during searches, ten times each (bootstrap
  networks and graphs learn from 2,000 rows, all others are placed, coordinates by `transform`); whether the fitted
  arrays, or the neighbours without a deadline, are the same as undisturbed, and whether searches that follow a kill
  answer within their deadline, and what share of the rows has then answered.
- ``use``: `transform` to a file, `predict` and `kneighbors` of all rows from zarr, and of a quarter of them: memory,
  seconds.

Expected: at most 0.5 GB and flat, 0.6 of bare sgemm; 1e-4; 1.5; ten of ten; flat.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.linalg.blas
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

import polyfold as pf

ROWS = int(os.environ.get("POLYFOLD_ROWS", 1_000_000))
COLUMNS, RANK, BLOCK = 256, 500, 16_384
FEW = 2000  # rows that networks and graphs learn from while workers are killed; the others are placed
CONTAINERS = ("memmap", "zarr", "parquet", "blocks")


def model(**options: Any) -> pf.ModularKernelPCA:
    """Return the model of this study."""
    return pf.ModularKernelPCA(10, 10, rank=RANK, random_state=0, **options)


def some_rows(count: int, seed: int) -> np.ndarray:
    """Draw rows of the mixture."""
    fixed, rng = np.random.RandomState(0), np.random.RandomState(seed)
    centres, directions = fixed.standard_normal((50, 40)), fixed.standard_normal((40, COLUMNS)) / 6
    points = 1.5 * centres[rng.randint(50, size=count)] + rng.standard_normal((count, 40))
    return (points @ directions + 0.1 * rng.standard_normal((count, COLUMNS))).astype(np.float32)


class Blocks:
    """A stream of blocks of a memmap."""

    def __init__(self, path: str, rows: int):
        self.path, self.rows = path, rows

    def __iter__(self) -> Iterator[np.ndarray]:
        X = np.load(self.path, mmap_mode="r")
        for start in range(0, self.rows, 10_000):
            yield np.array(X[start : min(start + 10_000, self.rows)])


def write(folder: str, rows: int) -> None:
    """Write the rows as every kind of file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet
    import zarr

    shape = (rows, COLUMNS)
    mapped = np.lib.format.open_memmap(f"{folder}/{rows}.npy", mode="w+", dtype=np.float32, shape=shape)
    stored = zarr.open_array(f"{folder}/{rows}.zarr", mode="w", shape=shape, chunks=(BLOCK, COLUMNS), dtype="f4")
    names = [f"x{number}" for number in range(COLUMNS)]
    with parquet.ParquetWriter(
        f"{folder}/{rows}.parquet", pa.schema([(name, pa.float32()) for name in names]), use_dictionary=False
    ) as file:
        for start in range(0, rows, BLOCK):
            X = some_rows(min(BLOCK, rows - start), 1 + start)
            mapped[start : start + len(X)] = X
            stored[start : start + len(X)] = X
            file.write_table(pa.table(list(X.T.copy()), names=names), row_group_size=BLOCK)


def opened(kind: str, folder: str, rows: int) -> Any:
    """Open rows that were written."""
    if kind == "memmap":
        return np.load(f"{folder}/{rows}.npy", mmap_mode="r")
    if kind == "blocks":
        return Blocks(f"{folder}/{rows}.npy", rows)
    if kind == "zarr":
        import zarr

        return zarr.open_array(f"{folder}/{rows}.zarr", mode="r")
    import pyarrow.dataset

    return pyarrow.dataset.dataset(f"{folder}/{rows}.parquet")


def bare_products(X: np.ndarray) -> None:
    """Both products of the fit by sgemm, block by block, a share of the rows for every core."""
    cores = len(os.sched_getaffinity(0))
    landmarks = np.asfortranarray(X[:RANK].T)

    def share(rows: range) -> np.ndarray:
        gram = np.zeros((RANK, RANK), dtype=np.float32, order="F")
        for start in rows:
            K = scipy.linalg.blas.sgemm(1.0, np.asarray(X[start : start + 4000]).T, landmarks, trans_a=True)
            gram = scipy.linalg.blas.sgemm(1.0, K, K, beta=1.0, c=gram, trans_a=True, overwrite_c=True)
        return gram

    # One thread of BLAS in each: its own threads wait for one another, busily, where others use the machine.
    with threadpool_limits(1), ThreadPoolExecutor(cores) as pool:
        sum(pool.map(share, [range(4000 * core, len(X), 4000 * cores) for core in range(cores)]))


def own_memory() -> float:
    """Anonymous memory of this process, in MB."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1000  # type: ignore[index]


def watched(call: Callable[[], Any]) -> dict[str, float]:
    """Seconds, processor seconds and peak of the own memory of a call, in MB above what was there."""
    before, peak, done = own_memory(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        done.set()
        watcher.join()
    return {"seconds": wall, "cpu": cpu, "MB": peak[0] - before}


def in_fresh_process(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function gives in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)


def fit_one(kind: str, folder: str, rows: int) -> dict[str, float]:
    """Measure one fit, with the bare products before and after it."""
    model().fit(some_rows(2 * RANK + 1, 0))  # what is loaded on first use
    mapped = np.load(f"{folder}/{rows}.npy", mmap_mode="r")
    bare_products(mapped[:20_000])
    first = watched(lambda: bare_products(mapped))
    figures = watched(lambda: model().fit(opened(kind, folder, rows)))
    second = watched(lambda: bare_products(mapped))
    for clock in ("seconds", "cpu"):
        figures[f"of sgemm, {clock}"] = (first[clock] + second[clock]) / 2 / figures[clock]
    return figures


def fit(data: Path) -> dict[str, Any]:
    """Memory and speed of every container."""
    figures: dict[str, Any] = {}
    for rows in (ROWS // 4, ROWS):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, rows)
            figures[str(rows)] = {kind: in_fresh_process(fit_one, kind, folder, rows) for kind in CONTAINERS}
    return figures


def differences(found: Any, wanted: Any, X: np.ndarray) -> dict[str, float]:
    """Relative difference of the losses, and the largest sine between the spaces of what `transform` returns."""
    # Single precision leaves something of 1e-7 in directions that no module holds.
    Z, W = (_basis(np.asarray(each.transform(X), dtype=np.float64)) for each in (found, wanted))
    sine = float(np.linalg.norm(Z - W @ (W.T @ Z), 2)) if Z.shape == W.shape else 1.0
    return {"loss": abs(found.loss_ / wanted.loss_ - 1), "sine": sine}


def _basis(Z: np.ndarray) -> np.ndarray:
    U, values, _ = np.linalg.svd(Z, full_matrices=False)
    return U[:, values > 1e-5 * values[0]]


def same(data: Path) -> dict[str, Any]:
    """Differences between the models of one data set in all containers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    rows, figures = ROWS // 20, {}
    with tempfile.TemporaryDirectory() as folder:
        write(folder, rows)
        X = np.array(opened("memmap", folder, rows))
        wanted = model().fit(X)
        for kind in CONTAINERS:
            found = model().fit(opened(kind, folder, rows))
            vars(found).pop("feature_names_in_", None)
            figures[kind] = differences(found, wanted, X[:2000])
        chunks = model(feature_map=wanted.spectrum_.features)
        for part in np.split(X, [100, 101, rows // 3, rows // 2]):
            chunks.partial_fit(part)
        figures["partial_fit"] = differences(chunks, wanted, X[:2000])
        for workers in (1, 2, 4):
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster),
            ):
                found = model().fit(da.from_zarr(f"{folder}/{rows}.zarr"))
            figures[f"dask, {workers} workers"] = differences(found, wanted, X[:2000])
    return figures


def cluster(data: Path) -> dict[str, Any]:
    """Seconds of a fit on two worker processes, and in this one on two threads."""
    import dask.array as da
    from distributed import Client, LocalCluster

    rows = ROWS // 2
    with tempfile.TemporaryDirectory() as folder:
        write(folder, rows)
        here = [watched(lambda: model(n_jobs=2).fit(opened("zarr", folder, rows))) for _ in range(2)]
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers):
            there = [watched(lambda: model().fit(da.from_zarr(f"{folder}/{rows}.zarr"))) for _ in range(3)]
        here.append(watched(lambda: model(n_jobs=2).fit(opened("zarr", folder, rows))))
    least = min(run["seconds"] for run in here)
    return {
        "rows": rows,
        "in this process, s": least,
        "cold": there[0]["seconds"] / least,
        "warm": min(run["seconds"] for run in there[1:]) / least,
    }


def fits(X: Any) -> dict[str, Callable[[], tuple[np.ndarray, ...]]]:
    """Return the fits that run on a cluster, with the arrays that must be the same."""
    network = pf.MultilayerBootstrapNetwork(
        50, n_classes=50, n_clusterings=100, feature_fraction=0.5, metric="euclidean", max_samples=FEW
    )

    def modules() -> tuple[np.ndarray, ...]:
        fitted = model().fit(X)
        return fitted.eigenvalues_, fitted.components_

    def autoencoder() -> tuple[np.ndarray, ...]:
        fitted = pf.ModularAutoencoder(10, 10, random_state=0).fit(X)
        return fitted.encoders_, fitted.decoders_

    def clustering() -> tuple[np.ndarray, ...]:
        fitted = pf.BootstrapClustering(50, network=network, layer=-1, random_state=0).fit(X)
        return fitted.labels_, fitted.embedding_

    def coordinates() -> tuple[np.ndarray, ...]:
        fitted = pf.NonRedundantEmbedding(2, random_state=0).fit(X)
        return fitted.embedding_, fitted.transform(X).compute()

    return {
        "ModularKernelPCA": modules,
        "ModularAutoencoder": autoencoder,
        "KernelEmbedding": lambda: (pf.KernelEmbedding(20, rank=RANK, random_state=0).fit(X).eigenvalues_,),
        "BootstrapClustering": clustering,
        "NonRedundantEmbedding": coordinates,
    }


def killing(workers: Any, run: int, seconds: float) -> threading.Timer:
    """Kill one of the workers after so many seconds."""
    victim = list(workers.workers.values())[run % 2].pid
    killer = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
    killer.start()
    return killer


def recover(workers: Any) -> None:
    """Wait until both workers are there: one that is killed while it starts would not be started again."""
    while True:
        there = list(workers.workers.values())
        if len(there) < 2:
            workers.scale(2)
        is_up = all(nanny.process is not None and nanny.process.status.name == "running" for nanny in there)
        if len(there) == 2 and is_up and {nanny.worker_address for nanny in there} == set(workers.scheduler.workers):
            return
        time.sleep(0.1)


def killed(data: Path) -> dict[str, Any]:
    """Fits and searches during which a worker dies."""
    import dask.array as da
    from distributed import Client, LocalCluster

    rows, figures = ROWS // 10, {}
    with tempfile.TemporaryDirectory() as folder:
        write(folder, rows)
        X = da.from_zarr(f"{folder}/{rows}.zarr")
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
            Client(workers),
            patch("polyfold.sources._picking.LANDMARKS", FEW),
        ):
            for name, fit in fits(X).items():
                figures[name] = killed_fits(workers, fit)
                print(name, figures[name], flush=True)
            figures["ModularNeighbors"] = killed_searches(workers, X)
    return {"rows": rows, "runs": 10, **figures}


def killed_fits(workers: Any, fit: Callable[[], tuple[np.ndarray, ...]]) -> dict[str, Any]:
    """Count the fits, of ten that lose a worker, that are the same to the last bit."""
    wanted, equal = fit(), 0
    seconds = watched(fit)["seconds"]
    for run in range(10):
        killer = killing(workers, run, (0.1 + 0.08 * run) * seconds)
        found = fit()
        killer.join()
        equal += all(map(np.array_equal, found, wanted))
        recover(workers)
    return {"same bits": equal, "undisturbed, s": seconds}


def killed_searches(workers: Any, X: Any) -> dict[str, Any]:
    """Count the searches, of ten that lose a worker, that are the same, and those after it that keep their deadline."""
    from distributed import default_client

    representation = FrozenEstimator(model().fit(X))
    index, queries = pf.ModularNeighbors(representation).fit(X), some_rows(500, 1)
    wanted, same, kept, shares = index.search(queries), 0, 0, []
    seconds = watched(lambda: index.search(queries))["seconds"]
    deadline = max(1.0, 3 * seconds)
    for run in range(10):
        killer = killing(workers, run, (0.1 + 0.08 * run) * seconds)
        found = index.set_params(deadline=None).search(queries)
        killer.join()
        same += found.coverage == 1 and np.array_equal(found.indices, wanted.indices)
        recover(workers)
        default_client().rebalance()  # both workers hold some of the rows again
        killing(workers, run, 0.0).join()
        begin = time.perf_counter()
        try:
            shares.append(index.set_params(deadline=deadline).search(queries).coverage)
        except TimeoutError:  # nobody has answered, and it says so
            shares.append(0.0)
        kept += time.perf_counter() - begin < deadline + 0.5
        index.set_params(deadline=None)
        recover(workers)
    return {"same": same, "undisturbed, s": seconds, "deadline kept": kept, "deadline, s": deadline, "shares": shares}


def use_one(method: str, folder: str, rows: int) -> dict[str, float]:
    """Measure one method on all rows."""
    X, y = some_rows(5000, 0), np.arange(5000) % 7
    fitted = model().fit(X)
    stored = opened("zarr", folder, rows)
    if method == "transform":
        return watched(lambda: pf.sources.write_rows(fitted.transform, stored, f"{folder}/{rows}-out.npy"))
    if method == "predict":
        from sklearn.linear_model import LogisticRegression

        voters = pf.ModularClassifier(FrozenEstimator(fitted), LogisticRegression(max_iter=20)).fit(X, y)
        return watched(lambda: pf.sources.write_rows(voters.predict, stored, f"{folder}/{rows}-y.npy"))
    index = pf.ModularNeighbors(FrozenEstimator(fitted)).fit(X)
    outs = (f"{folder}/{rows}-d.npy", f"{folder}/{rows}-i.npy")
    return watched(lambda: pf.sources.write_rows(index.kneighbors, stored, outs, modules=2, expand=50))


def use(data: Path) -> dict[str, Any]:
    """Memory of `transform`, `predict` and `kneighbors` of streams."""
    figures: dict[str, Any] = {}
    for rows in (ROWS // 4, ROWS):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, rows)
            methods = ("transform", "predict", "kneighbors")
            figures[str(rows)] = {method: in_fresh_process(use_one, method, folder, rows) for method in methods}
    return figures


PARTS = {"fit": fit, "same": same, "cluster": cluster, "killed": killed, "use": use}
