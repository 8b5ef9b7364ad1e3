"""Compare two revisions of the library: quality, wall time and CPU time of the same cases, in one run.

``python -m benchmarks.before_after REVISION [case …]`` checks REVISION out next to the working tree and runs every case
under both, one after the other, each in its own process. ``--rows N`` shrinks the image sets for a trial. The table
goes to results/before_after.json: names that end in `_s` are wall seconds, `_cpu` CPU seconds, the rest qualities.

Clusters of small sets are reported apart for the sets on which rules were fitted ("choice") and for the held-out ones,
with the standard deviation between the two seeds, so that a difference can be compared with the noise.

Cases use only names that both revisions have. The revision before the round of removals is 9a6a041.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benchmarks._record import data_folder, record
from benchmarks.labelled import is_held_out, load_labelled

ROOT = Path(__file__).resolve().parents[1]
SMALL = ("iris", "wine", "wine, scaled", "new_thyroid", "dermatology, scaled", "breast_cancer", "breast_cancer, scaled")
SMALL += ("umist_32", "pbmc68k_reduced", "coil20_32", "digits", "mfeat_pixels")
SMALL += ("orl_32", "isolet1", "mfeat_fourier", "segment")  # held out
SEEDS = (0, 1)
# Most images of a case; `--rows` lowers it.
ROWS = int(os.environ.get("BEFORE_AFTER_ROWS", "60000"))
Figures = dict[str, float]


def images(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of MNIST drawn at random, at most `ROWS`."""
    with np.load(data_folder() / "mnist.npz", allow_pickle=False) as file:
        rows = np.random.RandomState(seed).choice(len(file["X"]), min(n, ROWS), replace=False)
        return file["X"][rows], file["y"][rows]


def timed(name: str, function: Callable[[], Any], repeats: int = 1) -> Figures:
    """Shortest wall time of several runs, and the shortest CPU time, in seconds."""
    runs = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        runs.append((time.perf_counter() - wall, time.process_time() - cpu))
    return {f"{name}_s": min(run[0] for run in runs), f"{name}_cpu": min(run[1] for run in runs)}


def modular() -> Figures:
    """Fit 15 modules of 20 dimensions to 12,000 images: times, retrieval, votes and loss."""
    import polyfold as pf
    from polyfold.metrics import retrieval_precision

    X, y = images(14_000, 0)
    X, n = X / np.float32(255), len(X) * 6 // 7
    model = pf.ModularKernelPCA(15, 20, diversity=0.99, random_state=0)
    out = timed("fit", lambda: model.fit(X[:n]), 2)
    out |= timed("path", lambda: model.diversity_path(np.linspace(0.5, 0.99, 10)), 2)
    truth = pf.ModularNeighbors(_Pixels(), engine="sklearn").fit(X[:n]).kneighbors(X[n:], return_distance=False)
    near = pf.ModularNeighbors(model, engine="sklearn").fit(X[:n]).kneighbors(X[n:], return_distance=False)
    out["precision"] = retrieval_precision(near, truth)
    out["vote"] = pf.ModularClassifier(model.remix(diversity=0.95)).fit(X[:n], y[:n]).score(X[n:], y[n:])
    return out | {"loss": model.loss_ * 1e6}


def autoencoder() -> Figures:
    """Fit 10 modules of 10 dimensions to 12,000 images: times and loss."""
    import polyfold as pf

    X = images(12_000, 0)[0].astype(np.float32) / np.float32(255)
    model, half = pf.ModularAutoencoder(10, 10, random_state=0), len(X) // 2

    def chunks() -> None:
        pf.ModularAutoencoder(10, 10, random_state=0).partial_fit(X[:half]).partial_fit(X[half:])

    out = timed("fit", lambda: model.fit(X), 3) | timed("transform", lambda: model.transform(X), 5)
    return out | timed("chunks", chunks, 2) | {"loss": model.loss_}


def search() -> Figures:
    """Search 20,000 images with a recall of 0.95, by a scan and by a graph: times and true recall."""
    import polyfold as pf
    from polyfold.metrics import retrieval_precision

    X = images(22_000, 0)[0].astype(np.float32) / np.float32(255)
    n, out = len(X) * 10 // 11, {}
    model = pf.ModularKernelPCA(15, 20, diversity=0.999, random_state=0).fit(X[:n])
    truth = pf.ModularNeighbors(_Fixed(model), engine="sklearn", recall=1.0).fit(X[:n])
    truth = truth.kneighbors(X[n:], return_distance=False)
    for engine in ("faiss", "hnsw"):
        index = pf.ModularNeighbors(_Fixed(model), engine=engine, recall=0.95)
        out |= timed(f"{engine}_fit", lambda index=index: index.fit(X[:n]), 2)  # the first fit may compile
        index.kneighbors(X[n : n + 100])
        out |= timed(f"{engine}_query", lambda index=index: index.kneighbors(X[n:]), 3)
        out[f"{engine}_recall"] = retrieval_precision(index.kneighbors(X[n:], return_distance=False), truth)
    return out


def clusters() -> Figures:
    """Cluster 20,000 images, two seeds: fit time, NMI, accuracy, and the time to predict one row and 200 rows."""
    import polyfold as pf
    from polyfold.metrics import clustering_accuracy, nmi

    _compile()
    runs = []
    for seed in SEEDS:
        X, y = images(21_000, seed)
        n = len(X) * 20 // 21
        model = pf.BootstrapClustering(10, random_state=seed, n_jobs=2)
        run = timed("fit", lambda model=model, X=X, n=n: model.fit(X[:n]))
        model.predict(X[n : n + 1])
        run |= timed("one_row", lambda model=model, X=X, n=n: model.predict(X[n : n + 1]), 10)
        run |= timed("rows_200", lambda model=model, X=X, n=n: model.predict(X[n : n + 200]), 2)
        run |= {"nmi": 100 * nmi(y[:n], model.labels_), "acc": 100 * clustering_accuracy(y[:n], model.labels_)}
        runs.append(run)
    return _over_seeds(runs, ("nmi", "acc"))


def small_clusters() -> Figures:
    """Cluster 16 small sets, two seeds each: NMI set by set, and means of the sets of choice and the held-out ones."""
    import polyfold as pf
    from polyfold.metrics import nmi

    _compile()
    out: Figures = {}
    groups: dict[str, list[float]] = {"choice": [], "held_out": []}
    for name in SMALL:
        data = load_labelled(name, data_folder())
        runs = []
        for seed in SEEDS:
            model = pf.BootstrapClustering(data.n_classes, random_state=seed, n_jobs=2)
            run = timed("fit", lambda model=model, X=data.X: model.fit(X))
            runs.append(run | {"nmi": 100 * nmi(data.y, model.labels_)})
        found = _over_seeds(runs, ("nmi",))
        groups["held_out" if is_held_out(name) else "choice"].append(found["nmi"])
        out |= {f"{name}: {key}": value for key, value in found.items()}
    out |= {f"{group}_nmi": float(np.mean(values)) for group, values in groups.items()}
    return out | {key: sum(v for k, v in out.items() if k.endswith(f": {key}")) for key in ("fit_s", "fit_cpu")}


def maps() -> Figures:
    """Map digits and Fourier features of digits (held out): time, and accuracy of ten neighbours in the map."""
    import polyfold as pf

    out: Figures = {}
    for name in ("digits", "mfeat_fourier"):
        data = load_labelled(name, data_folder())
        model = pf.BootstrapMap(random_state=0, n_jobs=2)
        out |= timed(name, lambda model=model, X=data.X: model.fit(X))
        score = cross_val_score(KNeighborsClassifier(10), model.embedding_, data.y, cv=5)
        out[f"{name}_accuracy"] = 100 * float(score.mean())
    return out


def student() -> Figures:
    """Teach scikit-learn's network the output of a bootstrap network on 3,000 images: time and fidelity."""
    import polyfold as pf

    X = images(3000, 0)[0]
    teacher = pf.MultilayerBootstrapNetwork(10, n_clusterings=100, feature_fraction=0.5, random_state=0).fit(X)
    small = pf.Compressed(teacher, random_state=0)
    return timed("fit", lambda: small.fit(X, target=teacher.embedding_)) | {"fidelity": small.fidelity_}


def rolls() -> Figures:
    """Unroll Swiss rolls of 1,500 points, height halved, three seeds: lowest R² of the height, and time."""
    from sklearn.datasets import make_swiss_roll

    import polyfold as pf

    out: Figures = {}
    for kernel in ("laplacian_eigenmaps", "diffusion", "ltsa", "isomap"):
        lowest, runs = np.inf, []
        for seed in (0, 2, 5):
            X = make_swiss_roll(1500, random_state=seed)[0] * [1, 0.5, 1]
            model = pf.NonRedundantEmbedding(2, kernel=kernel, random_state=0)
            runs.append(timed(kernel, lambda model=model, X=X: model.fit(X)))
            lowest = min(lowest, _read_off(model.embedding_, X[:, 1]))
        out |= {key: sum(run[key] for run in runs) for key in runs[0]} | {f"{kernel}_r2": lowest}
    return out


def axes() -> Figures:
    """Fit 9 non-redundant eigenmaps to 6,000 images: time, time of plain ones, and error of ten neighbours."""
    import polyfold as pf

    X, y = images(6000, 0)
    X = X / np.float32(255)
    model = pf.NonRedundantEmbedding(9, kernel="laplacian_eigenmaps", random_state=0)
    out = timed("fit", lambda: model.fit(X))
    out |= timed("plain", lambda: pf.KernelEmbedding(9, kernel="laplacian_eigenmaps").fit(X))
    for d in (3, 5, 7, 9):
        Z = model.embedding_[:, :d] / model.embedding_[:, :d].std(axis=0)
        out[f"error_{d}"] = 100 * (1 - float(cross_val_score(KNeighborsClassifier(10), Z, y, cv=5).mean()))
    return out


class _Pixels(BaseEstimator):
    """The pixels as a representation of one module."""

    def fit(self, X: np.ndarray, y: Any = None) -> _Pixels:
        return self

    def transform_modules(self, X: np.ndarray) -> np.ndarray:
        return X[None]


class _Fixed(BaseEstimator):
    """A fitted representation that is not fitted again."""

    def __init__(self, model: Any):
        self.model = model

    def fit(self, X: np.ndarray, y: Any = None) -> _Fixed:
        return self

    def transform_modules(self, X: np.ndarray) -> np.ndarray:
        return self.model.transform_modules(X)

    def __sklearn_clone__(self) -> _Fixed:
        return self


def _compile() -> None:
    """Fit once, so that no time includes the compilation."""
    import polyfold as pf

    X = images(600, 9)[0]
    pf.BootstrapClustering(10, random_state=0, n_jobs=2).fit(X).predict(X[:1])


def _over_seeds(runs: list[Figures], qualities: tuple[str, ...]) -> Figures:
    """Mean of the qualities with the standard deviation between seeds, and the shortest times."""
    out = {key: min(run[key] for run in runs) for key in runs[0] if key not in qualities}
    for key in qualities:
        values = [run[key] for run in runs]
        out |= {key: float(np.mean(values)), f"{key}_spread": float(np.std(values, ddof=1))}
    return out


def _read_off(Z: np.ndarray, target: np.ndarray) -> float:
    folds = KFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(KNeighborsRegressor(10), Z, target, cv=folds).mean())


CASES: dict[str, Callable[[], Figures]] = {
    f.__name__: f for f in (modular, autoencoder, search, clusters, small_clusters, maps, student, rolls, axes)
}


def turn(case: str, source: Path, rows: int) -> Figures:
    """Run a case once under the library in `source`."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "BEFORE_AFTER_ROWS": str(rows)}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.before_after", "--case", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The case {case} failed under {source}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(revision: str, cases: list[str], rows: int) -> None:
    """Run cases under both revisions and record the figures side by side; a trial with few rows is only printed."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(before), revision], cwd=ROOT, check=True)
        try:
            for case in cases or CASES:
                old, new = (turn(case, source, rows) for source in (before / "src", ROOT / "src"))
                table = {name: _row(name, old[name], new[name]) for name in new}
                print(case, json.dumps(table, indent=1, ensure_ascii=False), flush=True)
                if rows == ROWS:
                    record("before_after", case, {"revision": revision, **table})
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(before)], cwd=ROOT, check=True)


def _row(name: str, before: float, after: float) -> Figures:
    row = {"before": round(before, 4), "after": round(after, 4)}
    return row | {"ratio": round(after / before, 2)} if name.endswith(("_s", "_cpu")) else row


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", help="revision to compare the working tree with")
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}; default all")
    parser.add_argument("--rows", type=int, default=ROWS, help="most images of a case")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(CASES[options.case]()))
    elif options.revision is None:
        parser.error("name a revision, such as 9a6a041")
    else:
        compare(options.revision, options.cases, options.rows)


if __name__ == "__main__":
    main()
