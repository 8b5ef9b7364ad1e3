"""Students of networks: Table 5, Figures 20 and 21 of [Zhang2016]."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_clusterer
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge, RidgeClassifier

from papers.cells import Cells, Task, grid
from papers.mbn import PAPER
from papers.mbn.settings import (
    draw_digits,
    fitted,
    halved,
    mean_nmi,
    network,
    product_seconds,
    shown,
)
from papers.report import Panel, Report, Table, ahead, entry, line, observed, points
from papers.run import Run
from polyfold import Compressed
from polyfold.ensembles import DropoutNetwork
from polyfold.metrics import nmi

PARTS = ("train", "test")
TABLE_5 = {("MBN", "train"): 79.5, ("MBN", "test"): 79.6, ("student", "train"): 79.9, ("student", "test"): 79.7}


def taught(teacher: Any, *, units: int, epochs: int, dropout: float | None, seed: int) -> Compressed:
    """Return the student of the paper, or a linear one, which needs no torch, where there is no dropout."""
    if dropout is not None:
        output = "sigmoid" if is_clusterer(teacher) else "linear"
        options = {"dropout": dropout, "output": output, "max_iter": epochs, "random_state": seed}
        student: Any = DropoutNetwork((units, units), **options)
    else:
        student = RidgeClassifier() if is_clusterer(teacher) else Ridge()
    return Compressed(teacher, student=student, random_state=seed)


def taught_clusters(
    data: Path | None,
    *,
    rows: int,
    queries: int,
    first_layer: int,
    clusterings: int,
    units: int,
    epochs: int,
    dropout: float | None,
    seed: int,
) -> dict[str, Any]:
    """NMI of the clusters of every layer, and of a student of them, on training and test images; seconds as well."""
    (X, y), (Q, y_test) = draw_digits(data, rows, queries, seed)
    model = fitted(network(5, len(np.unique(y)), first_layer=first_layer, clusterings=clusterings, seed=seed), X)
    start = time.process_time()
    codes = model.encoder_.encode_layers(Q)
    middle = time.process_time()
    found: dict[str, Any] = {"sizes": model.layer_sizes_, "teacher seconds": middle - start}
    found["product seconds"] = product_seconds(Q, X, model.layer_sizes_[0], clusterings)
    found |= {f"{who} {part}": [] for who in ("MBN", "student") for part in PARTS}
    for level in range(len(model.layer_sizes_)):
        here = model.at_layer(level)
        groups = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit(here.embedding_)
        student = taught(groups, units=units, epochs=epochs, dropout=dropout, seed=seed)
        student.fit(X, target=groups.labels_)
        new = here.output_.transform(codes[level]).astype(here.embedding_.dtype)
        start = time.process_time()
        theirs = student.predict(Q)
        found["student seconds"] = time.process_time() - start
        for name, truth, labels in (
            ("MBN train", y, groups.labels_),
            ("MBN test", y_test, groups.predict(new)),
            ("student train", y, student.predict(X)),
            ("student test", y_test, theirs),
        ):
            found[name].append(100 * nmi(truth, labels))
    return found


CLUSTERS = {"rows": 5000, "queries": 2500, "first_layer": 2500, "clusterings": 400, "draws": 2}
CLUSTERS |= {"units": 512, "epochs": 30, "dropout": 0.2}
CLUSTERS_FAST = {"rows": 1000, "queries": 500, "first_layer": 500, "clusterings": 100, "draws": 1}
CLUSTERS_FAST |= {"units": 256, "epochs": 20}
CLUSTERS_TINY = {"rows": 80, "queries": 40, "first_layer": 40, "clusterings": 10, "draws": 2}
CLUSTERS_TINY |= {"dropout": None}
NAMES = (*tuple(CLUSTERS)[:4], "units", "epochs", "dropout")


@PAPER.experiment("figure20", full=CLUSTERS, fast=CLUSTERS_FAST, tiny=CLUSTERS_TINY, minutes=8)
def figure20(run: Run) -> Report:
    """Figure 20: a student of the clusters of MNIST.

    Question: Does a small network, taught the clusters, give new images to the same clusters, and how much faster?

    Setting: 5,000 training images, k1 = 2500, V = 400, a = 0.5, 5 output dimensions, 2,500 test images (60,000, 4000
    and 10,000 in the paper), with k-means at every layer. The student has two hidden layers of 512 rectified units
    (2048), dropout 0.2, sigmoid outputs, 30 epochs (50), learning rate 0.001, taught the clusters.

    Expected: On training images the curves of network and student are the same, on test images the student is
    slightly above the network, and it answers thousands of times as fast (4857 s against 1.1 s in the paper). An extra
    cell with half of the images tests whether few training rows are what holds the student back.
    """
    settings, half = {name: run[name] for name in NAMES} | {"seed": run.seeds}, run["rows"] // 2
    fewer = settings | {"rows": half, "first_layer": run["first_layer"] // 2}
    everything = run.cells(grid(taught_clusters, **settings) + grid(taught_clusters, **fewer))
    found, less = everything.where(rows=run["rows"]), everything.where(rows=half)
    if not len(found):
        return Report()
    sizes = found[0].numbers["sizes"]
    curves = {
        f"{who} {part}": {k: [cell.numbers[f"{who} {part}"][i] for cell in found] for i, k in enumerate(sizes)}
        for who in ("MBN", "student")
        for part in PARTS
    }
    panels = [
        Panel(part, "centres k", "NMI, %", [line(who, curves[f"{who} {part}"]) for who in ("MBN", "student")], "even")
        for part in PARTS
    ]
    top = {name: curve[sizes[-1]] for name, curve in curves.items()}
    speed, brute = (
        [cell.numbers[clock] / max(cell.numbers["student seconds"], 1e-4) for cell in found]
        for clock in ("teacher seconds", "product seconds")
    )
    pairs = [(np.mean(curves["MBN train"][k]), np.mean(curves["student train"][k])) for k in sizes]
    gap = max((abs(float(a - b)) for a, b in pairs), default=np.nan)
    entries = [entry("top layer, NMI, %", name, ours=draws) for name, draws in top.items()]
    entries.append(entry("times as fast", "as MBN", ours=speed, paper=4857.45 / 1.10))
    entries.append(entry("times as fast", "as all products of its first layer", ours=brute))
    behind = {rows: _behind(cells) for rows, cells in ((half, less), (run["rows"], found))}
    entries += [entry(f"{rows} images", "points that the student is behind", ours=gap) for rows, gap in behind.items()]
    claims = [
        observed(
            "training curves of network and student are the same",
            gap < 2.0,
            f"at most {gap:.1f} points apart in any layer (judged: 2)",
            source="Fig. 20, App. D.1",
        ),
        ahead(
            "on test images the student is slightly above the network",
            top["student test"],
            top["MBN test"],
            source="Fig. 20, App. D.1",
            why="It is behind by "
            + ", by ".join(f"{np.mean(gap or [np.nan]):.1f} with {rows:,} images" for rows, gap in behind.items())
            + " (60,000 in the paper)",
        ),
        observed(
            "the student answers over thousands of times as fast",
            bool(speed) and min(speed) > 1000,
            f"{np.mean(speed or [np.nan]):.0f} times as fast in processor seconds",
            source="Fig. 20, App. D.1",
            why="the network answers faster here: all products of rows and centres of its first layer alone, which the "
            f"paper computes, would take {np.mean(brute or [np.nan]):.0f} times as long as the student, and the first "
            "layer is smaller than the paper's",
        ),
    ]
    return Report([Table("network and student", entries)], panels, claims)


def _behind(found: Cells) -> list[float]:
    """Points of NMI by which the student is behind the network on test images, at the top layer, draw by draw."""
    return [cell.numbers["MBN test"][-1] - cell.numbers["student test"][-1] for cell in found]


def taught_plane(
    data: Path | None,
    *,
    rows: int,
    queries: int,
    first_layer: int,
    clusterings: int,
    units: int,
    epochs: int,
    dropout: float | None,
    runs: int,
    seed: int,
) -> dict[str, Any]:
    """Return the plane of a network that ends at 30 centres, and of its student, with their NMI."""
    (X, y), (Q, y_test) = draw_digits(data, rows, queries, seed)
    sizes = halved(first_layer, 30)
    model = fitted(network(2, len(np.unique(y)), first_layer=sizes, clusterings=clusterings, seed=seed), X)
    student = taught(model, units=units, epochs=epochs, dropout=dropout, seed=seed).fit(X, target=model.embedding_)
    outputs: dict[str, tuple[NDArray, NDArray]] = {
        "MBN train": (model.embedding_, y),
        "MBN test": (model.transform(Q), y_test),
        "student train": (student.transform(X), y),
        "student test": (student.transform(Q), y_test),
    }
    found: dict[str, Any] = {name: mean_nmi(Z, truth, runs=runs, seed=seed) for name, (Z, truth) in outputs.items()}
    planes = {f"{name} plane": shown(Z, truth) for name, (Z, truth) in outputs.items()}
    return {**found, **planes, "fidelity": student.fidelity_}


DROPOUT = 0.2
PLANE = CLUSTERS | {"runs": 50, "dropout": 0.0}  # "The dropout function was disabled" [App. D.2]
PLANE_FAST = CLUSTERS_FAST | {"runs": 5}
PLANE_TINY = CLUSTERS_TINY | {"runs": 2, "first_layer": 60}


def plane_tasks(run: Run, **changed: Any) -> list[Task]:
    """Network and student in the plane, with some settings changed."""
    return grid(taught_plane, **{name: run[name] for name in (*NAMES, "runs")} | {"seed": run.seeds} | changed)


@PAPER.experiment("figure21", full=PLANE, fast=PLANE_FAST, tiny=PLANE_TINY, minutes=5)
def figure21(run: Run) -> Report:
    """Figure 21: the plane of MNIST by the network and by its student.

    Question: Does a student of the two-dimensional output show the same map, also for new images?

    Setting: A network that ends at 30 centres or more, two output dimensions, on the images of Fig. 20; a student of
    two hidden layers of 512 rectified units (2048), linear outputs, no dropout, 30 epochs (50), taught the
    coordinates. 40 images of every digit are drawn.

    Expected: On training images the maps are identical, on test images nearly so.
    """
    found = run.cells(plane_tasks(run))
    if not len(found):
        return Report()
    panels = []
    for name in (f"{who} {part}" for part in PARTS for who in ("MBN", "student")):
        one = found[0].numbers[f"{name} plane"]
        panels.append(Panel(name, curves=[points("", one["plane"], one["classes"])]))
    fidelity = found.values("fidelity")
    claims = [
        observed(
            "the student generalises well to images that it has not seen",
            bool(fidelity) and min(fidelity) > 0.8,
            f"R² on held-out images {np.mean(fidelity or [np.nan]):.2f} (judged: above 0.8)",
            source="Fig. 21, App. D.2",
        )
    ]
    return Report([Table("held-out images", [entry("student", "R²", ours=fidelity)], digits=2)], panels, claims)


@PAPER.experiment("table5", full=PLANE, fast=PLANE_FAST, tiny=PLANE_TINY, minutes=5)
def table5(run: Run) -> Report:
    """Table 5: clustering in the plane of the network and of its student.

    Question: Do k-means clusters of the two-dimensional outputs agree equally well with the digits?

    Setting: The network and the student of Fig. 21; mean NMI of 50 runs of k-means, on training and test images. The
    paper has 60,000 training images and k1 = 4000, so its numbers are higher.

    Expected: Network and student differ by less than a point, on training and on test images. Extra cells test whether
    few training rows make a difference, with half of the images, or that the student learns them by heart, with
    dropout.
    """
    half, dropout = run["rows"] // 2, None if run["dropout"] is None else DROPOUT
    fewer = plane_tasks(run, rows=half, first_layer=run["first_layer"] // 2)
    everything = run.cells(plane_tasks(run) + fewer + plane_tasks(run, dropout=dropout))
    found, less = everything.where(rows=run["rows"], dropout=run["dropout"]), everything.where(rows=half)
    careful = everything.where(rows=run["rows"], dropout=dropout)
    if not len(found):
        return Report()
    entries, claims = [], []
    for (who, part), paper in TABLE_5.items():
        entries.append(entry(who, part, ours=found.values(f"{who} {part}"), paper=paper))
        entries.append(entry(f"{who}, {half} images", part, ours=less.values(f"{who} {part}")))
    entries += [entry("student with dropout", part, ours=careful.values(f"student {part}")) for part in PARTS]
    for part in PARTS:
        (a, b), (c, d), (_, e) = (_pair(cells, part) for cells in (found, less, careful))
        claims.append(
            observed(
                f"network and student are equally accurate on {part} images",
                abs(a - b) < 2.0,
                f"{a:.1f} and {b:.1f} (judged: within 2)",
                source="Table 5",
                why=f"With {half} images to learn from they are {c:.1f} and {d:.1f}; with dropout of {DROPOUT}, which "
                f"the paper does without, the student has {e:.1f}",
            )
        )
    return Report([Table("NMI in the plane, %", entries)], claims=claims)


def _pair(found: Cells, part: str) -> tuple[float, float]:
    a, b = (float(np.mean(found.values(f"{who} {part}") or [np.nan])) for who in ("MBN", "student"))
    return a, b
