"""Write what was measured into the pages: marked blocks of README and guides follow from `results/`.

A block stands between ``<!-- figures: name -->`` and ``<!-- end -->``. ``python -m benchmarks.pages.blocks``, or
`make readme`, renews all of them; ``--check`` says which are old.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.pages._markdown import results as recorded
from benchmarks.pages._markdown import table
from benchmarks.pages._papers import (
    OURS,
    PLAIN,
    autoencoder_sets,
    bootstrap_sets,
    digit_errors,
    few_label_errors,
    nonredundant_digits,
    nonredundant_few,
    quality,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("guide/*.md"))]
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)


@cache
def results(study: str) -> dict[str, Any]:
    """Return the figures of a study."""
    return recorded(study)["figures"]


def joined(values: Iterable[float], digits: int = 1) -> str:
    """Return numbers side by side."""
    return " / ".join(f"{value:.{digits}f}" for value in values)


def example() -> str:
    """Describe what the first example of the README prints, and its accuracy on other splits."""
    found = results("readme")["example"]
    ours, plain, spectral = found["ours"], found["k-means"], found["spectral, old rows"]
    return (
        f"Accuracy on new digits: {ours[0]:.2f} (k-means: {plain[0]:.2f}). Over {len(ours)} random splits the mean is "
        f"{sum(ours) / len(ours):.2f} (range {min(ours):.2f}–{max(ours):.2f}), against "
        f"{sum(plain) / len(plain):.2f} ({min(plain):.2f}–{max(plain):.2f}) for k-means, which wins "
        f"{sum(map(operator.lt, ours, plain))} of the {len(ours)}. scikit-learn's `SpectralClustering` reaches "
        f"{sum(spectral) / len(spectral):.2f} on the training rows; it cannot label new ones."
    )


def cost() -> str:
    """Return the table of what modules cost and give."""
    found = results("modular")
    fit, search, lost = found["fit"], found["search"], found["precision with modules lost"]
    four = next(row for row in search["anytime"] if (row["modules"], row["expand"]) == (4, 15))
    slower = found["solvers"]["λ=0.9"]["Algorithm 1 / closed"]
    return table(
        ["on two cores, ratios within one run", ""],
        [
            ["fit / scikit-learn `Nystroem(1000)` + `PCA(300)`", f"{fit['fit / sklearn']:.2f}"],
            ["fit / the bare BLAS and LAPACK calls it cannot avoid", f"{fit['fit / floor']:.2f}"],
            ["ten values of λ on top of one fit", f"+ {100 * (fit['(fit + path) / fit'] - 1):.0f} %"],
            [
                "the paper's Algorithm 1 (60 epochs, extrapolated from three) / our closed form, which also ends lower",
                f"{round(slower, -2):,.0f}",
            ],
            [
                "query time over 60,000 images: all 300 dimensions / four modules and re-ranking (FAISS, one thread; "
                f"{search['exact precision']:.1f} → {four['precision']:.1f} % precision)",
                f"{four['speed-up']:.1f}",
            ],
            ["precision after losing 3 of 15 modules", f"− {lost['0 lost'] - lost['3 lost']:.1f} points"],
        ],
    )


def others() -> str:
    """Return the table of the other systems on MNIST."""
    full, digits, few = results("peers")["full"], digit_errors(), few_label_errors()
    clusters, peer = full["polyfold"], full["UMAP, seeded"]
    return table(
        ["the other systems, MNIST", "polyfold", "peer"],
        [
            [
                "clusters of 60,000 images, NMI / accuracy, % (`BootstrapClustering`; umap-learn + k-means)",
                f"**{joined([clusters['nmi'], clusters['acc']])}**",
                joined([peer["nmi"], peer["acc"]]),
            ],
            [
                "fit time on two cores, relative to seeded umap-learn (relative to unseeded, multi-threaded "
                f"umap-learn: {full['fit / UMAP, all cores']:.2f})",
                f"{full['fit / UMAP, seeded']:.2f}",
                "1",
            ],
            [
                f"cubic SVM on {' / '.join(map(str, digits[OURS]))} coordinates, error %, 15,000 images, mean of three "
                "draws (`NonRedundantEmbedding`; Laplacian eigenmaps)",
                f"**{joined(digits[OURS].values())}**",
                joined(digits[PLAIN].values()),
            ],
            [
                "the same with 300 labels, lowest over the number of coordinates: here plain eigenmaps win",
                f"{min(few[OURS].values()):.1f}",
                f"**{min(few[PLAIN].values()):.1f}**",
            ],
        ],
    )


def bootstrap_mnist() -> str:
    """Return quality and cost of bootstrap networks on MNIST."""
    small, full = results("bootstrap")["small"], results("bootstrap")["full"]
    rows = []
    for name, label in (("exact", "5,000 images, exact"), ("graph", "5,000 images, graph")):
        found = small[name]
        walls = sorted(run["fit/products"]["wall"] for run in found["runs"])
        remark = f"{walls[len(walls) // 2]:.2f} of the bare matrix products of the first layer"
        if found["disagreement"]:
            remark += f"; {100 * found['disagreement']:.1f} % of the assignments differ"
        rows.append([label, f"{found['nmi']:.1f}", f"{found['acc']:.1f}", remark])
    train, test, peer = full["train"], full["test"], full["umap"]
    rows.append(
        [
            "60,000 images, k1 = 8000",
            f"{train['nmi']:.1f}",
            f"{train['acc']:.1f}",
            f"{full['fit/products']['wall']:.2f} of them, {full['peak_memory_gb']:.1f} GB; "
            f"{100 * full['disagreement']:.1f} % of the assignments differ",
        ]
    )
    share = full["transform_10000"]["wall"] / full["fit"]["wall"]
    rows.append(["its 10,000 test images", f"{test['nmi']:.1f}", f"{test['acc']:.1f}", f"{share:.2f} of the fit"])
    rows.append(
        [
            "umap-learn (10 components) + k-means, the same 60,000",
            f"{peer['nmi']:.1f}",
            f"{peer['acc']:.1f}",
            f"{1 / peer['fit/umap']['wall']:.2f} of our fit",
        ]
    )
    return table(["", "NMI", "ACC", "cost"], rows)


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
        "processor seconds",
        "own memory, GB",
        "NMI, %",
        "of rows not learned from",
        "recall",
    ]
    growth = f"Time grows as N^{exponents['seconds']:.2f} from the first size to the last, processor time as"
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
    head = ["container", *(f"MB, {int(size):,} rows" for size in (sizes[0], sizes[-1])), "speed of bare products"]
    cluster, use = found["cluster"], found["use"]
    away = max(max(one.values()) for one in found["same"].values())
    flat = "; ".join(
        f"`{name}` {use[min(use, key=int)][name]['MB']:.0f} and {one['MB']:.0f} MB"
        for name, one in use[max(use, key=int)].items()
    )
    fewest, most = (f"{int(size):,}" for size in (min(use, key=int), max(use, key=int)))
    return (
        f"{table(head, rows)}\n\n"
        "Losses and spaces of all containers, of `partial_fit` in uneven chunks and of Dask with 1, 2 and 4 workers "
        f"differ by {away:.0e} at most. On two workers {cluster['rows']:,} rows take {cluster['warm']:.2f} times as "
        f"long as in one process on two cores ({cluster['cold']:.1f} the first time, when workers import). Memory of "
        f"methods on {fewest} and {most} rows of zarr: {flat}."
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
    growth = (
        f"Processor time grows as N^{images['exponent']:.2f} for images and as N^{roll['exponent']:.2f} for the roll."
    )
    first, last = (images[size]["redundancy"][3:] for size in ("60000", "500000"))
    news = f"{joined(first, 2)} at 60,000 rows, {joined(last, 2)} at 500,000"
    fit, place = (results("scale_graphs")["landmarks"]["roll, dask"][step] for step in ("fit", "transform"))
    return (
        f"{table(head, rows)}\n\n{growth} `novelty_` of the fourth and fifth coordinate of the images: {news}. "
        f"By 50,000 landmarks on Dask, the roll of 500,000 takes {fit['cpu']:.0f} s of processor and "
        f"{fit['MB'] / 1000:.2f} GB to fit, {place['cpu']:.0f} s and {place['MB'] / 1000:.2f} GB to place."
    )


def nonredundant_shapes() -> str:
    """Summarise R² and number of axes of shapes that were not seen, with default settings."""
    parts = results("nonredundant")
    groups = {"Before the rotation was added": ("held out", "fresh"), "After it": ("latest",)}
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
        "R² ≥ 0.95 if possible",
        "R² within 0.03 of the best kernel",
        "right number",
        "exceptions",
    ]
    return table(head, rows)


def _failures(shapes: dict[str, Any]) -> str:
    """Name the shapes with a wrong number, or with an R² more than 0.03 below the best kernel."""
    out = []
    for name, found in shapes.items():
        best, number = max(found["every kernel"].values()), found["number"]
        wrong = [f"R² {found['R²']:.2f}, best {best:.2f}"] if found["R²"] < best - 0.03 else []
        wrong += [f"number {number}"] if number != int(name.rpartition(", ")[2]) else []
        out += [f"{name} ({', '.join(wrong)})"] if wrong else []
    return "; ".join(out) or "none"


def nonredundant_cost() -> str:
    """Return the time of non-redundant coordinates relative to plain ones."""
    cost = results("nonredundant")["cost"]
    return (
        f"Processor time of 11 coordinates of 15,000 images, relative to plain eigenmaps with their neighbour graph: "
        f'{cost["given / plain"]:.1f} with a given kernel, {cost["auto / plain"]:.1f} with `kernel="auto"`.'
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "example": example,
    "quality": quality,
    "cost": cost,
    "others": others,
    "autoencoder-sets": autoencoder_sets,
    "bootstrap-mnist": bootstrap_mnist,
    "bootstrap-scale": bootstrap_scale,
    "graphs-scale": graphs_scale,
    "scale-fit": scale_fit,
    "nonredundant-digits": nonredundant_digits,
    "nonredundant-few": nonredundant_few,
    "nonredundant-shapes": nonredundant_shapes,
    "nonredundant-cost": nonredundant_cost,
    "bootstrap-sets": bootstrap_sets,
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
