"""5,000 images of MNIST, and all of it: Tables 2 and 3, Figures 6 to 9 of [Zhang2016]."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture

from papers.cells import Cells, Task, grid
from papers.mbn import PAPER
from papers.mbn.layers import at, by_layer, layers
from papers.mbn.settings import DIMENSIONS, draw_digits, mean_nmi, shown
from papers.report import Claim, Panel, Report, Table, ahead, entry, level, line, observed, points
from papers.run import Run
from polyfold.metrics import nmi

K_MEANS, MIXTURE, WARD, MBN = "k-means", "GMM", "Hierarchical", "MBN"
PCA_, ISOMAP, LLE, SPECTRAL = "PCA", "Isomap", "LLE", "Spectral"
RIVALS = (PCA_, ISOMAP, LLE, SPECTRAL)
TABLE_2 = {K_MEANS: 48.9, MIXTURE: 24.3, WARD: 63.0, MBN: 73.0}
TABLE_3 = {K_MEANS: 50.6, MIXTURE: 15.0, WARD: 71.2, MBN: 82.9}
# NMI at 2, 3, 5, 10, 20 and 30 output dimensions, named in Secs. 5.1.1 and 5.1.2.
SUBSET_NMI = dict(zip(DIMENSIONS, (69.4, 68.6, 71.4, 73.0, 71.8, 71.1), strict=True))
TEST_NMI = dict(zip(DIMENSIONS, (74.9, 79.6, 81.4, 82.8, 82.9, 82.2), strict=True))
SMALL_TEST_NMI = dict(zip(DIMENSIONS, (69.3, 72.3, 73.8, 76.4, 77.6, 76.7), strict=True))
SIGNIFICANT = 2  # standard errors


def clusters(
    data: Path | None, *, method: str, part: str, rows: int, iterations: int, runs: int, seed: int
) -> dict[str, Any]:
    """NMI of a clusterer of the pixels, on training images or on that many test images."""
    train, test = draw_digits(data, rows, rows, seed)
    X, y = train if part == "train" else test
    X, n = X.astype(np.float32) / 255, len(np.unique(y))
    if method == K_MEANS:
        return {"nmi": mean_nmi(X, y, runs=runs, seed=seed)}
    if method == WARD:
        return {"nmi": 100 * nmi(y, AgglomerativeClustering(n).fit_predict(X))}
    model = GaussianMixture(n, reg_covar=1e-3, max_iter=iterations, init_params="random_from_data", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is what is asked for
        return {"nmi": 100 * nmi(y, model.fit_predict(X))}


def rival(
    data: Path | None, *, method: str, parameter: float, rows: int, dimensions: list[int], runs: int, seed: int
) -> dict[str, Any]:
    """Mean NMI of k-means on the output of another reduction, for every output dimension, and its plane."""
    (X, y), _ = draw_digits(data, rows, 0, seed)
    Z = _reduced(X.astype(np.float32) / 255, method, parameter, max(dimensions), seed)
    scores = [mean_nmi(Z[:, :p], y, runs=runs, seed=seed) for p in dimensions]
    return {"nmi": scores, "top": shown(Z, y)}


def _reduced(X: Any, method: str, parameter: float, components: int, seed: int) -> Any:
    """Coordinates of a rival; `parameter` is a number of neighbours, or the power of two of Spectral's width."""
    if method == PCA_:
        return PCA(components, random_state=seed).fit_transform(X)
    if method == SPECTRAL:
        width = 2.0**parameter * pairwise_distances(X[:1000]).mean()
        model = SpectralEmbedding(components, affinity="rbf", gamma=1 / (2 * width**2), random_state=seed)
        Z = model.fit_transform(X)
        return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12)  # [Ng2002]
    kind = {ISOMAP: Isomap, LLE: LocallyLinearEmbedding}[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs of few neighbours fall apart, and are searched through all the same
        return kind(n_neighbors=int(parameter), n_components=components).fit_transform(X)


def network_tasks(run: Run) -> list[Task]:
    """Networks of the recommended setting on the subset, with all layers."""
    return grid(
        layers,
        **{"rows": run["rows"], "queries": 0, "first_layer": 0.5, "decay": 0.5, "fraction": 0.5},
        **{"clusterings": run["clusterings"], "dimensions": [run["dimensions"]], "every": True, "part": "train"},
        **{"runs": run["runs"], "seed": run.seeds},
    )


def rival_tasks(run: Run) -> list[Task]:
    """All rivals with all their parameters."""
    shared = {"rows": run["rows"], "dimensions": [run["dimensions"]], "runs": run["runs"], "seed": run.seeds}
    return [
        task for method in RIVALS for task in grid(rival, method=method, parameter=run["parameters"][method], **shared)
    ]


def best_rival(found: Cells, method: str, index: int) -> list[float]:
    """NMI at one output dimension, of the parameter that is best there on average, as in the paper."""
    mine = found.of(rival).where(method=method)
    tried = {parameter: mine.where(parameter=parameter) for parameter in {c.parameters["parameter"] for c in mine}}
    draws = [[cell.numbers["nmi"][index] for cell in cells] for cells in tried.values()]
    return max(draws, key=np.mean, default=[])


SUBSET = {
    "rows": 5000,
    "clusterings": 400,
    "dimensions": DIMENSIONS,
    "runs": 50,
    "draws": 2,
    "iterations": 20,
    "parameters": {PCA_: (0,), ISOMAP: (5, 10, 20), LLE: (5, 10, 20), SPECTRAL: (-3, -2, -1, 0, 1)},
}
SUBSET_FAST = {
    "rows": 1000,
    "clusterings": 100,
    "runs": 5,
    "draws": 1,
    "iterations": 3,
    "parameters": {PCA_: (0,), ISOMAP: (10,), LLE: (10,), SPECTRAL: (-3, -1)},
}
SUBSET_TINY = {**SUBSET_FAST, "rows": 80, "clusterings": 20, "dimensions": (2, 4), "runs": 2, "draws": 2}


@PAPER.experiment("table2", full=SUBSET, fast=SUBSET_FAST, tiny=SUBSET_TINY, minutes=8)
def table2(run: Run) -> Report:
    """Table 2: clustering algorithms on 5,000 images of MNIST.

    Question: Do groups found in the output of the network agree better with the digits than groups of the pixels?

    Setting: 500 images of every digit, divided by 255; as many clusters as digits. The network has V = 400, a = 0.5, k
    = 2500-1250-625-312-156-78-39-19, 10 output dimensions, and its NMI is the mean of 50 runs of k-means from random
    points. k-means of the pixels has the same runs. The mixture has full covariances and starts at random points.
    Agglomeration uses Ward's method.

    Expected: The network is ahead of all three, Ward's agglomeration is second and the mixture last.
    """
    shared = {"part": "train", "rows": run["rows"], "iterations": run["iterations"], "runs": run["runs"]}
    found = run.cells(network_tasks(run) + grid(clusters, method=(K_MEANS, MIXTURE, WARD), seed=run.seeds, **shared))
    ours = _table_scores(found, at(found, "train", dimension=_ten(run)))
    entries = [entry("NMI, %", name, ours=ours[name], paper=paper) for name, paper in TABLE_2.items()]
    best = found.of(layers).values("best nmi")
    entries.append(entry("NMI, %", "MBN, best of 50 runs (Table 7)", ours=best, paper=77.12))
    return Report([Table("5,000 images of MNIST", entries)], claims=_table_claims(ours, "Table 2"))


def _ten(run: Run) -> int:
    return 10 if 10 in run["dimensions"] else run["dimensions"][-1]


def _table_scores(found: Cells, ours: list[float]) -> dict[str, list[float]]:
    rivals = {name: found.of(clusters).values("nmi", method=name) for name in (K_MEANS, MIXTURE, WARD)}
    return {**rivals, MBN: ours}


def _table_claims(ours: dict[str, list[float]], where: str) -> list[Claim]:
    claims = [ahead(f"MBN beats {name}", ours[MBN], ours[name], source=where) for name in (K_MEANS, MIXTURE, WARD)]
    lowest = min((K_MEANS, WARD), key=lambda name: np.mean(ours[name] or [np.nan]))
    poor = "GMM performs poorly, since images are highly non-Gaussian: behind k-means and Ward's agglomeration"
    return [*claims, ahead(poor, ours[lowest], ours[MIXTURE], source=f"{where}, Sec. 5.1.1")]


@PAPER.experiment("figure6", full=SUBSET, fast=SUBSET_FAST, tiny=SUBSET_TINY, minutes=15)
def figure6(run: Run) -> Report:
    """Figure 6: 5,000 images of MNIST in the plane, by five methods.

    Question: Which reduction to two dimensions sets the digits apart?

    Setting: The subset of Table 2. PCA, Isomap, LLE and spectral clustering have the parameter that gives the best NMI
    in the plane, as in the paper (2 to 20 neighbours, bandwidths of A/8 to 8A, where A is the mean distance). The
    network is shown at its top layer. 40 images of every digit are drawn.

    Expected: The network has the smallest variance within the digits compared with that between them. We measure the
    fraction of the variance in the plane that is within digits.
    """
    found = run.cells(network_tasks(run) + rival_tasks(run))
    pictures = {name: _picture(found, name, run.seed) for name in RIVALS}
    mine = found.of(layers).where(seed=run.seed)
    pictures |= {MBN: mine[0].numbers["top"]} if len(mine) else {}
    shares = {name: _shares(found, name) for name in (*RIVALS, MBN)}
    panels = [
        Panel(f"{name}: {one['within']:.0f} % within", curves=[points("", one["plane"], one["classes"])])
        for name, one in pictures.items()
        if one
    ]
    entries = [entry(name, "within digits, % of variance", ours=share) for name, share in shares.items()]
    claims = [
        ahead(
            f"MBN has less of its variance within the digits than {name}",
            shares[name],
            shares[MBN],
            source="Fig. 6, Sec. 5.1.1",
        )
        for name in RIVALS
    ]
    return Report([Table("Planes", entries)], panels, claims)


def _picture(found: Cells, method: str, seed: int) -> dict[str, Any] | None:
    cells = found.of(rival).where(method=method, seed=seed)
    return max(cells, key=lambda cell: cell.numbers["nmi"][0]).numbers["top"] if len(cells) else None


def _shares(found: Cells, method: str) -> list[float]:
    if method == MBN:
        return [cell.numbers["top"]["within"] for cell in found.of(layers)]
    seeds = dict.fromkeys(cell.parameters["seed"] for cell in found.of(rival))
    return [one["within"] for seed in seeds if (one := _picture(found, method, seed))]


@PAPER.experiment("figure7", full=SUBSET, fast=SUBSET_FAST, tiny=SUBSET_TINY, minutes=15)
def figure7(run: Run) -> Report:
    """Figure 7: clustering after six reductions of 5,000 images of MNIST.

    Question: How does clustering improve from layer to layer, and how does it depend on the output dimension?

    Setting: The subset of Table 2 with 2, 3, 5, 10, 20 and 30 output dimensions. Mean NMI of 50 runs of k-means. PCA,
    Isomap, LLE and spectral clustering take, at every dimension, the best of their parameters.

    Expected: NMI rises from layer to layer. At the top it is between 68.6 and 73.0 % whatever the dimension, and
    above every rival.
    """
    found = run.cells(network_tasks(run) + rival_tasks(run))
    dimensions, entries, panels, claims = run["dimensions"], [], [], []
    for i, p in enumerate(dimensions):
        top = at(found, "train", dimension=p)
        entries.append(entry(MBN, f"{p}", ours=top, paper=SUBSET_NMI.get(p)))
        entries += [entry(name, f"{p}", ours=best_rival(found, name, i)) for name in RIVALS]
        rivals = [level(name, best_rival(found, name, i)) for name in RIVALS]
        curve = line(MBN, by_layer(found, "train", dimension=p))
        panels.append(Panel(f"{p} dimensions", "centres k", "NMI, %", [curve, *rivals], xscale="even"))
        second = max((best_rival(found, name, i) for name in RIVALS), key=lambda draws: np.mean(draws or [-1.0]))
        claims.append(ahead(f"MBN beats every rival at {p} dimensions", top, second, source="Fig. 7"))
    tops = [np.mean(at(found, "train", dimension=p) or [np.nan]) for p in dimensions]
    claims += [
        observed(
            "MBN is robust to the output dimension (printed range 4.4 points)",
            float(np.ptp(tops)) < 8.0,
            f"NMI from {min(tops):.1f} to {max(tops):.1f} (judged: within 8)",
            source="Sec. 5.1.1",
        ),
        ahead(
            f"the last layer is better than the first at {_ten(run)} dimensions",
            at(found, "train", dimension=_ten(run)),
            at(found, "train", level=0, dimension=_ten(run)),
            source="Fig. 7",
        ),
    ]
    return Report([Table("NMI by output dimension", entries)], panels, claims)


FULL = {
    "rows": 60000,
    "queries": 10000,
    "first_layers": (8000, 1000),
    "clusterings": 400,
    "dimensions": DIMENSIONS,
    "runs": 10,
    "iterations": 10,
}
FULL_FAST = {"rows": 2000, "queries": 1000, "first_layers": (1000, 125), "clusterings": 100, "runs": 3, "iterations": 2}
FULL_TINY = {**FULL_FAST, "rows": 80, "queries": 40, "first_layers": (40, 20), "clusterings": 20, "dimensions": (2, 4)}


def full_tasks(run: Run) -> list[Task]:
    """Return the large network and the small one, judged on test images."""
    return grid(
        layers,
        **{"rows": run["rows"], "queries": run["queries"], "first_layer": run["first_layers"], "decay": 0.5},
        **{"fraction": 0.5, "clusterings": run["clusterings"], "dimensions": [run["dimensions"]], "every": True},
        **{"part": "test", "runs": run["runs"], "seed": run.seeds},
    )


@PAPER.experiment("table3", full=FULL, fast=FULL_FAST, tiny=FULL_TINY, minutes=25)
def table3(run: Run) -> Report:
    """Table 3: clustering algorithms on the 10,000 test images of MNIST.

    Question: Does a network that was fitted on the training images group the test images better than clusterers that
    are fitted on the test images themselves?

    Setting: k1 = 8000 on 60,000 training images, V = 400, a = 0.5, ten layers down to 15 centres, 20 output dimensions.
    k-means runs on the output of the test images. The rivals see the test images only.

    Expected: The order of Table 2, with the network further ahead.
    """
    shared = {"part": "test", "rows": run["queries"], "iterations": run["iterations"], "runs": run["runs"]}
    found = run.cells(full_tasks(run) + grid(clusters, method=(K_MEANS, MIXTURE, WARD), seed=run.seeds, **shared))
    dimension = 20 if 20 in run["dimensions"] else run["dimensions"][-1]
    ours = _table_scores(found, at(found, "test", dimension=dimension, first_layer=run["first_layers"][0]))
    entries = [entry("NMI, %", name, ours=ours[name], paper=paper) for name, paper in TABLE_3.items()]
    return Report([Table("10,000 test images of MNIST", entries)], claims=_table_claims(ours, "Table 3"))


@PAPER.experiment("figure8", full=FULL, fast=FULL_FAST, tiny=FULL_TINY, minutes=20)
def figure8(run: Run) -> Report:
    """Figure 8: the test images of MNIST in the plane, by the network of all training images.

    Question: Does the plane of a layer near the top show the digits, for images the network has not seen?

    Setting: The network of Table 3 at layer 8 of 10, and at the top; 40 images of every digit are drawn.

    Expected: Digits are set apart, and keep their relative places: less of the variance is within digits than
    between them, and less at the top than below.
    """
    found = run.cells(full_tasks(run)).of(layers).where(first_layer=run["first_layers"][0])
    panels, entries, shares = [], [], {}
    for name, where in (("below", "third layer from the top"), ("top", "top layer")):
        shares[name] = [cell.numbers[name]["within"] for cell in found]
        entries.append(entry(where, "within digits, % of variance", ours=shares[name]))
        if len(found):
            one = found[0].numbers[name]
            panels.append(Panel(where, curves=[points("", one["plane"], one["classes"])]))
    claims = [
        ahead(
            "less of the variance of the plane is within digits than between them",
            [100 - share for share in shares["below"]],
            shares["below"],
            source="Fig. 8",
        )
    ]
    return Report([Table("Planes of test images", entries)], panels, claims)


@PAPER.experiment("figure9", full=FULL, fast=FULL_FAST, tiny=FULL_TINY, minutes=20)
def figure9(run: Run) -> Report:
    """Figure 9: clustering the test images of MNIST, by a large and a small network.

    Question: Does a larger first layer generalise better?

    Setting: Networks of k1 = 8000 and k1 = 1000 on 60,000 images, V = 400, a = 0.5; mean NMI of k-means on the output
    of the 10,000 test images. PCA is fitted on the training images for comparison.

    Expected: The large network is ahead of the small one by 5 to 8 points at every output dimension, and both are
    far ahead of PCA.
    """
    shared = {"rows": run["rows"], "queries": run["queries"], "runs": run["runs"], "seed": run.seeds}
    found = run.cells(full_tasks(run) + grid(linear, dimensions=[run["dimensions"]], **shared))
    large, small = run["first_layers"]
    entries, panels, claims = [], [], []
    for i, p in enumerate(run["dimensions"]):
        plain = [cell.numbers["nmi"][i] for cell in found.of(linear)]
        tops = {first: at(found, "test", dimension=p, first_layer=first) for first in (large, small)}
        entries += [
            entry(f"{p}", f"k1 = {large}", ours=tops[large], paper=TEST_NMI.get(p)),
            entry(f"{p}", f"k1 = {small}", ours=tops[small], paper=SMALL_TEST_NMI.get(p)),
            entry(f"{p}", "PCA", ours=plain),
        ]
        curves = [line(f"k1 = {f}", by_layer(found, "test", dimension=p, first_layer=f)) for f in (large, small)]
        panels.append(Panel(f"{p} dimensions", "centres k", "NMI, %", [*curves, level("PCA", plain)], xscale="log"))
        claims += [
            ahead(f"the larger network is better at {p} dimensions", tops[large], tops[small], source="Sec. 5.1.2"),
            ahead(f"the small network beats PCA at {p} dimensions", tops[small], plain, source="Fig. 9"),
        ]
    return Report([Table("NMI of test images", entries)], panels, claims)


def linear(
    data: Path | None, *, rows: int, queries: int, dimensions: list[int], runs: int, seed: int
) -> dict[str, Any]:
    """Mean NMI of k-means on principal components of test images, fitted on training images."""
    (X, _), (Q, y) = draw_digits(data, rows, queries, seed)
    model = PCA(max(dimensions), svd_solver="randomized", random_state=seed).fit(X.astype(np.float32) / 255)
    Z = model.transform(Q.astype(np.float32) / 255)
    return {"nmi": [mean_nmi(Z[:, :p], y, runs=runs, seed=seed) for p in dimensions]}
