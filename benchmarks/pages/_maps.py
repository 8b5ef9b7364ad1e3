"""Section on maps in two dimensions."""

from __future__ import annotations

from typing import Any

from benchmarks.pages._markdown import cells, listed, table
from benchmarks.studies.maps import HELD_OUT

TEXT = """## Maps

Two dimensions, at most 5,000 rows, defaults everywhere; means of three seeds, of ten where there are at most 1,000
rows; our other layouts have one. *tsne* is openTSNE; *ours* is `BootstrapMap()` with both packages installed (t-SNE up
to 20,000 points). Accuracy: leave-one-out, of 10 nearest neighbours in the map; trustworthiness: of the 15 nearest, on
the input; time: processor seconds over those of umap-learn on the same set; memory: peak above the data. Sets as
stored; *wine* and *isolet1* were held out until they had been looked at, and *orl_32* had been seen when the
perplexities of few points were chosen, on others. One row is 0.7 points of *iris*, 0.6 of *wine*, 0.5 of
*new_thyroid*."""
SCORES = {"accuracy": ("Accuracy, %", 1), "trustworthiness": ("Trustworthiness", 3)}
COSTS = {"time": ("Time over umap-learn's", 2), "megabytes": ("Memory, MB", 0)}
# Those of the target, and one that came later.
OTHERS, FURTHER = ("umap", "tsne", "pacmap"), "trimap"


def section(figures: dict[str, Any]) -> str:
    """Tables of both scores and of time, and where the default map is behind."""
    sets = {name: found for name, found in figures.items() if "ours" in found}
    blocks = [f"### {title}\n\n{_by_set(sets, score, digits)}" for score, (title, digits) in SCORES.items()]
    for found in sets.values():
        for method in _methods(found):
            found[method]["time"] = found[method]["cpu"] / found["umap"]["cpu"]
    blocks += [f"### {title}\n\n{_by_set(sets, cost, digits, best=None)}" for cost, (title, digits) in COSTS.items()]
    return "\n\n".join([TEXT, *blocks, _verdict(sets)])


def _methods(found: dict[str, Any]) -> list[str]:
    return [name for name, scores in found.items() if isinstance(scores, dict)]


def _by_set(sets: dict[str, Any], score: str, digits: int, best: str | None = "highest") -> str:
    methods = list(dict.fromkeys(method for found in sets.values() for method in _methods(found)))

    def line(name: str) -> list[str]:
        values = [sets[name].get(m, {}).get(score) for m in methods]
        return [name, *cells(values, digits, best)]

    held = [name for name in sets if name in HELD_OUT]
    divider = [["*held out:*", *[""] * len(methods)]] if held else []
    return table(["", *methods], [*(line(n) for n in sets if n not in held), *divider, *map(line, held)])


def _verdict(sets: dict[str, Any]) -> str:
    """Say where the default map is less accurate than the best of the others, or trusted less than umap-learn's."""
    gaps = {n: f["ours"]["accuracy"] - max(f[m]["accuracy"] for m in OTHERS if m in f) for n, f in sets.items()}
    trust = {n: f["ours"]["trustworthiness"] - f["umap"]["trustworthiness"] for n, f in sets.items()}
    lost = listed((f"{n} ({gap:+.1f})" for n, gap in gaps.items() if gap < 0), "none")
    torn = listed((f"{n} ({gap:+.3f})" for n, gap in trust.items() if gap < -0.01), "none")
    reached = sum(gap >= 0 for gap in gaps.values())
    third = {n: f["ours"]["accuracy"] - f[FURTHER]["accuracy"] for n, f in sets.items() if FURTHER in f}
    behind = listed((f"{n} ({gap:+.1f})" for n, gap in third.items() if gap < 0), "none")
    slow = listed((f"{n} ({f['ours']['time']:.2f})" for n, f in sets.items() if f["ours"]["time"] > 2), "none")
    return (
        f"Accuracy at least that of the best of umap-learn, openTSNE and PaCMAP on {reached} of {len(gaps)} sets; "
        f"behind on: {lost}. Behind TriMap on: {behind}. Trustworthiness more than 0.01 below umap-learn's on: {torn}. "
        f"More than twice its time on: {slow}."
    )
