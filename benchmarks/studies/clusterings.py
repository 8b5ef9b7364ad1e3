"""How good and how fast are our clusters, with the number of classes and without it, against what users would take?

Design: all labelled sets (at most 5,000 rows) and all sentence embeddings (all rows; Banking77 and what
`benchmarks/embed_texts.py` wrote into the data folder), two seeds, methods of `benchmarks/rivals.py`:

- ``sets``: rows, columns and classes.
- ``rivals``: other packages.
- ``ours``: BootstrapClustering and KernelClustering, with the number of classes and without it.

What is recorded is kept, so that an interrupted run continues. Every run stores the CPU seconds of all threads without
compilation (preparations that methods share are computed once and counted for each), and for the labels and for every
level the number of clusters, NMI and ARI in per cent, and the fraction of noise in per cent. Noise counts as one more
cluster in NMI and ARI. A method without a seed runs once.

``python -m benchmarks clusterings.ours`` runs what is missing of ours. ``python -m benchmarks.studies.clusterings
--only 'KernelClustering()' --sets banking77_minilm wine --again`` computes these runs again; ``--summary`` prints the
tables of what is recorded.

Expected: the mean NMI with the number given is not below UMAP + k-means, at a fraction of its time; the best of our
levels is at least 3 points of NMI above the best level of EVoC.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from benchmarks._measure import Measured, measured
from benchmarks._record import data_folder, record
from benchmarks.labelled import NAMES, Labelled, embeddings, is_held_out, load_labelled
from benchmarks.pages._clusterings import section
from benchmarks.pages._markdown import results
from benchmarks.rivals import METHODS, OURS, PREPARED, RIVALS, Method, applies
from polyfold.metrics import nmi

SEEDS = (0, 1)
Run = dict[str, Any]
Runs = dict[str, dict[str, dict[str, Run]]]  # by set, method and seed


def sets(data: Path) -> dict[str, dict[str, int]]:
    """Rows, columns and classes of every set as it is used."""
    samples = {name: load_labelled(name, data) for name in (*NAMES, *embeddings(data))}
    return {
        name: {"rows": s.X.shape[0], "columns": s.X.shape[1], "classes": s.n_classes} for name, s in samples.items()
    }


def run_all(
    part: str, methods: Mapping[str, Method], data: Path, names: Iterable[str], seeds: Iterable[int], again: bool
) -> Runs:
    """Run methods on sets, skip what is recorded unless `again`, and record after every run."""
    runs: Runs = results("clusterings").get("figures", {}).get(part, {})
    for seed in seeds:
        for name in names:
            found = runs.setdefault(name, {})
            wanted = {
                label: method
                for label, method in methods.items()
                if (again or str(seed) not in found.get(label, {})) and (method.is_seeded or seed == SEEDS[0])
            }
            sample = load_labelled(name, data) if wanted else None
            shared: dict[str, Measured] = {}
            for label, method in wanted.items():
                if sample is not None and applies(method, sample):
                    run = run_once(label, method, sample, seed, shared)
                    print(name, label, seed, run, flush=True)
                    found.setdefault(label, {})[str(seed)] = run
                    record("clusterings", part, runs)
    return runs


def run_once(label: str, method: Method, sample: Labelled, seed: int, shared: dict[str, Measured]) -> Run:
    """Cluster a set once; `shared` keeps preparations for the next methods."""
    warm_up(label, sample.X.dtype if label in OURS else np.dtype(np.float32), sample.is_text, sample.is_embedding)
    if method.prepared not in shared:
        shared[method.prepared] = measured(lambda: PREPARED[method.prepared](sample, seed))
    before = shared[method.prepared]
    seen = measured(lambda: method.cluster(before.result, sample.n_classes, seed)).after(before)
    run = {"cpu": round(seen.cpu, 2), "labels": scored(sample.y, seen.result.labels)}
    levels = [scored(sample.y, labels) for labels in seen.result.levels]
    return {**run, "levels": levels} if levels else run


@cache
def warm_up(label: str, dtype: np.dtype, is_text: bool, is_embedding: bool) -> None:
    """Import and compile what the method needs, on random rows of the same type."""
    prepare, cluster = PREPARED[METHODS[label].prepared], METHODS[label].cluster
    for n in (300, 4200) if METHODS[label].prepared != "rows" else (300,):  # UMAP has other code above 4,096 rows
        X = np.abs(np.random.default_rng(0).normal(0, 50, (n, 50))).astype(dtype)
        few = Labelled(sp.csr_matrix(X * (X > 50)) if is_text else X, np.arange(n) % 3, is_text, is_embedding)
        cluster(prepare(few, 0), 3, 0)


def scored(y: np.ndarray, labels: np.ndarray) -> list[float]:
    """Return the number of clusters, NMI, ARI and the fraction of noise; noise is one more cluster in the scores."""
    noise = labels == -1
    scores = nmi(y, labels), adjusted_rand_score(y, labels), noise.mean()
    return [len(np.unique(labels[~noise])), *(round(100 * float(score), 2) for score in scores)]


def rivals(data: Path) -> Runs:
    """Run what is missing of the other packages."""
    return run_all("rivals", RIVALS, data, names_in(data), SEEDS, again=False)


def ours(data: Path) -> Runs:
    """Run what is missing of ours."""
    return run_all("ours", OURS, data, names_in(data), SEEDS, again=False)


def names_in(data: Path) -> list[str]:
    """Return all sets, held-out sets first."""
    return [*sorted(NAMES, key=lambda name: not is_held_out(name)), *embeddings(data)]


PARTS = {"sets": sets, "rivals": rivals, "ours": ours}


def main() -> None:
    """Run some of the study, or print the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.studies.clusterings")
    parser.add_argument("--only", nargs="+", choices=METHODS, default=METHODS, help="methods; default: all")
    parser.add_argument("--sets", nargs="+", help="names of sets; default: all")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="seeds; default: 0 1")
    parser.add_argument("--again", action="store_true", help="compute again what is recorded")
    parser.add_argument("--summary", action="store_true", help="print tables of what is recorded, run nothing")
    given = parser.parse_args()
    if given.summary:
        print(section(results("clusterings")["figures"]))
        return
    data = data_folder()
    for part, methods in {"rivals": RIVALS, "ours": OURS}.items():
        wanted = {label: method for label, method in methods.items() if label in given.only}
        if wanted:
            run_all(part, wanted, data, given.sets or names_in(data), given.seeds, given.again)


if __name__ == "__main__":
    main()
