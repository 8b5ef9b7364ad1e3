"""Tables 1 to 3 of [Reeve2018]: solvers, kinds of modules, and one embedding in their place."""

import numpy as np

from papers.cells import Cells, Task, grid
from papers.images import CONVEX, MNIST, RECTANGLES
from papers.mbm import PAPER
from papers.mbm.claims import against_one, beats, solver_claims
from papers.mbm.modules import answer_times, scores, solved
from papers.mbm.printed import (
    METHODS,
    PRINTED,
    PRINTED_DIFFERENCE,
    PRINTED_DIVERSITY,
    PRINTED_LOSS,
    PRINTED_SECONDS,
    PRINTED_SPEED,
    RIVALS,
    SOLVERS,
)
from papers.mbm.settings import (
    FAST,
    FULL,
    TINY,
    best_diversities,
    of_method,
    rows_of,
    table_tasks,
)
from papers.report import Curve, Panel, Report, Table, entry
from papers.run import Run


@PAPER.experiment(
    "table1",
    full={
        "sets": (CONVEX, MNIST, RECTANGLES),
        "modules": 10,
        "components": 10,
        "rows": 12000,
        "rank": 1000,
        "epochs": 300,
        "draws": 1,
    },
    fast={"rows": 1200, "rank": 400, "epochs": 100, "draws": 1},
    tiny={"sets": (RECTANGLES,), "modules": 3, "components": 2, "rows": 60, "rank": 20, "epochs": 4},
    minutes=15,
)
def table1(run: Run) -> Report:
    """Table 1: Algorithm 1 against stochastic gradients and Adam.

    Question: How low do the solvers bring the modular loss, and how soon?

    Setting: M = H = 10, λ = 0.9, Gaussian kernel, Nyström rank 1000; the best of nine learning rates for SGD and Adam.
    The paper gave every run one hour; here every solver has the same number of epochs, or stops when an epoch gains
    nothing, and works in the directions that matter. The paper does not state the unit of its losses. Ours are
    sums over pairs of points divided by the number of points, so that ratios count and not the numbers.

    Expected: MBM and Adam end at the same loss and SGD above it; MBM is there at least twice as fast as Adam, and its
    loss falls at every epoch.
    """
    tasks = [
        task
        for name in run["sets"]
        for task in grid(
            solved, set=name, solver=tuple(SOLVERS.values()), modules=run["modules"], components=run["components"],
            rows=rows_of(run, name), rank=run["rank"], epochs=run["epochs"], seed=run.seeds,
        )
    ]  # fmt: skip
    found = run.cells(tasks)
    tables, claims = [], []
    for title, number, printed, digits in (
        ("Loss, in units of its own", "loss", PRINTED_LOSS, 1),
        ("Convergence time, s", "s until within 1 %", PRINTED_SECONDS, 3),
    ):
        entries = [
            entry(name, label, ours=found.values(number, set=name, solver=SOLVERS[label]), paper=paper)
            for name, numbers in printed.items()
            for label, paper in zip(SOLVERS, numbers, strict=True)
        ]
        tables.append(Table(title, entries, digits=digits))
    for name in PRINTED_LOSS:
        claims += solver_claims(found.where(set=name), name)
    return Report(tables, [_loss_panel(found.where(set=name), name) for name in run["sets"]], claims)


def _loss_panel(found: Cells, name: str) -> Panel:
    curves = []
    for label, solver in SOLVERS.items():
        for cell in found.where(solver=solver)[:1]:
            curve = cell.numbers["curve"]
            curves.append(Curve(label, np.linspace(0, 1, len(curve)).tolist(), curve))
    return Panel(name, "share of the epochs", "loss", curves, yscale="log")


@PAPER.experiment("table2", full=FULL, fast=FAST, tiny=TINY, minutes=20)
def table2(run: Run) -> Report:
    """Table 2: retrieval and votes of four kinds of modules.

    Question: Do modules with a diversity term keep neighbours, and vote, better than modules made in other ways?

    Setting: M = 15 modules of H = 20 dimensions of the Gaussian kernel, γ by the mean distance, Nyström rank 1000.
    Precision counts which of the 10 nearest training images in pixel space are found by the 10 nearest of each
    module, ranked by all modules. Accuracy is that of the vote of 15 classifiers by 5 nearest neighbours. λ is chosen
    on validation images, for each score.

    Expected: MBM is ahead of Partition, Bootstrap and Random in precision on every set, clearly, and in accuracy on
    most and behind on none.
    """
    found = run.cells(table_tasks(run))
    tables, claims = [], []
    for score, printed in PRINTED.items():
        entries = []
        for name, numbers in printed.items():
            here = found.where(set=name)
            for method, paper in zip(METHODS[:-1], numbers, strict=False):
                entries.append(entry(name, method, ours=of_method(here, method, score), paper=paper))
            ours = of_method(here, "MBM", score)
            claims += [beats(name, rival, score, ours, of_method(here, rival, score)) for rival in RIVALS]
        tables.append(Table(score, entries))
    return Report(tables, claims=claims)


WIDE = (6, 50)  # other modules of as many dimensions


@PAPER.experiment("table3", full=FULL, fast=FAST, tiny=TINY, minutes=2)
def table3(run: Run) -> Report:
    """Table 3: modules against one embedding of 300 dimensions.

    Question: What is lost or won against one embedding of as many dimensions, and how much faster are answers?

    Setting: As in Table 2; Monolithic is kernel PCA of 300 dimensions. Times are those of one thread where every module
    has a machine of its own: one module's search or classifier, and what is done for all of them together. Extra cells
    on Rectangles test what modules of 50 dimensions do.

    Expected: Some points of precision are lost (but on Rectangles), accuracy is won on all sets but Rectangles (whose
    printed difference has another sign than Table 2), and answers come several times faster. λ is mostly near 1.
    """
    times = [
        task
        for name in run["sets"]
        for M, H in ((run["modules"], run["components"]), (1, run["modules"] * run["components"]))
        for task in grid(answer_times, set=name, modules=M, components=H, rank=run["rank"], rows=rows_of(run, name),
                         queries=run["timed"], seed=run.seed)
    ]  # fmt: skip
    wider = [
        Task(scores, {**task.parameters, "modules": WIDE[0], "components": WIDE[1]})
        for task in table_tasks(run)
        if task.parameters["set"] == RECTANGLES and task.parameters["method"].startswith("MBM")
    ]
    found = run.cells(table_tasks(run) + wider + times)
    measured = found.of(scores).where(components=run["components"])
    others = found.of(scores).where(components=WIDE[1])
    tables, claims = [], []
    for k, (score, printed) in enumerate(PRINTED.items()):
        entries, chosen, kind = [], [], ("retrieval", "classification")[k]
        for name, numbers in printed.items():
            here = measured.where(set=name)
            alone, ours = (of_method(here, method, score) for method in ("Monolithic", "MBM"))
            speed, shares = _speed(found.of(answer_times).where(set=name), k, run["modules"])
            gain = [a - b for a, b in zip(ours, alone, strict=True)]
            entries += [
                entry(name, "Monolithic", ours=alone, paper=numbers[-1]),
                entry(name, "MBM, difference", ours=gain, paper=PRINTED_DIFFERENCE[score][name]),
                entry(name, "speed, times", ours=speed, paper=PRINTED_SPEED[name][k]),
            ]
            best = list(best_diversities(here, score).values())[:1]
            chosen.append(entry(name, "λ", ours=best, paper=PRINTED_DIVERSITY[name][k]))
            there = of_method(others.where(set=name), "MBM", score)
            why = f"{WIDE[0]} modules of {WIDE[1]} dimensions have {np.mean(there):.1f}" if there else ""
            claims += against_one(name, score, ours, alone, speed, shares, why)
        tables += [Table(f"{kind}: {score}", entries, digits=2), Table(f"{kind}: λ", chosen, digits=3)]
    return Report(tables, claims=claims)


def _speed(found: Cells, task: int, modules: int) -> tuple[list[float], list[float]]:
    """How many times faster modules answer, and the fraction of their time that waits for all of them."""
    whole, waiting = (("retrieval, s", "ranking, s"), ("classification, s", "counting, s"))[task]
    one, several = found.values(whole, modules=1), found.values(whole, modules=modules)
    shares = [a / b for a, b in zip(found.values(waiting, modules=modules), several, strict=True)]
    return [a / b for a, b in zip(one, several, strict=True)], shares
