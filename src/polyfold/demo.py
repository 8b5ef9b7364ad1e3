"""Demo: the four systems on bundled data in one HTML report, each compared with a standard method.

Run it with ``python -m polyfold.demo --output folder``. Test images are used neither to fit nor to select λ.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from polyfold import baselines
from polyfold._threads import using_threads
from polyfold.ensembles import ModularClassifier, ModularNeighbors, select_diversity
from polyfold.estimators import (
    BootstrapClustering,
    KernelEmbedding,
    ModularAutoencoder,
    ModularKernelPCA,
    MultilayerBootstrapNetwork,
    NonRedundantEmbedding,
)
from polyfold.metrics import clustering_accuracy, nmi, psnr, redundancy, retrieval_precision
from polyfold.report import Chapter, chapter, write_page

BASELINES = ("Partition", "Bootstrap", "Random", "Monolithic")
M, H, RANK = 6, 6, 400
NEIGHBORS = 10
GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # values of λ on the slider
CHOICES = (0.5, 0.9, 0.99, 0.999)  # values of λ to select from
CLUSTERINGS, ROLL = 200, 1500
_BYTES = 1_100_000  # size limit of each chapter


@using_threads(None)  # one thread in BLAS and OpenMP: their pools slow one another down
def run_demo(output: Path) -> Path:
    """Fit, compare, print the tables, write ``report.html`` and return its path."""
    start = time.perf_counter()
    chapters = []
    for make in (modules, clusters, axes, reconstruction):
        chapters.append(make())
        print_table(chapters[-1])
    report = write_page(chapters, output / "report.html", title="polyfold demo")
    print(f"\n{report}: open it in a browser  ({time.perf_counter() - start:.0f} s)")
    return report


def modules() -> Chapter:
    """Compare modules of the digits with baselines: retrieval, retrieval with half of the modules, classification."""
    digits = load_digits()
    train, test = train_test_split(np.arange(len(digits.data)), test_size=0.3, random_state=0, stratify=digits.target)
    X, y = digits.data, digits.target
    exact = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(X[train])
    truth = exact.kneighbors(X[test], return_distance=False)
    model = ModularKernelPCA(M, H, rank=RANK, random_state=0).fit(X[train])
    model = model.remix(diversity=select_diversity(model, X[train], grid=CHOICES, cv=2).best_diversity)
    methods = {
        name: getattr(baselines, f"{name}KernelPCA")(n_modules=M, n_components=H, rank=RANK, random_state=0)
        for name in BASELINES
    }
    rows = []
    for name, method in {**methods, f"Modular, λ = {model.diversity:g}": model}.items():
        index = ModularNeighbors(method, n_neighbors=NEIGHBORS).fit(X[train])
        precision = retrieval_precision(index.kneighbors(X[test], return_distance=False), truth)
        Z, Q = (index.representation_.transform(part) for part in (X[train], X[test]))
        accuracy = ModularClassifier(method).fit(X[train], y[train]).score(X[test], y[test])
        rows.append([name, *(f"{100 * value:.1f}" for value in (precision, _half_lost(Z, Q, truth), accuracy))])
    return chapter(
        model,
        X,
        y=y,
        images=digits.images,
        columns={"digit": y, "set": np.where(np.isin(np.arange(len(X)), test), "test", "train")},
        diversities=GRID,
        name="Modules",
        note=f"Move the slider: at λ = 0 the {M} modules are identical. Towards λ = 1 they differ more: single modules "
        "get worse, all modules together get better. Select a digit in one module to find it in the others. The table "
        f"shows scores on test images; Monolithic is one embedding of {M * H} dimensions.",
        table=[["method", "precision, %", "precision, half lost, %", "accuracy, %"], *rows],
        max_bytes=_BYTES,
    )


def clusters() -> Chapter:
    """Compare clusters of a bootstrap network with k-means on the pixels."""
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
        views={"PCA of the pixels": PCA(2).fit_transform(digits.data)},
        name="Clusters",
        note="The digits move closer together from layer to layer. Colour by cluster and by k-means to see which "
        "digits k-means splits. Both methods are given the number of clusters, ten, and no labels.",
        table=[["method", "NMI, %", "accuracy, %"], *rows],
        max_bytes=_BYTES,
    )


def axes() -> Chapter:
    """Compare plain and non-redundant coordinates of a Swiss roll."""
    X, along = make_swiss_roll(ROLL, random_state=0)
    X[:, 1] *= 0.5  # on a narrow sheet, the plain second coordinate is a function of the first
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
        "colours (height on the sheet) mix along a curve. The non-redundant second coordinate is unpredictable from "
        "the first, and the sheet is unrolled.",
        table=[["coordinates", "unpredicted, second", "R², along the roll", "R², height"], *rows],
        max_bytes=_BYTES,
    )


def reconstruction() -> Chapter:
    """Compare reconstructions by all modules and by half of them with principal components."""
    digits = load_digits()
    train, test = train_test_split(np.arange(len(digits.data)), test_size=0.3, random_state=0, stratify=digits.target)
    X, Q = digits.data[train], digits.data[test]
    model = ModularAutoencoder(M, H, diversity=0.8, random_state=0).fit(X)
    plain = PCA(M * H, random_state=0).fit(X)
    parts = model.reconstruct_modules(Q)
    codes = plain.transform(Q)
    halves = _remaining()
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
        [f"PCA, {H} components, {M} copies", f"{one:.1f}", f"{one:.1f}"],
        [f"{M} modules of {H}, λ = 0.8", f"{ours[0]:.1f}", f"{ours[1]:.1f}"],
    ]
    return chapter(
        model,
        digits.data,
        y=digits.target,
        images=digits.images,
        columns={"digit": digits.target},
        name="Reconstruction",
        note="Click a digit to see it next to its reconstruction, and colour by the reconstruction error. With all "
        "parts, principal components reconstruct better; with half of the parts lost, the modules do. The table shows "
        "PSNR on test images.",
        table=[["method", "all parts, dB", "half lost, dB"], *rows],
        max_bytes=_BYTES,
    )


def _remaining(draws: int = 20) -> list[NDArray]:
    """Draw the modules that remain after half of them are lost, several times."""
    rng = np.random.RandomState(0)
    return [np.sort(rng.permutation(M)[M // 2 :]) for _ in range(draws)]


def _half_lost(Z: NDArray, Q: NDArray, truth: NDArray) -> float:
    """Return the mean precision of exact search in the columns of the remaining modules."""
    found = []
    for remaining in _remaining():
        kept = np.isin(np.arange(M * H) // H, remaining)
        index = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(Z[:, kept])
        found.append(retrieval_precision(index.kneighbors(Q[:, kept], return_distance=False), truth))
    return float(np.mean(found))


def _read_off(Z: NDArray, values: NDArray) -> float:
    """Return R² of a nearest-neighbours regression of `values` on the coordinates, trained on every other point."""
    Z = Z / Z.std(axis=0)
    return float(KNeighborsRegressor(10).fit(Z[::2], values[::2]).score(Z[1::2], values[1::2]))


def print_table(one: Chapter) -> None:
    """Print the table of a chapter."""
    print(f"\n{one.content['name']}")
    head, *rows = one.content["table"]
    for row in (head, *rows):
        print(f"  {row[0]:30s}" + "".join(f" {cell:>26s}" for cell in row[1:]))


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Show the four systems on bundled data in one HTML report.")
    parser.add_argument("--output", type=Path, default=Path("polyfold-demo"), help="folder for the report")
    run_demo(parser.parse_args().output)


if __name__ == "__main__":
    main()
