"""Tables of the reliability page: coverage of estimates, and mutants that survive."""

from __future__ import annotations

from benchmarks.pages._markdown import results, table

# Names of estimates in the results -> attribute and interval.
ESTIMATES = {
    "neighbors": ("`neighbor_recall_`", "Wilson interval of 256 rows"),
    "assignments": ("`assignment_error_`", "Wilson interval of 100 rows"),
}
WHICH = ("training", "new")
DATA = {"surface": "surface", "noise": "noise", "grid": "grid"}


def coverage() -> str:
    """Return how often the intervals of estimates contain the true value."""
    found = results("coverage")["figures"]
    kinds = list(next(iter(found.values())))
    rows = [[*label, *(f"{found[name][kind]['covered']:.2f}" for kind in kinds)] for name, label in ESTIMATES.items()]
    return table(["estimate", "interval", *kinds], rows)


def recall() -> str:
    """Return how often `recall_` ± two standard errors contains the recall of training rows and of new rows."""
    found = results("recall")["figures"]["coverage"]
    rows = []
    for name, label in DATA.items():
        cells = (found[f"{name}, {engine}"] for engine in ("faiss", "hnsw"))
        rows.append([label, *(", ".join(f"{one[f'covered, {which} rows']:.2f}" for which in WHICH) for one in cells)])
    return table(
        ["data", '`engine="faiss"`: training rows, new rows', '`engine="hnsw"`: training rows, new rows'], rows
    )


def reliability() -> str:
    """Return how far `reliability_` is from its true value."""
    found = results("coverage")["figures"]["reliability"]
    away = ", ".join(f"{one['standard deviation of the difference']:.3f} ({kind})" for kind, one in found.items())
    bias = ", ".join(
        f"{round(one['mean estimate'] - one['mean truth'], 3) or 0.0:.3f} ({kind})" for kind, one in found.items()
    )
    count = min(int(one["repetitions"]) for one in found.values())
    return (
        f"In {count} repetitions, the difference between `reliability_` and its true value had a standard deviation of "
        f"{away}. Its mean was {bias}."
    )


def mutants() -> str:
    """Return how many mutants of each package survive the tests, and how many of them a test could distinguish."""
    rows = []
    for package, found in results("mutants").items():
        left, count = found["survivors"], found["mutants"]
        equivalent = sum(one["judgement"].startswith("equivalent") for one in left)
        others = len(left) - equivalent
        first = str(found.get("survived at first", "–"))
        share = f"{others} ({100 * others / count:.0f} %)"
        rows.append([f"`{package}`", first, str(len(left)), str(equivalent), share])
    return table(["package", "survived at first", "survive now", "equivalent", "others"], rows)
