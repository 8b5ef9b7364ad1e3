"""Sections on clustering: what is gained, the tables, every line that is lost, and the number of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.clusterers import PEERS, UNTOLD
from benchmarks.labelled import NAMES, SCALED, is_held_out
from benchmarks.pages._markdown import cells, listed, table

OURS, AUTO, UMAP = "polyfold", "polyfold, auto", "UMAP + k-means"
TITLES = {"nmi": "NMI, %", "acc": "Accuracy (best matching), %", "ari": "Adjusted Rand index, %"}
Runs = dict[str, dict[str, dict[str, list[Any]]]]


def together(figures: dict[str, Any]) -> Runs:
    """Peers and ours by set; UMAP's own figures are those of the peers' run."""
    peers, ours = figures.get("clustering", {}), figures.get("ours", {})
    names = [name for name in NAMES if UMAP in peers.get(name, {}) and name in ours]
    return {name: {**peers[name], **{m: ours[name][m] for m in (OURS, AUTO) if m in ours[name]}} for name in names}


def mean(runs: Runs, name: str, method: str, key: str) -> float | None:
    """Mean over seeds, None where the method does not apply."""
    values = [v for v in runs[name].get(method, {}).get(key, []) if v is not None]
    return float(np.mean(values)) if values else None


def floor_of(runs: Runs, name: str) -> str:
    """Name the simple method that must not be better: k-means, for text after latent semantic analysis."""
    return "LSA + k-means" if "LSA + k-means" in runs[name] else "k-means"


def groups_of_sets(names: Iterable[str]) -> dict[str, list[str]]:
    """Sort sets by their part in choosing defaults."""
    names = list(names)
    return {
        "held out": [n for n in names if is_held_out(n)],
        "sets on which defaults were chosen": [n for n in names if not is_held_out(n)],
        "all": names,
    }


def summary(runs: Runs) -> str:
    """Say what the tables come to, with tables in different units as stored and scaled."""
    stored = [n for n in runs if not n.endswith(", scaled")]
    scaled = [n if n not in SCALED else f"{n}, scaled" for n in stored if n not in SCALED or f"{n}, scaled" in runs]
    head = [
        "",
        "sets",
        "polyfold",
        UMAP,
        "Leiden",
        "k-means, LSA for text",
        "gain over UMAP",
        "below UMAP on",
        "below k-means by > 2 on",
    ]
    rows = []
    for label, chosen in (("as stored", stored), ("units scaled", scaled)):
        for group, names in groups_of_sets(chosen).items():
            if names:
                rows.append(_summary_row(runs, f"{group}, {label}", names))
    return table(head, rows)


def _summary_row(runs: Runs, label: str, names: Sequence[str]) -> list[str]:
    ours = np.array([mean(runs, n, OURS, "nmi") for n in names], dtype=float)
    umap = np.array([mean(runs, n, UMAP, "nmi") for n in names], dtype=float)
    leiden = np.array([mean(runs, n, "Leiden", "nmi") for n in names], dtype=float)
    plain = np.array([mean(runs, n, floor_of(runs, n), "nmi") for n in names], dtype=float)
    worse = [n for n, gap in zip(names, ours - umap, strict=True) if gap < 0]
    failed = [f"{n} ({gap:+.1f})" for n, gap in zip(names, ours - plain, strict=True) if gap < -2]
    means = [f"{v.mean():.1f}" for v in (ours, umap, leiden, plain)]
    return [label, str(len(names)), *means, f"{(ours - umap).mean():+.1f}", str(len(worse)), listed(failed)]


def score_tables(runs: Runs) -> str:
    """One table for every score, methods in columns, held-out sets below the others."""
    methods = [OURS, *PEERS]
    return "\n\n".join(f"### {title}\n\n{_by_set(runs, methods, key)}" for key, title in TITLES.items())


def spread(runs: Runs) -> str:
    """Lowest and highest NMI of the seeds; their number in front."""

    def span(name: str, method: str) -> str:
        values = runs[name].get(method, {}).get("nmi", [])
        return f"{min(values):.0f} to {max(values):.0f}" if values else "–"

    rows = [[n, str(len(runs[n][OURS]["nmi"])), *(span(n, m) for m in (OURS, UMAP, floor_of(runs, n)))] for n in runs]
    return table(["", "seeds", OURS, UMAP, "k-means, LSA for text"], rows)


def cost_tables(runs: Runs, ours: Runs) -> str:
    """Processor seconds over those of UMAP + k-means in the same run, and peak memory."""
    methods = [OURS, *PEERS]

    def ratio(name: str, method: str) -> float | None:
        beside = ours if method == OURS else runs
        own, umap = mean(runs, name, method, "cpu"), mean(beside, name, UMAP, "cpu")
        return None if own is None or not umap else own / umap

    rows = [[name, *cells([ratio(name, m) for m in methods], 2, best=None)] for name in runs]
    seconds = [[f"{mean(runs, name, UMAP, 'cpu'):.1f}"] for name in runs]
    first = table(["", *methods, f"{UMAP}, s"], [row + s for row, s in zip(rows, seconds, strict=True)])
    second = _by_set(runs, methods, "megabytes", digits=0, best=None)
    return f"### Processor time over that of {UMAP}\n\n{first}\n\n### Peak memory above the data, MB\n\n{second}"


def _by_set(runs: Runs, methods: Sequence[str], key: str, digits: int = 1, best: str | None = "highest") -> str:
    def line(name: str) -> list[str]:
        return [name, *cells([mean(runs, name, m, key) for m in methods], digits, best)]

    apart = groups_of_sets(runs)
    chosen, held = apart["sets on which defaults were chosen"], apart["held out"]
    divider = [["*held out:*", *[""] * len(methods)]] if held else []
    return table(["", *methods], [*map(line, chosen), *divider, *map(line, held)])


def losses(runs: Runs) -> str:
    """Every set on which some method has a higher score than ours, by how much, and who is highest."""
    rows = []
    for name in runs:
        for key in TITLES:
            ours = mean(runs, name, OURS, key)
            others = {m: value for m in PEERS if (value := mean(runs, name, m, key)) is not None}
            ahead = {m: v - ours for m, v in others.items() if ours is not None and round(v - ours, 1) > 0}
            if ahead:
                order = sorted(ahead, key=lambda m: -ahead[m])
                rows.append([name, key.upper(), f"{ours:.1f}", listed(f"{m} +{ahead[m]:.1f}" for m in order)])
    won = sum(1 for name in runs if name not in {row[0] for row in rows})
    head = f"{won} of {len(runs)} lines are lost to nobody in any score. The others:\n\n"
    return head + table(["", "score", "polyfold", "ahead"], rows)


def numbers(runs: Runs, counts: dict[str, int]) -> str:
    """List the groups found where the number is not told, ours with a question mark where it was called a guess."""
    methods = [AUTO, *UNTOLD]
    found = {m: [n for n in runs if "groups" in runs[n].get(m, {})] for m in methods}
    near = {m: {n: is_near(np.median(runs[n][m]["groups"]), counts[n]) for n in found[m]} for m in methods}
    apart = groups_of_sets(n for n in runs if not n.endswith(", scaled"))
    shares = [
        f"{100 * np.mean([near[AUTO][n] for n in names]):.0f} % of {len(names)} ({label})"
        for label, names in apart.items()
        if names
    ]
    peers = [f"{m} on {sum(near[m].get(n, False) for n in apart['all'])} sets" for m in methods]
    sure = [(name, number) for name in runs for number, guess in _answers(runs, name) if not guess]
    wrong = dict.fromkeys(name for name, number in sure if not is_near(number, counts[name]))
    text = (
        f"Within 20 % of the classes (median of the seeds), sets as stored: {listed(shares)}; {listed(peers)}. "
        "Without a warning: "
        f"{len(sure)} of {sum(len(_answers(runs, name)) for name in runs)} runs; wrong without a warning: "
        f"{listed(wrong)}.\n\n"
        f"{_unlike(runs, methods, apart)}"
    )
    head = ["", "classes", *methods, "ours within 20 %", *(f"NMI, {m}" for m in methods)]
    rows = []
    for name in runs:
        ours = _counted(f"{number}{'?' * guess}" for number, guess in sorted(_answers(runs, name)))
        others = [_counted(map(str, sorted(runs[name].get(m, {}).get("groups", [])))) for m in UNTOLD]
        scores = cells([mean(runs, name, m, "nmi") for m in methods])
        label = f"{name}{' (held out)' if is_held_out(name) else ''}"
        rows.append([label, str(counts[name]), ours, *others, "yes" if near[AUTO][name] else "no", *scores])
    return f"{text}\n\n{table(head, rows)}"


def _counted(answers: Iterable[str]) -> str:
    """Join answers, each with the number of seeds that gave it if there are several."""
    return listed((f"{a} ({n}×)" if n > 1 else a for a, n in Counter(answers).items()), "–")


def _unlike(runs: Runs, methods: list[str], apart: dict[str, list[str]]) -> str:
    """Compare the groups themselves: mean NMI over groups of sets, and where ours is far below another."""
    known = [m for m in methods if all("nmi" in runs[n].get(m, {}) for n in runs)]
    nmi = {name: np.array([mean(runs, name, m, "nmi") for m in known]) for name in runs}
    means = {label: np.mean([nmi[n] for n in names], axis=0) for label, names in apart.items() if names}
    scores = [f"{' / '.join(f'{value:.1f}' for value in values)} ({label})" for label, values in means.items()]
    gaps = {name: values[0] - values[1:].max(initial=0.0) for name, values in nmi.items()}
    far = listed((f"{name} ({gap:+.0f})" for name, gap in gaps.items() if gap < -10), "none")
    return f"Mean NMI, {' / '.join(known)}: {listed(scores)}. More than 10 below the best of the others: {far}."


def is_near(number: float, classes: int) -> bool:
    """Whether a number is within 20 % of the classes."""
    return abs(number - classes) <= 0.2 * classes


def _answers(runs: Runs, name: str) -> list[tuple[int, bool]]:
    """Numbers that ours found, seed by seed, and whether it called them a guess."""
    found = runs[name][AUTO]
    guesses = [any(text.startswith("GuessWarning") for text in texts) for texts in found["warnings"]]
    return list(zip(found["groups"], guesses, strict=True))


def full(figures: dict[str, Any]) -> str:
    """Write the line of 60,000 images."""
    methods = [name for name in figures if isinstance(figures[name], dict)]
    rows: list[list[str]] = []
    for label, key, digits in (("NMI, %", "nmi", 1), ("accuracy, %", "acc", 1), ("ARI, %", "ari", 1)):
        rows.append([label, *cells([figures[m][key] for m in methods], digits)])
    for label, key, digits in (
        ("fit, s", "wall", 0),
        ("fit, processor s", "cpu", 0),
        ("peak memory, MB", "megabytes", 0),
    ):
        rows.append([label, *cells([figures[m][key] for m in methods], digits, "lowest")])
    ratios = [f"{name}: {value:.2f}" for name, value in figures.items() if not isinstance(value, dict)]
    return f"{table(['', *methods], rows)}\n\n{listed(ratios)}"
