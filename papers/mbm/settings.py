"""[Reeve2018]: the sizes of its experiments, and scores that several of them share."""

from papers.cells import Cells, Task, grid
from papers.images import MNIST, NAMES
from papers.mbm.modules import scores
from papers.mbm.printed import RIVALS, ROWS
from papers.run import Run

SHAPE = {"modules": 15, "components": 20, "rank": 1000}
SMALL = {"modules": 3, "components": 4, "rank": 40}
GRID = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)
FULL = {
    **SHAPE,
    "sets": NAMES,
    "rows": 12000,
    "queries": 2000,
    "validation": 500,
    "draws": 1,
    "grid": GRID,
    "timed": 1000,
}
FAST = {
    "rows": 1500,
    "queries": 500,
    "validation": 200,
    "draws": 1,
    "rank": 400,
    "grid": (0.5, 0.9, 0.99, 1.0),
    "timed": 300,
}
TINY = {
    **SMALL,
    "sets": (MNIST,),
    "rows": 80,
    "queries": 30,
    "validation": 20,
    "draws": 1,
    "grid": (0.5, 0.99, 1.0),
    "timed": 20,
}


def rows_of(run: Run, name: str) -> int:
    """Training images of a set: as many as were published, or as the size allows."""
    return min(run["rows"], ROWS.get(name, run["rows"]))


def table_tasks(run: Run) -> list[Task]:
    """All methods at H = 20 and M = 15, MBM over the whole grid of λ."""
    methods = (*RIVALS, "Monolithic", *(f"MBM {lam:g}" for lam in run["grid"]), "Algorithm 1 1")
    same = {name: run[name] for name in ("modules", "components", "rank", "queries", "validation")}
    return [
        task
        for seed in run.seeds
        for name in run["sets"]
        for task in grid(scores, set=name, method=methods, **same, rows=rows_of(run, name), seed=seed)
    ]


def best_diversities(found: Cells, score: str) -> dict[int, float]:
    """λ that is best on the validation images, for every draw."""
    best: dict[int, tuple[float, float]] = {}
    for cell in found:
        if (value := cell.numbers.get(f"validation {score}")) is not None:
            one = (value, float(cell.parameters["method"].split()[1]))
            best[cell.parameters["seed"]] = max(best.get(cell.parameters["seed"], one), one)
    return {seed: diversity for seed, (_, diversity) in best.items()}


def of_method(found: Cells, method: str, score: str) -> list[float]:
    """Scores of all draws; those of MBM at the λ that the validation images chose."""
    if method != "MBM":
        return found.values(score, method=method)
    chosen = best_diversities(found, score)
    return [found.values(score, method=f"MBM {lam:g}", seed=seed)[0] for seed, lam in chosen.items()]
