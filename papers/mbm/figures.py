"""Figures of [Reeve2018]: drop-module, the dimensions of a module, and the diversity."""

import numpy as np

from papers.cells import Task, grid
from papers.images import MNIST, NAMES
from papers.mbm import PAPER
from papers.mbm.claims import diversity_claims, diversity_of, dropout_claims, sweep_claims, time_claims
from papers.mbm.modules import answer_times, dropped, scores
from papers.mbm.printed import ACCURACY, NOT_HAD, PRECISION, PRINTED, RIVALS, ROWS, UNAVAILABLE
from papers.mbm.settings import FAST, FULL, TINY, of_method, rows_of, table_tasks
from papers.report import Curve, Panel, Report, Table, entry, level, line, observed, untestable
from papers.run import Run


@PAPER.experiment(
    "figure1",
    full={"modules": (2, 5, 10, 50), "enumerated": (2, 3, 6), "p": (0.2, 0.5, 0.8), "points": 30, "draws": 3},
    fast={},
    tiny={"enumerated": (2,), "p": (0.5,), "points": 8, "draws": 1},
    minutes=0.2,
)
def figure1(run: Run) -> Report:
    """Figure 1: diversity λ and the probability p of keeping a module.

    Question: Is dropping modules at random the same as a diversity term, and which λ belongs to which p?

    Setting: λ = Mp / (1 + p(M - 1)) [Theorem 2]. The drop-module loss is the mean over all 2^M choices of modules,
    for random modules of random points; derivatives are central differences.

    Expected: The losses agree up to a constant and the scale of the modules, √(p/λ), so that their minima are the
    same; p = 0.5 means a λ just below 1 where M is large.
    """
    found = run.cells(grid(dropped, modules=run["enumerated"], p=run["p"], points=run["points"], seed=run.seeds))
    ps = np.linspace(0, 1, 41).round(3).tolist()
    curves = [Curve(f"M = {M}", ps, [diversity_of(p, M) for p in ps]) for M in run["modules"]]
    entries = []
    for M in run["enumerated"]:
        for p in run["p"]:
            factors = found.values("factor", modules=M, p=p)
            root = float(np.sqrt(p * diversity_of(p, M)))
            entries += [
                entry(f"M = {M}, p = {p}", "factor, p in the paper", ours=factors, paper=p),
                entry(f"M = {M}, p = {p}", "√(pλ)", ours=root),
            ]
    return Report(
        [Table("Ratio of the derivatives in Theorem 2", entries, digits=4)],
        [Panel("λ that belongs to p", "probability p of keeping a module", "diversity λ", curves)],
        dropout_claims(found, max(run["modules"])),
    )


DIMENSIONS = (5, 10, 15, 20, 30, 50, 100)
SIZES = ("modules", "components", "rank", "rows", "queries", "validation")
OVER_H = {
    "sets": NAMES, "total": 300, "dimensions": DIMENSIONS, "rank": 1000, "rows": 3000, "queries": 500,
    "validation": 300, "grid": (0.2, 0.5, 0.8, 0.9, 0.99, 0.999), "draws": 1, "larger": {n: FULL[n] for n in SIZES},
}  # fmt: skip
FAST_OVER_H = {
    "rows": 1000,
    "rank": 400,
    "dimensions": (5, 20, 100),
    "queries": 300,
    "validation": 100,
    "grid": (0.5, 0.99),
    "larger": {name: {**FULL, **FAST}[name] for name in SIZES},
}
TINY_OVER_H = {
    "sets": (MNIST,), "total": 12, "dimensions": (2, 6), "rank": 40, "rows": 80, "queries": 20, "validation": 20,
    "grid": (0.9,), "larger": {name: TINY[name] for name in SIZES},
}  # fmt: skip


def sweep_tasks(run: Run) -> list[Task]:
    """All methods over the dimensions of a module, as many in total, and one embedding."""
    methods = (*RIVALS, *(f"MBM {lam:g}" for lam in run["grid"]))
    same = {name: run[name] for name in ("rank", "queries", "validation")}
    tasks = []
    for seed in run.seeds:
        for name in run["sets"]:
            own = {**same, "rows": rows_of(run, name), "seed": seed}
            tasks += grid(scores, set=name, method="Monolithic", modules=1, components=run["total"], **own)
            for H in run["dimensions"]:
                tasks += grid(scores, set=name, method=methods, modules=run["total"] // H, components=H, **own)
    return tasks


def larger_tasks(run: Run) -> list[Task]:
    """Return the same methods on more images, at the H of Table 2, whose cells these are."""
    methods = (*RIVALS, *(f"MBM {lam:g}" for lam in run["grid"]))
    tasks = []
    for name in run["sets"]:
        rows = min(run["larger"]["rows"], ROWS.get(name, run["larger"]["rows"]))
        tasks += grid(scores, set=name, method=methods, **{**run["larger"], "rows": rows}, seed=run.seed)
    return tasks


def over_dimensions(run: Run, score: str, figures: str) -> Report:
    """Score of all methods over H, with the claims that it rises to the monolithic one and MBM is ahead."""
    everything = run.cells(sweep_tasks(run) + larger_tasks(run))
    found = everything.where(queries=run["queries"])
    more = everything.where(queries=run["larger"]["queries"])
    panels, claims = [], []
    for name in run["sets"]:
        here = found.where(set=name)
        curves = {
            method: {H: of_method(here.where(components=H), method, score) for H in run["dimensions"]}
            for method in ("MBM", *RIVALS)
        }
        alone = of_method(here, "Monolithic", score)
        lines = [line(method, values) for method, values in curves.items()]
        panels.append(Panel(name, "dimensions per module H", score, [*lines, level("Monolithic", alone)], "log"))
        there = {method: of_method(more.where(set=name), method, score) for method in ("MBM", *RIVALS)}
        claims += sweep_claims(name, score, curves, alone, there, run, figures)
    return Report(_sweep_table(panels), panels, claims + [
        untestable(f"the same on {name}: {score} over H", NOT_HAD, source=figures) for name in UNAVAILABLE
    ])  # fmt: skip


def _sweep_table(panels: list[Panel]) -> list[Table]:
    entries = [
        entry(panel.title, curve.label, f"H = {H}", ours=value)
        for panel in panels
        for curve in panel.curves
        for H, value in zip(curve.x, curve.y, strict=False)
    ]
    return [Table("Curves", entries)]


@PAPER.experiment(
    "figure2",
    full={"sets": NAMES, "total": 300, "dimensions": DIMENSIONS, "rank": 1000, "rows": 12000, "queries": 1000},
    fast={"rows": 2000, "rank": 400, "queries": 300, "dimensions": (5, 20, 100)},
    tiny={"sets": (MNIST,), "total": 12, "dimensions": (2, 6), "rank": 40, "rows": 80, "queries": 20},
    minutes=6,
)
def figure2(run: Run) -> Report:
    """Figures 2 and 6: test time over the dimensions H of a module.

    Question: How does the time of an answer depend on the dimensions of a module, when H times M stays the same?

    Setting: H · M = 300; one thread, every module on a machine of its own, as in Table 3: one module's search by all
    rows, then the candidates of all modules ranked by all dimensions, or their votes counted. H = 300 is one
    embedding.

    Expected: Classification takes longer with H. Retrieval falls first, since fewer modules have fewer candidates to
    rank, and then rises; the fall is largest for the small set, Rectangles.
    """
    tasks = []
    for name in run["sets"]:
        own = {"rank": run["rank"], "rows": rows_of(run, name), "queries": run["queries"], "seed": run.seed}
        for H in (*run["dimensions"], run["total"]):
            tasks += grid(answer_times, set=name, modules=run["total"] // H, components=H, **own)
    found = run.cells(tasks)
    panels, claims, entries = [], [], []
    for name in run["sets"]:
        here, per_query = found.where(set=name), 1000 / run["queries"]
        curves = {
            kind: {cell.parameters["components"]: per_query * cell.numbers[f"{kind}, s"] for cell in here}
            for kind in ("retrieval", "search", "ranking", "classification")
        }
        lines = [line(kind, values) for kind, values in curves.items() if kind != "ranking"]
        panels.append(Panel(name, "dimensions per module H", "ms a query", lines, "log", "log"))
        entries += [
            entry(name, kind, f"H = {H}", ours=value) for kind, values in curves.items() for H, value in values.items()
        ]
        claims += time_claims(name, curves) if len(here) else []
    return Report([Table("ms a query", entries, digits=3)], panels, claims)


@PAPER.experiment("figure3", full=OVER_H, fast=FAST_OVER_H, tiny=TINY_OVER_H, minutes=10)
def figure3(run: Run) -> Report:
    """Figures 3 and 7: precision over the dimensions H of a module.

    Question: How does retrieval depend on the dimensions of a module, when H times M stays the same?

    Setting: H · M = 300, 10 neighbours, as in Table 2 on 3,000 training images; λ by validation.

    Expected: The precision of MBM rises with H to that of one embedding of 300 dimensions, and is above that of
    Partition, Bootstrap and Random.
    """
    return over_dimensions(run, PRECISION, "Figs. 3 and 7")


@PAPER.experiment("figure4", full=OVER_H, fast=FAST_OVER_H, tiny=TINY_OVER_H, minutes=0.5)
def figure4(run: Run) -> Report:
    """Figures 4 and 9: accuracy over the dimensions H of a module.

    Question: How does the vote of the modules depend on their dimensions, when H times M stays the same?

    Setting: As in Figures 3 and 7, whose cells these are; classifiers by 5 nearest neighbours that vote. Beside them
    the modules of Table 2, of more images.

    Expected: MBM is above the other modules at most values of H.
    """
    return over_dimensions(run, ACCURACY, "Figs. 4 and 9")


@PAPER.experiment("figure5", full=FULL, fast=FAST, tiny=TINY, minutes=0.5)
def figure5(run: Run) -> Report:
    """Figures 5, 8 and 10: retrieval and votes over the diversity λ.

    Question: Which λ is best, and what happens at λ = 1?

    Setting: As in Table 2, whose cells these are. At λ = 1 the optimum is not unique: the closed form takes the limit
    of the optima for λ → 1, Algorithm 1 what its random start leads to; both are shown.

    Expected: Precision is best just below λ = 1 on all sets and falls sharply at 1; accuracy is best near 1 on most
    sets and at much lower λ on some.
    """
    found = run.cells(table_tasks(run))
    panels, claims, best = [], [], {}
    for score in PRINTED:
        for name in run["sets"]:
            here = found.where(set=name)
            values = {lam: here.values(score, method=f"MBM {lam:g}") for lam in run["grid"]}
            levels = [level(method, of_method(here, method, score)) for method in (*RIVALS, "Monolithic")]
            printed = line("Algorithm 1", {1.0: here.values(score, method="Algorithm 1 1")})
            panels.append(Panel(name, "diversity λ", score, [line("MBM", values), *levels, printed], "even"))
            means = {lam: float(np.mean(v)) for lam, v in values.items() if v}
            if means:
                best[score, name] = max(means, key=lambda lam, means=means: means[lam])
                claims += diversity_claims(name, score, means, here.values(score, method="Algorithm 1 1"))
    low = [name for (score, name), lam in best.items() if score == ACCURACY and lam <= 0.8]
    claims.append(observed("on some sets the best accuracy is at a much lower λ", bool(low),
                           f"at λ ≤ 0.8 on {', '.join(low) or 'none'}", source="Figs. 5 and 10, Sec. 6.2"))  # fmt: skip
    return Report([], panels, claims)
