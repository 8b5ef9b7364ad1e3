"""Write docs/peers.md, its appendix and its plots from benchmarks/results: ``python -m benchmarks.pages.peers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.pages import _clusterings, _coordinates, _maps, _search
from benchmarks.pages._markdown import results, table
from benchmarks.pages._papers import digit_errors, quality

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARK = "<!-- Written by `python -m benchmarks.pages.peers` from benchmarks/results; edit that, not this. -->"

HEAD = """# How polyfold compares

This page compares methods. The [appendix](peers-numbers.md) has the numbers of every data set.

All numbers come from `benchmarks/studies`. Each method has one setting for all data sets. Run times were measured on
two shared cores, so compare them only within one table.

## Which data were used for choices

Some defaults were chosen on data sets of this page. Numbers on these sets are optimistic.

| section | used for choices | held out |
| --- | --- | --- |
| axes | 32 shapes | ten shapes that were written after all choices |
| clusters | other labelled sets, Banking77 | USPS, Isolet, Fourier, ORL faces, segment, Reuters, WordNet, Debian |
| maps | 13 sets, among them Isolet and wine | USPS, Fourier, ORL faces, segment, Reuters, iris, breast cancer |
| few coordinates | digits and MNIST | USPS |
| search | MNIST | none |

"Held out" means that no constant was chosen on these sets. One exception: segment and Fourier helped to choose the
limit of 96 columns for exact search. We saw them several times, so they are not fresh."""

AXES = """## Axes

Each shape has known latent directions, such as the length and the height of a roll. The score is the R² of a
10-nearest-neighbours regression of the worst direction on the axes. A perfect result is 1. The shapes have 2,000
points. "Best single kernel" is the best of four kernels, chosen with the known directions.

{unseen}

The [appendix](peers-numbers.md#axes) compares scikit-learn's embeddings and UMAP on the shapes that were used for
choices."""

CLUSTERS = """## Clusters

Labelled sets have at most 5,000 rows. UMAP has 5 components. Leiden runs on UMAP's neighbour graph at resolution 1.
HDBSCAN has clusters of at least 10 rows. NMI (normalised mutual information) compares clusters with the known classes.
Brackets show the number of sets if one is missing. polyfold ran with two seeds, other methods with one or two. The
embeddings (all-MiniLM-L6-v2) are Banking77, definitions of WordNet, and descriptions of Debian packages.
The last column is the median CPU time. {faster}

{summary}

![NMI of clusterings on every set, with the number of clusters given](images/peers-clusters.png)

Our default labels are one of several levels. Another can fit the classes better."""

FULL = """### 60,000 images of MNIST

One run on two cores. UMAP has 10 components and is followed by k-means. MNIST was used for choices.

{full}"""

MAPS = """## Maps

Maps in two dimensions of at most 5,000 rows, with default settings. Accuracy is that of a 10-nearest-neighbours
classifier on the map, leave-one-out. Trustworthiness measures whether neighbours on the map are among the 15 nearest
neighbours in the input. `BootstrapMap` uses t-SNE. Choices were made on the other sets.

{summary}

The numbers of `BootstrapMap` were measured before bootstrap networks were rewritten."""

FEW = """## Few coordinates for a classifier

Error of a 10-nearest-neighbours classifier on 2, 3, 5 and 10 coordinates of 5,000 images, by five-fold
cross-validation, mean of three draws.

{summary}

![Error of 10 nearest neighbours and number of coordinates](images/peers-coordinates.png)

`UMAP` and `BootstrapMap` need the fewest coordinates. Our spectral embeddings need about ten to come close."""

SEARCH = """## Search

60,000 images of MNIST in 15 modules of 20 dimensions, one thread. The table compares `engine="hnsw"`, a graph on some
modules, with FAISS's HNSW on all 300 dimensions (16 links, efConstruction 40). A ratio above 1 means that FAISS is
faster. Recall refers to the 10 nearest rows in all dimensions, precision to the 10 nearest in pixels.

{summary}

![Query time and recall](images/peers-search.png)"""

MODULES = """## Modules

MNIST, 12,000 images to fit and 2,000 to test, one draw, 15 modules of 20 dimensions. Precision is the fraction of the
10 nearest images in pixels that is found. Accuracy is that of a vote of 5-nearest-neighbours classifiers. The first row
has simpler modules ([Reeve2018]).

{quality}

One large kernel PCA is slightly more accurate. With modules you can vote and search on some of them."""

APPENDIX = """# Comparison: all numbers

This is the appendix of [How polyfold compares](peers.md), which explains the settings.

## Axes

R² of the worst direction, mean of three draws. These shapes were used for choices.

{manifolds}

15,000 images of MNIST, cubic SVM tuned as in [Blau2017], mean of three draws:

{svm}

## Clusters

polyfold ran with two seeds, other methods with one or two. NMI is normalised by the geometric mean of the entropies.
Noise counts as one more cluster.

{clusters}

## Maps

*tsne* is openTSNE, *ours* is `BootstrapMap()`. Means of three seeds, of ten for at most 1,000 rows; our other layouts
have one seed.

{maps}

## Few coordinates for a classifier

10-NN: 10 nearest neighbours. SVM: Gaussian kernel, C = 10.

{classes}

## Search

{search}

## Sources

{sources}"""


def page() -> str:
    """Return the text of the summary."""
    found = {name: results(name)["figures"] for name in STUDIES}
    parts = [
        MARK,
        HEAD,
        AXES.format(unseen=_coordinates.unseen(found["nonredundant"]["latest"])),
        CLUSTERS.format(
            summary=_clusterings.summary(_clusterings.measured()),
            faster=_clusterings.faster(_clusterings.measured(), "UMAP + k-means", "BootstrapClustering(c)"),
        ),
        FULL.format(full=full(found["peers"]["full"])),
        MAPS.format(summary=_maps.summary(found["maps"])),
        FEW.format(summary=_coordinates.summary(found["coordinates"]["classes"])),
        SEARCH.format(summary=_search.summary(found["search"]["target"])),
        MODULES.format(quality=quality()),
        "```{toctree}\n:hidden:\n\npeers-numbers\n```",
    ]
    return "\n\n".join(parts) + "\n"


def appendix() -> str:
    """Return the text of the page with all numbers."""
    found = {name: results(name)["figures"] for name in STUDIES}
    few = found["coordinates"]
    text = APPENDIX.format(
        manifolds=_coordinates.manifolds(few["manifolds"]),
        svm=_coordinates.svm(few["fifteen"], digit_errors()),
        clusters=_clusterings.section(_clusterings.measured()),
        maps=_maps.section(found["maps"]),
        classes=_coordinates.section(few["classes"]),
        search=_search.section(found["search"]),
        sources=sources(),
    )
    return f"{MARK}\n\n{text}\n"


def full(figures: dict[str, Any]) -> str:
    """Return scores and cost on 60,000 images."""
    rows = [
        [name, *(f"{found[key]:.1f}" for key in ("nmi", "acc", "ari")), f"{found['wall']:.0f}", f"{found['cpu']:.0f}"]
        for name, found in figures.items()
        if isinstance(found, dict)
    ]
    return table(["", "NMI, %", "accuracy, %", "ARI, %", "fit, s", "fit, CPU s"], rows)


def sources() -> str:
    """Return versions and commits behind the numbers."""
    lines = []
    for name in STUDIES:
        study = results(name)
        versions = ", ".join(f"{package} {version}" for package, version in study["versions"].items())
        commits = ", ".join(dict.fromkeys(study["commits"].values()))
        lines.append(f"- `benchmarks/results/{name}.json`: {study['machine']}; {versions}. Commits: {commits}.")
    return "\n".join(lines)


STUDIES = ("nonredundant", "coordinates", "clusterings", "peers", "maps", "search")


def main() -> None:
    """Write both pages and the plots."""
    from benchmarks.pages._pictures import draw

    (DOCS / "peers.md").write_text(page())
    (DOCS / "peers-numbers.md").write_text(appendix())
    draw(DOCS / "images")


if __name__ == "__main__":
    main()
