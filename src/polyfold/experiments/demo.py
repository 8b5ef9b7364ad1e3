"""The main job on bundled data: modules of the digits, what they find, also when some are lost, and how they vote.

Test images take no part in fitting, nor in choosing λ; the best figure of every column is set off, whosever it is.

Run with ``python -m polyfold.experiments.demo --output folder``.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from polyfold import baselines
from polyfold.ensembles import ModularNeighbors, select_diversity
from polyfold.estimators import ModularKernelPCA
from polyfold.experiments._compare import SCORES, Tasks
from polyfold.metrics import module_correlation, retrieval_precision
from polyfold.report import Page, plot_allocation, plot_diversity, plot_modules, plot_retrieval

BASELINES = ("Partition", "Bootstrap", "Random", "Monolithic")
M, H, RANK = 10, 10, 400
GRID = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
LOST = "precision, half lost, %"
COLUMNS = (SCORES[0], LOST, SCORES[1])


def run_demo(output: Path) -> Path:
    """Fit, compare, print a table and write ``report.html``; return its path."""
    start = time.perf_counter()
    X, y = load_digits(return_X_y=True)
    X, Q, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    tasks = Tasks(X, y, Q, y_test)
    model = ModularKernelPCA(M, H, rank=RANK, random_state=0).fit(X)
    path = model.diversity_path(GRID)
    curve = [tasks.scores(m) for m in path]
    chosen = {
        SCORES[0]: select_diversity(model, X, grid=GRID).best_diversity,
        SCORES[1]: select_diversity(model, X, y, grid=GRID).best_diversity,
    }
    rivals = {name: _all_scores(tasks, _baseline(name).fit(X)) for name in BASELINES}
    chosen[LOST] = chosen[SCORES[0]]
    modular = {score: curve[GRID.index(chosen[score])][score] for score in SCORES}
    modular[LOST] = half_lost(tasks, path[GRID.index(chosen[LOST])])
    print_table(rivals, modular, chosen)
    report = write_report(output, tasks, path, curve, rivals, modular, chosen)
    print(f"report: {report}  ({time.perf_counter() - start:.0f} s)")
    return report


def _baseline(name: str) -> Any:
    """One of the baselines, in the demo's size."""
    return getattr(baselines, f"{name}KernelPCA")(n_modules=M, n_components=H, rank=RANK, random_state=0)


def _all_scores(tasks: Tasks, model: Any) -> dict[str, float]:
    return {**tasks.scores(model), LOST: half_lost(tasks, model)}


def half_lost(tasks: Tasks, model: Any) -> float:
    """Precision of exact search in what half of the modules leave, mean of twenty draws; one module is cut into M."""
    Z, Q = model.transform(tasks.X), model.transform(tasks.Q)
    rng, found = np.random.RandomState(0), []
    for _ in range(20):
        kept = np.concatenate([np.arange(m * H, (m + 1) * H) for m in rng.permutation(M)[M // 2 :]])
        index = NearestNeighbors(n_neighbors=tasks.n_neighbors, algorithm="brute").fit(Z[:, kept])
        found.append(retrieval_precision(index.kneighbors(Q[:, kept], return_distance=False), tasks.truth))
    return 100 * float(np.mean(found))


def pixel_accuracy(tasks: Tasks) -> float:
    """Accuracy of 5-nearest-neighbours without any representation."""
    return 100 * float(KNeighborsClassifier(5).fit(tasks.X, tasks.y).score(tasks.Q, tasks.y_test))


def best_cells(rivals: Mapping[str, Any], modular: Mapping[str, float]) -> list[tuple[int, int]]:
    """Row and column of the best figure of every column, more than one where they print alike."""
    table = np.round([[row[column] for column in COLUMNS] for row in [*rivals.values(), modular]], 1)
    return [(int(i), int(j) + 1) for i, j in np.argwhere(table == table.max(axis=0))]


def table_rows(rivals: Mapping[str, Any], modular: Mapping[str, float], chosen: Mapping[str, float]) -> list[list[str]]:
    """Rows of the comparison, ours last."""
    rows = [[name, *(f"{row[column]:.1f}" for column in COLUMNS)] for name, row in rivals.items()]
    ours = [f"{modular[column]:.1f} (λ = {chosen[column]:g})" for column in COLUMNS]
    return [*rows, ["Modular (MBM)", *ours]]


def print_table(rivals: Mapping[str, Any], modular: Mapping[str, float], chosen: Mapping[str, float]) -> None:
    """Print the comparison."""
    print(f"digits: {M} modules of {H} dimensions; monolithic: one of {M * H}; λ chosen on the training images")
    for row in [["method", *COLUMNS], *table_rows(rivals, modular, chosen)]:
        print(f"  {row[0]:15s}" + "".join(f" {cell:>23s}" for cell in row[1:]))


def write_report(
    output: Path,
    tasks: Tasks,
    path: list[ModularKernelPCA],
    curve: list[dict[str, float]],
    rivals: Mapping[str, Any],
    modular: Mapping[str, float],
    chosen: Mapping[str, float],
) -> Path:
    """Write the page with its pictures."""
    X, Q, truth = tasks.X, tasks.Q, tasks.truth
    best = path[GRID.index(chosen[SCORES[0]])]
    index = ModularNeighbors(FrozenEstimator(best), n_neighbors=8).fit(X)
    some = np.arange(3)
    found = {
        "one module": index.kneighbors(Q[some], modules=[0])[1],
        "all modules": index.kneighbors(Q[some])[1],
    }
    correlations = [f"λ = {m.diversity:g}: {module_correlation(m.transform_modules(X[:400])):.2f}" for m in path[::3]]
    page = (
        Page("polyfold on handwritten digits")
        .text(
            f"{len(X)} images to fit, {len(Q)} to test. A modular representation holds {M} modules of {H} dimensions "
            "of one Gaussian kernel. Precision: share of the 10 nearest images in pixel space that the modules find. "
            "Half lost: the same where half of the modules are gone, of a monolithic embedding half of its parts of "
            f"{H} dimensions. Accuracy: of the vote of one 5-nearest-neighbours classifier per module. λ is chosen on "
            "the images to fit; the best figure of every column is set off."
        )
        .table(["method", *COLUMNS], table_rows(rivals, modular, chosen), best=best_cells(rivals, modular))
        .text(
            "Where all is in one place, one large embedding is enough; modules may be spread, and what is left of them "
            f"still finds. 5-nearest-neighbours on the pixels themselves: {pixel_accuracy(tasks):.1f} % right."
        )
        .heading("How diverse should modules be?")
        .figure(
            plot_diversity(GRID, {score: [row[score] for row in curve] for score in SCORES}, rivals),
            "Scores on the test images over λ; the dashed lines have no λ.",
        )
        .text("Mean distance correlation between two modules, " + "; ".join(correlations) + ".")
        .heading("What the modules share")
        .figure(
            plot_allocation({m.diversity: m.allocation_ for m in path[1::2]}, M),
            "With more diversity the modules spread over more directions of the kernel.",
        )
        .heading("What the modules see")
        .figure(
            plot_modules(best.transform_modules(X)[:4], tasks.y), "Two dimensions of four modules; colours are digits."
        )
        .heading("What they find")
        .figure(
            plot_retrieval(Q[some], found, truth[some], X, (8, 8)),
            "Left the query, then what is found; true neighbours in pixel space are framed.",
        )
    )
    return page.write(output / "report.html")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Fit modules to handwritten digits and write a report.")
    parser.add_argument("--output", type=Path, default=Path("polyfold-demo"), help="folder of the report")
    run_demo(parser.parse_args().output)


if __name__ == "__main__":
    main()
