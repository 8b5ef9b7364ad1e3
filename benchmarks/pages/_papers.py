"""Blocks of README and guides that quote the papers' experiments: every number has its home in their results."""

from __future__ import annotations

from functools import cache
from typing import Any

from benchmarks.pages._markdown import cells, table
from benchmarks.pages.reproduction import results


@cache
def experiment(name: str) -> dict[str, Any]:
    """Return the full results of an experiment."""
    return results()[name]


def numbers(name: str, title: str) -> dict[tuple[str, ...], float]:
    """Return our numbers in one of an experiment's tables, by their labels."""
    found = next(one for one in experiment(name)["tables"] if one["title"] == title)
    return {tuple(entry["labels"]): entry["ours"] for entry in found["entries"] if entry["ours"] is not None}


def quality() -> str:
    """Return the table of precision and votes of modules and their rivals on MNIST."""
    scores = {"precision, %": "retrieval", "accuracy, %": "classification"}
    rivals, chosen, default, alone = [], [], [], []
    for score, kind in scores.items():
        ours = numbers("mbm-table2", score)
        rivals.append(" / ".join(f"{ours['MNIST', name]:.1f}" for name in ("Partition", "Bootstrap", "Random")))
        against = numbers("mbm-table3", f"{kind}: {score}")
        best = numbers("mbm-table3", f"{kind}: λ")["MNIST", "λ"]
        chosen.append(f"{ours['MNIST', 'MBM']:.1f} at {best:g}")
        alone.append(f"{against['MNIST', 'Monolithic']:.1f}")
        default.append(f"{_over_diversity(score)[0.99]:.1f}")
    return table(
        ["", "precision, %", "accuracy, %"],
        [
            ["Partition / Bootstrap / Random modules", *rivals],
            ["polyfold modules, default λ = 0.99", *default],
            ["the same, λ chosen on validation images", *chosen],
            ["one kernel PCA of 300 dimensions", *alone],
        ],
    )


def _over_diversity(score: str) -> dict[float, float]:
    """Return the score of modules on MNIST by λ."""
    panels = experiment("mbm-figure5")["panels"]
    panel = next(one for one in panels if one["title"] == "MNIST" and one["y"] == score)
    curve = next(one for one in panel["curves"] if one["label"] == "MBM")
    return dict(zip(curve["x"], curve["y"], strict=True))


def autoencoder_sets() -> str:
    """Return the test errors on the six image sets."""
    errors = numbers("mae-figure2", "Test error, %")
    columns = list(dict.fromkeys(column for _, column in errors))
    sets = dict.fromkeys(name for name, _ in errors)
    rows = [[name, *(f"{errors[name, column]:.1f}" for column in columns), _alone(name)] for name in sets]
    head = ["λ = 0", "λ best on the other folds", "bagging"]
    return table(["set", *head, "single modules, λ = 0 → best λ of the vote"], rows)


def _alone(name: str) -> str:
    """Error of single modules without diversity, and where their vote is best."""
    panel = next(one for one in experiment("mae-figure6")["panels"] if one["title"] == name)
    curves = {one["label"]: dict(zip(one["x"], one["y"], strict=True)) for one in panel["curves"]}
    best = min(curves["ensemble"], key=curves["ensemble"].__getitem__)
    return f"{curves['individual'][0.0]:.1f} → {curves['individual'][best]:.1f} at {best:g}"


PLAIN, OURS = "plain", "non-redundant"


def digit_errors() -> dict[str, dict[int, float]]:
    """Return errors of a cubic SVM on few coordinates of MNIST, plain and non-redundant."""
    return _by_count("nrs-table1")


def few_label_errors() -> dict[str, dict[int, float]]:
    """Return the same where 300 images are labelled."""
    return _by_count("nrs-table1-few")


def _by_count(name: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {PLAIN: {}, OURS: {}}
    for (count, method), error in numbers(name, "Errors, %").items():
        if method in found:
            found[method][int(count.split()[0])] = error
    return found


def nonredundant_digits() -> str:
    """Return the errors of a cubic SVM on few coordinates of MNIST."""
    errors = digit_errors()
    rows = [
        ["plain eigenmaps", *(f"{x:.1f}" for x in errors[PLAIN].values())],
        ["non-redundant", *(f"**{x:.1f}**" for x in errors[OURS].values())],
    ]
    return table(["coordinates", *map(str, errors[PLAIN])], rows)


def nonredundant_few() -> str:
    """Return errors with few labels over the number of coordinates."""
    errors = few_label_errors()
    counts = sorted(errors[OURS])
    rows = [
        [label, *cells([errors[name][count] for count in counts], 1, None)]
        for label, name in (("plain eigenmaps", PLAIN), ("non-redundant", OURS))
    ]
    return table(["coordinates", *map(str, counts)], rows)
