"""Is a bootstrap network fast where people wait for it: first fit, fit, one prediction, a batch?

Design, one part each:

- ``compilation``: a process with an empty cache of compiled code fits `BootstrapClustering` on digits and predicts one
  row and 500 rows, then does the same again; the difference is what compiling costs, as wall-clock and processor
  seconds, imports apart. A second process with the cache filled by the first is beside it; the middle of three tries.
- ``one_row``: a network of 20,000 MNIST images, V = 100 and 400: one row, the median of 50 after the first; the first
  call, which prepares; memory of what is prepared.
- ``peer``: 60,000 MNIST images: fits with the defaults and with few clusterings, prediction of 10,000 (the first one
  prepares), how many of their labels the whole network would give otherwise (`predict` asks no further where the
  neighbours of a row leave no doubt), and umap-learn (10 components, 15 neighbours, min_dist 0; unseeded, so on all
  cores, and seeded) with k-means beside.

Times are wall-clock and processor seconds, because machines are shared.

Expected: at most 3 s; 20 ms; a tenth of the fit, with at most 1 label in 2,000 another; the time of umap-learn at most,
at +4 NMI and +10 ACC.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import polyfold as pf
from benchmarks.studies.bootstrap import JOBS, best_of_fifty, ratio, scores, timed, warm_up
from papers.data import load_dataset

TRIES = 3
FIRST_CALLS = """
import json, time
from polyfold import BootstrapClustering
from sklearn.datasets import load_digits

X = load_digits().data

def round_trip():
    clocks = [(time.perf_counter(), time.process_time())]
    model = BootstrapClustering(10, random_state=0, n_jobs=1).fit(X)
    clocks.append((time.perf_counter(), time.process_time()))
    model.predict(X[:1]), model.predict(X[:500])
    clocks.append((time.perf_counter(), time.process_time()))
    return [{"wall": b[0] - a[0], "cpu": b[1] - a[1]} for a, b in zip(clocks, clocks[1:])]

first, later = round_trip(), round_trip()
rows = {name: {c: f[c] - l[c] for c in f} for name, f, l in zip(("fit", "predict"), first, later)}
print(json.dumps({**rows, "later_fit": later[0], "later_predict": later[1]}))
"""


def compilation(data: Path) -> dict[str, Any]:
    """First fit and predictions on digits less later ones, without and with a cache of compiled code."""
    found = []
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            found.append({cache: first_calls(folder) for cache in ("empty", "filled")})
    return {**sorted(found, key=lambda tried: tried["empty"]["fit"]["cpu"])[TRIES // 2], "tries": TRIES}


def first_calls(folder: str) -> dict[str, Any]:
    """Measure a fresh process whose compiled code is kept in `folder`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def one_row(data: Path) -> dict[str, Any]:
    """Prediction of one row, and of a few, by networks of 20,000 images."""
    warm_up()
    X, _ = load_dataset("mnist", data, return_X_y=True)
    figures: dict[str, Any] = {}
    for count in (100, 400):
        network = pf.MultilayerBootstrapNetwork(10, n_clusterings=count, random_state=0, n_jobs=JOBS).fit(X[:20000])
        _, first = timed(lambda network=network: network.transform(X[60000:60001]))
        ones = [timed(lambda i=i, network=network: network.transform(X[i : i + 1]))[1] for i in range(60001, 60051)]
        _, batch = timed(lambda network=network: network.transform(X[60000:62000]))
        prepared = network.network_._prepare()
        figures[f"V={count}"] = {
            "first_row": first,
            "one_row": {clock: float(np.median([t[clock] for t in ones])) for clock in first},
            "rows_2000": batch,
            "prepared_mb": sum(index.nbytes for stacks in prepared._layers.values() for index in stacks) / 1e6,
            "codes_mb": sum(codes.nbytes for codes in network.network_.codes) / 1e6,
        }
    return figures


def peer(data: Path) -> dict[str, Any]:
    """Fits of 60,000 images beside umap-learn's."""
    import umap

    warm_up()
    X, y = load_dataset("mnist", data, return_X_y=True)
    train, labels = X[:60000], y[:60000]
    rivals: dict[str, Any] = {}
    for seed in (None, 0):
        reducer = umap.UMAP(n_components=10, n_neighbors=15, min_dist=0.0, random_state=seed)
        Z, seconds = timed(lambda reducer=reducer: reducer.fit_transform(train.astype(np.float32)))
        rivals[f"seed={seed}"] = {**scores(labels, best_of_fifty(Z, 10, 0).labels_), "fit": seconds}
    settings = {"defaults": {}, "first_layer=8000, V=100": {"first_layer": 8000, "n_clusterings": 100}}
    ours = {}
    for name, options in settings.items():
        ours[name] = run(X, y, options, rivals)
        print(f"   {name}: {ours[name]}", flush=True)
    return {"umap": rivals, "polyfold": ours}


def run(X: Any, y: Any, options: dict[str, Any], rivals: dict[str, Any]) -> dict[str, Any]:
    """One setting: seconds of fit and prediction, the first one and a later one, scores, and ratios to the rivals."""
    train, test = X[:60000], X[60000:]
    network = pf.MultilayerBootstrapNetwork(10, n_classes=10, n_jobs=JOBS, **options) if options else None
    model = pf.BootstrapClustering(10, network=network, random_state=0, n_jobs=JOBS)
    _, fit = timed(lambda: model.fit(train))
    _, first = timed(lambda: model.predict(test))
    found, later = timed(lambda: model.predict(test))
    whole, whole_way = timed(lambda: model.kmeans_.predict(model.transform(test)))
    return {
        **scores(y[:60000], model.labels_),
        "fit": fit,
        "predict_10000": {"first": first, "later": later, "whole network": whole_way},
        "early": {
            "share": model.early_share_,
            "disagreement, at most": model.early_disagreement_,
            "differing labels of 10000": int(np.sum(found != whole)),
            "test": scores(y[60000:], found),
            "test, whole network": scores(y[60000:], whole),
        },
        "predict/fit": {"first": ratio(first, fit), "later": ratio(later, fit)},
        **{f"fit/umap {seed}": ratio(fit, rival["fit"]) for seed, rival in rivals.items()},
    }


PARTS = {p.__name__: p for p in (compilation, one_row, peer)}
