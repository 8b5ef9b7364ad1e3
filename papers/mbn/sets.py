"""Clustering of sixteen sets: Tables 7 and 8 of [Zhang2016]."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from papers.cells import Cells, Task, grid
from papers.data import load_dataset
from papers.mbn import PAPER
from papers.mbn.layers import BEST_OF
from papers.mbn.settings import draw_digits, fitted, network
from papers.report import Claim, Report, Table, ahead, entry, observed, untestable
from papers.run import Run
from polyfold.metrics import clustering_accuracy, nmi

K_MEANS, PCA_, MBN = "k-means", "PCA + k-means", "MBN + k-means"
METHODS = (K_MEANS, PCA_, MBN)
WHITE = "whitened PCA + k-means"
SUBTLE = "MBN + k-means, k1 = 0.7n, δ = 0.8"
MNIST_SMALL, MNIST_FULL, REUTERS = "MNIST(small)", "MNIST(full)", "Reuters-21578-Top20"
ISOLET, NEWS, COIL, UMIST = "Isolet1", "20-Newsgroups", "COIL20", "UMIST"
FILES = {
    "Wine": "",
    "New-Thyroid": "new_thyroid",
    "Dermatology": "dermatology",
    "ORL": "orl",
    UMIST: "umist",
    COIL: "coil20",
    ISOLET: "isolet1",
    "Extended-YaleB": "yaleb",
    MNIST_SMALL: "mnist",
    REUTERS: "reuters",
    "USPS": "usps",
    NEWS: "20newsgroups",
    MNIST_FULL: "mnist",
}
TEXTS = (REUTERS, NEWS)
UNAVAILABLE = ("Lung-Cancer", "COIL100", "TDT2-Top30")
# k-means, PCA + k-means, MBN + k-means; None where the paper's run did not end.
TABLE_7 = {
    ISOLET: (77.21, 56.74, 77.89),
    "Wine": (42.88, 40.92, 55.49),
    "New-Thyroid": (49.46, 49.46, 68.80),
    "Dermatology": (9.11, 59.50, 82.40),
    "Lung-Cancer": (48.59, 49.17, 50.64),
    COIL: (78.03, 79.00, 84.31),
    "COIL100": (76.98, 69.64, 81.66),
    MNIST_SMALL: (49.69, 27.86, 77.12),
    MNIST_FULL: (50.32, 28.05, 89.91),
    "USPS": (43.63, 43.00, 80.52),
    UMIST: (65.36, 66.25, 74.48),
    "Extended-YaleB": (12.71, 16.54, 43.36),
    "ORL": (75.55, 75.81, 79.22),
    NEWS: (None, 22.49, 41.61),
    REUTERS: (None, 45.86, 44.20),
    "TDT2-Top30": (None, 70.94, 67.24),
}
TABLE_8 = {
    ISOLET: (61.47, 38.62, 61.13),
    "Wine": (70.22, 78.09, 81.91),
    "New-Thyroid": (86.05, 86.05, 93.02),
    "Dermatology": (26.17, 61.67, 82.81),
    "Lung-Cancer": (54.83, 55.52, 60.84),
    COIL: (65.42, 69.15, 74.51),
    "COIL100": (49.75, 43.42, 57.38),
    MNIST_SMALL: (52.64, 34.49, 82.36),
    MNIST_FULL: (53.48, 35.14, 95.90),
    "USPS": (43.70, 47.63, 83.74),
    UMIST: (43.20, 43.44, 56.96),
    "Extended-YaleB": (9.61, 10.59, 28.53),
    "ORL": (54.37, 54.55, 59.68),
    NEWS: (None, 22.61, 46.57),
    REUTERS: (None, 29.35, 27.09),
    "TDT2-Top30": (None, 52.48, 50.04),
}
SUBTLE_NMI = {COIL: 94.0, UMIST: 85.0}  # Sec. E
TIE = 2.0  # points that count as "tied" and as "slightly worse"


def load_set(data: Path | None, name: str, seed: int) -> tuple[Any, NDArray]:
    """Raw rows and classes; missing ages of Dermatology take the mean, Reuters keeps its twenty largest topics."""
    if name == "Wine":
        return load_wine(return_X_y=True)
    if name == MNIST_SMALL:
        return draw_digits(data, 5000, 0, seed)[0]
    X, y = load_dataset(FILES[name], data, return_X_y=True)
    if name == REUTERS:
        kept = np.isin(y, np.argsort(-np.bincount(y), kind="stable")[:20])
        return X[kept], y[kept]
    if not sp.issparse(X) and X.dtype != np.uint8:
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return X, y


def sample(X: Any, y: NDArray, rows: int, seed: int) -> tuple[Any, NDArray]:
    """Rows drawn at random where there are more."""
    if X.shape[0] <= rows:
        return X, y
    kept = np.sort(np.random.RandomState(seed).permutation(X.shape[0])[:rows])
    return X[kept], y[kept]


def clustering(
    data: Path | None, *, set: str, method: str, rows: int, clusterings: int, runs: int, seed: int
) -> dict[str, Any]:
    """NMI and accuracy of one method on one set, the best of some runs of k-means."""
    X, y = sample(*load_set(data, set, seed), rows, seed)
    n, is_text = len(np.unique(y)), sp.issparse(X)
    if method.startswith("MBN"):
        shape = {"first_layer": 0.5, "decay": 0.5} if method == MBN else {"first_layer": 0.7, "decay": 0.8}
        shape |= {"first_layer": 8000} if set == MNIST_FULL and X.shape[0] > 16000 else {}
        metric = "cosine" if is_text else "euclidean"
        inner = network(n, n, **shape, clusterings=clusterings, metric=metric, seed=seed)
        labels = KMeans(n, n_init=runs, random_state=seed).fit(fitted(inner, X).embedding_).labels_
    else:
        Z = normalize(X) if is_text else X.astype(np.float64)
        Z = Z if method == K_MEANS else _reduced(Z, is_text, white=method == WHITE)
        labels = KMeans(n, init="random", n_init=runs, random_state=seed).fit(Z).labels_
    return {"nmi": 100 * nmi(y, labels), "accuracy": 100 * clustering_accuracy(y, labels)}


def _reduced(X: Any, is_text: bool, *, white: bool) -> NDArray:
    """Principal components of 98 % of the variance, 100 of text."""
    if is_text:
        return TruncatedSVD(min(100, X.shape[1] - 1), random_state=0).fit_transform(X)
    return PCA(0.98, whiten=white).fit_transform(X)


def set_tasks(run: Run) -> list[Task]:
    """All methods on all sets, smallest sets first; k-means of raw text is left out, as in the paper."""
    tasks = []
    for name in run["sets"]:
        methods = [PCA_, MBN] if name in TEXTS else [*METHODS, WHITE]
        methods += [SUBTLE] if name in SUBTLE_NMI else []
        runs = run["large_runs"] if name == MNIST_FULL else run["runs"]
        seeds = run.seeds[: run["large_draws"]] if name in (*TEXTS, "USPS", MNIST_SMALL, MNIST_FULL) else run.seeds
        shared = {"rows": run["rows"], "clusterings": run["clusterings"], "runs": runs, "seed": seeds}
        tasks += grid(clustering, set=name, method=methods, **shared)
    return tasks


SETS = {
    "sets": tuple(FILES),
    "rows": 70000,
    "clusterings": 400,
    "runs": BEST_OF,
    "large_runs": 3,
    "draws": 3,
    "large_draws": 1,
}
SETS_FAST = {
    "sets": tuple(name for name in FILES if name not in (MNIST_FULL, NEWS)),
    "rows": 600,
    "clusterings": 100,
    "runs": 5,
    "draws": 2,
    "large_draws": 1,
}
SETS_TINY = {"sets": ("Wine", ISOLET, REUTERS), "rows": 60, "clusterings": 10, "runs": 2, "draws": 2}


@PAPER.experiment("table7", full=SETS, fast=SETS_FAST, tiny=SETS_TINY, minutes=30)
def table7(run: Run) -> Report:
    """Table 7: NMI of clustering on sixteen sets.

    Question: Does the network with one setting for all sets cluster better than k-means, with and without PCA?

    Setting: k1 = n/2 (8000 on all of MNIST), δ = 0.5, a last layer of at least 1.5 c centres, V = 400, a = 0.5, as
    many output dimensions as classes, raw columns, cosine for text; the best of 50 runs of k-means from random points
    by its own objective (3 runs on all 70,000 images of MNIST). PCA keeps 98 % of the variance, 100 dimensions for
    text. Three seeds; one for sets above 4,000 rows.

    Expected: The network is ahead of both on 13 sets, tied with k-means on Isolet1, and slightly behind PCA + k-means
    on two texts (Reuters and TDT2). With k1 = 0.7n and δ = 0.8 it reaches 94 % on COIL20 and 85 % on UMIST.
    """
    return _report(run, "nmi", "NMI, %", TABLE_7, "Table 7")


@PAPER.experiment("table8", full=SETS, fast=SETS_FAST, tiny=SETS_TINY, minutes=30)
def table8(run: Run) -> Report:
    """Table 8: clustering accuracy on sixteen sets.

    Question: Does the order of Table 7 hold for the fraction of rows in the right cluster, under the best matching?

    Setting: That of Table 7; the same runs.

    Expected: As in Table 7.
    """
    return _report(run, "accuracy", "accuracy, %", TABLE_8, "Table 8")


def _report(run: Run, score: str, title: str, printed: dict[str, Any], where: str) -> Report:
    found = run.cells(set_tasks(run))
    entries, claims = [], []
    for name, numbers in printed.items():
        here = {method: found.values(score, set=name, method=method) for method in (*METHODS, WHITE, SUBTLE)}
        entries += [
            entry(name, method, ours=here[method], paper=paper) for method, paper in zip(METHODS, numbers, strict=True)
        ]
        entries += [entry(name, WHITE, ours=here[WHITE])] if here[WHITE] else []
        if name in run["sets"] or name in UNAVAILABLE:
            claims += _claims(name, here, numbers, where)
        else:
            claims.append(untestable(f"the order of the methods on {name}", "left out at this size", source=where))
    extra = _subtle(found, score)
    remarks = [
        "Whitened PCA is ours, to find out why the paper's PCA + k-means is so far from its k-means (below on MNIST "
        "and Isolet1, above on Dermatology), though 98 % of the variance keep nearly all distances: every component is "
        "scaled to variance one."
    ]
    return Report([Table(title, entries), *extra], claims=claims, remarks=remarks)


def _subtle(found: Cells, score: str) -> list[Table]:
    entries = []
    for name, paper in SUBTLE_NMI.items():
        ours = found.values(score, set=name, method=SUBTLE)
        entries += [entry(name, SUBTLE, ours=ours, paper=paper if score == "nmi" else None)] if ours else []
    return [Table("a network of more layers", entries)] if entries else []


def _claims(name: str, here: dict[str, list[float]], printed: tuple[Any, ...], where: str) -> list[Claim]:
    source = f"{where}, App. E"
    if name in UNAVAILABLE:
        return [untestable(f"the order of the methods on {name}", "the data set is not available", source=source)]
    if name in TEXTS:
        behind = printed[1] > printed[2]
        statement = (
            f"MBN is slightly behind PCA + k-means on {name}" if behind else f"MBN beats PCA + k-means on {name}"
        )
        pair = (here[PCA_], here[MBN]) if behind else (here[MBN], here[PCA_])
        both = zip((PCA_, MBN), printed[1:], strict=True)
        shown = (f"{m} {np.mean(here[m] or [np.nan]):.1f} where {paper} is printed" for m, paper in both)
        return [ahead(statement, *pair, source=source, why=f"Another selection of stories: {', '.join(shown)}")]
    if name == ISOLET:
        return [_tied(here, source), _beats(here, PCA_, name, source)]
    return [_beats(here, rival, name, source) for rival in (K_MEANS, PCA_)]


def _beats(here: dict[str, list[float]], rival: str, name: str, source: str) -> Claim:
    why = ""
    if rival == PCA_ and here[WHITE]:
        why = f"PCA to 98 % leaves k-means as it is ({np.mean(here[K_MEANS]):.1f} without); "
        why += f"whitened, as the printed number suggests, it gives {np.mean(here[WHITE]):.1f}"
    return ahead(f"MBN beats {rival} on {name}", here[MBN], here[rival], source=source, why=why)


def _tied(here: dict[str, list[float]], source: str) -> Claim:
    statement = f"MBN and k-means are tied on {ISOLET}"
    if not here[MBN] or not here[K_MEANS]:
        return untestable(statement, "the data set is not available", source=source)
    a, b = (float(np.mean(here[method])) for method in (MBN, K_MEANS))
    return observed(statement, abs(a - b) < TIE, f"{a:.1f} against {b:.1f}", source=source)
