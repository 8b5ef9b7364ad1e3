"""Figures 3 to 5 of [Reeve2015]: two modules in the plane."""

import numpy as np

from papers.cells import Cells, grid
from papers.mae import PAPER
from papers.mae.toy import shown, toy
from papers.report import Panel, Report, Table, ahead, entry, line, observed, points
from papers.run import Run

TOY = {"rows": 1000, "test": 5000, "draws": 10}
SMALL_TOY = {"rows": 200, "test": 300, "draws": 2}
LAMS = (0.0, 0.5)
PAPER_TOY = {0.0: 21.3, 0.5: 12.8}


@PAPER.experiment("figure3", full=TOY, fast={}, tiny=SMALL_TOY, minutes=0.2)
def figure3(run: Run) -> Report:
    """Figure 3: class densities on the two features at λ = 0.

    Question: Do two modules without a diversity term see the same?

    Setting: Three Gaussians in the plane (means (−1, −0.3), (0, 0.6), (1, −0.3), deviation 0.5, chosen to have the
    paper's error at λ = 0), 1,000 points, ten draws; two modules of one dimension.

    Expected: Both features are the same projection.
    """
    found, panels = _toy(run, 0.0)
    alike = found.values("correlation")
    same = f"correlation of the features at least {min(alike):.4f}"
    claim = observed("both features carry the same information", min(alike) > 0.999, same, source="Fig. 3, Sec. 5.1")
    return Report(panels=panels, claims=[claim])


@PAPER.experiment("figure4", full=TOY, fast={}, tiny=SMALL_TOY, minutes=0.2)
def figure4(run: Run) -> Report:
    """Figure 4: class densities on the two features at λ = 0.5.

    Question: Do two modules with a diversity term see different things?

    Setting: As in Fig. 3.

    Expected: One feature separates the first class from the others, the other one the third.
    """
    found, panels = _toy(run, 0.5)
    # Which feature comes first is chance: the one of the first class does.
    apart = np.mean([sorted(draw, key=np.argmax) for draw in found.values("apart")], axis=0)
    ends = sorted(int(np.argmax(row)) for row in apart)
    shares = " and ".join(" / ".join(f"{100 * v:.0f}" for v in row) for row in apart)
    claim = observed(
        "one feature separates class 1 from the others, the other feature class 3",
        all(sorted([int(np.argmax(row)) for row in draw]) == [0, 2] for draw in found.values("apart")),
        f'right answers to "is it class 1 / 2 / 3?" by one threshold, %: {shares}',
        source="Fig. 4, Sec. 5.1",
        why=f"On average over the draws, the classes that are separated best are {ends}",
        see="mae-figure4",
    )
    return Report(panels=panels, claims=[claim])


def _toy(run: Run, lam: float) -> tuple[Cells, list[Panel]]:
    """Return the cells of one λ, and the densities of the first draw."""
    tasks = grid(toy, diversity=lam, rows=run["rows"], test=run["test"], seed=run.seeds)
    found = run.cells(tasks + grid(shown, diversity=lam, rows=run["rows"], seed=run.seed))
    panels = []
    for i, density in enumerate(found.of(shown)[0].numbers["densities"]):
        curves = [
            line(f"class {k + 1}", dict(zip(density["middle"], counts, strict=True)))
            for k, counts in enumerate(density["classes"])
        ]
        panels.append(Panel(f"feature {i + 1}, λ = {lam:g}", "projection", "density", curves))
    return found.of(toy), panels


@PAPER.experiment("figure5", full=TOY, fast={}, tiny=SMALL_TOY, minutes=0.2)
def figure5(run: Run) -> Report:
    """Figure 5: decision boundaries of two averaged softmax classifiers at λ = 0 and 0.5.

    Question: What do two features have to do with the boundary between three classes?

    Setting: As in Fig. 3; softmax on each feature, probabilities averaged, tested on 5,000 points.

    Expected: At λ = 0 the boundary is a bundle of parallel lines (error 21.3 %), at λ = 0.5 it bends (12.8 %).
    """
    tasks = grid(toy, diversity=LAMS, rows=run["rows"], test=run["test"], seed=run.seeds)
    found = run.cells(tasks + grid(shown, diversity=LAMS, rows=run["rows"], seed=run.seed))
    drawn, errors = found.of(shown), {lam: found.of(toy).values("ensemble", diversity=lam) for lam in LAMS}
    entries = [entry("error, %", f"λ = {lam:g}", ours=errors[lam], paper=PAPER_TOY[lam]) for lam in LAMS]
    panels, lines = [], {}
    for lam in LAMS:
        numbers = drawn.where(diversity=lam)[0].numbers
        lines[lam] = numbers["by one line"]
        panels.append(Panel(f"λ = {lam:g}", "x", "y", [points("", numbers["lattice"], numbers["predicted"])]))
    claims = [
        ahead("diversity lowers the error of the ensemble", errors[0.0], errors[0.5], source="Sec. 5.1", errors=2),
        observed(
            "the boundary is linear at λ = 0 and not at λ = 0.5",
            lines[0.0] > 0.99 > lines[0.5],
            f"neighbours on a projection with equal predictions: {100 * lines[0.0]:.1f} and {100 * lines[0.5]:.1f} %",
            source="Fig. 5",
        ),
    ]
    return Report([Table("Test error", entries)], panels, claims)
