"""What a change of the library costs and gains: the same cases under two revisions, turn by turn in one run.

``python -m benchmarks.before_after REVISION [case …]`` lays REVISION beside the working tree and runs every case under
both, alternately, each in a process of its own. Times are the shortest of the turns; qualities must be equal within
the noise between draws. The table goes to results/before_after.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks._record import best_of, data_folder, record

TURNS = 2
ROOT = Path(__file__).resolve().parents[1]


def images(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of MNIST drawn at random."""
    with np.load(data_folder() / "mnist.npz", allow_pickle=False) as file:
        rows = np.random.RandomState(seed).choice(len(file["X"]), n, replace=False)
        return file["X"][rows], file["y"][rows]


def modular() -> dict[str, float]:
    """15 modules of 20 dimensions on 12,000 images: time of a fit, of a λ path, precision, votes and loss."""
    import polyfold as pf
    from polyfold.metrics import retrieval_precision

    X, y = images(14_000, 0)
    X = X / np.float32(255)
    train, test = slice(0, 12_000), slice(12_000, None)
    model = pf.ModularKernelPCA(15, 20, diversity=0.99, random_state=0)
    seconds = best_of(lambda: model.fit(X[train]), 2)
    path = best_of(lambda: model.diversity_path(np.linspace(0.5, 0.99, 10)), 2)
    truth = pf.ModularNeighbors(_Pixels(), engine="sklearn").fit(X[train]).kneighbors(X[test], return_distance=False)
    found = pf.ModularNeighbors(model, engine="sklearn").fit(X[train]).kneighbors(X[test], return_distance=False)
    vote = pf.ModularClassifier(model.remix(diversity=0.95)).fit(X[train], y[train]).score(X[test], y[test])
    precision = retrieval_precision(found, truth)
    return {"fit_s": seconds, "path_s": path, "precision": precision, "vote": vote, "loss": model.loss_ * 1e6}


def autoencoder() -> dict[str, float]:
    """10 modules of 10 dimensions on 12,000 images: time, loss, codes in single precision."""
    import polyfold as pf

    X = images(12_000, 0)[0].astype(np.float32) / np.float32(255)
    model = pf.ModularAutoencoder(10, 10, random_state=0)

    def chunks() -> None:
        pf.ModularAutoencoder(10, 10, random_state=0).partial_fit(X[:6000]).partial_fit(X[6000:])

    return {
        "fit_s": best_of(lambda: model.fit(X), 3),
        "transform_s": best_of(lambda: model.transform(X), 5),
        "chunks_s": best_of(chunks, 2),
        "loss": model.fit(X).loss_,
    }


def search() -> dict[str, float]:
    """Two modules and 100 candidates among 60,000 images, one thread of FAISS."""
    import polyfold as pf

    X = images(62_000, 0)[0].astype(np.float32) / np.float32(255)
    index = pf.ModularNeighbors(pf.ModularKernelPCA(15, 20, diversity=0.999, random_state=0)).fit(X[:60_000])
    index.kneighbors(X[60_000:], modules=4, expand=15)
    return {"query_s": best_of(lambda: index.kneighbors(X[60_000:], modules=4, expand=15), 3)}


def bootstrap() -> dict[str, float]:
    """Clusters of 5,000 images, V = 400, exact and by neighbour lists: time, NMI and accuracy, mean of two seeds."""
    import polyfold as pf
    from polyfold.metrics import clustering_accuracy, nmi

    out: dict[str, float] = {}
    pf.MultilayerBootstrapNetwork(n_clusterings=20, random_state=0, n_jobs=2).fit(images(500, 9)[0])
    for mode in ("exact", "graph"):
        runs = []
        for seed in (0, 1):
            X, y = images(5000, seed)
            network = pf.MultilayerBootstrapNetwork(
                10, n_clusterings=400, feature_fraction=0.5, neighbors=mode, random_state=seed, n_jobs=2
            )
            model = pf.BootstrapClustering(10, network=network, random_state=seed)
            seconds = best_of(lambda model=model, X=X: model.fit(X), 1)
            runs.append((seconds, 100 * nmi(y, model.labels_), 100 * clustering_accuracy(y, model.labels_)))
        out |= dict(zip((f"{mode}_s", f"{mode}_nmi", f"{mode}_acc"), np.mean(runs, axis=0).tolist(), strict=True))
    return out


def student() -> dict[str, float]:
    """Teach the paper's student of a network on 3,000 images for five epochs: time and fidelity."""
    import polyfold as pf
    from polyfold.ensembles import DropoutNetwork

    X = images(3000, 0)[0]
    teacher = pf.MultilayerBootstrapNetwork(10, n_clusterings=100, random_state=0, n_jobs=2).fit(X)
    small = pf.Compressed(teacher, student=DropoutNetwork((512, 512), max_iter=5, random_state=0), random_state=0)
    seconds = best_of(lambda: small.fit(X, target=teacher.embedding_), 2)
    return {"fit_s": seconds, "fidelity": small.fidelity_}


def rolls() -> dict[str, float]:
    """Swiss rolls of 1,500 points, height halved, three seeds: lowest R² of the height from two coordinates."""
    from sklearn.datasets import make_swiss_roll

    import polyfold as pf

    out: dict[str, float] = {}
    for kernel in ("laplacian_eigenmaps", "diffusion", "ltsa", "isomap"):
        lowest, seconds = np.inf, 0.0
        for seed in (0, 2, 5):
            X = make_swiss_roll(1500, random_state=seed)[0] * [1, 0.5, 1]
            model = pf.NonRedundantEmbedding(2, kernel=kernel, random_state=0)
            seconds += best_of(lambda model=model, X=X: model.fit(X), 1)
            lowest = min(lowest, _read_off(model.embedding_, X[:, 1]))
        out |= {f"{kernel}_s": seconds, f"{kernel}_r2": lowest}
    return out


def digits() -> dict[str, float]:
    """Eleven coordinates of 15,000 images: time, and error of a cubic SVM on 3, 5, 7, 9 and 11 of them."""
    import polyfold as pf

    X, y = images(15_000, 0)
    model = pf.NonRedundantEmbedding(11, random_state=0)
    seconds = best_of(lambda: model.fit(X / np.float32(255)), 1)
    plain = best_of(lambda: pf.KernelEmbedding(11, kernel="laplacian_eigenmaps").fit(X / np.float32(255)), 1)
    errors = {f"error_{d}": _svm_error(model.embedding_[:, :d], y) for d in (3, 5, 7, 9, 11)}
    return {"fit_s": seconds, "plain_s": plain, **errors}


class _Pixels(BaseEstimator):
    """The pixels as a representation of one module."""

    def fit(self, X: np.ndarray, y: Any = None) -> _Pixels:
        return self

    def transform_modules(self, X: np.ndarray) -> np.ndarray:
        return X[None]


def _read_off(Z: np.ndarray, target: np.ndarray) -> float:
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.neighbors import KNeighborsRegressor

    folds = KFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(KNeighborsRegressor(10), Z, target, cv=folds).mean())


def _svm_error(Z: np.ndarray, y: np.ndarray) -> float:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    order = np.random.RandomState(0).permutation(len(Z))
    train, test = order[:10_000], order[10_000:]
    model = make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1, C=10, gamma="scale"))
    return 100 * (1 - model.fit(Z[train], y[train]).score(Z[test], y[test]))


CASES: dict[str, Callable[[], dict[str, float]]] = {
    f.__name__: f for f in (modular, autoencoder, search, bootstrap, student, rolls, digits)
}


def turn(case: str, source: Path) -> dict[str, float]:
    """Run a case once under the library in `source`."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.before_after", "--case", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(revision: str, cases: list[str]) -> None:
    """Run cases under both revisions, alternately, and record the best of the turns."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--detach", str(before), revision], cwd=ROOT, check=True)
        try:
            for case in cases or CASES:
                runs = [(turn(case, before / "src"), turn(case, ROOT / "src")) for _ in range(TURNS)]
                table = {name: _row(name, runs) for name in runs[0][0]}
                print(case, json.dumps(table), flush=True)
                record("before_after", case, {"revision": revision, **table})
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(before)], cwd=ROOT, check=True)


def _row(name: str, runs: list[tuple[dict[str, float], dict[str, float]]]) -> dict[str, float]:
    """Shortest times and their ratio; qualities of the last turn."""
    if not name.endswith("_s"):
        return {"before": round(runs[-1][0][name], 4), "after": round(runs[-1][1][name], 4)}
    before, after = (min(run[side][name] for run in runs) for side in (0, 1))
    return {"before": round(before, 3), "after": round(after, 3), "ratio": round(after / before, 2)}


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        print(json.dumps(CASES[sys.argv[2]]()))
    else:
        compare(sys.argv[1], sys.argv[2:])
