"""Are our clusters ahead of what people use, on all labelled sets, with defaults only?

Design, one part each; sets of `benchmarks/labelled.py`, at most 5,000 rows as stored; three seeds, ten where there are
at most FEW rows: k-means of 700 cells moves by 1.6 points (NMI) from seed to seed:

- ``sets``: their sizes.
- ``clustering``: the methods of `benchmarks/clusterers.py`, told the number of groups unless the method cannot be.
  What is recorded is kept: a run adds only what is missing.
- ``ours``: BootstrapClustering with its defaults, told the number and, on three seeds, with ``n_clusters="auto"``; run
  again when the library has changed. UMAP + k-means is timed beside it on every set.
- ``full``: the 60,000 training images of MNIST, ours and umap-learn (seeded, and unseeded on all cores) with k-means,
  turn by turn in one process.

Scores in per cent; time as wall-clock and processor seconds, on one core but for ``full``: the machine is shared, so
ratios are those of processor seconds, of ``full`` those of the clock; memory is the peak above what was there before.

``python -m benchmarks.studies.peers [--ours] [--full] [--seeds N] [set …]`` runs some of it.

Expected: ahead of UMAP + k-means by 3 points of NMI on the mean, nowhere more than 2 below k-means.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import polyfold as pf
from benchmarks._measure import Measured, measured
from benchmarks._record import RESULTS, data_folder, record
from benchmarks.clusterers import PEERS, PREPARED, TEXT_ONLY, k_means, umap
from benchmarks.labelled import NAMES, Labelled, load_labelled
from polyfold.metrics import clustering_accuracy, nmi

SEEDS, FEW = range(10), 1000
TOLD, AUTO = "polyfold", "polyfold, auto"
Runs = dict[str, dict[str, dict[str, list[Any]]]]


def recorded(part: str) -> Runs:
    """Figures of a part that are already there: set, method, figure, one value for every seed."""
    path = RESULTS / "peers.json"
    return json.loads(path.read_text())["figures"].get(part, {}) if path.exists() else {}


def sets(data: Path) -> dict[str, dict[str, Any]]:
    """Rows, columns and classes of every set as it is used."""
    return {
        name: {"rows": sample.X.shape[0], "columns": sample.X.shape[1], "classes": sample.n_classes}
        for name in NAMES
        for sample in [load_labelled(name, data)]
    }


def is_enough(seed: int, sample: Labelled) -> bool:
    """Whether a set needs no run with this seed."""
    return seed >= (10 if len(sample.y) <= FEW else 3)


def clustering(data: Path, names: Iterable[str] = NAMES, seeds: Iterable[int] = SEEDS) -> Runs:
    """Peers on every set: what is missing, seed by seed, recorded after every set."""
    runs = recorded("clustering")
    for seed in seeds:
        for name in names:
            sample = load_labelled(name, data)
            if is_enough(seed, sample):
                continue
            missing = [m for m in PEERS if len(runs.get(name, {}).get(m, {}).get("nmi", [])) <= seed]
            wanted = [m for m in missing if sample.is_text or m not in TEXT_ONLY]
            for method, labels, seen in cluster_all(sample, wanted, seed):
                add(runs, name, method, scored(sample.y, labels, seen))
            record("peers", "clustering", runs)
    return runs


def cluster_all(sample: Labelled, methods: Iterable[str], seed: int) -> Iterator[tuple[str, np.ndarray, Measured]]:
    """Labels and cost of several peers; what they share is done once and counted for each."""
    shared: dict[str, Measured] = {}
    for method in methods:
        kind, cluster = PEERS[method]
        warm_up(method, sample.X.dtype, sample.is_text)
        if kind not in shared:
            shared[kind] = measured(lambda kind=kind: PREPARED[kind](sample, seed))
        given = shared[kind]
        seen = measured(lambda cluster=cluster, given=given: cluster(given.result, sample.n_classes, seed))
        yield method, seen.result, seen.after(given)


def ours(data: Path, names: Iterable[str] = NAMES, seeds: Iterable[int] = SEEDS) -> Runs:
    """Our defaults on every set; what an older library gave is replaced set by set."""
    runs, now = recorded("ours"), library()
    fresh = {name: found for name, found in runs.items() if set(found[TOLD]["library"]) == {now}}
    for seed in seeds:
        for name in names:
            if len(fresh.get(name, {}).get(TOLD, {}).get("library", [])) > seed:
                continue
            sample = load_labelled(name, data)
            if is_enough(seed, sample):
                continue
            # The number of groups is compared on three seeds everywhere.
            for method in (TOLD, AUTO) if seed < 3 else (TOLD,):
                warm_up(method, sample.X.dtype, sample.is_text)
                number = sample.n_classes if method == TOLD else "auto"
                model = pf.BootstrapClustering(number, random_state=seed)
                seen = measured(lambda model=model, s=sample: model.fit(s.X).labels_)
                add(fresh, name, method, scored(sample.y, seen.result, seen) | {"warnings": seen.warnings})
            for beside, labels, seen in cluster_all(sample, ["UMAP + k-means"], seed):
                add(fresh, name, beside, scored(sample.y, labels, seen))
            add(fresh, name, TOLD, {"library": now})
            record("peers", "ours", runs | fresh)
    return runs | fresh


def untold(data: Path, names: Iterable[str] = NAMES, seeds: Iterable[int] = SEEDS[:3]) -> Runs:
    """Our number of groups alone, where the rest of the library is as it was recorded."""
    runs, now = recorded("ours"), library()
    for name in names:
        sample, found = load_labelled(name, data), {}
        warm_up(AUTO, sample.X.dtype, sample.is_text)
        for seed in seeds:
            model = pf.BootstrapClustering(random_state=seed)
            seen = measured(lambda model=model, s=sample: model.fit(s.X).labels_)
            figures = scored(sample.y, seen.result, seen) | {"warnings": seen.warnings, "library": now}
            add(found, name, AUTO, figures)
        runs[name][AUTO] = found[name][AUTO]
        record("peers", "ours", runs)
    return runs


@cache
def warm_up(method: str, dtype: np.dtype, is_text: bool) -> None:
    """Import and compile what the method does, on a few rows of the same type, so that no timing contains it."""
    n = 4200 if method.startswith("UMAP") else 150  # above 4,096 rows it searches otherwise, and compiles that then
    X = np.abs(np.random.default_rng(0).normal(0, 50, (n, 200))).astype(dtype)
    few = Labelled(sp.csr_matrix(X * (X > 50)) if is_text else X, np.arange(n) % 2, is_text)
    if method in PEERS:
        kind, cluster = PEERS[method]
        cluster(PREPARED[kind](few, 0), 2, 0)
    else:
        pf.BootstrapClustering(2 if method == TOLD else "auto", random_state=0).fit(few.X)


def scored(y: np.ndarray, labels: np.ndarray, seen: Measured) -> dict[str, Any]:
    """Quality, number of groups and cost of one clustering; noise (label -1) is a group of its own."""
    return {
        "nmi": round(100 * nmi(y, labels), 2),
        "acc": round(100 * clustering_accuracy(y, labels), 2),
        "ari": round(100 * adjusted_rand_score(y, labels), 2),
        "groups": len(set(labels.tolist()) - {-1}),
        "wall": round(seen.wall, 2),
        "cpu": round(seen.cpu, 2),
        "megabytes": None if seen.megabytes is None else round(seen.megabytes),
    }


def add(runs: Runs, name: str, method: str, figures: dict[str, Any]) -> None:
    """Append the figures of one more seed."""
    for key, value in figures.items():
        runs.setdefault(name, {}).setdefault(method, {}).setdefault(key, []).append(value)
    print(name, method, figures, flush=True)


def library() -> str:
    """Last commit that changed what a clustering is made of."""
    parts = ("bootstrap", "neighbors", "estimators/_bootstrap.py", "estimators/_bootstrap_clustering.py")
    command = ["git", "log", "-1", "--format=%h", "--", *(f"src/polyfold/{part}" for part in parts)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def full(data: Path) -> dict[str, Any]:
    """MNIST's 60,000 training images: fits of ours and of umap-learn one after the other, on all cores."""
    whole = load_labelled("mnist", data, rows=None)
    sample = Labelled(whole.X[:60_000], whole.y[:60_000], False)
    for method in (TOLD, "UMAP + k-means"):
        warm_up(method, sample.X.dtype, sample.is_text)
    fits = {
        "UMAP, seeded": lambda: umap(sample, 0),
        TOLD: lambda: pf.BootstrapClustering(10, random_state=0).fit(sample.X).labels_,
        "UMAP, all cores": lambda: umap(sample, 0, random_state=None, n_jobs=-1),
    }
    figures: dict[str, Any] = {}
    for method, fit in fits.items():
        seen = measured(fit)
        labels = seen.result if method == TOLD else k_means(seen.result, 10, 0)
        figures[method] = scored(sample.y, labels, seen)
        print(method, figures[method], flush=True)
    for method in ("UMAP, seeded", "UMAP, all cores"):
        figures[f"fit / {method}"] = round(figures[TOLD]["wall"] / figures[method]["wall"], 2)
    return figures


PARTS = {"sets": sets, "clustering": clustering, "ours": ours, "full": full}


def main() -> None:
    """Run some of the study."""
    parser = argparse.ArgumentParser(prog="benchmarks.studies.peers")
    parser.add_argument("sets", nargs="*", default=NAMES, help="names of sets; all if none is given")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many seeds at most")
    parser.add_argument("--ours", action="store_true", help="only ours, where the library has changed")
    parser.add_argument("--untold", action="store_true", help="only ours, where the number is not told")
    parser.add_argument("--full", action="store_true", help="only the 60,000 images")
    given = parser.parse_args()
    if given.full:
        record("peers", "full", full(data_folder()))
        return
    part = untold if given.untold else ours if given.ours else clustering
    part(data_folder(), given.sets, SEEDS[: min(given.seeds, 3) if given.untold else given.seeds])


if __name__ == "__main__":
    main()
