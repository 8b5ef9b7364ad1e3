"""What fits and uses cost in their sizes: products, numbers read and made, and the client's part, as sums of terms.

A term is a count that follows from the sizes (multiplications, numbers, rows); a measurement gives seconds for each.
`plan` turns both into the stages of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.cluster import Stage

Sizes = Mapping[str, float]
Terms = dict[str, float]
NUMBER = 8  # bytes of what is merged, in double precision
ROW = 4  # of a number of a row
MERGED = 4e-10  # seconds to add a number to another one, bound by memory


@dataclass(frozen=True)
class Cost:
    """What one use costs.

    Parameters
    ----------
    formula : str
        The terms in words, for the page.
    rows : function of sizes
        Terms of the work on all rows, which workers share.
    client : function of sizes
        Terms of the work on what is merged.
    passes : int
        Times all rows are read.
    received, result : function of sizes
        Bytes that every worker needs, and that every chunk gives; 0 where results are written as they come.
    """

    formula: str
    rows: Callable[[Sizes], Terms]
    client: Callable[[Sizes], Terms] = lambda s: {}
    passes: int = 1
    received: Callable[[Sizes], float] = lambda s: 0
    result: Callable[[Sizes], float] = lambda s: 0

    def terms(self, sizes: Sizes) -> Terms:
        """All terms, and one for what every call costs."""
        return {**self.rows(sizes), **self.client(sizes), "call": 1.0}


COSTS = {
    "ModularKernelPCA": Cost(
        "2NDR + NR² products, NR kernel values, 2ND numbers read; client R³",
        lambda s: {
            "products": s["N"] * s["R"] * (2 * s["D"] + s["R"]),
            "kernel values": s["N"] * s["R"],
            "numbers read": 2 * s["N"] * s["D"],
        },
        lambda s: {"client": s["R"] ** 3},
        passes=2,
        received=lambda s: ROW * s["R"] * s["D"],
        result=lambda s: NUMBER * s["R"] ** 2,
    ),
    "ModularAutoencoder": Cost(
        "ND² products, ND numbers read; client D³",
        lambda s: {"products": s["N"] * s["D"] ** 2, "numbers read": s["N"] * s["D"]},
        lambda s: {"client": s["D"] ** 3},
        result=lambda s: NUMBER * s["D"] ** 2,
    ),
    "transform": Cost(
        "2NR(D + MH) products, NR kernel values, ND numbers read",
        lambda s: {
            "products": 2 * s["N"] * s["R"] * (s["D"] + s["M"] * s["H"]),
            "kernel values": s["N"] * s["R"],
            "numbers read": s["N"] * s["D"],
        },
        received=lambda s: ROW * s["R"] * (s["D"] + s["M"] * s["H"]),
    ),
    "BootstrapClustering": Cost(
        "NV log n codes of rows that are placed by a network of n rows and V clusterings; client nV log n",
        lambda s: {"codes": s["N"] * s["V"] * math.log2(s["n"])},
        lambda s: {"client": s["n"] * s["V"] * math.log2(s["n"])},
        # Rows it was fitted to, in bytes or single precision, and two bytes for every code of each.
        received=lambda s: s["n"] * (ROW * s["D"] + 2 * s["V"] * math.log2(s["n"])),
    ),
    "NonRedundantEmbedding": Cost(
        "N log n steps to the neighbours of rows that are placed by n landmarks; client n log n",
        lambda s: {"neighbours": s["N"] * math.log2(s["n"]) * s["D"]},
        lambda s: {"client": s["n"] * math.log2(s["n"]) * s["D"]},
        received=lambda s: s["n"] * ROW * (s["D"] + 60),
    ),
    "search": Cost(
        "2NQMH products, NQ distances compared, k of every query and shard",
        lambda s: {"products": 2 * s["N"] * s["Q"] * s["M"] * s["H"], "distances": s["N"] * s["Q"]},
        received=lambda s: ROW * s["Q"] * s["D"],
        result=lambda s: 16 * s["Q"] * s["k"],
    ),
}


def fitted(cost: Cost, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Seconds of each term that explain measured runs best, relative to what they took, and how well they do.

    Parameters
    ----------
    cost : Cost
    runs : sequence of {"sizes": Sizes, "cpu": float}

    Returns
    -------
    fit : dict
        ``seconds`` by term, none negative; ``error``, the largest relative error of a run that was left out of the fit.
    """
    names = list(cost.terms(runs[0]["sizes"]))
    A = np.array([[cost.terms(run["sizes"])[name] for name in names] for run in runs])
    took = np.array([run["cpu"] for run in runs])
    unit = A.max(axis=0)
    left_out = []
    for i in range(len(runs)):
        kept = np.arange(len(runs)) != i
        found = nnls(A[kept] / unit / took[kept, None], np.ones(kept.sum()))[0] / unit
        left_out.append(abs(A[i] @ found / took[i] - 1))
    found = nnls(A / unit / took[:, None], np.ones(len(runs)))[0] / unit
    return {"seconds": dict(zip(names, map(float, found), strict=True)), "errors": left_out}


def seconds(terms: Terms, each: Mapping[str, float]) -> float:
    """Seconds of terms."""
    return float(sum(count * each[name] for name, count in terms.items()))


def plan(cost: Cost, each: Mapping[str, float], sizes: Sizes, chunk: int, pace: float = 1.0) -> list[Stage]:
    """Stages on a cluster: a survey where rows are read twice, then the work on chunks, merged, then the client's.

    On workers everything takes `pace` times as long as it was measured to take alone.
    """
    tasks = math.ceil(sizes["N"] / chunk)
    each = {name: pace * took for name, took in each.items()}
    work, result = seconds(cost.rows(sizes), each), int(cost.result(sizes))
    stages = []
    if cost.passes > 1:
        survey = cost.rows(sizes)["numbers read"] / cost.passes * each["numbers read"]
        stages.append(Stage(tasks, survey / tasks, result=int(NUMBER * 2 * sizes["D"])))
        work -= survey
    client = seconds(cost.client(sizes), each) / pace
    merge = result / NUMBER * MERGED
    return [*stages, Stage(tasks, work / tasks, int(cost.received(sizes)), result, merge, client)]


def paces(fits: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    """How many times as long fits took on workers as they should have, by number of workers: the median."""
    ratios: dict[int, list[float]] = {}
    for fit in fits:
        ratios.setdefault(fit["workers"], []).append(fit["measured"] / fit["simulated"])
    return {count: float(np.median(each)) for count, each in ratios.items()}
