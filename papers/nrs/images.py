"""Figures 6 to 8 of [Blau2017]: rendered heads, and a photograph rebuilt from coordinates of its patches."""

from typing import Any

import numpy as np

from papers.cells import Cells, grid
from papers.nrs import PAPER
from papers.nrs.embeddings import BOTH, LEM, NEWS, OURS, PLAIN, SHORT, told
from papers.nrs.pictures import FEATURES, cut, heads, patches
from papers.report import (
    Claim,
    Panel,
    Report,
    Table,
    ahead,
    entry,
    observed,
    points,
    untestable,
)
from papers.run import Run

PAPER_PSNR = {(LEM, PLAIN): 18.0, ("ltsa", PLAIN): 18.2, (LEM, OURS): 19.2, ("ltsa", OURS): 19.9}


@PAPER.experiment(
    "figure6", full={"tilt": 0.8, "light": 7 / 15}, fast={}, tiny={"tilt": 0.8, "light": 0.4}, minutes=0.2
)
def figure6(run: Run) -> Report:
    """Figure 6: rendered heads by LEM and LTSA, plain and non-redundant.

    Question: Does the second coordinate of heads that turn far and nod little show the nodding?

    Setting: The 258 of the 698 heads with |φ| ≤ 8° and ψ ≤ 175° (257 in the paper), 32 × 32 pixels, two coordinates.
    PSNR of every head rebuilt from the coordinates of all others by Nadaraya–Watson regression.

    Expected: Both plain coordinates follow the horizontal angle θ only; the second non-redundant one follows the
    vertical angle φ, and heads are rebuilt better from it.
    """
    shape = {"tilt": run["tilt"], "light": run["light"]}
    found = run.cells(grid(heads, kernel=(LEM, "ltsa"), method=BOTH, **shape, seed=run.seed))
    entries, claims, panels = [], [], []
    for kernel in (LEM, "ltsa"):
        name = SHORT[kernel]
        here = {method: found.where(kernel=kernel, method=method) for method in BOTH}
        for method in BOTH:
            printed = PAPER_PSNR[kernel, method]
            entries.append(entry(name, method, ours=here[method].values("PSNR"), paper=printed))
            panels += _head_panels(here[method], f"{name}, {method}")
        claims += _head_claims(name, here)
    return Report([Table("PSNR from two coordinates, dB", entries)], panels, claims)


def _head_panels(found: Cells, title: str) -> list[Panel]:
    if not len(found):
        return []
    Z, angles = (np.array(found[0].numbers[name]) for name in ("coordinates", "angles"))
    pairs = {("θ", "1st"): (0, 0), ("θ", "2nd"): (0, 1), ("φ", "2nd"): (1, 1)}
    by = {names: np.column_stack([angles[:, i], Z[:, j]]) for names, (i, j) in pairs.items()}
    return [
        Panel(f"{title}: 2nd by 1st", "1st", "2nd", [points("", Z, angles[:, 1])]),
        *(Panel(f"{title}: {y} by {x}", x, y, [points("", plane)]) for (x, y), plane in by.items()),
    ]


def _head_claims(name: str, here: dict[str, Cells]) -> list[Claim]:
    statements = (
        f"the second coordinate of plain {name} is a function of the first",
        f"the second coordinate of non-redundant {name} follows the vertical angle",
    )
    if not all(len(found) for found in here.values()):
        return [untestable(statement, "the images are not available", source="Fig. 6") for statement in statements]
    plain, ours = (here[method][0].numbers for method in BOTH)
    follows = [f"{value:.2f}" for value in ours["rank correlation"][2:]]
    return [
        observed(
            statements[0],
            plain["news"] < NEWS,
            f"novelty {plain['news']:.2f} (judged: below {NEWS:g})",
            source="Fig. 6 (a), (c)",
        ),
        observed(
            statements[1],
            ours["rank correlation"][3] > 0.6 > ours["rank correlation"][2],
            f"rank correlation with θ {follows[0]}, with φ {follows[1]}",
            source="Fig. 6 (f), (h)",
        ),
        ahead(
            f"heads are rebuilt better from non-redundant {name}", [ours["PSNR"]], [plain["PSNR"]], source="Sec. 5.1"
        ),
    ]


PHOTOGRAPHS = ("china.jpg", "flower.jpg")
PHOTO = {"images": PHOTOGRAPHS, "thin": 2}


@PAPER.experiment("figure7", full=PHOTO, fast={"thin": 4}, tiny={"images": PHOTOGRAPHS[:1], "thin": 16}, minutes=3)
def figure7(run: Run) -> Report:
    """Figure 7: patches of a photograph by Isomap, plain and non-redundant.

    Question: Do three coordinates of patches show brightness, vertical and horizontal edges, once each?

    Setting: All 7 × 7 patches with an overlap of 3 of two photographs of scikit-learn, in grey, 214 × 320 pixels. Three
    coordinates of Isomap. R² of the mean brightness and of both slopes from one coordinate by 10 nearest neighbours.

    Expected: The first coordinate shows brightness in both. The second plain one shows brightness again, and no plain
    coordinate shows horizontal edges. The second and third non-redundant ones show vertical and horizontal edges.
    """
    found = run.cells(grid(patches, image=run["images"], method=BOTH, thin=run["thin"], seed=run.seed))
    entries, panels, claims = [], [], []
    for image in run["images"]:
        here = {method: found.where(image=image, method=method)[0].numbers for method in BOTH}
        for method, numbers in here.items():
            for i, row in enumerate(numbers["shown"]):
                labels = (image, f"{method}, {i + 1}")
                entries += [entry(*labels, name, ours=value) for name, value in zip(FEATURES, row, strict=True)]
            maps = [Panel(f"{image}, {method}: {i + 1}", image=one) for i, one in enumerate(numbers["maps"])]
            panels += [*maps, Panel("2nd by 1st", "1st", "2nd", [points("", numbers["plane"])])]
        claims += _patch_claims(image, here)
    return Report([Table("R² of what a coordinate shows", entries, digits=2)], panels, claims)


def _patch_claims(image: str, here: dict[str, Any]) -> list[Claim]:
    shown = {method: np.array(numbers["shown"]) for method, numbers in here.items()}
    both = {
        method: f"R² of the three by the second {told(rows[1])}, by the third {told(rows[2])}"
        for method, rows in shown.items()
    }
    first = [float(rows[0, 0]) for rows in shown.values()]
    edges = sorted(int(np.argmax(row)) for row in shown[OURS][1:])
    return [
        observed(
            f"the first coordinate shows brightness in both methods ({image})",
            min(first) > 0.9,
            f"R² of the brightness {told(first)}",
            source="Fig. 7",
        ),
        observed(
            f"the second plain coordinate is a function of the first ({image})",
            here[PLAIN]["news"][1] < NEWS,
            f"novelty {here[PLAIN]['news'][1]:.2f} (judged: below {NEWS:g}); {both[PLAIN]}",
            source="Fig. 7",
        ),
        observed(
            f"second and third non-redundant coordinates show vertical and horizontal edges ({image})",
            edges == [1, 2] and float(shown[OURS][1:].max(axis=1).min()) > 0.3,
            both[OURS],
            source="Fig. 7",
        ),
    ]


@PAPER.experiment("figure8", full=PHOTO, fast={"thin": 4}, tiny={"images": PHOTOGRAPHS[:1], "thin": 16}, minutes=3)
def figure8(run: Run) -> Report:
    """Figure 8: photographs rebuilt from three coordinates of their patches.

    Question: Is a photograph rebuilt better from non-redundant coordinates of its patches?

    Setting: The coordinates of Fig. 7; every patch is predicted from the coordinates of all others by Nadaraya–Watson
    regression, and overlapping patches are averaged. The paper's photograph is not available, so its PSNR (32.9 and
    33.2 dB) is for another image.

    Expected: PSNR is higher from non-redundant coordinates, and horizontal edges are kept (R² of their slope from all
    three coordinates above one half), which plain ones lose.
    """
    found = run.cells(grid(patches, image=run["images"], method=BOTH, thin=run["thin"], seed=run.seed))
    entries, panels, claims = [], [], []
    for image in run["images"]:
        here = {method: found.where(image=image, method=method)[0].numbers for method in BOTH}
        panels.append(Panel(image, image=cut(image, run["thin"])[0].tolist()))
        for method, numbers in here.items():
            entries.append(entry(image, method, ours=numbers["PSNR"]))
            panels.append(Panel(f"{method}, {numbers['PSNR']:.1f} dB", image=numbers["rebuilt"]))
        better, worse = ([here[method]["PSNR"]] for method in (OURS, PLAIN))
        claims.append(
            ahead(f"{image} is rebuilt better from non-redundant coordinates", better, worse, source="Fig. 8")
        )
        edges = {method: numbers["by all"][2] for method, numbers in here.items()}
        third = here[PLAIN]["shown"][2]
        claims.append(
            observed(
                f"horizontal edges of {image} are kept by non-redundant coordinates and lost by plain ones",
                edges[OURS] > 0.5 > edges[PLAIN],
                f"R² from three coordinates {edges[OURS]:.2f} and {edges[PLAIN]:.2f}",
                source="Fig. 8",
                why="The third plain coordinate shows vertical edges in the paper's photograph; here its R² of "
                f"vertical and horizontal ones are {third[1]:.2f} and {third[2]:.2f}",
                see="nrs-figure7",
            )
        )
    entries += [
        entry("the paper's", method, ours=None, paper=db) for method, db in zip(BOTH, (32.9, 33.2), strict=True)
    ]
    return Report([Table("PSNR from three coordinates, dB", entries)], panels, claims)
