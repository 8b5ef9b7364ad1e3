"""Figures 1, 2 and 4 of [Blau2017]: what plain coordinates of manifolds repeat, and non-redundant ones show."""

from typing import Any

import numpy as np

from papers.cells import Cells, grid
from papers.nrs import PAPER
from papers.nrs.embeddings import BOTH, NEWS, OURS, PLAIN, SEQUENTIAL, SHORT, mean, told
from papers.nrs.shapes import collapsed, ring, roll, strip
from papers.report import (
    Claim,
    Panel,
    Report,
    Table,
    entry,
    observed,
    points,
)
from papers.run import Run

CLEAN, HALF, LONG = "clean", "half as high, noisy", "long and noisy"
ROLLS = {
    CLEAN: {"noise": 0.0, "height": 21.0},
    HALF: {"noise": 0.3, "height": 10.5},
    LONG: {"noise": 0.3, "height": 7.0},
}
TANGENT = ("lle", "hessian_lle", "ltsa")


@PAPER.experiment(
    "figure1",
    full={"rows": 2000, "draws": 3, "shown": 400, "kernels": TANGENT},
    fast={"draws": 1},
    tiny={"rows": 200, "draws": 1, "kernels": TANGENT[-1:]},
    minutes=3,
)
def figure1(run: Run) -> Report:
    """Figure 1: a Swiss roll by LLE, HLLE and LTSA, plain and non-redundant.

    Question: Do the first two coordinates of a roll both run along its length, and does the constraint make the second
    one show its height?

    Setting: Rolls of 2,000 points, evenly dense, three draws. The paper prints neither size nor noise, only that its
    roll is long. Three are tried: a clean one of the usual height 21, and noisy ones (0.3) of a half and a third of it.
    The claims are judged on the last, which was taken because plain LLE does not repeat itself on the others. Novelty
    is the leave-one-out residual of the second coordinate regressed on the first, with the bandwidth that predicts best
    (1: unpredictable, 0: a repetition). R² is that of 10 nearest neighbours, cross-validated.

    Expected: Plain coordinates repeat the length (novelty near 0). Non-redundant ones have a novelty near 1 and show
    the height. The short clean roll is easy: there, the second plain coordinate is the height.
    """
    tasks = [
        task
        for shape in ROLLS.values()
        for seed in run.seeds
        for shown in [run["shown"] if seed == run.seed else 0]
        for task in grid(roll, kernel=run["kernels"], method=BOTH, **shape, rows=run["rows"], shown=shown, seed=seed)
    ]
    found = run.cells(tasks)
    claims, entries, panels = [], [], []
    for name, shape in ROLLS.items():
        for kernel in run["kernels"]:
            for method in BOTH:
                here = found.where(kernel=kernel, method=method, **shape)
                labels = (name, SHORT[kernel], method)
                entries += [
                    entry(*labels, shown, ours=here.values(number))
                    for number, shown in (("news", "novelty"), ("height by both", "height by both"))
                ]
    for kernel in run["kernels"]:
        claims += _roll_claims(found.where(kernel=kernel), SHORT[kernel])
        for method in BOTH:
            first = found.where(kernel=kernel, method=method, seed=run.seed, **ROLLS[LONG])[0].numbers
            panels += _roll_panels(first, f"{SHORT[kernel]}, {method}")
    remark = (
        "The panels show the long and noisy roll: unrolled, coloured by the second coordinate; and second by first."
    )
    return Report([Table("Second coordinate of a roll", entries, digits=2)], panels, claims, [remark])


def _roll_claims(found: Cells, kernel: str) -> list[Claim]:
    here = {method: found.where(method=method, **ROLLS[LONG]) for method in BOTH}
    news = {method: cells.values("news") for method, cells in here.items()}
    height = {method: cells.values("height by both") for method, cells in here.items()}
    repeats = f"{kernel} repeats the length in its second coordinate"
    shows = f"non-redundant {kernel} shows the height in its second coordinate"
    why = (
        "Length and noise of the roll decide: the same coordinate of the clean roll has a novelty of "
        f"{told(found.values('news', method=PLAIN, **ROLLS[CLEAN]))}"
    )
    evidence = f"novelty {told(news[PLAIN])}, R² of the height {told(height[PLAIN])}"
    return [
        observed(repeats, mean(news[PLAIN]) < NEWS, evidence, source="Fig. 1", why=why, see="nrs-figure1"),
        observed(
            shows,
            mean(news[OURS]) > NEWS and mean(height[OURS]) > 0.8,
            f"novelty {told(news[OURS])}, R² of the height {told(height[OURS])}",
            source="Fig. 1",
        ),
    ]


def _roll_panels(numbers: dict[str, Any], title: str) -> list[Panel]:
    Z = np.array(numbers["coordinates"])
    place = np.array(numbers["place"])
    return [
        Panel(f"{title}: 2nd on the sheet", "length", "height", [points("", place, Z[:, 1])]),
        Panel(f"{title}: 2nd by 1st", "1st", "2nd", [points("", Z, place[:, 1])]),
    ]


RATIOS = (1.5, 2.5, 3.5)


@PAPER.experiment(
    "figure2",
    full={"rows": 2000, "draws": 3, "shown": 400},
    fast={"draws": 1},
    tiny={"rows": 200, "draws": 1},
    minutes=2,
)
def figure2(run: Run) -> Report:
    """Figure 2: coordinates of a strip by Laplacian eigenmaps.

    Question: How many coordinates of a strip run along it before one runs across?

    Setting: Strips of 2,000 points, L1/L2 = 1.5, 2.5, 3.5, three draws. The first four coordinates of Laplacian
    eigenmaps. R² of every coordinate by the position along (x1) and across (x2).

    Expected: Coordinates 1 to ⌊L1/L2⌋ are functions of x1 alone, the next one is a function of x2.
    """
    tasks = [
        task
        for seed in run.seeds
        for shown in [run["shown"] if seed == run.seed else 0]
        for task in grid(strip, ratio=RATIOS, coordinates=4, rows=run["rows"], shown=shown, seed=seed)
    ]
    found = run.cells(tasks)
    entries, panels, claims = [], [], []
    for ratio in RATIOS:
        here = found.where(ratio=ratio)
        along, across = (np.array(here.values(name)) for name in ("along", "across"))
        for name, by in (("x1", along), ("x2", across)):
            entries += [
                entry(f"L1 = {ratio} L2", f"R² by {name}", f"{i + 1}", ours=by[:, i].tolist()) for i in range(4)
            ]
        claims.append(_strip_claim(ratio, along, across))
        first = here.where(seed=run.seed)[0].numbers
        Z, place = np.array(first["coordinates"]), np.array(first["place"])
        titles = [f"L1 = {ratio} L2: {i + 1}" for i in range(4)]
        panels += [Panel(title, "x1", "x2", [points("", place, z)]) for title, z in zip(titles, Z.T, strict=True)]
    return Report([Table("Coordinates of a strip", entries, digits=2)], panels, claims)


def _strip_claim(ratio: float, along: Any, across: Any) -> Claim:
    count = int(ratio)
    statement = f"L1 = {ratio} L2: coordinates 1 to {count} are functions of x1 alone, coordinate {count + 1} of x2"
    least, most = float(along[:, :count].min()), float(across[:, :count].max())
    last = float(across[:, count].mean())
    evidence = (
        f"R² by x1 of the first {count} at least {least:.2f}, by x2 at most {most:.2f}; coordinate {count + 1} by x2 "
        f"{told(across[:, count].tolist())}"
    )
    return observed(statement, least > 0.9 and most < 0.2 and last > 0.8, evidence, source="Fig. 2, Sec. 1")


RING = (PLAIN, SEQUENTIAL, OURS)


@PAPER.experiment(
    "figure4",
    full={"rows": 2000, "draws": 3, "shown": 400},
    fast={"draws": 1},
    tiny={"rows": 200, "draws": 1},
    minutes=2,
)
def figure4(run: Run) -> Report:
    """Figure 4: three coordinates of a ring, and two ways around redundancy that fail there.

    Question: Which methods give a third coordinate of a ring that runs around its tube?

    Setting: Rings of 2,000 points, tube radius 0.3, three draws; Laplacian eigenmaps plain, after sequential
    regression, and non-redundant. Novelty as in Fig. 1, and R² of the height sin(inner angle) from all three. For the
    algorithm of Gerber et al. only the statement of the paper is checked: points moved along θ to where cos θ is 0.

    Expected: The third coordinate repeats the first two in plain eigenmaps and after sequential regression. The
    non-redundant one is unpredictable and shows the inner angle. The moved points fall apart.
    """
    rows = run["rows"]
    tasks = [
        task
        for seed in run.seeds
        for shown in [run["shown"] if seed == run.seed else 0]
        for task in grid(ring, method=RING, rows=rows, shown=shown, seed=seed)
    ] + grid(collapsed, rows=rows, seed=run.seeds)
    found = run.cells(tasks)
    rings, moved = found.of(ring), found.of(collapsed)
    entries, panels, claims = [], [], []
    for method in RING:
        news = [float(values[2]) for values in rings.values("news", method=method)]
        angle = rings.values("inner angle", method=method)
        entries += [entry(method, "novelty of the 3rd", ours=news), entry(method, "R² of the inner angle", ours=angle)]
        claims.append(_ring_claim(method, news, angle))
        first = rings.where(method=method, seed=run.seed)[0].numbers
        Z, X = np.array(first["coordinates"]), np.array(first["place"])
        panels += [Panel(f"{method}: {i + 1}", "x", "y", [points("", X[:, :2], Z[:, i])]) for i in range(3)]
    parts = moved.values("parts after")
    claims.append(
        observed(
            "points moved along the gradient of the first coordinate fall into parts, where Gerber et al. end",
            max(moved.values("parts before")) == 1 < min(parts),
            f"parts of the neighbour graph after moving: {told(parts, 0)}",
            source="Fig. 4 (c), Sec. 2",
        )
    )
    remark = "The algorithm of Gerber et al. itself is not part of this library."
    return Report([Table("Third coordinate of a ring", entries, digits=2)], panels, claims, [remark])


def _ring_claim(method: str, news: list[float], angle: list[float]) -> Claim:
    evidence = f"novelty {told(news)}, R² of the inner angle {told(angle)}"
    if method == OURS:
        statement = "the third non-redundant coordinate is unpredictable and shows the inner angle"
        return observed(statement, mean(news) > NEWS and mean(angle) > 0.8, evidence, source="Fig. 4 (d)")
    statement = f"the third coordinate repeats the first two: {method}"
    return observed(statement, mean(news) < NEWS, evidence, source=f"Fig. 4 ({'a' if method == PLAIN else 'b'})")
