"""Effects of hyperparameters on MNIST, and time: Figures 12 to 17 of [Zhang2016]."""

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from papers.cells import Cells, Task, grid
from papers.mbn import PAPER
from papers.mbn.layers import at, by_layer, layers
from papers.mbn.settings import (
    DIMENSIONS,
    LAST,
    draw_digits,
    fitted,
    halved,
    network,
    product_seconds,
)
from papers.mbn.text import load_text
from papers.report import Claim, Panel, Report, Table, entry, line, observed
from papers.run import Run

Curve = dict[float, list[float]]
OUTPUT = 5  # dimensions of the output [Zhang2016, Sec. 5.3]
ROBUST = 4.0  # points of NMI within which a curve counts as level
DROP = 3.0  # and below which it has dropped
BASE = {"rows": 5000, "queries": 2500, "first_layer": 2500, "clusterings": 400, "runs": 50}
# Where many networks are compared.
MANY = BASE | {"rows": 3000, "queries": 1500, "first_layer": 1500}
BASE_FAST = {"rows": 1000, "queries": 500, "first_layer": 500, "clusterings": 100, "runs": 5}
BASE_TINY = {"rows": 80, "queries": 40, "first_layer": 40, "clusterings": 10, "runs": 2}


def tasks(run: Run, **changed: Any) -> list[Task]:
    """Networks of Table 4, scaled to the sample, with some parameters changed; judged on training and test images."""
    settings = {name: run[name] for name in BASE} | {"decay": 0.5, "fraction": 0.5, "dimensions": [(OUTPUT,)]}
    settings |= {"every": False, "part": "both", "seed": run.seeds}
    return grid(layers, **settings | changed)


def swept(found: Cells, name: str, values: Any, part: str = "test", **fixed: Any) -> Curve:
    """NMI of all draws for every value of a parameter."""
    return {value: at(found, part, dimension=OUTPUT, **{name: value}, **fixed) for value in values}


def mean(curve: Mapping[Any, list[float]]) -> dict[Any, float]:
    """Mean of all draws at every value that has some."""
    return {value: float(np.mean(draws)) for value, draws in curve.items() if draws}


def chosen(curve: Mapping[Any, list[float]], wanted: Callable[[Any], bool]) -> list[float]:
    """Means at the values that are wanted."""
    return [score for value, score in mean(curve).items() if wanted(value)]


def both_parts(found: Cells, name: str, values: Any, title: str, **fixed: Any) -> tuple[Panel, Table]:
    """Training and test curve of one parameter, as a panel and as a table."""
    curves = {part: swept(found, name, values, part, **fixed) for part in ("train", "test")}
    entries = [entry(f"{v:g}", f"NMI, % ({part})", ours=c[v]) for part, c in curves.items() for v in values]
    panel = Panel(
        f"{title} of a network", title, "NMI, %", [line(part, curve) for part, curve in curves.items()], xscale="even"
    )
    return panel, Table(title, entries)


def level_claim(statement: str, scores: list[float], source: str, why: str = "") -> Claim:
    """Judge whether scores stay within a few points."""
    spread = float(np.ptp(scores)) if scores else np.nan
    shown = f"NMI from {min(scores):.1f} to {max(scores):.1f} (judged: within {ROBUST:g})" if scores else "nothing"
    return observed(statement, spread < ROBUST, shown, source=source, why=why)


def drop_claim(statement: str, high: list[float], low: list[float], source: str, why: str = "") -> Claim:
    """Judge whether the best of some scores lies clearly above the best of others."""
    a, b = max(high, default=np.nan), max(low, default=np.nan)
    return observed(
        statement, a - b > DROP, f"{a:.1f} against {b:.1f} (judged: more than {DROP:g})", source=source, why=why
    )


ALL, FEW = {"dimensions": DIMENSIONS}, {"dimensions": (2, 5), "clusterings": 40}


@PAPER.experiment("figure12", full=BASE | ALL, fast=BASE_FAST, tiny=BASE_TINY | FEW, minutes=3)
def figure12(run: Run) -> Report:
    """Figure 12: how small the last layer may be.

    Question: How does clustering depend on the number of centres of the last layer?

    Setting: V = 400, a = 0.5, layers halved down to two centres; every layer is read, at 2 to 30 output dimensions.
    5,000 training images and k1 = 2500, 2,500 test images (60,000, 4500 and 10,000 in the paper).

    Expected: NMI rises until k ≈ 1.5 c = 15 and drops where k is smaller. An extra cell with a quarter of the
    clusterings tests whether their number compensates for the weakness of each.
    """
    sizes = halved(run["first_layer"], 2)
    counts = (run["clusterings"], run["clusterings"] // 4)
    shape = {"first_layer": [sizes], "dimensions": [run["dimensions"]], "every": True, "part": "test"}
    found = run.cells(tasks(run, clusterings=counts, **shape))
    curves, fewer = (
        {p: by_layer(found, "test", dimension=p, clusterings=count) for p in run["dimensions"]} for count in counts
    )
    panel = Panel(
        "c = 10 digits", "centres k", "NMI, %", [line(f"{p} dimensions", c) for p, c in curves.items()], xscale="even"
    )
    high, low = (_typical(curves, wanted) for wanted in (_enough, _weak))
    why = (
        f"It falls slowly, with {counts[0]} clusterings {_falling(curves)}, and faster with {counts[1]}, "
        f"{_falling(fewer)}: many clusterings compensate for the weakness of each"
    )
    statement = "NMI drops where the last layer has less than 1.5 c centres, on average over the output dimensions"
    claims = [drop_claim(statement, [high], [low], "Fig. 12, Sec. 5.3.1", why)]
    entries = [entry(f"k = {k}", f"{p}", ours=draws) for p, curve in curves.items() for k, draws in curve.items()]
    return Report([Table("NMI of test images by last layer and output dimension, %", entries)], [panel], claims)


def _typical(curves: dict[int, dict[int, list[float]]], wanted: Callable[[Any], bool]) -> float:
    """Mean over the output dimensions of the best NMI among the last layers that are wanted."""
    return float(np.mean([max(chosen(curve, wanted), default=np.nan) for curve in curves.values()]))


def _falling(curves: dict[int, dict[int, list[float]]]) -> str:
    """Tell the mean over the output dimensions from the layer of about 1.5 c centres on."""
    means = [mean(curve) for curve in curves.values()]
    sizes = [k for k in (means[0] if means else ()) if k < 30]
    return ", ".join(f"{np.mean([one[k] for one in means]):.1f} at k = {k}" for k in sizes)


def _enough(centers: int) -> bool:
    return 15 <= centers <= 40


def _weak(centers: int) -> bool:
    return centers < 15


FIRST = {
    "shares": (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.9997),
    "large_rows": 6000,
    "large_first": (50, 250, 1000, 3000),
}
FIRST_FAST = {"shares": (0.05, 0.3, 0.5, 0.8, 0.999), "large_rows": 2000, "large_first": (50, 250, 1000)}
FIRST_TINY = {"shares": (0.3, 0.5, 0.95), "large_rows": 100, "large_first": (20, 40)}


@PAPER.experiment("figure13", full=MANY | FIRST, fast=BASE_FAST | FIRST_FAST, tiny=BASE_TINY | FIRST_TINY, minutes=12)
def figure13(run: Run) -> Report:
    """Figure 13: how many centres the first layer should have.

    Question: How does clustering depend on k1, with few images and with many?

    Setting: a: 3,000 training images (5,000 in the paper), k1 from 0.01 n to n - 1 (the paper ends at n, which this
    library refuses: every image would be its own centre); b: 6,000 images, k1 from 50 to 3000 (60,000 in the paper).
    V = 400, a = 0.5, δ = 0.5, 5 output dimensions, 1,500 test images.

    Expected: a: NMI rises up to 0.3 n, is level up to 0.8 n and falls sharply towards n. b: it rises with k1, and
    training and test curves match.
    """
    first = [int(share * run["rows"]) for share in run["shares"]]
    found = run.cells(
        tasks(run, first_layer=first) + tasks(run, rows=run["large_rows"], first_layer=run["large_first"])
    )
    small = {part: swept(found, "first_layer", first, part, rows=run["rows"]) for part in ("train", "test")}
    large = {
        part: swept(found, "first_layer", run["large_first"], part, rows=run["large_rows"])
        for part in ("train", "test")
    }
    panels = [
        Panel(f"{rows} training images", "k1", "NMI, %", [line(part, c) for part, c in curves.items()], xscale="even")
        for rows, curves in ((run["rows"], small), (run["large_rows"], large))
    ]
    entries = [
        entry(f"n = {rows}, k1 = {k}", f"NMI, % ({part})", ours=draws)
        for rows, curves in ((run["rows"], small), (run["large_rows"], large))
        for part, curve in curves.items()
        for k, draws in curve.items()
    ]
    claims = _first_layer_claims(small["train"], run["rows"]) + _many_images_claims(large)
    return Report([Table("NMI by k1", entries)], panels, claims)


def _first_layer_claims(train: Curve, n: int) -> list[Claim]:
    """Judge Fig. 13a by the NMI of n training images."""
    source, middle = "Fig. 13a, Sec. 5.3.2", chosen(train, lambda k: 0.29 * n <= k <= 0.81 * n)
    few, nearly_all = chosen(train, lambda k: k < 0.06 * n), chosen(train, lambda k: k > 0.97 * n)
    return [
        drop_claim("few centres lose: NMI is lower below 0.06 n than at 0.3 n to 0.8 n", middle, few, source),
        level_claim("NMI is level for k1 from 0.3 n to 0.8 n", middle, source),
        drop_claim("NMI falls sharply where k1 comes near n", middle, nearly_all, source),
    ]


def _many_images_claims(curves: dict[str, Curve]) -> list[Claim]:
    """Judge Fig. 13b by the curves of training and test images."""
    train, test = (list(mean(curves[part]).values()) for part in ("train", "test"))
    gap = max((abs(a - b) for a, b in zip(train, test, strict=True)), default=np.nan)
    return [
        observed(
            "with many images NMI rises with k1 (to a point of NMI)",
            all(b > a - 1 for a, b in itertools.pairwise(test)),
            "NMI of test images " + ", ".join(f"{score:.1f}" for score in test),
            source="Fig. 13b",
        ),
        observed(
            "training and test curves match",
            gap < ROBUST,
            f"at most {gap:.1f} points apart (judged: {ROBUST:g})",
            source="Fig. 13b",
        ),
    ]


SHARES = {"fractions": (0.05, 0.1, 0.2, 0.5, 1.0)}


@PAPER.experiment("figure14", full=BASE | SHARES, fast=BASE_FAST, tiny=BASE_TINY, minutes=4)
def figure14(run: Run) -> Report:
    """Figure 14: which fraction of the features a clustering should see.

    Question: How does clustering depend on a?

    Setting: a of 0.05, 0.1, 0.2, 0.5 and 1, of the pixels and of the clusterings below; 5,000 training images,
    k1 = 2500, V = 400, δ = 0.5, 5 output dimensions, 2,500 test images.

    Expected: NMI is level from a = 0.1 on and drops at a = 0.05. An extra cell tests whether the fraction counts or the
    number of clusterings seen: a = 0.1 with four times as many clusterings.
    """
    usual = {"clusterings": run["clusterings"]}
    many = 4 * run["clusterings"]
    found = run.cells(tasks(run, fraction=run["fractions"]) + tasks(run, fraction=0.1, clusterings=many))
    panel, table = both_parts(found, "fraction", run["fractions"], "a", **usual)
    curve = swept(found, "fraction", run["fractions"], **usual)
    more = at(found, "test", dimension=OUTPUT, fraction=0.1, clusterings=many)
    table.entries.append(entry(f"0.1 with V = {many}", "NMI, % (test)", ours=more))
    rest = chosen(curve, lambda a: a >= 0.1)
    why = f"With {many} clusterings a = 0.1 gives {np.mean(more or [np.nan]):.1f}"
    claims = [
        level_claim("NMI is level for a of at least 0.1", rest, "Fig. 14, Sec. 5.3.3", why),
        drop_claim("NMI drops at a = 0.05", rest, chosen(curve, lambda a: a < 0.1), "Fig. 14, Sec. 5.3.3"),
    ]
    return Report([table], [panel], claims)


DECAYS = {"decays": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), "wide": 20}
FAST_DECAYS = {"decays": (0.1, 0.3, 0.5, 0.7, 0.9)}
TINY_DECAYS = {"decays": (0.3, 0.5, 0.8), "wide": 6}


@PAPER.experiment(
    "figure15", full=MANY | DECAYS, fast=BASE_FAST | FAST_DECAYS, tiny=BASE_TINY | TINY_DECAYS, minutes=12
)
def figure15(run: Run) -> Report:
    """Figure 15: how fast layers should shrink.

    Question: How does clustering depend on δ, which decides the number of layers?

    Setting: δ from 0.05 to 0.9; 3,000 training images, k1 = 1500, V = 400, a = 0.5, 5 output dimensions, 1,500 test
    images (60,000, 4500 and 10,000 in the paper).

    Expected: The best is between 0.5 and 0.7; NMI drops at 0.3 and below (steps too large to be locally
    linear) and at 0.8 and above (classes are cut into pieces). Extra cells read δ = 0.5 and the largest δ in 20
    dimensions, where pieces of classes have room.
    """
    usual: dict[str, Any] = {"dimensions": (OUTPUT,)}
    wide, largest = run["wide"], max(run["decays"])
    found = run.cells(tasks(run, decay=run["decays"]) + tasks(run, decay=(0.5, largest), dimensions=[(wide,)]))
    panel, table = both_parts(found, "decay", run["decays"], "δ", **usual)
    curve = swept(found, "decay", run["decays"], **usual)
    roomy = {d: at(found, "test", dimension=wide, decay=d, dimensions=(wide,)) for d in (0.5, largest)}
    table.entries.extend(entry(f"{d:g} in {wide} dimensions", "NMI, % (test)", ours=v) for d, v in roomy.items())
    less, more = (float(np.mean(draws or [np.nan])) for draws in roomy.values())
    why = f"In {wide} dimensions δ = {largest:g} gives {more:.1f} and δ = 0.5 gives {less:.1f}"
    best = max(mean(curve), key=lambda d: mean(curve)[d], default=np.nan)
    middle = chosen(curve, lambda d: 0.5 <= d <= 0.7)
    source = "Fig. 15, Sec. 5.3.4"
    claims = [
        observed(
            "the best δ is between 0.5 and 0.7", 0.5 <= best <= 0.7, f"the best is {best:g}", source=source, why=why
        ),
        drop_claim("NMI drops at δ of 0.3 and below", middle, chosen(curve, lambda d: d <= 0.3), source),
        drop_claim("NMI drops at δ of 0.8 and above", middle, chosen(curve, lambda d: d >= 0.8), source, why),
    ]
    return Report([table], [panel], claims)


COUNTS = {"counts": (50, 100, 200, 400)}
FAST_COUNTS = {"counts": (25, 50, 100, 200)}


@PAPER.experiment(
    "figure16", full=BASE | COUNTS, fast=BASE_FAST | FAST_COUNTS, tiny=BASE_TINY | {"counts": (10, 20)}, minutes=3
)
def figure16(run: Run) -> Report:
    """Figure 16: how many clusterings a layer should have.

    Question: How does clustering depend on V?

    Setting: V of 50, 100, 200 and 400; 5,000 training images, k1 = 2500, a = 0.5, δ = 0.5, 5 output dimensions, 2,500
    test images.

    Expected: NMI is level from V = 100 on.
    """
    found = run.cells(tasks(run, clusterings=run["counts"]))
    panel, table = both_parts(found, "clusterings", run["counts"], "V")
    curve = swept(found, "clusterings", run["counts"])
    rest = chosen(curve, lambda count: count >= 100)
    return Report([table], [panel], [level_claim("NMI is level for V of at least 100", rest, "Fig. 16, Sec. 5.3.5")])


def seconds(
    data: Path | None, *, set: str, rows: int, first_layer: int, clusterings: int, seed: int
) -> dict[str, float]:
    """Processor seconds of the first layer, of the layers above, and of the products that brute force would take."""
    X = _timed_rows(data, set, rows, seed)
    shape: dict[str, Any] = {"metric": "euclidean" if set == "MNIST" else "linear", "seed": seed}
    fitted(network(2, 10, first_layer=20, clusterings=4, **shape), X[:200])  # compiled before it is timed
    sizes = halved(first_layer, LAST)
    found = {}
    for name, layer_sizes in (("first", sizes[:1]), ("all", sizes)):
        start = time.process_time()
        model = fitted(network(2, 10, first_layer=layer_sizes, clusterings=clusterings, **shape), X)
        middle = time.process_time()
        model.at_layer(-1)  # the output once more, to take it off
        found[name] = max(2 * middle - start - time.process_time(), 1e-3)
    return {
        **found,
        "above": max(found["all"] - found["first"], 0.0),
        "products": product_seconds(X, X, first_layer, clusterings),
    }


def _timed_rows(data: Path | None, name: str, rows: int, seed: int) -> Any:
    if name == "MNIST":
        return draw_digits(data, rows, 0, seed)[0][0]
    X, _ = load_text(data, name, 2000)
    return X[np.random.RandomState(seed).permutation(X.shape[0])[:rows]]


TIMES = {"rows": 5000, "first_layer": 2000, "counts": (50, 100, 200, 400), "sets": ("MNIST", "Reuters-21578")}
TIMES_FAST = {"rows": 2000, "first_layer": 1000, "counts": (25, 50, 100, 200)}
TIMES_TINY = {"rows": 80, "first_layer": 40, "counts": (10, 20)}


@PAPER.experiment("figure17", full=TIMES, fast=TIMES_FAST, tiny=TIMES_TINY, minutes=4)
def figure17(run: Run) -> Report:
    """Figure 17: time against the number of clusterings.

    Question: Does the time of a fit grow with V or with V², and which layers take it?

    Setting: Processor seconds of fits without their output, V from 50 to 400, k1 = 2000 on 5,000 images of MNIST and
    on 5,000 documents of Reuters-21578 (RCV1 in the paper). Beside them, what the products of rows and centres of the
    first layer take if all of them are computed, as in the paper's implementation.

    Expected: Time grows linearly in V though the bound is V². With all products, the first layer takes 80 % of the
    time on MNIST at V = 50 and 50 % at V = 400.
    """
    shared = {"rows": run["rows"], "first_layer": run["first_layer"], "clusterings": run["counts"]}
    found = run.cells(grid(seconds, set=run["sets"], seed=run.seed, **shared))
    panels, entries, claims = [], [], []
    for name in run["sets"]:
        here = {v: found.where(set=name, clusterings=v)[0].numbers for v in run["counts"] if found.where(set=name)}
        parts = {"first layer": "first", "layers above": "above", "all products of the first layer": "products"}
        curves = [line(label, {v: one[key] for v, one in here.items()}) for label, key in parts.items()]
        panels.append(Panel(name, "V", "processor seconds", [*curves, line("fit", _of(here, "all"))]))
        power = _exponent(_of(here, "all"))
        entries.append(entry(name, "time grows as V to the power", ours=power, paper=1.0))
        for v, one in here.items():
            brute = 100 * one["products"] / (one["products"] + one["above"])
            printed = {50: 80.0, 400: 50.0}.get(v) if name == "MNIST" else None
            entries.append(entry(name, f"first layer with all products, % at V = {v}", ours=brute, paper=printed))
        claims.append(
            observed(
                f"time grows rather linearly than quadratically in V on {name}",
                power < 1.5,
                f"as V to the power {power:.2f} (judged: below 1.5)",
                source="Fig. 17, App. A",
            )
        )
    return Report([Table("Time", entries, digits=2)], panels, claims)


def _of(here: dict[int, Any], key: str) -> dict[int, float]:
    return {v: one[key] for v, one in here.items()}


def _exponent(times: dict[int, float]) -> float:
    """Slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]) if len(times) > 1 else np.nan
