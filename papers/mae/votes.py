"""Figures 2 and 6 to 8 of [Reeve2015]: six image sets over λ."""

from typing import Any

import numpy as np

from papers.cells import Cells, Task, grid
from papers.images import CONVEX, NAMES
from papers.mae import PAPER
from papers.mae.sets import BAGGING, FOLDS, reweighted, structure, votes
from papers.report import (
    Claim,
    Panel,
    Report,
    Table,
    ahead,
    entry,
    level,
    line,
    observed,
    untestable,
)
from papers.run import Run

GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
SETS = {
    "sets": NAMES,
    "rows": 12000,
    "modules": 10,
    "components": 10,
    "grid": GRID,
    "folds": FOLDS,
    "sample": 1000,
    "powers": (0.0, 0.2),
}
FEWER = {"rows": 2000, "grid": (0.0, 0.2, 0.5, 0.8, 0.95), "folds": 2, "sample": 300}
TINY = {
    "sets": NAMES[::5],
    "rows": 120,
    "modules": 3,
    "components": 3,
    "grid": (0.0, 0.5, 0.9),
    "folds": 1,
    "sample": 20,
}


def set_rows(run: Run, name: str) -> int:
    """Images of a set: the published number of Convex is less."""
    return min(run["rows"], 8000) if name == CONVEX else run["rows"]


def vote_tasks(run: Run) -> list[Task]:
    """All λ and bagging on all folds of all sets: what Figs. 2 and 6 share."""
    methods = (*(f"MAE {lam:g}" for lam in run["grid"]), BAGGING)
    shape = {"modules": run["modules"], "components": run["components"], "seed": run.seed}
    return [
        task
        for name in run["sets"]
        for fold in range(run["folds"])
        for task in grid(votes, set=name, method=methods, **shape, rows=set_rows(run, name), fold=fold)
    ]


def curve_of(found: Cells, lams: tuple[float, ...], number: str) -> dict[float, list[float]]:
    """One number of all folds by λ."""
    return {lam: found.values(number, method=f"MAE {lam:g}") for lam in lams}


@PAPER.experiment("figure2", full=SETS, fast=FEWER, tiny=TINY, minutes=15)
def figure2(run: Run) -> Report:
    """Figure 2: test error of modular and of bagging autoencoders over λ.

    Question: Do modules with a diversity term vote better than modules of bootstrap samples, at which λ?

    Setting: M = H = 10, 12,000 images of each set (Convex 8,000), five folds. Every module has a one-nearest-neighbour
    classifier, and they vote.

    Expected: From λ = 0 on the error falls well below that of bagging, and rises again as λ nears 1, on every set.
    """
    found = run.cells(vote_tasks(run))
    panels, claims, entries = [], [], []
    for name in run["sets"]:
        here = found.where(set=name)
        curve, bagging = curve_of(here, run["grid"], "ensemble"), here.values("ensemble", method=BAGGING)
        panels.append(Panel(name, "λ", "test error, %", [line("MAE", curve), level(BAGGING, bagging)]))
        claims += _vote_claims(name, curve, bagging)
        columns = {"λ = 0": curve[run["grid"][0]], "λ of the other folds": _chosen(curve), BAGGING: bagging}
        entries += [entry(name, column, ours=values) for column, values in columns.items()]
    return Report([Table("Test error, %", entries)], panels, claims)


def _chosen(curve: dict[float, list[float]]) -> list[float]:
    """Error of every fold at the λ that is best on the other folds."""
    errors = np.array(list(curve.values()))
    others = errors.sum(axis=1, keepdims=True) - errors if errors.shape[1] > 1 else errors
    return [float(errors[i, fold]) for fold, i in enumerate(others.argmin(axis=0))] if errors.size else []


def _vote_claims(name: str, curve: dict[float, list[float]], bagging: list[float]) -> list[Claim]:
    below, rises = f"the error falls below that of bagging on {name}", f"the error rises as λ nears 1 on {name}"
    if not bagging:
        return [untestable(statement, "the data set is not available", source="Fig. 2") for statement in (below, rises)]
    means = {lam: float(np.mean(values)) for lam, values in curve.items()}
    best, last = min(means, key=lambda lam: means[lam]), max(means)
    return [
        ahead(below, bagging, _chosen(curve), source="Fig. 2, Sec. 4", errors=2, digits=2),
        observed(
            rises,
            means[last] > means[best],
            f"lowest {means[best]:.1f} % at λ = {best:g}, {means[last]:.1f} % at {last:g}",
            source="Fig. 2, Sec. 4",
        ),
    ]


@PAPER.experiment("figure6", full=SETS, fast=FEWER, tiny=TINY, minutes=16)
def figure6(run: Run) -> Report:
    """Figure 6: error of single modules and of their vote over λ.

    Question: Do single modules get worse while their vote gets better?

    Setting: As in Fig. 2. One further cell for every set: a single PCA of ten dimensions, coordinates as they are and
    divided by their spread to the power of 0.2, to see what the scale of the codes does.

    Expected: The mean error of single modules rises from λ = 0 on, on every set, while that of the vote falls at first.
    """
    scaled = [
        task
        for name in run["sets"]
        for task in grid(reweighted, set=name, power=run["powers"], **_pca(run, name), fold=range(run["folds"]))
    ]
    found = run.cells(vote_tasks(run) + scaled)
    panels, claims = [], []
    for name in run["sets"]:
        here = found.of(votes).where(set=name)
        curves = {number: curve_of(here, run["grid"], number) for number in ("individual", "ensemble")}
        panels.append(Panel(name, "λ", "test error, %", [line(number, curve) for number, curve in curves.items()]))
        claims += _single_claims(name, curves, found.of(reweighted).where(set=name))
    return Report(panels=panels, claims=claims)


def _pca(run: Run, name: str) -> dict[str, Any]:
    return {"components": run["components"], "rows": set_rows(run, name), "sample": run["sample"], "seed": run.seed}


def _single_claims(name: str, curves: dict[str, dict[float, list[float]]], scaled: Cells) -> list[Claim]:
    statements = (f"single modules get worse at every λ above 0 on {name}", f"the vote gets better at first on {name}")
    if not len(scaled):
        return [untestable(statement, "the data set is not available", source="Fig. 6") for statement in statements]
    single, vote = ({lam: float(np.mean(v)) for lam, v in curve.items()} for curve in curves.values())
    first, *others = single
    lowest = min(others, key=lambda lam: single[lam])
    plain, divided = (np.mean(scaled.values("error", power=power)) for power in _powers(scaled))
    why = (
        f"Codes of λ above 0 weigh weak directions more; dividing the coordinates of one PCA by their spread to the "
        f"power of {_powers(scaled)[-1]:g} alone changes its error from {plain:.2f} to {divided:.2f} %"
    )
    evidence = f"{single[first]:.2f} % at λ = 0, lowest above 0 {single[lowest]:.2f} % at {lowest:g}"
    return [
        observed(statements[0], single[lowest] > single[first], evidence, source="Fig. 6", why=why, see="mae-figure6"),
        observed(
            statements[1],
            min(vote[lam] for lam in others) < vote[first],
            f"{vote[first]:.1f} % at λ = 0, lowest {min(vote.values()):.1f} %",
            source="Fig. 6",
        ),
    ]


def _powers(scaled: Cells) -> list[float]:
    return sorted({cell.parameters["power"] for cell in scaled})


@PAPER.experiment("figure7", full=SETS, fast=FEWER, tiny=TINY, minutes=3)
def figure7(run: Run) -> Report:
    """Figure 7: distance correlation of the modules with the pixels over λ.

    Question: Do modules lose the metric of the pixels as they grow diverse?

    Setting: As in Fig. 2, first fold; mean distance correlation of the ten modules with the pixels on 1,000 held-out
    images, and of one PCA with its coordinates divided by their spread to the power of 0.2.

    Expected: It falls with λ on every set.
    """
    scaled = [
        task
        for name in run["sets"]
        for task in grid(reweighted, set=name, power=run["powers"], **_pca(run, name), fold=0)
    ]
    found = run.cells(structure_tasks(run) + scaled)
    panels, claims = [], []
    for name in run["sets"]:
        curve = curve_of(found.of(structure).where(set=name), run["grid"], "with the pixels")
        panels.append(Panel(name, "λ", "distance correlation", [line("modules and pixels", curve)]))
        claims.append(_metric_claim(name, curve, found.of(reweighted).where(set=name)))
    return Report(panels=panels, claims=claims)


def structure_tasks(run: Run) -> list[Task]:
    """Distance correlations of all sets at all λ."""
    methods = [f"MAE {lam:g}" for lam in run["grid"]]
    shape = {name: run[name] for name in ("modules", "components", "sample")}
    return [
        task
        for name in run["sets"]
        for task in grid(structure, set=name, method=methods, **shape, rows=set_rows(run, name), seed=run.seed)
    ]


def _metric_claim(name: str, curve: dict[float, list[float]], scaled: Cells) -> Claim:
    statement = f"distance correlation with the pixels falls at every step of λ on {name}"
    if not len(scaled):
        return untestable(statement, "the data set is not available", source="Fig. 7")
    values = [float(np.mean(v)) for v in curve.values()]
    one = [float(np.mean(scaled.values("with the pixels", power=power))) for power in _powers(scaled)]
    why = (
        f"Codes of λ above 0 weigh weak directions more; what weights alone do: one PCA has {one[0]:.3f}, and "
        f"{one[-1]:.3f} with its coordinates divided by their spread to the power of {_powers(scaled)[-1]:g}"
    )
    return observed(
        statement,
        bool(np.all(np.diff(values) < 0.0005)),
        " / ".join(f"{v:.3f}" for v in values),
        source="Fig. 7, Sec. 5.2",
        why=why,
        see="mae-figure7",
    )


@PAPER.experiment("figure8", full=SETS, fast=FEWER, tiny=TINY, minutes=3)
def figure8(run: Run) -> Report:
    """Figure 8: distance correlation between modules over λ.

    Question: Do modules see different metrics as λ grows?

    Setting: As in Fig. 7; mean distance correlation of all pairs of modules.

    Expected: It falls from 1 with λ, on every set.
    """
    found = run.cells(structure_tasks(run))
    panels, claims = [], []
    for name in run["sets"]:
        curve = curve_of(found.where(set=name), run["grid"], "pairs")
        panels.append(Panel(name, "λ", "distance correlation", [line("pairs of modules", curve)]))
        statement = f"distance correlation between modules falls with λ on {name}"
        values = [float(np.mean(v)) for v in curve.values() if v]
        if not values:
            claims.append(untestable(statement, "the data set is not available", source="Fig. 8"))
            continue
        evidence = " / ".join(f"{v:.3f}" for v in values)
        claims.append(observed(statement, bool(np.all(np.diff(values) < 0.0005)), evidence, source="Fig. 8"))
    return Report(panels=panels, claims=claims)
