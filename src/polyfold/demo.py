"""Demo: axes, clusters, modules and reconstructions of bundled data in one HTML report.

Run it with ``python -m polyfold.demo --output folder``. Every tab compares the result with a standard method.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from polyfold._threads import using_threads
from polyfold.baselines import MonolithicKernelPCA
from polyfold.datasets import make_rendered_object
from polyfold.estimators import (
    BootstrapClustering,
    KernelEmbedding,
    ModularAutoencoder,
    ModularKernelPCA,
    NonRedundantEmbedding,
)
from polyfold.explaining import Explanation, explain
from polyfold.metrics import clustering_accuracy, retrieval_precision
from polyfold.report import Chapter, chapter, write_page

HEADS, SIZE, ANGLES = 1000, 32, ("turn", "nod", "light")
M, H, RANK = 4, 9, 400
NEIGHBORS = 10
GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # values of λ on the slider
PERCENT = "\u00a0%"  # on the same line as its number
_BYTES = 1_100_000  # size limit of each chapter


@using_threads(None)  # one thread in BLAS and OpenMP: their pools slow one another down
def run_demo(output: Path) -> Path:
    """Fit, compare, print the tables, write ``report.html`` and return its path."""
    start = time.perf_counter()
    chapters = []
    for make in (axes, clusters, modules, reconstruction):
        chapters.append(make())
        print_table(chapters[-1])
    report = write_page(chapters, output / "report.html", title="polyfold demo")
    print(f"\n{report}: open it in a browser  ({time.perf_counter() - start:.0f} s)")
    return report


def axes() -> Chapter:
    """Compare non-redundant axes of images of a head with plain Laplacian eigenmaps."""
    X, angles = make_rendered_object(HEADS, size=SIZE, random_state=0)
    ours = NonRedundantEmbedding(3, random_state=0).fit(X)
    plain = KernelEmbedding(3, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    columns = dict(zip(ANGLES, angles.T, strict=True))
    found, other = (explain(model, X, images=(SIZE, SIZE), random_state=0) for model in (ours, plain))
    rows = [
        [name, *(f"{100 * _read_off(model.transform(X), angle):.0f}{PERCENT}" for angle in angles.T)]
        for name, model in (("Laplacian eigenmaps", plain), ("polyfold, non-redundant axes", ours))
    ]
    return chapter(
        ours,
        X,
        images=X.reshape(-1, SIZE, SIZE),
        y=columns["nod"],
        columns=columns,
        explanation=found,
        compared={"Laplacian eigenmaps": other},
        views={"Laplacian eigenmaps, axes 0 and 1": plain.transform(X)[:, :2]},
        name="Axes",
        note=f"polyfold finds what varies in {HEADS:,} unlabelled images of a head, one axis each: it turns, it nods, "
        "the light moves. Laplacian eigenmaps show the turn again on their second axis, and have none for the light.",
        table=[["how much of each angle the axes explain", *ANGLES], *rows],
        max_bytes=_BYTES,
    )


def clusters() -> Chapter:
    """Compare clusters of a bootstrap network with k-means."""
    digits = load_digits()
    X, y = digits.data, digits.target
    model = BootstrapClustering(10, random_state=0).fit(X)
    plain = KMeans(10, n_init=50, random_state=0).fit(X)
    rows = [
        [name, f"{100 * clustering_accuracy(y, labels):.0f}{PERCENT}"]
        for name, labels in (("k-means", plain.labels_), ("polyfold, bootstrap clustering", model.labels_))
    ]
    return chapter(
        model,
        X,
        images=digits.images,
        columns={"digit": y.astype(str), "k-means": np.array(list("ABCDEFGHIJ"))[plain.labels_]},
        explanation=_named_by_digits(model, X, y),
        name="Clusters",
        note=f"polyfold groups {len(X):,} handwritten digits without labels, at every level of detail: move the slider "
        "for fewer or more clusters, and press a cluster to see its mean image and typical images. Each cluster is "
        "labelled with the digits that it holds.",
        table=[["images in the cluster of their digit", "of all"], *rows],
        max_bytes=_BYTES,
    )


def modules() -> Chapter:
    """Compare search in modules with search in one embedding, if all modules answer and if half of them are lost."""
    digits = load_digits()
    X, y = digits.data, digits.target
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0, stratify=y)
    exact = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(X[train])
    truth = exact.kneighbors(X[test], return_distance=False)
    model = ModularKernelPCA(M, H, rank=RANK, random_state=0).fit(X[train])
    one = MonolithicKernelPCA(n_modules=M, n_components=H, rank=RANK, random_state=0).fit(X[train])
    methods = {
        f"one embedding of {M * H} numbers": one,
        f"{M} identical modules of {H} numbers": model.remix(diversity=0.0),
        f"polyfold, {M} different modules of {H} numbers": model,
    }
    rows = []
    for name, method in methods.items():
        Z, Q = method.transform(X[train]), method.transform(X[test])
        scores = [_precision(Z, Q, truth, [np.arange(M)]), _precision(Z, Q, truth, _remaining())]
        rows.append([name, *(f"{NEIGHBORS * score:.1f}" for score in scores)])
    return chapter(
        model,
        X,
        y=y,
        images=digits.images,
        columns={"digit": y},
        diversities=GRID,
        name="Modules",
        note=f"polyfold describes each image by {M} short lists of numbers, the modules. They differ as much as you "
        "choose with the slider, so that a search for similar images still works after some modules are lost.",
        table=[["similar images found, of ten", "all there", "half lost"], *rows],
        max_bytes=_BYTES,
    )


def reconstruction() -> Chapter:
    """Compare reconstructions by all modules and by half of them with principal components."""
    digits = load_digits()
    train, test = train_test_split(np.arange(len(digits.data)), test_size=0.3, random_state=0, stratify=digits.target)
    X, Q = digits.data[train], digits.data[test]
    model = ModularAutoencoder(M, H, diversity=0.8, random_state=0).fit(X)
    plain = PCA(M * H, random_state=0).fit(X)
    parts, codes = model.reconstruct_modules(Q), plain.transform(Q)
    rows = []
    for name, rebuild in (
        (f"PCA, {M * H} numbers", lambda kept: plain.inverse_transform(codes * np.isin(np.arange(M * H) // H, kept))),
        (f"polyfold, {M} modules of {H} numbers", lambda kept: parts[kept].mean(axis=0)),
    ):
        errors = [np.mean([_error(Q, rebuild(kept)) for kept in which]) for which in ([np.arange(M)], _remaining())]
        rows.append([name, *(f"{100 * error:.0f}{PERCENT}" for error in errors)])
    return chapter(
        model,
        digits.data,
        y=digits.target,
        images=digits.images,
        columns={"digit": digits.target},
        name="Reconstruction",
        note=f"polyfold stores each image in {M} modules and draws it again from those that are left. Click a point to "
        "see its image next to the reconstruction.",
        table=[["error on new images", "all there", "half lost"], *rows],
        max_bytes=_BYTES,
    )


def _named_by_digits(model: BootstrapClustering, X: NDArray, digits: NDArray) -> Explanation:
    """Explain the clusters of all levels by the digits, which the model has not seen."""
    names = _names_of(model.labels_, digits)
    for level, labels in enumerate(model.levels_):
        names |= {f"level {level} {key}": name for key, name in _names_of(labels, digits).items()}
    return replace(explain(model, X, images=(8, 8), random_state=0), names=names)


def _names_of(labels: NDArray, digits: NDArray) -> dict[str, str]:
    return explain(labels, digits.astype(str)[:, None], feature_names=["digit"], random_state=0).names


def _remaining() -> list[NDArray]:
    """Draw the modules that remain after half of them are lost, several times."""
    rng = np.random.RandomState(0)
    return [np.sort(rng.permutation(M)[M // 2 :]) for _ in range(20)]


def _precision(Z: NDArray, Q: NDArray, truth: NDArray, which: list[NDArray]) -> float:
    """Return the mean precision of exact search in the columns of the remaining modules."""
    found = []
    for remaining in which:
        kept = np.isin(np.arange(M * H) // H, remaining)
        index = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(Z[:, kept])
        found.append(retrieval_precision(index.kneighbors(Q[:, kept], return_distance=False), truth))
    return float(np.mean(found))


def _error(X: NDArray, rebuilt: NDArray) -> float:
    """Return the squared error as a fraction of the variance."""
    return float(np.sum((X - rebuilt) ** 2) / np.sum((X - X.mean(axis=0)) ** 2))


def _read_off(Z: NDArray, values: NDArray) -> float:
    """Return R² of a nearest-neighbours regression of `values` on the coordinates, trained on every other point."""
    Z = Z / Z.std(axis=0)
    return max(0.0, float(KNeighborsRegressor(10).fit(Z[::2], values[::2]).score(Z[1::2], values[1::2])))


def print_table(one: Chapter) -> None:
    """Print the table of a chapter."""
    print(f"\n{one.content['name']}")
    head, *rows = one.content["table"]
    for row in (head, *rows):
        print(f"  {row[0]:45s}" + "".join(f" {cell:>26s}" for cell in row[1:]))


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Show axes, clusters and modules of bundled data in one HTML report.")
    parser.add_argument("--output", type=Path, default=Path("polyfold-demo"), help="folder for the report")
    run_demo(parser.parse_args().output)


if __name__ == "__main__":
    main()
