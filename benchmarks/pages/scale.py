"""Write docs/scale.md and its picture from benchmarks/results/costs.json: ``python -m benchmarks.pages.scale``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from benchmarks._record import RESULTS
from benchmarks.costs import COSTS, paces
from benchmarks.pages._markdown import results, table

DOCS = Path(__file__).resolve().parents[2] / "docs"
POWERS = {str(10**8): "10⁸", str(10**9): "10⁹"}
COLORS = ("#2c6fbb", "#c0392b", "#2a9d5b", "#8e44ad", "#e08e0b", "#5d4037")
TASK_LIMIT = 0.5  # share of the time above which the scheduler decides

HEAD = """<!-- Written by `python -m benchmarks.pages.scale` from benchmarks/results; edit that, not this. -->

# Past what can be run here

**What for.** Knowing before a cluster is rented how long a fit of 10⁸ or 10⁹ rows takes on it, and from which size on
more machines do not help. How to run on a cluster: [the guide](guide/scale.md).

![Simulated hours of fits of a billion rows against the number of workers](images/scale-plan.png)
"""

TERMS = """## What a fit costs

Each use is a sum of terms: products, numbers read, values computed. Their seconds are those of one core of the
machine of these results, found by least squares (none negative) over {runs} runs, at {sizes}; *error* is
that of runs predicted from all the others. On another machine the seconds differ, the counts do not.
`KernelEmbedding` costs what `ModularKernelPCA` does, `MultilayerBootstrapNetwork` what `BootstrapClustering` does.
"""

WORKERS = """## Does the simulation tell the truth?

Fits on worker processes of one machine with two cores, rows in the workers' memory, against the simulation of such a
cluster. The scheduler takes {overhead:.2f} ms for a task (measured with tasks that do nothing). Workers share the
machine's caches and memory with one another, with the client and with the scheduler: work takes {one:.1f} times as long
on one of them as it does alone, and {two:.1f} times as long on two (medians of the fits below). *Difference* is that of
a fit predicted from all the others: {middle:.0f} % in the median, {worst:.0f} % at most.
"""

PLAN = """## A hundred million and a billion rows

D = 256 columns in single precision, R = 500 landmarks, M = 10 modules of H = 10, chunks of 100,000 rows, one core a
worker (work takes as long as on two workers above), 1 GB/s to every machine; search: Q = 1,000 queries, k = 10, one
shard a worker; V = 200 clusterings that learn from 131,072 rows; 50,000 landmarks of a graph. Times of tasks spread by
a tenth. *Slow*: one worker in twenty takes three times as long. *Deaths*: every worker dies once in ten hours on
average, and another one takes its place after a minute. Median of three simulations. Reading is not in it: storage
that gives every worker less than it computes decides instead, at {bytes_read:.0f} MB/s a worker for
`ModularKernelPCA`.
"""

ADVICE = """## What to do

- *Too few chunks.* A stage lasts as long as the worker with the most of them: have ten chunks a worker, or more where
  some are slow; `rows.rechunk`.
- *Slow workers.* What is left at the end waits for them. Smaller chunks shorten the wait; Dask steals tasks that have
  not begun, and runs none twice.
- *The scheduler.* It hands out tasks one after the other. A thousand workers that fit `ModularKernelPCA` are kept busy
  by chunks of {rows:,.0f} rows ({megabytes:,.0f} MB) or more, a hundred by a tenth of that.
- *The client.* Its part is the same for any number of workers: R³ for eigenvalues, {eigen} here; the network of a
  sample, {network}; the graph of the landmarks, {graph}. A client with more cores, or a smaller `max_samples`, helps.
- *Deaths.* What a worker held and was not yet merged is computed again; sums are small and merged early, so little is
  lost. One worker alone loses everything: keep at least two.
"""


def page(folder: Path = RESULTS) -> str:
    """Text of the page from the figures in `folder`."""
    figures = results("costs", folder).get("figures", {})
    if not {"work", "samples", "tasks", "workers", "plan"} <= set(figures):
        return HEAD
    figures = {**figures, "work": {**figures["work"], **figures["samples"]}}
    runs = [run for fit in figures["work"].values() for run in fit["runs"]]
    sizes = ", ".join(f"{name} from {low:,} to {high:,}" for name, (low, high) in _ranges(runs).items())
    each = figures["work"]["ModularKernelPCA"]["seconds"]
    numbers = COSTS["ModularKernelPCA"].rows({"N": 1, "D": 256, "R": 500})
    work = paces(figures["workers"].values())[2] * sum(count * each[name] for name, count in numbers.items())
    rate = 2 * 256 * 4 / work / 1e6
    return "\n".join(
        [
            HEAD,
            TERMS.format(runs=len(runs), sizes=sizes),
            terms_table(figures["work"]) + "\n",
            workers_text(figures),
            workers_table(figures["workers"]) + "\n",
            PLAN.format(bytes_read=rate),
            plan_table(figures["plan"]) + "\n",
            "## Where it stops\n",
            stops(figures["plan"]) + "\n",
            advice(figures, work),
        ]
    )


def advice(figures: dict[str, Any], row_seconds: float) -> str:
    """Say what helps, with the sizes from which on it does."""
    parts = {name: duration(sizes[str(10**9)]["1000"]["alike"]["client"]) for name, sizes in figures["plan"].items()}
    rows = 1000 * COSTS["ModularKernelPCA"].passes * figures["tasks"]["seconds"] / row_seconds
    return ADVICE.format(
        rows=round(rows, -4),
        megabytes=round(rows * 256 * 4 / 1e6, -1),
        eigen=parts["ModularKernelPCA"],
        network=parts["BootstrapClustering"],
        graph=parts["NonRedundantEmbedding"],
    )


def _ranges(runs: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    found = {name: sorted({run["sizes"][name] for run in runs}) for name in runs[0]["sizes"]}
    return {name: (values[0], values[-1]) for name, values in found.items() if len(values) > 1}


def terms_table(work: dict[str, Any]) -> str:
    """Formulas, seconds of their terms, and errors."""
    rows = []
    for name, fit in work.items():
        told = ", ".join(f"{term} {_short(1e9 * s)}" for term, s in fit["seconds"].items() if term != "call")
        errors = sorted(fit["errors"])
        error = f"{100 * errors[len(errors) // 2]:.0f} / {100 * errors[-1]:.0f}"
        rows.append([f"`{name}`", COSTS[name].formula, told, error])
    return table(["use", "terms", "seconds of 10⁹", "error, median / largest, %"], rows)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"


def workers_text(figures: dict[str, Any]) -> str:
    """Say how much longer work takes on workers, and how far off the simulation is then."""
    fits = list(figures["workers"].values())
    pace, errors = paces(fits), sorted(abs(_error(fit, fits)) for fit in fits)
    overhead = 1000 * figures["tasks"]["seconds"]
    return WORKERS.format(
        overhead=overhead, one=pace[1], two=pace[2], middle=errors[len(errors) // 2], worst=errors[-1]
    )


def workers_table(workers: dict[str, Any]) -> str:
    """Measured and simulated seconds."""
    fits = list(workers.values())
    rows = [
        [
            name.replace(" 1 workers", " 1 worker"),
            f"{fit['measured']:.2f}",
            f"{fit['simulated']:.2f}",
            f"{_error(fit, fits):+.0f}",
        ]
        for name, fit in workers.items()
    ]
    return table(["fit", "measured, s", "simulated as if alone, s", "difference, %"], rows)


def _error(fit: dict[str, Any], fits: list[dict[str, Any]]) -> float:
    """Per cent by which the simulation is off, at the pace of all other fits."""
    pace = paces(other for other in fits if other is not fit)[fit["workers"]]
    return 100 * (pace * fit["simulated"] / fit["measured"] - 1)


def plan_table(plan: dict[str, Any]) -> str:
    """Return times of all plans."""
    rows = []
    for name, sizes in plan.items():
        for n, clusters in sizes.items():
            for count, kinds in clusters.items():
                alike = kinds["alike"]
                times = [duration(run["seconds"]) for run in kinds.values()]
                again = f"{kinds['slow, and deaths']['again']:,}"
                rows.append([f"`{name}`", POWERS[n], count, *times, f"{100 * alike['busy']:.0f}", again])
    head = ["use", "rows", "workers", "alike", "slow", "slow and deaths", "busy, %", "tasks again"]
    return table(head, rows)


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, two or three digits."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def stops(plan: dict[str, Any]) -> str:
    """For every use, how well a thousand workers are used, and what they wait for."""
    lines = []
    for name, sizes in plan.items():
        for n, clusters in sizes.items():
            few, many = (clusters[count]["alike"] for count in ("10", "1000"))
            gain = few["seconds"] / many["seconds"]
            rough = clusters["1000"]["slow, and deaths"]["seconds"] / many["seconds"]
            lines.append(
                f"- `{name}`, {POWERS[n]} rows: a hundred times the workers are {gain:.0f} times as fast, and "
                f"{_reason(many)}; slow workers and deaths make it {rough:.1f} times as long."
            )
    return "\n".join(lines)


def _reason(run: dict[str, float]) -> str:
    if run["busy"] > 0.8:
        return "work is what takes the time"
    if run["scheduler"] > TASK_LIMIT:
        return f"the scheduler is busy {100 * run['scheduler']:.0f} % of the time"
    if run["client"] > run["seconds"] / 3:
        return f"the client's part takes {100 * run['client'] / run['seconds']:.0f} %"
    return f"workers wait for the last chunks and merges {100 - 100 * run['busy']:.0f} % of the time"


def draw(folder: Path = RESULTS) -> None:
    """Draw the time of a billion rows against the workers."""
    plan = results("costs", folder)["figures"]["plan"]
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for (name, sizes), color in zip(plan.items(), COLORS, strict=True):
        counts = [int(count) for count in sizes[str(10**9)]]
        for kind, style in (("alike", "-"), ("slow, and deaths", ":")):
            hours = [run[kind]["seconds"] / 3600 for run in sizes[str(10**9)].values()]
            axes.loglog(counts, hours, style, color=color, marker="o", ms=3, label=name if style == "-" else None)
    axes.set(xlabel="workers", ylabel="hours", title="A billion rows (dotted: some workers slow, some die)")
    figure.legend(loc="outside right", frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "images" / "scale-plan.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    if "plan" not in results("costs").get("figures", {}):
        raise SystemExit("benchmarks/results has no plan; run: python -m benchmarks costs")
    draw()
    (DOCS / "scale.md").write_text(page())
