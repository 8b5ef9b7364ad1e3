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
    BootstrapMap,
    KernelEmbedding,
    ModularAutoencoder,
    ModularKernelPCA,
    NonRedundantEmbedding,
)
from polyfold.explaining import Explanation, explain
from polyfold.metrics import clustering_accuracy, retrieval_precision
from polyfold.report import Chapter, chapter, write_page

HEADS, SIZE, ANGLES = 1000, 32, ("turn", "nod", "light")
M, H, RANK = 6, 6, 400
NEIGHBORS = 10
GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # values of λ on the slider
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
    found, other = (explain(model, X, images=(SIZE, SIZE), random_state=0) for model in (ours, plain))
    rows = [
        [name, *(f"{100 * _read_off(model.transform(X), angle):.0f} %" for angle in angles.T)]
        for name, model in (("Laplacian eigenmaps", plain), ("polyfold, non-redundant axes", ours))
    ]
    return chapter(
        ours,
        X,
        images=X.reshape(-1, SIZE, SIZE),
        columns=dict(zip(ANGLES, angles.T, strict=True)),
        explanation=found,
        strips={f"Laplacian eigenmaps, axis {k}": _images(other.strips, k) for k in range(3)},
        views={"Laplacian eigenmaps, axes 0 and 1": plain.transform(X)[:, :2]},
        name="Axes",
        note="polyfold sorts 1,000 images of a head along three axes, without being told what varies. Each strip shows "
        "images along one axis: the head turns, it nods, the light moves. The second axis of Laplacian eigenmaps shows "
        "the turn again, and the light has no axis. The table shows how much of each angle the three axes tell.",
        table=[["method", *ANGLES], *rows],
        max_bytes=_BYTES,
    )


def clusters() -> Chapter:
    """Compare clusters of a bootstrap network with k-means."""
    digits = load_digits()
    X, y = digits.data, digits.target
    model = BootstrapClustering(10, random_state=0).fit(X)
    plain = KMeans(10, n_init=50, random_state=0).fit(X)
    rows = [
        [name, f"{100 * clustering_accuracy(y, labels):.0f} %"]
        for name, labels in (("k-means", plain.labels_), ("polyfold, bootstrap clustering", model.labels_))
    ]
    return chapter(
        model,
        X,
        images=digits.images,
        columns={"digit": y, "k-means": plain.labels_},
        explanation=_named_by_digits(model, X, y),
        views={"map": BootstrapMap(random_state=0).fit_transform(X)},
        name="Clusters",
        note="polyfold groups 1,797 handwritten digits, without being told which digit is which. Each cluster is "
        "labelled with the digits that most of its images show. Move the slider to see fewer or more clusters. Colour "
        "by k-means to see which digits it mixes. The table shows how many images are in the cluster of their digit.",
        table=[["method", "images in the right cluster"], *rows],
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
        rows.append([name, *(f"{100 * score:.0f} %" for score in scores)])
    return chapter(
        model,
        X,
        y=y,
        images=digits.images,
        columns={"digit": y},
        diversities=GRID,
        name="Modules",
        note=f"polyfold describes each image by {M} short lists of numbers, the modules, which can be stored in "
        "different places. Move the slider: on the left all modules are the same, on the right each shows something "
        "else. The table shows how many of the ten most similar images a search finds, also after half of the modules "
        "are lost. Different modules find most of them in both cases.",
        table=[["method", "found", "found if half is lost"], *rows],
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
        rows.append([name, *(f"{100 * error:.0f} %" for error in errors)])
    return chapter(
        model,
        digits.data,
        y=digits.target,
        images=digits.images,
        columns={"digit": digits.target},
        name="Reconstruction",
        note="polyfold stores each image in several modules and draws it again from those that are there. Click an "
        "image to see it next to its reconstruction. The table shows the error on new images. With everything there, "
        "principal components (PCA) are better; after half of the numbers is lost, the modules are.",
        table=[["method", "error", "error if half is lost"], *rows],
        max_bytes=_BYTES,
    )


def _images(strips: NDArray | None, k: int) -> NDArray:
    return np.asarray(strips)[k].reshape(-1, SIZE, SIZE)


def _named_by_digits(model: BootstrapClustering, X: NDArray, digits: NDArray) -> Explanation:
    """Explain the clusters of all levels by the digits, which the model has not seen."""
    explanation = explain(model, X, images=(8, 8), random_state=0)
    column, names = digits.astype(str).astype(object)[:, None], {}
    for level, labels in enumerate(model.levels_):
        own = explain(labels, column, feature_names=["digit"], random_state=0).names
        names |= {f"level {level} {key}": name for key, name in own.items()}
    chosen = explain(model.labels_, column, feature_names=["digit"], random_state=0).names
    return replace(explanation, names=names | chosen)


def _remaining(draws: int = 20) -> list[NDArray]:
    """Draw the modules that remain after half of them are lost, several times."""
    rng = np.random.RandomState(0)
    return [np.sort(rng.permutation(M)[M // 2 :]) for _ in range(draws)]


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
