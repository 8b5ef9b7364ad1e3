"""Retrieval of documents: Figures 11 and 22 of [Zhang2016], with other newswire stories."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from papers.cells import Cells, grid
from papers.data import load_dataset
from papers.mbn import PAPER
from papers.mbn.settings import LAST, fitted, halved, network
from papers.mbn.taught import taught
from papers.report import Panel, Report, Table, ahead, entry, line, observed
from papers.run import Run
from polyfold.metrics import average_accuracy_curve

REUTERS, NEWS = "Reuters-21578", "20 Newsgroups"
FILES = {REUTERS: "reuters", NEWS: "20newsgroups"}
LSA, MBN, DEEP = "LSA", "MBN", "MBN to 15 centres"
TERMS = 2000
SOURCE = "Fig. 11, Sec. 5.2"
GAINS = {500: 8.0, 2000: 13.0}  # points above LSA, Sec. 5.2


def load_text(data: Path | None, name: str, terms: int) -> tuple[Any, NDArray]:
    """Return counts of the commonest terms, rows of norm one; documents without any are left out."""
    X, y = load_dataset(FILES[name], data, return_X_y=True)
    common = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:terms]
    X = X[:, np.sort(common)]
    kept = np.diff(X.indptr) > 0
    return normalize(X[kept].astype(np.float64)), y[kept]


def halves(data: Path | None, name: str, rows: int, seed: int) -> tuple[Any, Any, NDArray]:
    """Training and test documents, half of at most so many, and the topics of the test documents."""
    X, y = load_text(data, name, TERMS)
    order = np.random.RandomState(seed).permutation(X.shape[0])[:rows]
    train, test = np.array_split(order, 2)
    return X[train], X[test], y[test]


def retrieval(
    data: Path | None, *, set: str, method: str, first_layer: int, rows: int, clusterings: int, metric: str, seed: int
) -> dict[str, Any]:
    """Average accuracy of the nearest documents in five dimensions, for growing numbers of them, in per cent."""
    X, Q, y = halves(data, set, rows, seed)
    if method == LSA:
        Z = TruncatedSVD(5, random_state=seed).fit(X).transform(Q)
    else:
        sizes = halved(first_layer, LAST) if method == DEEP else text_layers(first_layer)
        options: dict[str, Any] = {"first_layer": sizes, "clusterings": clusterings, "metric": metric}
        Z = fitted(network(5, 10, **options, seed=seed), X).transform(Q)
    return curve_of(Z, y)


def curve_of(Z: NDArray, y: NDArray) -> dict[str, Any]:
    """Curve of average accuracy in per cent, and its mean."""
    counts, accuracy = average_accuracy_curve(Z, y)
    return {"counts": counts, "accuracy": 100 * accuracy, "mean": 100 * float(np.mean(accuracy))}


def text_layers(first: int) -> list[int]:
    """Layers of the paper, which end at 125 centres, or at a quarter of the first layer where that is smaller."""
    return halved(first, min(125, first // 4))


def _curve(found: Cells) -> dict[int, list[float]]:
    counts = found[0].numbers["counts"] if len(found) else []
    return {count: [cell.numbers["accuracy"][i] for cell in found] for i, count in enumerate(counts)}


RETRIEVAL = {"sets": (REUTERS, NEWS), "rows": 10000, "first_layers": (500, 2000), "clusterings": 200, "draws": 2}
RETRIEVAL_FAST = {"rows": 2000, "first_layers": (125, 500), "clusterings": 100, "draws": 1}
RETRIEVAL_TINY = {"rows": 120, "first_layers": (15, 30), "clusterings": 10, "draws": 2}


@PAPER.experiment("figure11", full=RETRIEVAL, fast=RETRIEVAL_FAST, tiny=RETRIEVAL_TINY, minutes=8)
def figure11(run: Run) -> Report:
    """Figure 11: retrieval of documents in five dimensions.

    Question: Are documents of the same topic nearer in the output of the network than after latent semantic analysis?

    Setting: Reuters-21578 (52 topics) and 20 Newsgroups instead of the 804,414 stories of RCV1. At most 10,000
    documents, half to fit and half as queries among each other. Counts of the 2,000 commonest terms, rows divided by
    their norm, inner products. Networks of 500-250-125 and 2000-1000-500-250-125 centres, V = 200, a = 0.5, five output
    dimensions. The mean over numbers of retrieved documents is compared.

    Expected: The small network is more than 8 points above LSA, the large one more than 13. With far fewer documents,
    125 centres may be too many for the last layer: an extra cell continues to 15.
    """
    shared = {"set": run["sets"], "rows": run["rows"], "metric": "linear", "clusterings": run["clusterings"]}
    shared |= {"seed": run.seeds}
    found = run.cells(
        grid(retrieval, method=LSA, first_layer=0, **shared)
        + grid(retrieval, method=MBN, first_layer=run["first_layers"], **shared)
        + grid(retrieval, method=DEEP, first_layer=run["first_layers"][1], **shared)
    )
    small, large = run["first_layers"]
    panels, entries, claims = [], [], []
    for name in run["sets"]:
        here = {LSA: found.where(set=name, method=LSA)}
        here |= {f"MBN, k1 = {k}": found.where(set=name, method=MBN, first_layer=k) for k in (small, large)}
        here[f"k1 = {large}, to 15 centres"] = found.where(set=name, method=DEEP)
        curves = [line(label, _curve(cells)) for label, cells in here.items()]
        panels.append(Panel(name, "documents retrieved", "average accuracy, %", curves, xscale="log"))
        entries += [entry(name, label, ours=cells.values("mean")) for label, cells in here.items()]
        plain, lesser, greater, deep = (cells.values("mean") for cells in here.values())
        why = f"Ended at 15 centres, the large network reaches {np.mean(deep or [np.nan]):.1f}"
        for k, ours in ((small, lesser), (large, greater)):
            gain = [a - b for a, b in zip(ours, plain, strict=True)]
            entries.append(entry(name, f"k1 = {k}: points above LSA", ours=gain, paper=GAINS.get(k)))
        claims += [
            ahead(f"the small network beats LSA on {name}", lesser, plain, source=SOURCE, why=why),
            ahead(f"the large network beats LSA on {name}", greater, plain, source=SOURCE, why=why),
            ahead(f"the large network beats the small one on {name}", greater, lesser, source=SOURCE, why=why),
        ]
    return Report([Table("mean of the curve, %", entries)], panels, claims)


def compressed_retrieval(
    data: Path | None,
    *,
    set: str,
    first_layer: int,
    rows: int,
    clusterings: int,
    units: int,
    epochs: int,
    dropout: float | None,
    seed: int,
) -> dict[str, Any]:
    """Curves of the network and of its student in every layer."""
    X, Q, y = halves(data, set, rows, seed)
    sizes = text_layers(first_layer)
    model = fitted(network(5, 10, first_layer=sizes, clusterings=clusterings, metric="linear", seed=seed), X)
    codes = model.encoder_.encode_layers(Q)
    found: dict[str, Any] = {"sizes": sizes, "network": [], "student": [], "fidelity": []}
    for level in range(len(sizes)):
        here = model.at_layer(level)
        student = taught(here, units=units, epochs=epochs, dropout=dropout, seed=seed)
        student.fit(np.asarray(X.toarray(), dtype=np.float32), target=here.embedding_)
        theirs = curve_of(student.transform(np.asarray(Q.toarray(), dtype=np.float32)), y)
        ours = curve_of(here.output_.transform(codes[level]), y)
        found |= {"counts": ours["counts"]}
        found["network"].append(ours["accuracy"])
        found["student"].append(theirs["accuracy"])
        found["fidelity"].append(student.fidelity_)
    return found


STUDENT = {"set": REUTERS, "rows": 10000, "first_layer": 2000, "clusterings": 200}
STUDENT |= {"units": 512, "epochs": 30, "dropout": 0.2}
STUDENT_FAST = {"rows": 2000, "first_layer": 400, "clusterings": 100, "units": 256, "epochs": 20}
STUDENT_TINY = {"rows": 120, "first_layer": 20, "clusterings": 10, "dropout": None}


@PAPER.experiment("figure22", full=STUDENT, fast=STUDENT_FAST, tiny=STUDENT_TINY, minutes=8)
def figure22(run: Run) -> Report:
    """Figure 22: retrieval by a student of the network.

    Question: Does a small network, taught the output of a large one, retrieve documents as well?

    Setting: The large network of Fig. 11 on Reuters-21578, ended at every layer, five output dimensions; a student of
    two hidden layers of 512 rectified units (2048 in the paper), dropout 0.2, 30 epochs (50), taught that output.

    Expected: At the top layer the curves are nearly the same; below, where outputs are squeezed together, the student
    may differ. An extra cell with half of the documents tests whether few training rows are what makes a difference.
    """
    settings, half = {name: run[name] for name in STUDENT} | {"seed": run.seed}, run["rows"] // 2
    found = run.cells(grid(compressed_retrieval, **settings) + grid(compressed_retrieval, **settings | {"rows": half}))
    if not len(found):
        return Report()
    numbers, fewer = (one.numbers for one in found)
    panels, entries, gaps = [], [], []
    for i, size in enumerate(numbers["sizes"]):
        pair = {name: numbers[name][i] for name in ("network", "student")}
        curves = [line(name, dict(zip(numbers["counts"], c, strict=True))) for name, c in pair.items()]
        panels.append(
            Panel(f"layer {i + 1}, k = {size}", "documents retrieved", "average accuracy, %", curves, xscale="log")
        )
        gaps.append(_apart(numbers, i))
        entries += [entry(f"layer {i + 1}", name, ours=float(np.mean(c))) for name, c in pair.items()]
        entries.append(entry(f"layer {i + 1}", "R² of the student", ours=100 * numbers["fidelity"][i]))
    claims = [
        observed(
            "at the top layer the student's curve is almost identical",
            gaps[-1] < 3.0,
            f"at most {gaps[-1]:.1f} points apart (judged: 3)",
            source="Fig. 22, App. D.3",
            why=f"{run['rows'] // 2:,} documents teach it, and its R² on held-out ones is {numbers['fidelity'][-1]:.2f}"
            f"; with half as many it is {fewer['fidelity'][-1]:.2f}, and the curves are {_apart(fewer, -1):.1f} points "
            "apart (402,207 in the paper)",
        ),
        observed(
            "layers between the first and the top differ more than the top (2 and 3 in the paper)",
            gaps[-1] < min(gaps[1:-1], default=np.nan),
            "layer by layer at most " + ", ".join(f"{gap:.1f}" for gap in gaps) + " points apart",
            source="Fig. 22, App. D.3",
        ),
    ]
    return Report([Table("mean of the curve, %", entries)], panels, claims)


def _apart(numbers: dict[str, Any], level: int) -> float:
    """Largest difference between the curves of network and student in one layer."""
    return float(np.max(np.abs(np.subtract(numbers["network"][level], numbers["student"][level]))))
