"""Write what was measured into the pages: marked blocks of README and guides follow from `results/`.

A block stands between ``<!-- figures: name -->`` and ``<!-- end -->``. ``python -m benchmarks.pages.blocks``, or
`make readme`, renews all of them; ``--check`` says which are old.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import _clusterings as clusterings
from benchmarks.pages import _coordinates, _reliability, _search
from benchmarks.pages._markdown import cells, table
from benchmarks.pages._markdown import results as recorded
from benchmarks.pages._papers import autoencoder_sets, nonredundant_digits, nonredundant_few

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/reliability.md",
    *sorted((ROOT / "docs").glob("guide/*.md")),
    *sorted((ROOT / "docs").glob("explanations/*.md")),
]
NMI = clusterings.label_score(clusterings.NMI)
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)


@cache
def results(study: str) -> dict[str, Any]:
    """Return the figures of a study."""
    return recorded(study)["figures"]


def joined(values: Iterable[float], digits: int = 1) -> str:
    """Return numbers side by side."""
    return " / ".join(f"{value:.{digits}f}" for value in values)


def printed(number: int) -> str:
    """Return what an example of the README prints."""
    return f"```text\n{results('readme')['examples'][number]}```"


def comparison() -> str:
    """Return the small table of the README: held-out data, with losses."""
    figures = clusterings.measured()
    runs = clusterings.together(figures)
    given, found = "BootstrapClustering(c)", "BootstrapClustering()"
    shown = {given, found, "UMAP + k-means", "Leiden"}
    held = [name for name in clusterings.groups_of_sets(runs)["held out"] if shown <= set(runs[name])]
    few = results("coordinates")["classes"]["usps_11000"]
    search = next(row for row in _search.compared(results("search")["target"]) if row["level"].startswith("recall 95"))

    def score(method: str) -> float:
        return float(np.mean([clusterings.mean(runs, name, method, NMI) for name in held]))

    def error(method: str) -> float:
        return float(np.mean(few[method]["10-NN"], axis=0)[_coordinates.COUNTS.index(5)])

    umap, ours = "UMAP + k-means", "polyfold NonRedundantEmbedding"
    relative = float(
        np.median([clusterings.seconds(runs, n, given) / clusterings.seconds(runs, n, umap) for n in held])
    )
    sets, clusterer = f"{len(held)} held-out sets, number of clusters", "`BootstrapClustering`"
    lines: list[tuple[str, str, float, dict[str, float], int]] = [
        (f"{sets} given: NMI, %", clusterer, score(given), {umap: score(umap)}, 1),
        (f"{sets} unknown: NMI, %", clusterer, score(found), {"Leiden": score("Leiden")}, 1),
        (f"{sets} given: CPU time, relative, median", clusterer, -relative, {umap: -1.0}, 2),
        (
            "five axes of USPS digits: error of a 10-NN classifier, %",
            "`NonRedundantEmbedding`",
            -error(ours),
            {name: -error(name) for name in ("SpectralEmbedding", "UMAP")},
            1,
        ),
        (
            "search on MNIST, recall 95 %: query time, relative",
            "`ModularNeighbors`",
            -search["query ratio"],
            {"FAISS HNSW": -1.0},
            2,
        ),
    ]
    rows = []
    for label, name, own, peers, digits in lines:
        shown = [cell.replace("-", "") for cell in cells([own, *peers.values()], digits)]
        first, *others = (f"{cell} ({method})" for cell, method in zip(shown, [name, *peers], strict=True))
        rows.append([label, first, ", ".join(others)])
    return table(["", "polyfold", "other"], rows)


def bootstrap_mnist() -> str:
    """Return quality and cost of bootstrap networks on MNIST."""
    small, full = results("bootstrap")["small"], results("bootstrap")["full"]
    rows = []
    for name, label in (("exact", "5,000 images, exact"), ("graph", "5,000 images, graph")):
        found = small[name]
        walls = sorted(run["fit/products"]["wall"] for run in found["runs"])
        remark = f"{walls[len(walls) // 2]:.2f} of the time of BLAS"
        if found["disagreement"]:
            remark += f"; {100 * found['disagreement']:.1f} % of the assignments differ"
        rows.append([label, f"{found['nmi']:.1f}", f"{found['acc']:.1f}", remark])
    train, test, peer = full["train"], full["test"], full["umap"]
    rows.append(
        [
            "60,000 images, k1 = 8000",
            f"{train['nmi']:.1f}",
            f"{train['acc']:.1f}",
            f"{full['fit/products']['wall']:.2f} of that time, {full['peak_memory_gb']:.1f} GB; "
            f"{100 * full['disagreement']:.1f} % of the assignments differ",
        ]
    )
    share = full["transform_10000"]["wall"] / full["fit"]["wall"]
    rows.append(["10,000 test images", f"{test['nmi']:.1f}", f"{test['acc']:.1f}", f"{share:.2f} of the fit time"])
    rows.append(
        [
            "umap-learn (10 components) + k-means, the same 60,000",
            f"{peer['nmi']:.1f}",
            f"{peer['acc']:.1f}",
            f"{1 / peer['fit/umap']['wall']:.2f} of our fit time",
        ]
    )
    return table(["", "NMI, %", "accuracy, %", "cost"], rows)


def bootstrap_neighbours() -> str:
    """Return how many neighbours share the class of a row, by the input and by layers of a network."""
    rows = []
    for name, found in results("maps")["neighbours"].items():
        layers = [found[key] for key in sorted((k for k in found if k.isdecimal()), key=int)]
        shown = (found["input"], layers[0], layers[-1], max(layers), found["auto"])
        rows.append([name, *(f"{value:.1f}" for value in shown)])
    return table(["", "input", "first layer", "last layer", "best single layer", '`layer="auto"`'], rows)


def bootstrap_scale() -> str:
    """Return cost and quality of bootstrap clustering against the number of rows."""
    found = results("bootstrap_scale")["growth"]
    rows = [
        [
            f"{int(size):,}",
            f"{row['seconds']:.0f}" if row["threads"] == 2 else "–",
            f"{row['cpu']:.0f}",
            f"{row['MB'] / 1000:.1f}",
            f"{row['nmi']:.1f}",
            f"{row['nmi of the others']:.1f}" if "nmi of the others" in row else "–",
            f"{row['recall']:.2f}",
        ]
        for size, row in found.items()
        if size.isdecimal()
    ]
    exponents = found["exponents"]
    head = [
        "rows",
        "seconds, two cores",
        "CPU seconds",
        "memory, GB",
        "NMI, %",
        "NMI of rows outside the sample, %",
        "recall of neighbours",
    ]
    growth = f"Time grows as N^{exponents['seconds']:.2f} from the first size to the last, CPU time as"
    return f"{table(head, rows)}\n\n{growth} N^{exponents['cpu']:.2f}."


def scale_fit() -> str:
    """Return memory and speed of modular fits from every container, and on two workers."""
    found = results("scale")
    sizes = sorted(found["fit"], key=int)
    few, many = (found["fit"][size] for size in (sizes[0], sizes[-1]))
    rows = [
        [kind, *(f"{one[kind]['MB']:.0f}" for one in (few, many)), f"{many[kind]['of sgemm, cpu']:.2f}"]
        for kind in many
    ]
    head = ["container", *(f"MB, {int(size):,} rows" for size in (sizes[0], sizes[-1])), "speed relative to BLAS"]
    cluster, use = found["cluster"], found["use"]
    away = max(max(one.values()) for one in found["same"].values())
    fewest, most = sorted(use, key=int)[:: len(use) - 1]
    memory = ", ".join(
        f"{one['MB']:.0f} and {use[most][name]['MB']:.0f} (`{name}`)" for name, one in use[fewest].items()
    )
    return (
        f"{table(head, rows)}\n\n"
        f"The models of all containers, of `partial_fit` and of Dask with 1, 2 and 4 workers differ by at most "
        f"{away:.0e}. With two Dask workers, {cluster['rows']:,} rows take {cluster['warm']:.2f} times as long as in "
        f"one process on two cores, and {cluster['cold']:.1f} times in the first run, when workers import packages. "
        f"Memory in MB for {int(fewest):,} and {int(most):,} rows of zarr: {memory}."
    )


def graphs_scale() -> str:
    """Return cost and quality of non-redundant coordinates against the number of rows."""
    images, roll = results("scale_graphs")["images"], results("scale_graphs")["roll"]
    rows = []
    for size in sorted({s for found in (images, roll) for s in found if s.isdecimal()}, key=int):
        line = [f"{int(size):,}"]
        for found, name, shown in ((images, "error, %", "{:.1f}"), (roll, "R²", "{:.3f}")):
            if size not in found:
                line += ["–"] * 4
                continue
            one = found[size]
            quality = min(one[name]) if isinstance(one[name], list) else one[name]
            line += [f"{one['cpu']:.0f}", f"{one['MB'] / 1000:.1f}", f"{one['recall']:.3f}", shown.format(quality)]
        rows.append(line)
    head = ["rows", "images: CPU s", "GB", "recall", "error, %", "roll: CPU s", "GB", "recall", "R²"]
    growth = f"CPU time grows as N^{images['exponent']:.2f} for images and as N^{roll['exponent']:.2f} for the roll."
    first, last = (images[size]["redundancy"][3:] for size in ("60000", "500000"))
    novelty = f"{joined(first, 2)} at 60,000 rows, {joined(last, 2)} at 500,000"
    fit, rest = (results("scale_graphs")["landmarks"]["roll, dask"][step] for step in ("fit", "transform"))
    return (
        f"{table(head, rows)}\n\n{growth} `novelty_` of the fourth and fifth coordinate of the images: {novelty}. "
        f"With 50,000 landmarks on Dask, the fit of a roll of 500,000 rows takes {fit['cpu']:.0f} CPU seconds and "
        f"{fit['MB'] / 1000:.2f} GB, and the transformation of all rows {rest['cpu']:.0f} CPU seconds and "
        f"{rest['MB'] / 1000:.2f} GB."
    )


def nonredundant_shapes() -> str:
    """Summarise R² and number of axes of shapes that were not seen, with default settings."""
    parts = results("nonredundant")
    groups = {"before the last change of the rules": ("held out", "fresh"), "after it": ("latest", "newest")}
    rows = []
    for group, names in groups.items():
        shapes = {name: found for part in names for name, found in parts[part].items()}
        best = {name: max(found["every kernel"].values()) for name, found in shapes.items()}
        reachable = [name for name in shapes if best[name] >= 0.95]
        reached = sum(shapes[name]["R²"] >= 0.95 for name in reachable)
        close = sum(found["R²"] >= best[name] - 0.03 for name, found in shapes.items())
        right = sum(found["number"] == int(name.rpartition(", ")[2]) for name, found in shapes.items())
        total = len(shapes)
        rows.append(
            [group, f"{reached} of {len(reachable)}", f"{close} of {total}", f"{right} of {total}", _failures(shapes)]
        )
    head = [
        "shapes written",
        "R² ≥ 0.95 if any kernel reaches it",
        "R² within 0.03 of the best kernel",
        "number of axes found",
        "exceptions",
    ]
    return table(head, rows)


def _failures(shapes: dict[str, Any]) -> str:
    """Name the shapes with a wrong number, or with an R² more than 0.03 below the best kernel."""
    out = []
    for name, found in shapes.items():
        best, number = max(found["every kernel"].values()), found["number"]
        wrong = [f"R² {found['R²']:.3f}, best {best:.3f}"] if found["R²"] < best - 0.03 else []
        wrong += [f"number {number}"] if number != int(name.rpartition(", ")[2]) else []
        out += [f"{name} ({', '.join(wrong)})"] if wrong else []
    return "; ".join(out) or "none"


def nonredundant_faces() -> str:
    """Return how the axes of faces follow their causes, and how stable axes are."""
    faces, shapes = results("nonredundant")["faces"], results("nonredundant")["stability"]
    single, joint = faces["light, pan, tilt and one axis"], faces["light, pan, tilt from three axes"]
    rows = [
        ["rank correlation of the best single axis", *cells(single, 2, None)],
        ["correlation with a 10-nearest-neighbours regression on all axes", *cells(joint, 2, None)],
    ]
    again = joined(faces["stability"]["90 % of the rows"], 2)
    least = min(min(found["90 % of the rows"]) for found in shapes.values())
    head = [f"{faces['number']} axes found", "light", "pan", "tilt"]
    return (
        f"{table(head, rows)}\n\nIn three samples of 90 % of the images, every axis is found again with a correlation "
        f"of at least {again}. For {len(shapes)} shapes, the lowest correlation is {least:.2f}."
    )


def nonredundant_cost() -> str:
    """Return the time of non-redundant coordinates relative to plain ones."""
    cost = results("nonredundant")["cost"]
    return (
        f"Processor time of 11 coordinates of 15,000 images, relative to plain eigenmaps with their neighbour graph: "
        f'{cost["given / plain"]:.1f} with a given kernel, {cost["auto / plain"]:.1f} with `kernel="auto"`.'
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "example-axes": partial(printed, 0),
    "example-clusters": partial(printed, 1),
    "example-modules": partial(printed, 2),
    "comparison": comparison,
    "autoencoder-sets": autoencoder_sets,
    "bootstrap-mnist": bootstrap_mnist,
    "bootstrap-neighbours": bootstrap_neighbours,
    "bootstrap-scale": bootstrap_scale,
    "graphs-scale": graphs_scale,
    "scale-fit": scale_fit,
    "coverage": _reliability.coverage,
    "coverage-recall": _reliability.recall,
    "coverage-reliability": _reliability.reliability,
    "mutants": _reliability.mutants,
    "nonredundant-digits": nonredundant_digits,
    "nonredundant-few": nonredundant_few,
    "nonredundant-shapes": nonredundant_shapes,
    "nonredundant-faces": nonredundant_faces,
    "nonredundant-cost": nonredundant_cost,
}


def renewed(text: str) -> str:
    """Return a page with every block as the results have it."""

    def fill(match: re.Match[str]) -> str:
        if match[2] not in BLOCKS:
            raise KeyError(f"figures must be one of {', '.join(BLOCKS)}, got {match[2]!r}.")
        return f"{match[1]}\n{BLOCKS[match[2]]()}\n\n{match[4]}"

    return BLOCK.sub(fill, text)


def main(arguments: list[str]) -> int:
    """Renew the pages, or with ``--check`` name those that are old."""
    old = [path for path in PAGES if renewed(path.read_text()) != path.read_text()]
    if "--check" in arguments:
        print(
            "\n".join(f"{path.relative_to(ROOT)} is older than benchmarks/results; run `make readme`." for path in old)
        )
        return len(old)
    for path in old:
        path.write_text(renewed(path.read_text()))
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
