"""The four systems on bundled data, in one page to explore, each beside its plain rival.

Test images take no part in fitting, nor in choosing λ; every table holds what was measured, whoever is ahead.

Run with ``python -m polyfold.experiments.demo --output folder``.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from polyfold import baselines
from polyfold._running import using_threads
from polyfold.ensembles import select_diversity
from polyfold.estimators import (
    BootstrapClustering,
    KernelEmbedding,
    ModularAutoencoder,
    ModularKernelPCA,
    MultilayerBootstrapNetwork,
    NonRedundantEmbedding,
)
from polyfold.experiments._compare import SCORES, Tasks, half_lost, lost_modules
from polyfold.metrics import clustering_accuracy, nmi, psnr, redundancy
from polyfold.report import Chapter, chapter, write_page

BASELINES = ("Partition", "Bootstrap", "Random", "Monolithic")
M, H, RANK = 6, 6, 400
GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # of the slider
CHOICES = (0.5, 0.9, 0.99, 0.999)  # of λ, on the images to fit
CLUSTERINGS, ROLL = 200, 1500
_BYTES = 1_100_000  # of each chapter


@using_threads(None)  # one each in the libraries below: theirs would wait for one another by spinning
def run_demo(output: Path) -> Path:
    """Fit, compare, print the tables and write ``report.html``; return its path."""
    start = time.perf_counter()
    chapters = []
    for make in (views_and_slider, clusters, axes, reconstruction):
        chapters.append(make())
        print_table(chapters[-1])
    report = write_page(chapters, output / "report.html", title="polyfold in four pictures")
    print(f"\n{report}: open it in a browser  ({time.perf_counter() - start:.0f} s)")
    return report


def views_and_slider() -> Chapter:
    """Modules of the digits, and what is found and voted with them, also when half of them are lost."""
    digits = load_digits()
    train, test = train_test_split(np.arange(len(digits.data)), test_size=0.3, random_state=0, stratify=digits.target)
    X, y = digits.data, digits.target
    tasks = Tasks(X[train], y[train], X[test], y[test])
    model = ModularKernelPCA(M, H, rank=RANK, random_state=0).fit(X[train])
    model = model.remix(diversity=select_diversity(model, X[train], grid=CHOICES, cv=2).best_diversity)
    rivals = {
        name: getattr(baselines, f"{name}KernelPCA")(n_modules=M, n_components=H, rank=RANK, random_state=0)
        for name in BASELINES
    }
    fitted = {name: rival.fit(X[train]) for name, rival in rivals.items()} | {
        f"Modular, λ = {model.diversity:g}": model
    }
    rows = []
    for name, one in fitted.items():
        scores = tasks.scores(one)
        found = (scores[SCORES[0]], half_lost(tasks, one, M, H), scores[SCORES[1]])
        rows.append([name, *(f"{value:.1f}" for value in found)])
    return chapter(
        model,
        X,
        y=y,
        images=digits.images,
        columns={"digit": y, "set": np.where(np.isin(np.arange(len(X)), test), "test", "train")},
        diversities=GRID,
        name="Views and slider",
        note=f"Move the slider: at λ = 0 the {M} modules are copies, towards 1 each looks elsewhere, single ones get "
        "worse and all of them together better. Select a digit in one view and see where the others put it. "
        f"Table: test images; monolithic is one embedding of {M * H} dimensions, enough while nothing is lost.",
        table=[["method", SCORES[0], "precision, half lost, %", SCORES[1]], *rows],
        max_bytes=_BYTES,
    )


def clusters() -> Chapter:
    """Layers of a bootstrap network, and clusters on its output against k-means on the pixels."""
    digits = load_digits()
    network = MultilayerBootstrapNetwork(10, n_classes=10, n_clusterings=CLUSTERINGS, random_state=0)
    model = BootstrapClustering(10, network=network, random_state=0).fit(digits.data)
    plain = KMeans(10, n_init=50, random_state=0).fit(digits.data)
    rows = [
        [name, f"{100 * nmi(digits.target, labels):.1f}", f"{100 * clustering_accuracy(digits.target, labels):.1f}"]
        for name, labels in (("k-means on pixels", plain.labels_), ("bootstrap clustering", model.labels_))
    ]
    return chapter(
        model,
        digits.data,
        y=digits.target,
        images=digits.images,
        columns={"digit": digits.target, "k-means": plain.labels_},
        views={"pixels, as k-means gets them": PCA(2).fit_transform(digits.data)},
        name="Clusters",
        note="From layer to layer the digits draw together; colour by cluster and by k-means to see which digits "
        "k-means cuts. Neither has seen a label; both are told that there are ten clusters.",
        table=[["method", "NMI, %", "accuracy, %"], *rows],
        max_bytes=_BYTES,
    )


def axes() -> Chapter:
    """Coordinates of a rolled sheet, plain and non-redundant."""
    X, along = make_swiss_roll(ROLL, random_state=0)
    X[:, 1] *= 0.5  # a narrow sheet: its plain second coordinate is a function of the first
    height = X[:, 1]
    ours = NonRedundantEmbedding(2, random_state=0).fit(X)
    plain = KernelEmbedding(2, kernel="laplacian_eigenmaps", random_state=0).fit_transform(X)
    rows = [
        [name, f"{redundancy(Z)[1]:.2f}", f"{_read_off(Z, along):.2f}", f"{_read_off(Z, height):.2f}"]
        for name, Z in (("plain Laplacian eigenmaps", plain), ("non-redundant", ours.embedding_))
    ]
    return chapter(
        ours,
        X,
        y=height,
        columns={"height": height, "along the roll": along},
        views={"plain coordinates 0 and 1": plain},
        name="Non-redundant axes",
        note="The data are a rolled sheet with two directions. The plain second coordinate repeats the first, so the "
        "colours (height on the sheet) mix along a curve; the non-redundant one is news, and the sheet lies open.",
        table=[["coordinates", "news in the second", "R² of place along the roll", "R² of height"], *rows],
        max_bytes=_BYTES,
    )


def reconstruction() -> Chapter:
    """Digits rebuilt by all modules and by half of them, against principal components."""
    digits = load_digits()
    train, test = train_test_split(np.arange(len(digits.data)), test_size=0.3, random_state=0, stratify=digits.target)
    X, Q = digits.data[train], digits.data[test]
    model = ModularAutoencoder(M, H, diversity=0.8, random_state=0).fit(X)
    plain = PCA(M * H, random_state=0).fit(X)
    parts = model.reconstruct_modules(Q)
    codes = plain.transform(Q)
    halves = lost_modules(M)
    ours = [psnr(Q, parts.mean(axis=0)), np.mean([psnr(Q, parts[kept].mean(axis=0)) for kept in halves])]
    cut = [np.isin(np.arange(M * H) // H, kept) for kept in halves]
    theirs = [
        psnr(Q, plain.inverse_transform(codes)),
        np.mean([psnr(Q, plain.inverse_transform(codes * kept)) for kept in cut]),
    ]
    single = PCA(H, random_state=0).fit(X)
    one = psnr(Q, single.inverse_transform(single.transform(Q)))
    rows = [
        [f"PCA, {M * H} components", f"{theirs[0]:.1f}", f"{theirs[1]:.1f}"],
        [f"PCA, {H} components in {M} copies", f"{one:.1f}", f"{one:.1f}"],
        [f"{M} modules of {H}, λ = 0.8", f"{ours[0]:.1f}", f"{ours[1]:.1f}"],
    ]
    return chapter(
        model,
        digits.data,
        y=digits.target,
        images=digits.images,
        columns={"digit": digits.target},
        name="Reconstruction",
        note="Click a digit to see it beside what the modules rebuild of it, and colour by the error. With every part "
        "in place, principal components rebuild better; with half of the parts lost, the modules do. "
        "Decibels on test images.",
        table=[["method", "all parts, dB", "half lost, dB"], *rows],
        max_bytes=_BYTES,
    )


def _read_off(Z: np.ndarray, values: np.ndarray) -> float:
    """R² of a nearest-neighbours regression of `values` on the coordinates, trained on every other point."""
    Z = Z / Z.std(axis=0)
    return float(KNeighborsRegressor(10).fit(Z[::2], values[::2]).score(Z[1::2], values[1::2]))


def print_table(one: Chapter) -> None:
    """Print the comparison of a chapter."""
    print(f"\n{one.content['name']}")
    head, *rows = one.content["table"]
    for row in (head, *rows):
        print(f"  {row[0]:30s}" + "".join(f" {cell:>26s}" for cell in row[1:]))


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Show the four systems on bundled data in one page.")
    parser.add_argument("--output", type=Path, default=Path("polyfold-demo"), help="folder of the page")
    run_demo(parser.parse_args().output)


if __name__ == "__main__":
    main()
