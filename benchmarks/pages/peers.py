"""Write docs/peers.md and its pictures from benchmarks/results: ``python -m benchmarks.pages.peers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks._record import RESULTS
from benchmarks.pages import _clusters, _coordinates, _maps, _search
from benchmarks.pages._markdown import results
from benchmarks.pages._papers import digit_errors

DOCS = Path(__file__).resolve().parents[2] / "docs"

HEAD = """<!-- Written by `python -m benchmarks.pages.peers` from benchmarks/results; edit that, not this. -->

# How polyfold compares

Every number on this page was measured by `benchmarks/studies` and is read from `benchmarks/results`. Every method has
one setting for all data sets. The defaults of polyfold were chosen on some of these sets, so their numbers flatter us.
Sets marked as *held out* took no part in choosing the defaults that their section measures, and the summaries show
them first. Clusters and maps hold out different sets.

Except for the 60,000 MNIST images, the clusters, maps and graph searches of polyfold on this page were measured before
bootstrap networks and graph search were rewritten; the foot of the page names the commits. Present clusters differ:
over 14 small sets and two seeds the mean NMI is 1.9 lower, on 20,000 MNIST images it is 4 higher. The page will be
measured again.
"""

CLUSTERS = """## Clusters

What is given to all methods alike: the rows as they are stored, at most 5,000 of them (drawn once, classes in
proportion), text as tf-idf, and the number of classes. Tables whose columns have different units come twice: as stored
and with columns of unit variance (*scaled*). Mean of three seeds, of ten where there are at most 1,000 rows; NMI is
over the geometric mean of the entropies.

k-means: best of ten runs. PCA: 50 components. LSA: 100, rows of unit length, for text. UMAP: 10 components,
`min_dist=0`, 15 neighbours, cosine for text. HDBSCAN on it: clusters of at least a hundredth of the rows; it is not
told the number, and noise counts as one cluster more. Spectral clustering: graph of 15 neighbours. Leiden: on UMAP's
weighted graph of 15 neighbours, at the resolution that gives the number of groups, and at resolution 1, which is not
told. polyfold: `BootstrapClustering(n_clusters)`, nothing else set. *rectangles* is left out: its classes (wide or
tall) are no groups.

![NMI of polyfold, UMAP + k-means and k-means on every set](images/peers-clusters.png)
"""

NUMBERS = """A question mark: polyfold called the number a guess (`GuessWarning`). Three seeds, for the others ten of
small sets; *(3×)* are three of them."""

COORDINATES = """## Few coordinates for a classifier

Embeddings see all 5,000 images (digits: 1,797) but no labels; 5-fold error of 10 nearest neighbours (those of
[maps](#maps) are leave-one-out, on another draw), and of an SVM (Gaussian kernel, C = 10). Mean of three draws. UMAP
and `BootstrapMap` (t-SNE in two dimensions, else UMAP, of the network's and the input's neighbours) are fitted anew for
every number of coordinates; of the others the first ones are taken.

![Error of 10 nearest neighbours against the number of coordinates](images/peers-coordinates.png)
"""

FIFTEEN = """### 15,000 images of MNIST, cubic SVM tuned as in the paper

Means of three draws each, for UMAP of others than in the [reproduced table](reproduction/nrs.md) beside it."""

MANIFOLDS = """## Directions of a manifold

2,000 points, as many coordinates as the shape has directions; R² of the direction that is read off worst, by
10-nearest-neighbours regression; 1 is perfect. Mean of three draws.
"""


def page(folder: Path = RESULTS) -> str:
    """Text of the page from the figures in `folder`."""
    parts = [HEAD]
    peers, few = results("peers", folder), results("coordinates", folder)
    if "ours" in peers.get("figures", {}):
        parts += clusters(peers["figures"])
    if few:
        parts += coordinates(few["figures"])
    others = {name: found for name in OTHERS if (found := results(name, folder))}
    parts += [OTHERS[name](found["figures"]) for name, found in others.items()]
    parts.append(provenance({"peers": peers, "coordinates": few, **others}))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def clusters(figures: dict[str, Any]) -> list[str]:
    """Sections on clustering."""
    runs = _clusters.together(figures)
    counts = {name: size["classes"] for name, size in figures["sets"].items()}
    parts = [
        CLUSTERS,
        f"### What it comes to: mean NMI\n\n{_clusters.summary(runs)}",
        _clusters.score_tables(runs),
        f"### NMI from the lowest seed to the highest\n\n{_clusters.spread(runs)}",
        f"### Every line we lose\n\n{_clusters.losses(runs)}",
        _clusters.cost_tables(runs, figures["ours"]),
        f"### The number of groups, not told\n\n{NUMBERS}\n\n{_clusters.numbers(runs, counts)}",
    ]
    if "full" in figures:
        text = "### MNIST, 60,000 images, both cores, one run\n\nUMAP with a seed uses one core for its layout."
        parts.append(f"{text}\n\n{_clusters.full(figures['full'])}")
    return parts


def coordinates(figures: dict[str, Any]) -> list[str]:
    """Sections on coordinates."""
    parts = []
    if "classes" in figures:
        parts += [COORDINATES, _coordinates.classes(figures["classes"])]
    if "fifteen" in figures:
        parts += [FIFTEEN, _coordinates.fifteen(figures["fifteen"], digit_errors())]
    if "manifolds" in figures:
        parts += [MANIFOLDS, _coordinates.manifolds(figures["manifolds"])]
    return parts


def provenance(studies: dict[str, dict[str, Any]]) -> str:
    """Versions and commits behind the figures."""
    lines = ["## Where the figures come from", ""]
    for name, study in studies.items():
        if study:
            versions = ", ".join(f"{package} {version}" for package, version in study["versions"].items())
            commits = ", ".join(f"{part} {commit}" for part, commit in study["commits"].items())
            lines.append(f"- `benchmarks/results/{name}.json`: {study['machine']}; {versions}; commits: {commits}.")
    return "\n".join(lines)


# Studies with a section of their own; one that was not run has none.
OTHERS = {"maps": _maps.section, "search": _search.section}


def main() -> None:
    """Write the page and its pictures."""
    from benchmarks.pages._pictures import draw

    (DOCS / "peers.md").write_text(page())
    draw(DOCS / "images")


if __name__ == "__main__":
    main()
